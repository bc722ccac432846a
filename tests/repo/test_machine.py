"""A repository against a dictionary: whatever is done to both, they hold the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.examples import examples

import ibidem
from ibidem.objects.cid import CommitCid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository
from ibidem.repo.transaction.transaction import Transaction

KEYS = st.integers(0, 12)
Model = dict[str, dict[Any, Any]]


def empty() -> Model:
    return {"nodes": {}, "edges": {}, "vectors": {}, "tombstones": {}}


def copy(model: Model) -> Model:
    return {name: dict(entries) for name, entries in model.items()}


class RepositoryMachine(RuleBasedStateMachine):
    """Every rule is one transaction, or one operation on the log."""

    @initialize()
    def begin(self) -> None:
        self.repo: Repository = ibidem.init("memory:", clock=lambda: 0)
        self.model = empty()
        self.done: list[tuple[CommitCid | None, Model]] = [(None, empty())]

    def teardown(self) -> None:
        self.repo.close()

    def _commit(self, tx: Transaction, after: Model) -> None:
        if tx.commit is None:
            assert after == self.model
            return
        self.model = after
        self.done.append((tx.commit.cid, copy(after)))

    @rule(key=KEYS, summary=st.sampled_from("abc"))
    def put(self, key: int, summary: str) -> None:
        after = copy(self.model)
        with self.repo.transaction() as tx:
            if key in after["tombstones"]:
                with pytest.raises(InvalidInputError):
                    tx.add_node("Doc", summary=summary, key=key, replace=True)
            else:
                tx.add_node("Doc", summary=summary, key=key, replace=True)
                after["nodes"][key] = summary
        self._commit(tx, after)

    @rule(ends=st.tuples(KEYS, KEYS), weight=st.sampled_from([1.0, 2.0]))
    def connect(self, ends: tuple[int, int], weight: float) -> None:
        after = copy(self.model)
        source, target = ends
        after["edges"][ends] = weight
        if not {source, target} <= self.model["nodes"].keys():
            with pytest.raises(InvalidInputError), self.repo.transaction() as tx:
                tx.add_edge(_id(source), "t", _id(target), weight=weight, replace=True)
            return
        with self.repo.transaction() as tx:
            tx.add_edge(_id(source), "t", _id(target), weight=weight, replace=True)
        self._commit(tx, after)

    @rule(key=KEYS, value=st.sampled_from([1.0, 2.0]), model=st.sampled_from("mn"))
    def embed(self, key: int, value: float, model: str) -> None:
        after = copy(self.model)
        if key not in after["nodes"]:
            with pytest.raises(InvalidInputError), self.repo.transaction() as tx:
                tx.set_vector(_id(key), model=model, vector=[value, 0.0], of=bytes(32))
            return
        after["vectors"][model, key] = value
        with self.repo.transaction() as tx:
            tx.set_vector(_id(key), model=model, vector=[value, 0.0], of=bytes(32))
        self._commit(tx, after)

    @rule(key=KEYS)
    def remove(self, key: int) -> None:
        after = copy(self.model)
        with self.repo.transaction() as tx:
            if key not in after["nodes"]:
                with pytest.raises(NotFoundError):
                    tx.remove_node(_id(key))
            elif key in after["tombstones"]:
                with pytest.raises(InvalidInputError):
                    tx.remove_node(_id(key))
            else:
                tx.remove_node(_id(key))
                del after["nodes"][key]
                after["edges"] = {ends: w for ends, w in after["edges"].items() if key not in ends}
                after["vectors"] = {k: v for k, v in after["vectors"].items() if k[1] != key}
        self._commit(tx, after)

    @rule(key=KEYS)
    def hide_or_show(self, key: int) -> None:
        after = copy(self.model)
        with self.repo.transaction() as tx:
            if after["tombstones"].pop(key, None) is not None:
                tx.untombstone(_id(key))
            elif key in after["nodes"]:
                tx.tombstone(_id(key), reason="r")
                after["tombstones"][key] = "r"
        self._commit(tx, after)

    @rule(keys=st.tuples(KEYS, KEYS))
    def race(self, keys: tuple[int, int]) -> None:
        """Two writers add nodes, one inside the other; the later one is laid on the first."""
        if keys[0] == keys[1] or set(keys) & self.model["tombstones"].keys():
            return
        first, second = copy(self.model), copy(self.model)
        second["nodes"][keys[1]] = "r1"
        with self.repo.transaction() as ours:
            ours.add_node("Doc", summary="r0", key=keys[0], replace=True)
            with self.repo.transaction() as theirs:
                theirs.add_node("Doc", summary="r1", key=keys[1], replace=True)
            self._commit(theirs, second)
        first["nodes"] |= {keys[0]: "r0", keys[1]: "r1"}
        self._commit(ours, first)

    @rule()
    def undo(self) -> None:
        if len(self.done) == 1:
            with pytest.raises(InvalidInputError):
                self.repo.history.undo()
            return
        forgotten = self.model["tombstones"]
        self.done.pop()
        head, self.model = self.done[-1][0], copy(self.done[-1][1])
        lost = forgotten.keys() - self.model["tombstones"].keys()
        self.model["tombstones"] = forgotten | self.model["tombstones"]
        assert set(self.repo.history.undo().kept) == {_id(key) for key in lost}
        assert (self.repo.head == head) == (not lost)
        self.done[-1] = (self.repo.head, self.model)

    @invariant()
    def holds_the_same(self) -> None:
        if not hasattr(self, "repo"):
            return
        assert self.repo.head == self.done[-1][0]
        assert read(self.repo) == self.model


def _id(key: int) -> NodeId:
    return node_id("", key)


def read(repo: Repository) -> Model:
    at = repo.at()
    nodes = {node.key[1]: node for node in at.nodes(include_tombstoned=True) if node.key}
    keys = {node.id: key for key, node in nodes.items()}
    vectors = {}
    for model in at.root.vectors:
        for key in nodes:
            vector = at.vector(_id(key), model)
            if vector is not None:
                vectors[model, key] = float(vector.to_array()[0])
    hidden = {key: at.tombstone(_id(key)) for key in range(13)}
    return {
        "nodes": {key: node.summary for key, node in nodes.items()},
        "edges": {(keys[edge.src], keys[edge.dst]): edge.weight for edge in at.edges()},
        "vectors": vectors,
        "tombstones": {key: reason for key, reason in hidden.items() if reason is not None},
    }


TestRepositoryMachine = RepositoryMachine.TestCase
TestRepositoryMachine.settings = settings(
    max_examples=examples(60),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
