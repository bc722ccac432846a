"""Several repositories asked at once, through the public face. Spec: retrieval 3.5."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.child import Child
from ibidem.objects.config import Config, Model
from ibidem.objects.constants import CONTENT_INLINE_BYTES_MAX
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError, ReplayError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.retrieve.query.union import RootSet
from ibidem.serve.server import Server

WORDS = ["retry", "backoff", "queue", "lock", "parcel", "tea", "rain", "letter"]


def filled(rng: random.Random, count: int, *, name: str = "", **config: Any) -> Repository:
    repo = ibidem.init("memory:", config=Config(**config) if config else None)
    with repo.transaction(time=1) as tx:
        for index in range(count):
            summary = " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))
            tx.add_node("Fact", summary=summary, namespace=name, key=index)
    return repo


def shown(answer: Any) -> list[Any]:
    return [(item.id, item.root, item.score, item.lanes) for item in answer]


def test_the_order_of_the_list_and_the_layout_of_the_indexes_do_not_matter():
    rng = random.Random(3)
    repos = [filled(rng, 30) for _ in range(3)]  # the same ids in all of them: [3.5-b]
    expected = ibidem.union(repos).retrieve("retry parcel tea", limit=None)
    assert len({item.id for item in expected}) < len(expected.items)
    keys = [(-item.score, item.id.raw, item.root.raw) for item in expected]
    assert keys == sorted(keys)
    for some in permutations(repos):
        assert ibidem.union(some).retrieve("retry parcel tea", limit=None) == expected
    for repo in repos:
        repo.maintenance.reindex()
    again = ibidem.union(reversed(repos)).retrieve("retry parcel tea", limit=None)
    assert again.to_bytes() == expected.to_bytes()


def test_a_printed_answer_of_a_union_names_the_root_of_each_item():
    rng = random.Random(3)
    repos = [filled(rng, 5) for _ in range(2)]
    union = ibidem.union(repos)
    for answer in (union.retrieve("retry", limit=None), union.packs("retry", limit=None)):
        lines = str(answer).splitlines()
        for rank, item in enumerate(answer.items, 1):
            (line,) = [one for one in lines if one.startswith(f"[{rank}] ")]
            assert f"root {str(item.root)[:20]}" in line
    assert "root" not in str(repos[0].retrieve("retry"))


def test_a_union_answers_as_one_repository_with_all_facts():
    rng = random.Random(5)
    one, other = filled(rng, 40, name="a"), filled(rng, 40, name="b")
    whole = ibidem.init("memory:")
    with whole.transaction(time=1) as tx:
        for repo, name in ((one, "a"), (other, "b")):
            for node in repo.at().nodes():
                tx.add_node("Fact", summary=node.summary, namespace=name, key=node.key[1])
    for text in ("retry", "parcel tea", "lock queue rain"):
        found = ibidem.union([one, other]).retrieve(text, limit=20)
        expected = whole.retrieve(text, limit=20)
        assert [row[::2] for row in shown(found)] == [row[::2] for row in shown(expected)]
        for item in found:
            home = ibidem.union([one, other]).revision(item.root)
            assert home.node(item.id) == item.node


def test_the_receipt_names_all_roots_and_replays():
    rng = random.Random(7)
    one, other = filled(rng, 20, name="a"), filled(rng, 20, name="b")
    answer = ibidem.union([one, other]).retrieve("tea")
    receipt = answer.receipt
    assert receipt is not None
    assert receipt.query.union is not None
    assert set(receipt.query.union.roots) == {one.at().root_cid, other.at().root_cid}
    assert one.receipts.find(receipt.cid)[1] == receipt
    with one.transaction() as tx:
        tx.add_node("Fact", summary="tea tea tea")
    was = ibidem.union([one.at("HEAD~1"), other])
    assert was.replay(str(receipt.cid)[:20]) == answer
    with pytest.raises(ReplayError, match="it is of the roots"):
        ibidem.union([one, other]).replay(receipt.cid)
    for repo in (one, other):  # whichever of the roots is the first
        with pytest.raises(ReplayError, match="it is of the roots"):
            repo.receipts.replay(receipt)
    with pytest.raises(NotFoundError, match="is not in this repository"):
        one.receipts.keep(receipt)
    plain = one.retrieve("tea").receipt
    assert plain is not None
    with pytest.raises(ReplayError, match="it is of one root"):
        was.replay(plain)


def test_two_revisions_of_one_repository():
    repo = filled(random.Random(1), 3)
    with repo.transaction() as tx:
        tx.add_node("Fact", summary="zebra")
    union = ibidem.union([repo, repo.at("HEAD~1")])
    answer = union.retrieve("zebra")
    assert [item.root for item in answer] == [repo.at().root_cid]
    assert answer.receipt is not None
    assert repo.receipts.keep(answer.receipt) == answer.receipt.cid  # it has both roots


@pytest.mark.parametrize("given", [[], ["one"], ["one", "one"], [3], ["one", None], None, 3, "one"])
def test_what_is_no_union(given):
    one = filled(random.Random(1), 2)
    listed = isinstance(given, list)
    with pytest.raises(InvalidInputError, match="union: got"):
        ibidem.union([one if name == "one" else name for name in given] if listed else given)


def test_a_staged_revision_is_no_part_of_a_union():
    one, other = filled(random.Random(1), 2), filled(random.Random(2), 2)
    with other.transaction() as tx:
        tx.add_node("Fact", summary="tea")
        with pytest.raises(InvalidInputError, match="union: got StagedRevision"):
            ibidem.union([one, tx.at()])


def test_what_a_run_would_not_record_is_refused():
    one, other = filled(random.Random(1), 2), filled(random.Random(2), 2)
    with other.runs.start("reader", author="ada") as run:
        read = run.at()
    with pytest.raises(InvalidInputError, match="union: got RunRevision"):
        ibidem.union([one, read])


def test_a_repository_behind_a_server_is_no_part_of_a_union():
    one, other = filled(random.Random(1), 2), filled(random.Random(2), 2)
    token = "a-token-of-forty-characters-0123456789ab"
    with Server(other, token=token, port=0) as server:
        served = ibidem.open(server.start().url, token=token)
        for source in (served, served.at()):
            with pytest.raises(InvalidInputError, match=r"union: got Served.*on this machine"):
                ibidem.union([one, source])


def test_what_is_no_root_of_it():
    union = ibidem.union([filled(random.Random(1), 2), filled(random.Random(2), 2)])
    for root in (None, "x", []):
        with pytest.raises(NotFoundError, match="is none of those"):
            union.revision(root)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"created_after": 3},
        {"direct": True},
        {"feedback": True},
        {"worth": True},
    ],
)
def test_what_concerns_one_root_is_refused(options):
    """[3.5-e]"""
    union = ibidem.union([filled(random.Random(1), 2), filled(random.Random(2), 2)])
    with pytest.raises(InvalidInputError, match="several repositories"):
        union.retrieve("tea", **options)


def test_configurations_that_differ():
    """[3.5-d]"""
    rng = random.Random(1)
    one, other = filled(rng, 9, name="a"), filled(rng, 9, name="b")
    with other.transaction() as tx:
        tx.configure(limit=3)
    with pytest.raises(
        InvalidInputError, match=r"config.limit: got (nothing|3) \(in memory\) and (nothing|3)"
    ):
        ibidem.union([one, other]).retrieve("tea")
    assert len(ibidem.union([one, other]).retrieve("tea", limit=4)) == 4
    german = filled(rng, 3, name="c", analyser="unicode-1")
    with pytest.raises(InvalidInputError, match=r"config\.analyser"):
        ibidem.union([one, german]).retrieve("tea", limit=4)


@pytest.mark.parametrize(
    ("settings", "kind", "options"),
    [
        ({"compact_over": 90, "thread_window": 5}, "retrieve", {"text": "tea"}),
        ({"compact_recent": 3}, "records", {"text": "tea", "as_of": 5}),
        ({"operator": "and", "phrases": True}, "retrieve", {"label": "Fact"}),
        ({"operator": "and"}, "packs", {"label": "Fact"}),
        ({"weights": {"lexical": 0.9, "dense": 0.1}}, "packs", {"text": "tea", "rank": "hybrid"}),
    ],
)
def test_what_a_question_does_not_take_from_the_configurations_may_differ(settings, kind, options):
    """[3.5-d]"""
    repos = [filled(random.Random(1), 9, name=name, models={"m": Model(dim=2)}) for name in "ab"]
    for repo in repos:
        with repo.transaction() as tx:
            tx.set_vector(next(repo.at().nodes()).id, model="m", vector=np.ones(2, np.float32))
    if "rank" in options:
        options = {**options, "vector": ("m", np.ones(2, np.float32))}
    expected = getattr(ibidem.union(repos), kind)(**options)
    with repos[1].transaction() as tx:
        tx.configure(**settings)
    found = getattr(ibidem.union(repos), kind)(**options)
    assert [item.score for item in found] == [item.score for item in expected]
    assert replace(found.query, union=None) == replace(expected.query, union=None)


def test_models_that_differ():
    """[3.5-d]: only those of the question have to be the same."""
    repos = []
    for name, dim in (("a", 2), ("b", 2), ("c", 3), ("d", 0)):
        models = {"m": Model(dim=dim)} if dim else {}
        repo = filled(random.Random(1), 2, name=name, models=models)
        with repo.transaction() as tx:
            for node in repo.at().nodes() if dim else ():
                tx.set_vector(node.id, model="m", vector=np.ones(dim, np.float32))
        repos.append(repo)
    vector = ("m", np.ones(2, np.float32))
    assert len(ibidem.union(repos[:2]).retrieve(vector=vector)) == 4
    assert len(ibidem.union([repos[3], repos[0]]).retrieve(vector=vector)) == 2
    with pytest.raises(InvalidInputError, match=r"models.m.dim: got [23] \("):
        ibidem.union(repos[1:3]).retrieve(vector=vector)
    assert ibidem.union(repos[1:3]).retrieve("tea retry rain lock").items


def test_a_receipt_over_models_that_differ_is_refused():
    """[3.5-d]"""
    repos = []
    for dim in (2, 3):
        repo = filled(random.Random(dim), 2, models={"m": Model(dim=dim)})
        with repo.transaction() as tx:
            for node in repo.at().nodes():
                tx.set_vector(node.id, model="m", vector=np.ones(dim, np.float32))
        repos.append(repo)
    union = ibidem.union(repos)
    own = repos[0].retrieve(vector=("m", np.ones(2, np.float32))).receipt
    several = union.retrieve("tea").receipt
    assert own is not None
    assert several is not None
    forged = replace(several, query=own.query.over(RootSet.of(union.roots)), items=())
    with pytest.raises(InvalidInputError, match=r"models.m.dim: got [23] \("):
        union.replay(forged)


def test_a_conflict_is_of_the_node_of_its_root():
    """[3.5-b]: another root has a node with the id, and no conflict."""
    one, other = ibidem.init("memory:"), ibidem.init("memory:")
    for repo, text in ((one, "tea"), (other, "a parcel")):
        with repo.transaction() as tx:
            tx.add_node("Semantic", summary=text, props={"time": 1}, id="ab" * 16)
    one.branch("side")
    for text in ("green tea", "black tea"):
        with one.transaction() as tx:
            tx.update_node("ab" * 16, summary=text)
        one.switch("side")
    one.merge("main")
    assert len(one.conflicts()) == 1
    union = ibidem.union([one, other])
    for ask in (union.retrieve, union.packs, union.records):
        assert [warning.code for warning in ask("tea").warnings] == ["open_conflicts"]
        assert ask("parcel").items
        assert not ask("parcel").warnings


def test_a_passage_is_contested_in_its_root():
    """[9.3-d]: another root has a document with the same path, and no conflict."""
    one, other = ibidem.init("memory:"), ibidem.init("memory:")
    for repo in (one, other):
        with repo.transaction() as tx:
            ingest_text(tx, "tea\n\nrain\n", path="a.md")
    one.branch("side")
    for text in ("green tea\n\nrain\n", "black tea\n\nrain\n"):
        with one.transaction() as tx:
            ingest_text(tx, text, path="a.md")
        one.switch("side")
    one.merge("main")
    union = ibidem.union([one, other])
    for ask in (union.retrieve, union.packs):
        (warning,) = ask("tea").warnings
        assert (warning.code, warning.count) == ("open_conflicts", 2)
        assert not ask("rain").warnings


def test_edges_of_an_id_that_two_have():
    """[3.5-f]"""
    repos = [filled(random.Random(seed), 5) for seed in (1, 2)]
    union = ibidem.union(repos)
    assert union.retrieve("tea rain lock").items
    with pytest.raises(NotFoundError) as caught:
        union.retrieve("tea rain lock", adjacency=2)
    assert caught.value.kind is ErrorKind.AMBIGUOUS


def guarded(name: str, levels: tuple[int, ...]) -> Repository:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        for index, level in enumerate(levels):
            summary = f"tea {'secret ' * level}"
            tx.add_node("Fact", summary=summary, props={"level": level}, namespace=name, key=index)
    return repo


def test_a_viewer_gets_what_a_union_of_what_he_sees_gives():
    repos = [guarded("a", (0, 3, 1, 4)), guarded("b", (4, 0, 2))]
    viewer = Viewer(level=1, scopes=())
    with pytest.raises(InvalidInputError) as caught:
        ibidem.union(repos).retrieve("tea secret")
    assert caught.value.kind is ErrorKind.VIEWER_REQUIRED
    asked = ibidem.union(repos).retrieve("tea secret", viewer=viewer)
    proxied = ibidem.union([repo.as_viewer(viewer) for repo in repos]).retrieve("tea secret")
    assert asked == proxied
    own = ibidem.union([repo.as_viewer(viewer) for repo in repos])
    assert own.replay(proxied.receipt) == asked
    for other in (
        str(proxied.receipt.cid),
        proxied.receipt.cid,
        ibidem.union(repos).retrieve("tea", viewer=ALL).receipt,
    ):
        with pytest.raises(InvalidInputError) as caught:
            own.replay(other)
        assert caught.value.kind is ErrorKind.NOT_PERMITTED
    assert {item.node.props["level"] for item in asked} == {0, 1}
    whole = ibidem.union(repos).retrieve("tea secret", viewer=ALL)
    assert len(whole) == 7
    small = ibidem.init("memory:")
    with small.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        for repo in repos:
            for node in repo.at(viewer=viewer).nodes():
                tx.add_node("Fact", summary=node.summary, props=node.props, id=node.id)
    expected = small.retrieve("tea secret", viewer=viewer)
    assert [row[::2] for row in shown(asked)] == [row[::2] for row in shown(expected)]


def test_a_viewer_of_one_cannot_ask_as_another():
    repos = [guarded("a", (0, 3)), guarded("b", (0, 4))]
    low, high = Viewer(level=0, scopes=()), Viewer(level=4, scopes="*")
    union = ibidem.union([repos[0].as_viewer(low), repos[1]])
    with pytest.raises(InvalidInputError):
        union.retrieve("tea", viewer=high)
    mixed = ibidem.union([repos[0].as_viewer(low), repos[1].as_viewer(high)])
    with pytest.raises(InvalidInputError):
        mixed.retrieve("tea")
    with pytest.raises(InvalidInputError, match="no trust policy"):
        ibidem.union([repos[0], filled(random.Random(1), 2)]).retrieve("tea", viewer=low)


def test_citations_are_verified_for_the_caller():
    repos = [guarded("a", (0, 3)), guarded("b", (0, 4))]
    low, high = Viewer(level=0, scopes=()), Viewer(level=4, scopes="*")
    opened = ibidem.union([repos[0].as_viewer(low), repos[1]])
    citations = opened.prompt("tea").citations
    assert {one.root for one in citations} == set(opened.roots)
    assert all(opened.verify_citation(one) for one in citations)
    union = ibidem.union(repos)
    assert all(union.verify_citation(one, viewer=low) for one in citations)
    secret = union.prompt("tea", viewer=high).citations
    assert len(secret) > len(citations)
    assert sum(union.verify_citation(one, viewer=low) for one in secret) == len(citations)
    with pytest.raises(InvalidInputError, match="viewer"):
        union.verify_citation(citations[0])
    for one in citations:
        with pytest.raises(InvalidInputError, match="another caller"):
            ibidem.union([repo.as_viewer(low) for repo in repos]).verify_citation(one, viewer=high)
    with pytest.raises(InvalidInputError, match="citation: got str"):
        union.verify_citation("[1]")  # type: ignore[arg-type]


def test_documents_of_one_path_are_two():
    repos = [ibidem.init("memory:") for _ in range(2)]
    for repo, text in zip(repos, ("# Tea\n\nGreen tea.\n", "# Coffee\n\nNo tea.\n"), strict=True):
        with repo.transaction() as tx:
            ibidem.ingest_text(tx, text, path="README.md")
    answer = ibidem.union(repos).retrieve("tea", label="Passage")
    assert sorted(map(str, answer.locations)) == sorted(
        str(location)
        for repo in repos
        for location in repo.retrieve("tea", label="Passage").locations
    )
    assert {item.root for item in answer} == {repo.at().root_cid for repo in repos}


def documents(name: str, texts: dict[str, str]) -> Repository:
    repo = ibidem.init("memory:")
    with repo.transaction(time=1) as tx:
        for path, text in texts.items():
            ibidem.ingest_text(tx, text, path=f"{name}/{path}" if name else path)
    return repo


def random_texts(rng: random.Random) -> dict[str, str]:
    def lines() -> str:
        marks = ("", "", "", "# ", "## ")
        said = [rng.choice(marks) + " ".join(rng.choices(WORDS, k=4)) for _ in range(9)]
        return "\n\n".join(said)

    return {f"{index}.md": lines() for index in range(4)}


PACKS: list[dict[str, Any]] = [
    {},
    {"expand": "section"},
    {"merge": "coalesce", "spans": True},
    {"expand": "edges", "hops": 2},
    {"rank": "none"},
    {"dedupe": "source"},
    {"dedupe": "section"},
    {"dedupe": "near", "dedupe_percent": 40},
    {"dedupe": "none", "token_budget": 60},
    {"sources": {"documents": 1, "facts": 1}},
]


@pytest.mark.parametrize("options", PACKS, ids=str)
def test_packs_of_a_union_are_those_of_one_repository_with_all_documents(options):
    rng = random.Random(11)
    texts = {name: random_texts(rng) for name in ("a", "b")}
    union = ibidem.union([documents(name, some) for name, some in texts.items()])
    paths = {f"{name}/{path}": one for name in texts for path, one in texts[name].items()}
    whole = documents("", paths)
    home = {name: union.roots[index] for index, name in _order(union)}
    for text in ("tea", "retry parcel queue", "lock rain letter backoff"):
        found = union.packs(text, limit=20, **options)
        expected = whole.packs(text, limit=20, **options)
        assert [(p.id, p.text, p.score, p.tokens, p.title) for p in found] == [
            (p.id, p.text, p.score, p.tokens, p.title) for p in expected
        ]
        assert [[hit[:6] for hit in p.hits] for p in found] == [
            [hit[:6] for hit in p.hits] for p in expected
        ]
        for pack in found:
            if pack.document is not None:
                assert pack.root == home[(pack.source or "").split("/")[0]]
        assert list(union.stream_packs(text, limit=20, **options)) == list(found)
        assert found.receipt is not None
        assert union.replay(found.receipt) == found


def _order(union: Any) -> list[tuple[int, str]]:
    """Returns the name of each of the roots."""
    return [
        (index, union.revision(root).retrieve(label="Document").items[0].node.props["source"][0])
        for index, root in enumerate(union.roots)
    ]


def test_packs_of_documents_with_one_path_are_apart():
    """[3.5-b], [3.5-g]: the same ids in both."""
    same = "# Tea\n\nGreen tea.\n\nBlack tea.\n"
    repos = [documents("", {"README.md": same + text}) for text in ("\nRain.\n", "\nLock.\n")]
    union = ibidem.union(repos)
    for options in PACKS[:-1]:
        found = union.packs("tea green rain lock", **options)
        assert {pack.document for pack in found if pack.document} <= {found.items[0].document}
        for pack in found:
            shown = {member.id for member in pack.members}
            assert all(union.revision(pack.root).node(one).id == one for one in shown)
        for hit in (hit for pack in found for hit in pack.hits):
            assert union.revision(hit.root).node(hit.id).cid == hit.cid
        assert union.replay(found.receipt) == found
    found = union.packs("tea green rain lock", rank="none", dedupe="none")
    assert [pack.root for pack in found] == sorted((pack.root for pack in found), key=_raw)
    once = union.packs("rain lock", dedupe="source")
    assert {pack.root for pack in once} == set(union.roots)  # two documents


def _raw(root: Any) -> bytes:
    return bytes(root.raw)


def test_a_text_that_two_repositories_have_is_shown_once():
    repos = [documents("", {path: "Tea at five.\n"}) for path in ("a.md", "b.md")]
    (pack,) = ibidem.union(repos).packs("tea")
    assert {hit.root for hit in pack.hits} == {repo.at().root_cid for repo in repos}
    assert pack.root == pack.hits[0].root


def test_a_prompt_cites_the_root_of_each_source():
    repos = [documents("", {"README.md": f"Tea at {hour}.\n"}) for hour in ("five", "six")]
    union = ibidem.union(repos)
    prompt = union.prompt("when is tea")
    assert {citation.root for citation in prompt.citations} == set(union.roots)
    assert all(union.verify_citation(citation) for citation in prompt.citations)
    first = prompt.citations[0]
    other = next(root for root in union.roots if root != first.root)
    forged = ibidem.Citation.from_dict({**first.to_dict(), "root": str(other)})
    assert not union.verify_citation(forged)
    elsewhere = documents("", {"x.md": "Tea.\n"}).at().root_cid
    assert not union.verify_citation(
        ibidem.Citation.from_dict({**first.to_dict(), "root": str(elsewhere)})
    )


def test_packs_of_a_union_are_not_kept_beyond_an_erasure():
    one, other = (documents("", {"x.md": f"Tea of {name}.\n"}) for name in ("Ada", "Tom"))
    old = ibidem.union([one, other])
    assert len(old.packs("tea", dedupe="none")) == 2
    with other.transaction() as tx:
        tx.tombstone(next(node.id for node in other.at().nodes() if node.summary == "Tea of Tom."))
    gone = [node.id for node in old.revision(other.at("HEAD~1").root_cid).nodes()]
    other.maintenance.erase(gone)
    with pytest.raises(ibidem.IbidemError):
        old.packs("tea", dedupe="none")


def remembered(rng: random.Random, name: str, count: int) -> Repository:
    repo = ibidem.init("memory:")
    remember(repo, rng, name, count)
    return repo


def remember(repo: Repository, rng: random.Random, name: str, count: int) -> None:
    with repo.transaction(time=10**12) as tx:
        ids = [
            tx.add_node(
                "Semantic",
                summary=" ".join(rng.choices(WORDS, k=3)),
                props={"time": rng.randrange(10**11, 10**12), "kind": "memory"},
                namespace=name,
                key=index,
            )
            for index in range(count)
        ]
        for _ in range(count):
            tx.add_edge(rng.choice(ids), "supports", rng.choice(ids))


def test_records_of_a_union_are_those_of_one_repository_with_all_records():
    parts = [remembered(random.Random(seed), name, 12) for seed, name in ((1, "a"), (2, "b"))]
    whole = ibidem.init("memory:")
    for seed, name in ((1, "a"), (2, "b")):
        remember(whole, random.Random(seed), name, 12)
    union = ibidem.union(parts)
    for text in ("tea", "parcel rain", None):
        for options in ({}, {"hops": 2, "layered": True}, {"token_budget": 20}, {"limit": 3}):
            found = union.records(text, **options)
            expected = whole.at().records(text, notes=None, **options)
            assert len(expected)
            assert [(i.id, i.score, i.salience, i.hop, i.lanes) for i in found] == [
                (i.id, i.score, i.salience, i.hop, i.lanes) for i in expected
            ]
            assert found.graph is not None
            assert expected.graph is not None
            assert [edge.form()[:5] for edge in found.graph.edges] == [
                edge.form() for edge in expected.graph.edges
            ]
            assert {edge.root for edge in found.graph.edges} <= set(union.roots)
            assert union.replay(found.receipt) == found


def test_records_with_the_ids_of_others_are_apart():
    repo = remembered(random.Random(1), "a", 6)
    with repo.transaction(time=2 * 10**12) as tx:
        tx.add_node("Semantic", summary="tea tea", props={"time": 1}, namespace="a", key=99)
    union = ibidem.union([repo, repo.at("HEAD~1")])
    found = union.records("tea", limit=50, root_limit=50)
    assert len({(item.root, item.id) for item in found}) == len(found)
    assert len({item.id for item in found}) < len(found)
    assert found.graph is not None
    shown = {(item.root, item.id) for item in found}
    assert all({(e.root, e.src), (e.root, e.dst)} <= shown for e in found.graph.edges)
    assert union.replay(found.receipt) == found


def test_packs_and_records_that_concern_one_root_are_refused():
    """[3.5-e]"""
    union = ibidem.union(
        [remembered(random.Random(1), "a", 2), remembered(random.Random(2), "b", 2)]
    )
    with pytest.raises(InvalidInputError, match=r"thread: .*several repositories"):
        union.packs("tea", sources={"thread": "home"})
    with pytest.raises(InvalidInputError, match=r"created_after: .*several repositories"):
        union.packs("tea", created_after=3)
    with pytest.raises(InvalidInputError, match="several repositories"):
        union.records("tea", feedback=True)


def guarded_records(name: str) -> Repository:
    repo = ibidem.init("memory:")
    with repo.transaction(time=10) as tx:
        tx.set_trust_policy(TrustPolicy())
        ids = [
            tx.add_node(
                "Semantic",
                summary=f"tea {level}",
                props={"level": level, "time": 1},
                namespace=name,
                key=level,
            )
            for level in (0, 2)
        ]
        tx.add_edge(ids[0], "supports", ids[1])
    return repo


def test_a_viewer_gets_packs_and_records_of_what_he_sees():
    repos = [guarded_records("a"), guarded_records("b")]
    low = Viewer(level=1, scopes=())
    union = ibidem.union([repo.as_viewer(low) for repo in repos])
    records, packs = union.records("tea"), union.packs("tea")
    assert {item.node.summary for item in records} == {"tea 0"}
    assert {pack.text for pack in packs} == {"tea 0"}
    assert len(records) == 2
    assert records.graph is not None
    assert records.graph.withheld == ()
    assert ibidem.union(repos).records("tea", viewer=low) == records
    assert ibidem.union(repos).packs("tea", viewer=low) == packs
    for answer in (records, packs):
        assert union.replay(answer.receipt) == answer
    for ask in (ibidem.union(repos).records, ibidem.union(repos).packs):
        with pytest.raises(InvalidInputError) as caught:
            ask("tea")
        assert caught.value.kind is ErrorKind.VIEWER_REQUIRED
    told = Viewer(level=1, scopes=(), reveal="stub")
    stubs = ibidem.union(repos).records("tea", viewer=told)
    assert stubs.graph is not None
    assert {(one.root, one.ntype, one.count) for one in stubs.graph.withheld} == {
        (root, "Semantic", 1) for root in ibidem.union(repos).roots
    }


def test_a_competence_is_told_from_a_fact_with_its_id_in_another_repository():
    repos = []
    for ntype in ("Competence", "Semantic"):
        repo = ibidem.init("memory:")
        with repo.transaction(time=10) as tx:
            tx.add_node("Fact", summary=ntype)
            tx.add_node(ntype, summary="pour tea", props={"time": 1}, id="ab" * 16)
        repos.append(repo)
    union = ibidem.union(repos)
    found = union.records("tea")
    scored = [item for item in found if "selector" in item.lanes]
    assert [item.node.ntype for item in scored] == ["Competence"]
    assert len(found) == 2
    with pytest.raises(NotFoundError) as caught:
        ibidem.union([repos[0], _with_more(repos[0])]).records("tea")
    assert caught.value.kind is ErrorKind.AMBIGUOUS


def _with_more(repo: Repository) -> Any:
    before = repo.at()
    with repo.transaction(time=11) as tx:
        tx.add_node("Fact", summary="more")
    return before


class Counted:
    """A store that counts its calls."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.counts = inner, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        self.counts[name] += 1
        return getattr(self.inner, name)


