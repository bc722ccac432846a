"""The lane of mentions gives the oracle's bytes, and leads where names lead."""

from __future__ import annotations

import random

import pytest
from tests.cases import by_suite

import ibidem
from ibidem.index.analysis.names import NAMED_CHARS, names_of
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.node import Node
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve

from .graph_world import GraphFake, set_edges
from .mention_world import named_facts, naming, random_mention_options, renamed
from .mentions import names
from .oracle import World, answer
from .world import edited, layouts

QUERIES_EACH = 4


def check(seed: int) -> int:
    rng = random.Random(seed)
    before = named_facts(rng)
    facts = set_edges(renamed(rng, edited(rng, before)), [])
    world = World(facts.buffer, facts.root)
    snapshots = [GraphFake(facts, rng), *layouts(facts, before)]
    ran = 0
    for _ in range(QUERIES_EACH):
        query = resolve(facts.config, **random_mention_options(rng))
        assert Query.decode(query.encode()) == query
        expected = answer(world, query.form())
        explained = set()
        for snapshot in snapshots:
            nodes = NodeSource(lambda cid: Node.decode(facts.buffer.get(cid)), facts.content)
            result = execute(snapshot, query, nodes)
            assert result.to_bytes() == expected
            explained.add(result.explain())
        assert len(explained) == 1
        ran += "mentions" in result.status
    return ran


@pytest.mark.parametrize("block", by_suite(range(16), fast=1, slow=6))
def test_the_lane_equals_the_oracle(block):
    assert sum(check(seed) for seed in range(block * 5, block * 5 + 5)) > 2


@pytest.mark.parametrize("count", by_suite([100, 400, 4_000], fast=1, slow=2))
def test_names_equal_the_oracles(count: int):
    """[5.6.1-a] [5.6.1-b]"""
    rng = random.Random(3)
    alphabet = [*"abAB _.-'\u2019&  \u00c9\u6771\u4eac9\n", " of ", " & ", ". "]
    for _ in range(count):
        text = "".join(rng.choices(alphabet, k=40)) + naming(rng, rng.randint(0, 60))
        text *= rng.choice((1, 1, 1, 8))
        for analyser in ("english-1", "unicode-1"):
            assert [list(one.terms) for one in names_of(text, analyser)] == names(text, analyser)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the Duke of York", ["Duke", "York"]),
        ("See the Retry Policy", ["See", "Retry Policy"]),
        ("Ada, Grace", ["Ada", "Grace"]),
        ("Ada. Grace", ["Ada", "Grace"]),
        ("J. K. Rowling", ["J. K. Rowling"]),
        ("Apollo 11 landed", ["Apollo 11"]),
        ("call open_file, then HTTPServer", ["open_file", "HTTPServer"]),
        ("Ada and ada and Ada", ["Ada"]),
        ("nothing here", []),
    ],
)
def test_names(text, wanted):
    assert [name.text for name in names_of(text, "english-1")] == wanted


def test_a_long_text_has_the_names_of_its_beginning():
    text = "x" * (NAMED_CHARS - 4) + " Ada Lovelace"
    assert [name.text for name in names_of(text, "english-1")] == ["Ada"]
    many = ", ".join(f"Name{number}" for number in range(100))
    assert len(names_of(many, "english-1")) == 64


def made(*texts: str, ntype: str = "Passage") -> ibidem.Repository:
    repo = ibidem.init("memory:", config=ibidem.Config(fields=("summary",)))
    with repo.transaction(author="a", message="m") as tx:
        for number, text in enumerate(texts):
            tx.add_node(ntype, summary=text, key=number)
    return repo


STEPS = (
    "The analytical engine was described by Ada Lovelace.",
    "Ada Lovelace\nborn in London",
    "Ada Lovelace met Babbage",
    "the engine of a car",
    "nothing at all",
)


def order(repo, text, **options):
    return [item.node.key[1] for item in repo.retrieve(text, **options).items]


def test_a_name_leads_to_the_passage_that_begins_with_it():
    """[5.6.2-c]"""
    repo = made(*STEPS)
    assert order(repo, "who described the analytical engine", mentions=False) == [0, 3]
    assert set(order(repo, "who described the analytical engine")) == {0, 1, 2, 3}
    result = repo.retrieve("who described the analytical engine")
    by_key = {item.node.key[1]: item for item in result.items}
    [mention] = by_key[1].mentions
    assert (mention.name, mention.source) == ("Ada Lovelace", by_key[0].id)
    assert (mention.node_count, mention.is_title) == (2, True)
    assert f'through "Ada Lovelace" of {by_key[0].id}, titled' in result.explain()
    assert by_key[1].to_dict()["mentions"] == [mention.to_dict()]
    assert not by_key[0].mentions
    assert result.receipt.result == repo.retrieve("who described the analytical engine").cid


