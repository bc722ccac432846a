"""What holds for all four systems: the checks X1 to X14 of docs/seeds.md, for nodes and packs."""

from __future__ import annotations

import math
import random
import re
import shutil
from pathlib import Path
from typing import Any

import dag_cbor
import numpy as np
import pytest

import ibidem
from ibidem.memory.recall.feedback import Feedback
from ibidem.objects.child import Child
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.context.option import EdgeWalk, PackOptions
from ibidem.retrieve.query.options import OF_BOTH, OF_QUERY, OF_RECALL, OPTIONS

from .test_search import run
from .texts import COMMITTED, clock, paragraphs, repository, write

HOUSE = Path(__file__).resolve().parents[2]
PROGRAM = """
import ibidem, sys
from ibidem.ingest.ingest import ingest_text
repo = ibidem.init("memory:", clock=lambda: 1)
with repo.transaction(author="ada", time=1) as tx:
    for name in ("a.md", "b.md"):
        ingest_text(tx, f"# {name}\\n\\nthe needle é\\n\\nother needle\\n", path=name)
sys.stdout.buffer.write(repo.retrieve("needle").to_bytes() + repo.packs("needle").to_bytes())
"""


def both(repo: Any, text: str = "needle", **options: Any) -> list[Any]:
    return [repo.retrieve(text, **options), repo.packs(text, **options)]


def encoded(repo: Any, text: str = "needle", **options: Any) -> list[bytes]:
    return [one.to_bytes() for one in both(repo, text, **options)]


@pytest.fixture
def repo():
    return repository(
        {"a.txt": paragraphs({1: "needle", 4: "needle needle"}, 8), "b.txt": "needle"}
    )


def test_x1_answers_are_the_same_bytes_in_every_process():
    one = run(PROGRAM, PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    other = run(PROGRAM, PYTHONHASHSEED="77", TZ="Asia/Tokyo", LC_ALL="C.UTF-8")
    assert one.returncode == 0, one.stderr
    assert one.stdout == other.stdout != b""


def test_x2_receipts_replay_after_later_commits_and_votes(repo):
    answers = both(repo)
    for number in range(50):
        write(repo, {f"later{number}.txt": f"needle {number}"})
        item = answers[0].items[number % 2]
        Feedback(repo).vote(answers[0], item.id, 1, author=f"a{number}", time=COMMITTED)
    for answer in answers:
        assert repo.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()
        assert repo.receipts.replay(str(answer.receipt.cid)).cid == answer.cid


def test_x3_order_of_writing_changes_nothing():
    texts = {f"{number}.txt": f"needle {number} {'x ' * (number % 3)}" for number in range(12)}
    wanted = None
    for seed in range(20):
        names = list(texts)
        random.Random(seed).shuffle(names)
        made = repository({name: texts[name] for name in names})
        found = [made.at().root_cid, *encoded(made)]
        wanted = wanted or found
        assert found == wanted


def test_x4_no_clock_has_a_say(repo, monkeypatch):
    before = encoded(repo, as_of=COMMITTED)
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    monkeypatch.setattr("time.time_ns", lambda: 2_000_000_000 * 10**9)
    assert encoded(repo, as_of=COMMITTED) == before


def test_x5_equal_nodes_come_by_id():
    repo = ibidem.init("memory:", clock=clock)
    with repo.transaction(time=COMMITTED) as tx:
        for number in range(50):
            tx.add_node("Fact", summary="the same needle", key=number)
    for _ in range(2):
        ids = [item.id.raw for item in repo.retrieve("needle", limit=None).items]
        assert ids == sorted(ids)
        assert len(ids) == 50
        hits = [pack.entry.id.raw for pack in repo.packs("needle", limit=None)]
        assert hits == ids


def numbers(value: Any) -> list[float]:
    if isinstance(value, float):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in numbers(part)] if isinstance(value, list) else []


def test_x6_scores_are_canonical_float64(repo):
    for answer in encoded(repo):
        value = dag_cbor.decode(answer)
        assert dag_cbor.encode(value) == answer
        found = numbers(value)
        assert found
        assert all(math.isfinite(one) and math.copysign(1.0, one) > 0 for one in found)


