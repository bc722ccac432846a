"""Several repositories asked at once, through the public face. Spec: retrieval 3.5."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects.config import Config, Model
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError, ReplayError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer

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
    with pytest.raises(ReplayError):
        one.receipts.replay(receipt)
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


@pytest.mark.parametrize("given", [[], ["one"], ["one", "one"], [3], ["one", None]])
def test_what_is_no_union(given):
    one = filled(random.Random(1), 2)
    with pytest.raises(InvalidInputError, match="union: got"):
        ibidem.union([one if name == "one" else name for name in given])


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