def test_a_hit_of_a_pack_is_explained_as_an_item_is():
    repo = made(*STEPS)
    text = "who described the analytical engine"
    item = next(item for item in repo.retrieve(text) if item.node.key[1] == 1)
    packs = repo.packs(text)
    hits = {hit.id: hit for pack in packs for hit in pack.hits}
    assert hits[item.id].mentions == item.mentions
    assert f'\n         through "Ada Lovelace" of {item.mentions[0].source}, titled\n' in (
        packs.explain()
    )
    rows = {row["id"]: row for pack in packs.to_dict()["items"] for row in pack["hits"]}
    assert rows[str(item.id)]["mentions"] == [one.to_dict() for one in item.mentions]
    assert repo.packs(text).to_dict() == packs.to_dict()  # returned again without work
    silent = repo.packs(text, mentions=False)
    assert not any(hit.mentions for pack in silent for hit in pack.hits)
    assert "through" not in silent.explain()


def test_without_names_the_answer_is_as_without_the_lane():
    """[5.6-a]"""
    repo = made("the engine of a car", "an engine", "a car")
    plain, default = (repo.retrieve("engine", mentions=one) for one in (False, None))
    assert [item.score for item in plain.items] == [item.score for item in default.items]
    assert "mentions" not in default.status


def test_names_of_the_question_lead_too():
    """[5.6.2-a]"""
    repo = made(*STEPS, "Grace Hopper\nwrote compilers", "compilers by Grace Hopper and others")
    first = repo.retrieve("what did Grace Hopper write").items[0]
    assert first.node.key[1] == 5


def test_a_frequent_name_leads_nowhere():
    """[5.6.2-b]"""
    repo = made(*STEPS, *(f"Ada Lovelace, again {number}" for number in range(3)))
    text = "who described the analytical engine"
    assert 1 in order(repo, text, mentions={"max_nodes": 5})
    assert 1 not in order(repo, text, mentions={"max_nodes": 4})


def test_a_name_of_frequent_terms_leads_nowhere():
    """[5.6.2-b]"""
    repo = made(*STEPS, *(f"lovelace or ada {number}" for number in range(4093)))
    before = repo.at()
    with repo.transaction(author="a", message="m") as tx:
        tx.add_node("Passage", summary="lovelace or ada", key="one more")
    text = "who described the analytical engine"
    assert 1 in order(before, text)  # its name's terms are in 4,096 nodes
    assert 1 not in order(repo, text)


def test_three_names_explain_an_item():
    repo = made("Ada saw Bob, Cleo, Dora in the hall", "Ada met Bob, Cleo, Dora")
    [_, item] = repo.retrieve("who was in the hall").items
    assert len(item.mentions) == 3


def test_ranks_do_not_tell_how_much_a_name_says():
    repo = made(*STEPS)
    for name in ("rrf", "weighted_rrf"):
        assert "mentions" not in repo.retrieve("analytical engine", fusion=name).status
    asked = repo.retrieve("analytical engine", fusion="rrf", mentions=True)
    assert asked.status["mentions"] == "ok"


@pytest.mark.parametrize(
    ("mentions", "named"),
    [
        (1, "mentions"),
        ("yes", "mentions"),
        ({"depth": 1}, "mentions.depth"),
        ({"seeds": 0}, "mentions.seeds"),
        ({"max_nodes": True}, "mentions.max_nodes"),
    ],
)
def test_bad_options_are_named(mentions, named):
    with pytest.raises(InvalidInputError) as caught:
        made("a").retrieve("a", mentions=mentions)
    assert str(caught.value).startswith(named)


def test_the_lane_needs_another():
    with pytest.raises(InvalidInputError, match=r"^mentions: "):
        made("a").retrieve(label="Passage", mentions=True)


def test_names_are_counted_over_what_the_caller_sees():
    repo = made()
    with repo.transaction(author="a", message="m") as tx:
        tx.set_trust_policy(TrustPolicy())
        for number, text in enumerate(STEPS):
            tx.add_node("Passage", summary=text, key=number, props={"level": 1})
        for number in range(5, 8):
            text = f"Ada Lovelace\nsecret {number}"
            tx.add_node("Passage", summary=text, key=number, props={"level": 4})
    ask = {"text": "who described the analytical engine", "mentions": {"max_nodes": 2}}
    low = repo.retrieve(**ask, viewer=Viewer(level=1, scopes=()))
    assert {item.node.key[1] for item in low.items} == {0, 1, 2, 3}
    assert {one.node_count for item in low.items for one in item.mentions} == {2}
    assert "mentions" not in repo.retrieve(**ask, viewer=ALL).status


def test_a_heading_leads_to_its_first_passage():
    repo = made()
    text = "# Guide\n\nSee the Retry Policy of the client.\n\n## Retry Policy\n\nThree times.\n"
    with repo.transaction(author="a", message="m") as tx:
        ingest_text(tx, text, path="guide.md")
    items = {item.node.summary: item for item in repo.retrieve("guide of the client").items}
    [mention] = items["Three times."].mentions
    assert (mention.name, mention.is_title) == ("Retry Policy", True)