@pytest.mark.parametrize("rank", ["score", "none"])
def test_each_node_is_read_from_the_store_of_its_root(rank):
    """Asking every store whether it has a block costs a round trip each where it is a database."""
    repos = [documents(name, random_texts(random.Random(3))) for name in ("a", "b", "c")]
    union = ibidem.union(repos)
    expected = union.packs("tea lock", limit=None, rank=rank)
    for repo in repos:
        repo.core.store = Counted(repo.core.store)
    assert union.packs("tea lock", limit=None, rank=rank) == expected
    assert all(repo.core.store.counts["has"] == 0 for repo in repos)


def test_a_node_is_read_when_its_root_is_forgotten():
    repos = [documents(name, random_texts(random.Random(3))) for name in ("a", "b")]
    union = ibidem.union(repos)
    expected = union.packs("tea lock", limit=None)
    union._cached[0][1].homes_max = 0
    assert union.packs("tea lock", limit=None) == expected


def test_the_content_of_a_node_with_hidden_parts_is_read_when_its_root_is_forgotten():
    repos = []
    for name in ("a", "b", "c"):
        repo = ibidem.init("memory:")
        with repo.transaction() as tx:
            tx.set_trust_policy(TrustPolicy())
            part = tx.add_node("Part", summary="tea", props={"level": 4}, namespace=name, key=1)
            content = f"tea {name} " * CONTENT_INLINE_BYTES_MAX
            parts = [Child(part, "", 1, 0)]
            tx.add_node("Whole", content=content, props={"level": 0}, children=parts)
        repos.append(repo)
    union, low = ibidem.union(repos), Viewer(level=0, scopes=())
    expected = union.retrieve("tea", viewer=low, token_budget=None)
    assert len(expected.items) == len(repos)
    union._cached[0][1].homes_max = 0
    assert union.retrieve("tea", viewer=low, token_budget=None) == expected
