"""What a transaction stages, refuses and publishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects.derive import node_id
from ibidem.objects.errors import (
    ErrorKind,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import split_content
from ibidem.repo.repository import Repository
from ibidem.repo.transaction.transaction import Transaction

from .staging import commit, refused

ABSENT = NodeId(bytes(16))


def test_a_commit_holds_everything_that_was_staged(repo: Repository) -> None:
    with repo.transaction(author="ada", message="why", time=7, agent="bot", task="t") as tx:
        a = tx.add_node("Doc", summary="s", content=b"c" * 9000, props={"n": 1}, key="a")
        b = tx.add_node("Doc", context_sentence="cs", tail="t", key=["b", 1], namespace="x")
        e = tx.add_edge(a, "cites", b, weight=2.5, props={"p": [1, None]}, key=3)
        tx.set_vector(a, model="m", vector=np.arange(1, 4, dtype=np.float32))
        tx.set_sparse(b, vocab="v", indices=[9, 2], weights=[0.5, 1.0])
        tx.tombstone(b, reason="old")
    assert tx.commit is not None
    assert (tx.commit.author, tx.commit.message, tx.commit.time) == ("ada", "why", 7)
    assert (tx.commit.agent, tx.commit.task, tx.commit.parents) == ("bot", "t", ())
    at = repo.at()
    assert at.commit == tx.commit
    assert at.node(a).props == {"n": 1}
    assert at.content(a) == b"c" * 9000
    assert at.node(b, include_tombstoned=True).key == ("x", ["b", 1])
    assert at.edge(e).weight == 2.5
    assert at.edges_of(a) == at.edges_of(b) == [at.edge(e)]
    vector, sparse = at.vector(a, "m"), at.sparse(b, "v")
    assert vector is not None
    assert sparse is not None
    assert vector.to_array().tolist() == [1, 2, 3]
    assert sparse.to_arrays()[0].tolist() == [2, 9]
    assert at.tombstone(b) == "old"
    assert at.config.models["m"].dim == 3
    assert [node.id for node in at.nodes()] == [a]


def test_an_error_inside_rolls_everything_back(repo: Repository) -> None:
    with pytest.raises(ZeroDivisionError), repo.transaction() as tx:  # noqa: PT012  as users do
        tx.add_node("Doc", key="a")
        raise ZeroDivisionError
    assert tx.commit is None
    assert repo.head is None


def test_an_ended_transaction_refuses_every_call(repo: Repository) -> None:
    with repo.transaction() as tx:
        a = tx.add_node("Doc", key="a")
    for call in (
        lambda: tx.add_node("Doc"),
        lambda: tx.node(a),
        lambda: tx.update_node(a, summary="x"),
        lambda: tx.remove_node(a),
        lambda: tx.publish(),
        lambda: list(tx.nodes()),
    ):
        with pytest.raises(InvalidInputError, match="ended"):
            call()


def test_a_commit_that_changes_nothing_publishes_nothing(repo: Repository) -> None:
    def work(tx: Transaction) -> None:
        a = tx.add_node("Doc", summary="s", key="a")
        tx.add_edge(a, "self", a)
        tx.set_vector(a, model="m", vector=[1.0, 2.0])

    commit(repo, work)
    before, count = repo.head, repo.core.store.stats().block_count
    operations = len(list(repo.history.operations()))
    with repo.transaction(message="again") as tx:
        work(tx)
    assert tx.commit is None
    with repo.transaction() as tx:
        added = tx.add_node("Doc", key="b")
        tx.remove_node(added)
        tx.update_node(node_id("", "a"), summary="other")
        tx.update_node(node_id("", "a"), summary="s")
    assert tx.commit is None
    assert repo.head == before
    assert repo.core.store.stats().block_count == count
    assert len(list(repo.history.operations())) == operations


def test_adding_what_exists(repo: Repository) -> None:
    keyed, unkeyed = commit(
        repo,
        lambda tx: (tx.add_node("Doc", summary="1", key="a"), tx.add_node("Doc", summary="1")),
    )
    with repo.transaction() as tx:
        assert tx.add_node("Doc", summary="1", key="a") == keyed
        refused(
            ErrorKind.ID_COLLISION, lambda: tx.add_node("Doc", summary="2", key="a"), str(keyed)
        )
        assert tx.node(keyed).summary == "1"
        assert tx.add_node("Doc", summary="2", key="a", replace=True) == keyed
        assert tx.node(keyed).summary == "2"
        tx.update_node(unkeyed, summary="edited")
    with repo.transaction() as tx:
        assert tx.add_node("Doc", summary="1") == unkeyed
        assert tx.node(unkeyed).summary == "edited"
    assert tx.commit is None


def test_the_same_id_under_another_key_is_a_collision(repo: Repository) -> None:
    a = commit(repo, lambda tx: tx.add_node("Doc", key="a"))
    with repo.transaction() as tx:
        refused(ErrorKind.ID_COLLISION, lambda: tx.add_node("Doc", id=a))
        refused(ErrorKind.ID_COLLISION, lambda: tx.add_node("Doc", id=a, replace=True))
        refused(ErrorKind.ID_COLLISION, lambda: tx.add_node("Doc", id=ABSENT, key="b"))
        assert tx.add_node("Doc", id=a, key="a") == a
        assert tx.add_node("Doc", id=ABSENT, summary="1") == ABSENT
        refused(ErrorKind.ID_COLLISION, lambda: tx.add_node("Doc", id=ABSENT, summary="2"))


def test_keys_true_1_and_1_0_name_different_nodes(repo: Repository) -> None:
    ids = commit(repo, lambda tx: [tx.add_node("Doc", key=key) for key in (True, 1, 1.0, "1")])
    assert len(set(ids)) == 4


def test_unique_ids_are_in_the_order_in_which_nodes_were_added(repo: Repository) -> None:
    ids = commit(repo, lambda tx: [tx.add_node("Doc", unique=True) for _ in range(20)])
    with repo.transaction(time=2**51) as tx:
        ids.append(tx.add_node("Doc", unique=True))
    assert len(set(ids)) == 21
    assert ids == sorted(ids)
    with repo.transaction() as tx:
        refused(ErrorKind.INVALID_INPUT, lambda: tx.add_node("Doc", unique=True, key="a"))


def test_what_was_forgotten_does_not_come_back(repo: Repository) -> None:
    a = commit(repo, lambda tx: tx.add_node("Doc", key="a"))
    commit(repo, lambda tx: tx.tombstone(a, reason="asked to"))
    with repo.transaction() as tx:
        refused(ErrorKind.FORGOTTEN, lambda: tx.add_node("Doc", key="a"), str(a))
        refused(ErrorKind.FORGOTTEN, lambda: tx.add_node("Doc", key="a", replace=True))
        refused(ErrorKind.FORGOTTEN, lambda: tx.update_node(a, summary="x"))
        refused(ErrorKind.FORGOTTEN, lambda: tx.remove_node(a))
    refused(ErrorKind.FORGOTTEN, lambda: repo.at().node(a), "asked to")
    assert repo.at("main~1").node(a)
    with repo.transaction() as tx:
        tx.untombstone(a)
        tx.update_node(a, summary="back")
    assert repo.at().node(a).summary == "back"
    with repo.transaction() as tx, pytest.raises(NotFoundError):
        tx.untombstone(a)


def test_updates_name_fields_and_leave_the_others(repo: Repository) -> None:
    a = commit(
        repo,
        lambda tx: tx.add_node("Doc", summary="s", content=b"c", props={"x": 1, "y": 2}, key="a"),
    )
    with repo.transaction() as tx:
        tx.update_node(a, summary=None, set_props={"z": 3, "x": 4}, unset_props=["y", "absent"])
        node = tx.node(a)
    assert (node.summary, node.content, dict(node.props)) == (None, b"c", {"x": 4, "z": 3})
    assert node.key == ("", "a")
    with repo.transaction() as tx:
        tx.update_node(a, props={"only": True}, content="é" * 5000, ntype="Note")
    assert repo.at().node(a).props == {"only": True}
    assert repo.at().content(a) == ("é" * 5000).encode()
    with repo.transaction() as tx, pytest.raises(NotFoundError):
        tx.update_node(ABSENT, summary="x")


def test_edges_are_told_apart_by_place_and_key(repo: Repository) -> None:
    with repo.transaction() as tx:
        a, b = tx.add_node("Doc", key="a"), tx.add_node("Doc", key="b")
        ids = {tx.add_edge(a, "t", b), tx.add_edge(b, "t", a), tx.add_edge(a, "t", b, key=1)}
        assert len(ids) == 3
        plain = tx.add_edge(a, "t", b)
        refused(ErrorKind.ID_COLLISION, lambda: tx.add_edge(a, "t", b, weight=2.0))
        tx.add_edge(a, "t", b, weight=2.0, replace=True)
        tx.update_edge(plain, props={"p": 1})
        assert (tx.edge(plain).weight, tx.edge(plain).props) == (2.0, {"p": 1})
        tx.remove_edge(plain)
        with pytest.raises(NotFoundError):
            tx.remove_edge(plain)
    assert len(list(repo.at().edges())) == 2


@pytest.mark.parametrize("edge_count", [3, 400])
def test_removing_a_node_takes_its_edges_and_vectors_along(
    repo: Repository, edge_count: int
) -> None:
    with repo.transaction() as tx:
        a = tx.add_node("Doc", key="a")
        others = [tx.add_node("Doc", key=number) for number in range(edge_count)]
        for number, other in enumerate(others):
            tx.add_edge(*((a, "t", other) if number % 2 else (other, "t", a)))
        kept = tx.add_edge(others[0], "t", others[1])
        tx.set_vector(a, model="m", vector=[1.0])
        tx.set_vector(others[0], model="m", vector=[1.0])
        tx.set_sparse(a, vocab="v", indices=[1], weights=[1.0])
    with repo.transaction() as tx:
        tx.add_edge(a, "staged", others[1])
        tx.set_vector(a, model="new", vector=[1.0])
        tx.remove_node(a)
        assert tx.find_node(a) is None
    at = repo.at()
    assert [edge.id for edge in at.edges()] == [kept]
    assert at.vector(a, "m") is None
    assert "v" not in at.root.sparse
    assert set(at.root.vectors) == set(at.config.models) == {"m"}
    with repo.transaction() as tx, pytest.raises(NotFoundError):
        tx.remove_node(a)


def test_dangling_references_are_refused_and_nothing_is_changed(repo: Repository) -> None:
    a = commit(repo, lambda tx: tx.add_node("Doc", key="a"))
    before, blocks = repo.head, repo.core.store.stats().block_count

    def remove_and_connect(tx: Transaction) -> None:
        tx.remove_node(a)
        tx.add_edge(a, "t", a)

    cases: list[Callable[[Transaction], Any]] = [
        lambda tx: tx.add_edge(a, "t", ABSENT),
        lambda tx: tx.add_edge(ABSENT, "t", a),
        lambda tx: tx.set_vector(ABSENT, model="m", vector=[1.0]),
        lambda tx: tx.set_sparse(ABSENT, vocab="v", indices=[1], weights=[1.0]),
        remove_and_connect,
    ]
    for case in cases:
        refused(ErrorKind.DANGLING_REFERENCE, lambda case=case: commit(repo, case))  # type: ignore[misc]
    assert repo.head == before
    assert repo.core.store.stats().block_count == blocks
    error = refused(ErrorKind.DANGLING_REFERENCE, lambda: commit(repo, cases[0]))
    assert str(ABSENT) in str(error)


def test_an_edge_may_point_to_what_is_added_later_in_the_transaction(repo: Repository) -> None:
    later = node_id("", "later")
    with repo.transaction() as tx:
        tx.add_edge(later, "t", tx.add_node("Doc", key="a"))
        assert tx.add_node("Doc", key="later") == later
    assert len(repo.at().edges_of(later)) == 1


def test_the_order_of_writing_does_not_change_the_root() -> None:
    def root(order: list[int]) -> str:
        with ibidem.init("memory:") as repo, repo.transaction(time=0) as tx:
            for number in order:
                tx.add_node("Doc", summary=str(number), key=number)
            for number in order:
                tx.add_edge(node_id("", number), "next", node_id("", (number + 1) % 50))
                tx.set_vector(node_id("", number), model=f"m{number % 3}", vector=[number, 1])
        assert tx.commit is not None
        return str(tx.commit.root)

    numbers = list(range(50))
    rng = np.random.default_rng(7)
    assert len({root(list(rng.permutation(numbers).tolist())) for _ in range(5)}) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"ntype": ""},
        {"ntype": 3},
        {"summary": b"bytes"},
        {"props": [1]},
        {"props": {"x": float("nan")}},
        {"props": {"x": -0.0}},
        {"props": {1: 2}},
        {"props": {"x": object()}},
        {"content": 3},
        {"content": "\ud800"},
        {"key": float("inf")},
        {"namespace": "x"},
        {"id": "text"},
        {"id": EdgeId(bytes(16))},
        {"children": ["x"]},
        {"tail": None},
    ],
)
def test_bad_nodes_are_refused_when_they_are_added(
    repo: Repository, arguments: dict[str, Any]
) -> None:
    with repo.transaction() as tx:
        with pytest.raises(InvalidInputError):
            tx.add_node(**{"ntype": "Doc", **arguments})
        assert list(tx.nodes()) == []
    assert tx.commit is None


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), "1", None, True, -0.0])
def test_bad_weights_are_refused(repo: Repository, weight: Any) -> None:
    with repo.transaction() as tx:
        a = tx.add_node("Doc", key="a")
        with pytest.raises(InvalidInputError):
            tx.add_edge(a, "t", a, weight=weight)


@pytest.mark.parametrize("call", ["node", "find_node", "remove_node", "tombstone", "is_tombstoned"])
def test_ids_are_checked(repo: Repository, call: str) -> None:
    with repo.transaction() as tx:
        for bad in ("text", bytes(16), EdgeId(bytes(16)), None):
            with pytest.raises(InvalidInputError):
                getattr(tx, call)(bad)


def test_nodes_lists_what_is_staged_over_what_is_stored(repo: Repository) -> None:
    commit(repo, lambda tx: [tx.add_node("Doc", key=number) for number in range(9)])
    with repo.transaction() as tx:
        tx.remove_node(node_id("", 3))
        tx.add_node("Note", summary="a Doc by name", key="n")
        tx.update_node(node_id("", 4), ntype="Note")
        docs = [node.key for node in tx.nodes(label="Doc")]
        assert sorted(key[1] for key in docs if key) == [0, 1, 2, 5, 6, 7, 8]
        assert len(list(tx.nodes())) == 9
        ids = [node.id for node in tx.nodes()]
        assert ids == sorted(ids)


def test_long_content_is_in_raw_blocks(repo: Repository) -> None:
    content = bytes(range(256)) * 8192
    a = commit(repo, lambda tx: tx.add_node("Doc", content=content, key="a"))
    assert repo.at().content(a) == content
    assert all(repo.core.store.has(cid) for cid in split_content(content)[1])


def test_a_transaction_that_is_never_published_says_so(repo: Repository) -> None:
    forgotten = repo.transaction(author="ada")
    forgotten.add_node("Fact", summary="lost")
    with pytest.warns(RuntimeWarning, match="its changes were never published: use `with`"):
        del forgotten
    unused = repo.transaction(author="ada")
    del unused
    published = repo.transaction(author="ada")
    published.add_node("Fact", summary="there")
    published.publish()
    del published
    assert [node.summary for node in repo.at().nodes()] == ["there"]