def test_x7_the_order_of_dimensions_changes_no_score():
    rng = np.random.default_rng(3)
    rows = (rng.standard_normal((20, 33)) * 10.0 ** rng.integers(-6, 6, (20, 33))).astype("f4")
    query, order = rows[0] * np.float32(0.7), rng.permutation(33)
    scores = []
    for permuted in (slice(None), order):
        repo = ibidem.init("memory:", clock=clock)
        with repo.transaction(time=COMMITTED) as tx:
            for number, row in enumerate(rows):
                node = tx.add_node("Fact", summary=f"x{number}", key=number)
                tx.set_vector(node, model="m", vector=row[permuted])
        found = repo.retrieve(vector=("m", query[permuted]), limit=None).items
        scores.append({item.id: item.score for item in found})
    assert scores[0] == scores[1]


WRONG: dict[str, tuple[Any, ...]] = {
    "limit": (-1, True, 1.5, math.nan, "3", 10**20),
    "depth": (0, -1, True, math.nan, 10**10),
    "token_budget": (-1, True, math.nan),
    "frame": (3, "a", [], {"item": -1}, {"item": True}, {"items": 1}, {"indent": 1001}),
    "per_hit_neighbors": (-1, True, 1.5, math.nan, 10**10),
    "nodes_max": (0, -1, True, math.nan, 10**10),
    "expand": ("all", 1, True, None, math.nan),
    "merge": ("all", 1, True, math.nan),
    "overflow": ("all", 1, True, math.nan),
    "rank": ("all", 1, True, math.nan),
    "spans": (1, "yes", math.nan),
    "hops": (-1, True, 1.5, math.nan, 10**10),
    "fanout": (0, -1, True, 1.5, math.nan, 10**10),
    "direction": ("up", 1, True, math.nan),
    "etypes": ("cites", 1, [], [1], True, math.nan),
}
WALKS = ("hops", "fanout", "direction", "etypes")


@pytest.mark.parametrize("name", sorted(WRONG))
def test_x8_options_are_checked_and_named(repo, name):
    for value in WRONG[name]:
        options = {"expand": "edges"} if name in WALKS else {}
        with pytest.raises(InvalidInputError, match=name):
            repo.packs("needle", **{**options, name: value})


def test_x8_unknown_options_and_options_without_effect_are_refused(repo):
    with pytest.raises(TypeError, match="perHitNeighbors"):
        repo.packs("needle", perHitNeighbors=1)
    for name, value in (("hops", 2), ("etypes", ["x"]), ("fanout", 1), ("direction", "incoming")):
        with pytest.raises(InvalidInputError, match=name):
            repo.packs("needle", **{name: value})
    with pytest.raises(InvalidInputError, match="per_hit_neighbors"):
        repo.packs("needle", expand="edges", per_hit_neighbors=2)
    with pytest.raises(TypeError, match="packs"):
        repo.retrieve("needle", packs={})


def test_x9_what_lies_beside_the_history_has_no_say(tmp_path):
    with ibidem.init(tmp_path, clock=clock) as repo:
        write(repo, {"a.txt": paragraphs({1: "needle"}, 4)})
        before = encoded(repo)
    for name in ("local", "index", "receipts", "embeddings"):
        shutil.rmtree(tmp_path / ".ibidem" / name, ignore_errors=True)
    with ibidem.open(tmp_path, clock=clock) as repo:
        assert encoded(repo) == before


class Failing:
    name = "failing"
    digest = bytes(32)

    def rerank(self, text, rendered):
        raise RuntimeError("no model today")


def test_x10_a_lane_that_fails_says_so_and_changes_no_other(repo):
    for ask in (repo.retrieve, repo.packs):
        plain, degraded = ask("needle"), ask("needle", rerank=Failing())
        assert degraded.status["rerank"] == "error"
        assert degraded.status["lexical"] == plain.status["lexical"] == "ok"
        assert [w.code for w in degraded.warnings] == ["rerank_failed"]
        assert degraded.receipt.rerank.status == "error"
        assert repo.receipts.replay(degraded.receipt).cid == degraded.cid
    assert [i.score for i in repo.retrieve("needle", rerank=Failing()).items] == [
        item.score for item in repo.retrieve("needle").items
    ]


