"""A load in one transaction costs what its nodes and edges cost: nothing is written twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pytest

from ibidem.objects.cid import (
    Cid,
    CommitCid,
    EdgeCid,
    NodeCid,
    RootCid,
    SparseCid,
    TreeCid,
    VectorCid,
)
from ibidem.objects.commit import Commit
from ibidem.objects.config import Config
from ibidem.objects.ids import NodeId
from ibidem.objects.vector import Vector
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.operation_log import _named
from ibidem.repo.repository import Repository
from ibidem.repo.transaction import pending
from ibidem.store.memory import MemoryStore
from ibidem.store.protocol import Swap


class CountingStore(MemoryStore):
    """Counts what is written."""

    publish_count = byte_count = 0

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        self.publish_count += 1
        self.byte_count += sum(map(len, blocks.values()))
        super().publish(blocks, cells, needs=needs)


def opened() -> tuple[Repository, CountingStore]:
    store = CountingStore()
    bootstrapped(store, Config.default(), "", lambda: 0)
    store.publish_count = store.byte_count = 0
    return Repository(Core(store, None, lambda: 0)), store


def load(count: int, *, batch: int) -> CountingStore:
    """Loads nodes with an edge each; those of a batch share a transaction."""
    repo, store = opened()
    ids: list[NodeId] = []
    for start in range(0, count, batch):
        with repo.transaction() as tx:
            for number in range(start, start + batch):
                ids.append(tx.add_node("Note", key=number, summary=f"note {number}"))
                tx.add_edge(ids[-1], "next", ids[number * 31 % len(ids)])
    return store


def test_ten_times_the_edges_are_ten_times_the_bytes() -> None:
    small, large = (load(count, batch=count) for count in (800, 8_000))
    assert small.publish_count == large.publish_count == 1
    assert large.byte_count <= 10.5 * small.byte_count
    in_batches = load(8_000, batch=800)
    assert in_batches.publish_count == 10
    assert in_batches.byte_count > 1.8 * large.byte_count


def test_the_blocks_of_a_load_are_not_searched_for_what_they_name() -> None:
    class Unsearched(bytes):
        def __contains__(self, part: object) -> bool:
            raise AssertionError(f"searched for {part!r}")

    base = RootCid.of(b"a root")
    commit = Commit(base, (CommitCid.of(b"a parent"),)).encode()
    new: dict[Cid, bytes] = {
        kind.of(kind.__name__.encode()): Unsearched(commit)
        for kind in (NodeCid, EdgeCid, VectorCid, SparseCid, TreeCid)
    }
    assert _named(new) == []
    new[Cid.of(commit)] = commit
    assert _named(new) == [base, CommitCid.of(b"a parent")]


def test_only_the_last_staged_nodes_stay_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_STAGED_NODES_MAX", 16)
    repo, _ = opened()
    vector = np.ones(4, np.float32)
    with repo.transaction() as tx:
        ids = [tx.add_node("Note", key=number, summary=f"n {number}") for number in range(100)]
        assert len(tx._draft._nodes) <= 16
        for id_ in ids:
            tx.set_vector(id_, model="m", vector=vector)
        hub = tx.add_node("Hub", key="hub")
        edges = [tx.add_edge(hub, "to", id_) for id_ in ids]
        assert [edge.id for edge in tx.edges_of(hub)] == sorted(edges)
        tx.remove_edge(edges[0])
        later = tx.add_edge(hub, "later", ids[0])
        tx.update_edge(later, weight=0.5)
        assert [edge.id for edge in tx.edges_of(hub)] == sorted([*edges[1:], later])
        tx.remove_node(ids[1])
        assert edges[1] not in {edge.id for edge in tx.edges_of(hub)}
    at = repo.at()
    text = {at.vector(id_, model="m").of for id_ in (ids[0], *ids[2:])}  # type: ignore[union-attr]
    assert len(text) == 99  # the digest of each node's own text
    assert isinstance(at.graph.vector(Vector, ids[0], "m"), Vector)