def rich():
    """A repository in which every option can make a difference."""
    repo = ibidem.init("memory:", clock=clock)
    words = {1: "needle", 3: "needles", 4: 'needle haystack "red needle" sharp', 8: "red needle"}
    words |= {7: "haystack multiple", 11: "several"}
    with repo.transaction(author="ada", time=COMMITTED) as tx:
        nodes = {}
        for place in range(12):
            props = {"even": place % 2 == 0, "time": place}
            if place == 3:
                props |= {"valid_from": 5, "valid_to": 9}
            nodes[place] = tx.add_node(
                "Even" if place % 2 == 0 else "Odd",
                summary=f"w{place} {words.get(place, '')}",
                content=f"needle of {place}" if place == 8 else None,
                props=props,
                key=place,
            )
            tx.set_vector(nodes[place], model="m", vector=[1.0, place / 7.0, (place % 5) / 3.0])
            tx.set_sparse(nodes[place], vocab="s", indices=[1, 2 + place], weights=[place + 1.0, 1])
        parts = [Child(nodes[place], "", 1, 0) for place in range(10)]
        inner = tx.add_node("Section", summary="Inner", key="s", children=parts[2:6])
        children = [*parts[:2], Child(inner, "", 1, 0), *parts[6:]]
        tx.add_node("Document", key="d", children=children, props={"source": "d.md"})
        tx.add_edge(nodes[4], "cites", nodes[10])
        tx.add_edge(nodes[10], "likes", nodes[11])
        tx.add_edge(nodes[0], "cites", nodes[4])
        tx.add_edge(nodes[8], "cites", nodes[0])
    with repo.transaction(author="ada", time=COMMITTED) as tx:
        tx.tombstone(node_id("", 1), reason="wrong")
    return repo


VECTOR = {"vector": ("m", [0.0, 1.0, 0.2])}
EDGES = {"expand": "edges"}
EFFECTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "text": ({}, {"text": "red"}),
    "queries": ({}, {"queries": ["red"]}),
    "coverage_min": ({"text": "needle unheard"}, {"coverage_min": 1000}),
    "label": ({}, {"label": "Odd"}),
    "where": ({}, {"where": {"even": True}}),
    "as_of": ({}, {"as_of": 100}),
    "valid_missing": ({"as_of": 6}, {"valid_missing": "drop"}),
    "vector": ({}, VECTOR),
    "sparse": ({}, {"sparse": ("s", [1], [1.0])}),
    "graph": ({}, {"graph": {"mode": "decay"}}),
    "community": ({}, {"community": {}}),
    "mentions": ({"text": "Needle"}, {"mentions": False}),
    "depth": ({}, {"depth": 1}),
    "limit": ({}, {"limit": 1}),
    "token_budget": ({}, {"token_budget": 20}),
    "frame": ({"token_budget": 20}, {"frame": {"item": 3}}),
    "metadata": ({}, {"metadata": True}),
    "adjacency": ({}, {"adjacency": 3}),
    "include_tombstoned": ({}, {"include_tombstoned": True}),
    "fusion": (VECTOR, {"fusion": "rrf"}),
    "rrf_k": ({**VECTOR, "fusion": "rrf"}, {"rrf_k": 1.0}),
    "weights": ({**VECTOR, "fusion": "weighted_rrf"}, {"weights": {"dense": 9.0}}),
    "k1": ({}, {"k1": 0.1}),
    "b": ({}, {"b": 0.1}),
    "operator": ({"text": "red needle"}, {"operator": "and"}),
    "phrases": ({"text": '"red needle"'}, {"phrases": True}),
    "fuzzy": ({"text": "neadle"}, {"fuzzy": False}),
    "related": ({"text": "several haystacks"}, {"related": False}),
    "rerank": ({}, {"rerank": Failing()}),
    "rerank_text": ({"rerank": Failing()}, {}),
    "rerank_depth": ({"rerank": Failing()}, {}),
    "mmr": ({"text": "red needle"}, {"mmr": {"lambda": 0.0}}),
    **dict.fromkeys(("dedupe", "dedupe_percent", "dedupe_property", "headings"), ({}, {})),
    "estimator": ({}, {}),
    "packs": ({}, {}),
    "records": ({}, {}),
    "viewer": ({}, {}),
    "history": ({}, {}),
    "expand": ({}, {"expand": "section"}),
    "per_hit_neighbors": ({}, {"per_hit_neighbors": 0}),
    "window_chars": ({}, {"window_chars": 0}),
    "merge": ({"per_hit_neighbors": 3}, {"merge": "coalesce"}),
    "overflow": (
        {"text": "red needle", "token_budget": 6, "per_hit_neighbors": 0},
        {"overflow": "stop"},
    ),
    "rank": ({}, {"rank": "none"}),
    "nodes_max": ({"expand": "section"}, {"nodes_max": 2}),
    "spans": ({}, {"spans": True}),
    "etypes": (EDGES, {"etypes": ["likes"]}),
    "direction": (EDGES, {"direction": "incoming"}),
    "hops": (EDGES, {"hops": 2}),
    "fanout": (EDGES, {"fanout": 1}),
}
"""By option, what it is added to, and a value that makes a difference."""
ELSEWHERE = {
    *("rerank_text", "rerank_depth", "estimator", "packs", "records", "viewer", "history"),
    *("dedupe", "dedupe_percent", "dedupe_property", "headings"),
}
"""Tested with rerankers, policies, histories and copies of their own, or is every test of its
kind."""
OF_PACKS = {*PackOptions().form(), *EdgeWalk().form()} - {"edges"}


def told(repo: Any, name: str, options: dict[str, Any]) -> Any:
    given = {"text": "needle", **options}
    answer = (repo.packs if name in OF_PACKS else repo.retrieve)(**given)
    return {k: v for k, v in dag_cbor.decode(answer.to_bytes()).items() if k != "query"}


def test_x12_every_option_has_an_effect():
    known = OF_QUERY.keys() - OF_RECALL | OF_PACKS
    assert set(EFFECTS) == known, "an option without a fixture here"
    repo = rich()
    without = {
        name
        for name, (base, change) in EFFECTS.items()
        if name not in ELSEWHERE and told(repo, name, base) == told(repo, name, {**base, **change})
    }
    assert without == set()


def test_x11_contributions_add_up():
    repo = rich()
    options = {**VECTOR, "sparse": ("s", [1], [1.0]), "graph": {"mode": "decay"}, "limit": None}
    for name in ("rrf", "convex", "score_normalised"):
        for answer in (
            repo.retrieve("needle", fusion=name, **options).items,
            [hit for pack in repo.packs("needle", fusion=name, **options) for hit in pack.hits],
        ):
            assert answer
            for item in answer:
                total = 0.0
                for lane in ("lexical", "dense", "sparse", "graph", "community"):
                    if lane in item.lanes:
                        total += item.lanes[lane].contribution
                assert total == item.score


def test_x13_defaults_in_the_pages_are_those_in_use():
    page = (HOUSE / "docs" / "how-to" / "packs.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", page, re.MULTILINE))
    form = {**EdgeWalk().form(), **PackOptions().form()}
    del form["edges"]
    form |= {name: OPTIONS[name].default for name in OF_BOTH} | {
        "dedupe": "text",
        "overflow": "cut",
    }
    assert rows == {name: repr(value) for name, value in {**form, "limit": 5}.items()}


def test_x14_old_revisions_answer_as_they_did(repo):
    head = repo.head
    before = [one.to_bytes() for one in (repo.retrieve("needle"), repo.packs("needle"))]
    for number in range(100):
        write(repo, {"a.txt": f"needle {number}", f"{number}.txt": "needle " * number})
    old = repo.at(head)
    repo.core.answer_cache.clear()
    assert [one.to_bytes() for one in (old.retrieve("needle"), old.packs("needle"))] == before
