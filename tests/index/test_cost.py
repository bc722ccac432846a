"""What an advance costs, counted: blocks read and bytes written do not grow with the repository."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from ibidem.index.extract import BATCH_BLOCKS
from ibidem.index.index import Index
from ibidem.index.retention import Retention
from ibidem.index.tuning import Tuning
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, NodeCid, RootCid, TreeCid, VectorCid
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.text import text_digest
from ibidem.objects.tree import EMPTY_TREE, build, mutate
from ibidem.objects.vector import Vector
from ibidem.store.memory import MemoryStore

from .graphs import CONFIG, DIM, MODEL

STEPS = 20


class CountingStore(MemoryStore):
    """Counts the blocks that are read."""

    read_count = 0

    def get(self, cid: Cid) -> bytes:
        self.read_count += 1
        return super().get(cid)

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        return [self.get(cid) for cid in cids]


def put_node(number: int, buffer: WriteBatch) -> tuple[bytes, NodeCid, VectorCid]:
    raw = text_digest(str(number))[:16]
    text = f"text of number {number}"
    node = Node(NodeId(raw), "Passage", text, props={"number": number}).encode()
    vector = Vector.from_array(np.full(DIM, number), of=text_digest(str(number))).encode()
    cids = NodeCid.of(node), VectorCid.of(vector)
    buffer.put(cids[0], node)
    buffer.put(cids[1], vector)
    return raw, *cids


def put_root(nodes: TreeCid, vectors: TreeCid, buffer: WriteBatch) -> RootCid:
    root = Root(nodes, EMPTY_TREE, EMPTY_TREE, EMPTY_TREE, {MODEL: vectors}, {}, CONFIG.to_map())
    buffer.put(root.cid, root.encode())
    return RootCid(root.cid.raw)


def cost_of_steps(size: int, directory: Path) -> tuple[int, int, int]:
    """Returns blocks read, bytes of segments and of manifests written by STEPS small commits."""
    store = CountingStore()
    buffer = WriteBatch(store)
    rows = [put_node(number, buffer) for number in range(size)]
    nodes = build([(raw, cid) for raw, cid, _ in rows], buffer)
    vectors = build([(raw, cid) for raw, _, cid in rows], buffer)
    root = put_root(nodes, vectors, buffer)
    store.put(buffer.new)
    index = Index(directory, store)
    index.build(root)
    registry = index._registry
    assert registry is not None
    counts = []
    for number in range(size, size + STEPS):
        buffer = WriteBatch(store)
        raw, node, vector = put_node(number, buffer)
        nodes, vectors = mutate(nodes, {raw: node}, buffer), mutate(vectors, {raw: vector}, buffer)
        root = put_root(nodes, vectors, buffer)
        store.put(buffer.new)
        before = (store.read_count, registry.segment_store.bytes_written, registry.bytes_written)
        snapshot = index.snapshot(root)
        after = (store.read_count, registry.segment_store.bytes_written, registry.bytes_written)
        assert snapshot.ordinal(NodeId(raw)) is not None
        counts.append(np.subtract(after, before))
    return tuple(np.sum(counts, axis=0).tolist())


def test_a_one_node_advance_costs_the_same_at_ten_times_the_size(tmp_path: Path):
    small, large = cost_of_steps(1_000, tmp_path / "s"), cost_of_steps(10_000, tmp_path / "l")
    assert large[0] <= 1.5 * small[0] + 4 * STEPS  # a level or two more of the trees
    assert large[1] <= 1.1 * small[1] + 1_000 * STEPS
    assert large[2] <= 1.1 * small[2] + 1_000 * STEPS


@pytest.mark.parametrize(("rest", "sizes"), [(100, [1024, 1124]), (200, [1024, 1024, 200])])
def test_a_build_adds_a_few_last_nodes_to_the_segment_before(rest: int, sizes: list[int]):
    store, buffer = MemoryStore(), WriteBatch()
    rows = [put_node(number, buffer) for number in range(2 * BATCH_BLOCKS + rest)]
    nodes = build([(raw, cid) for raw, cid, _ in rows], buffer)
    root = put_root(nodes, EMPTY_TREE, buffer)
    store.put(buffer.new)
    index = Index(None, store, tuning=Tuning(chunk_rows=BATCH_BLOCKS))
    assert [len(one.ordinals) for one in index.build(root).lexical] == sizes


def test_asking_again_reads_and_writes_nothing(tmp_path: Path):
    store = CountingStore()
    buffer = WriteBatch(store)
    raw, node, vector = put_node(1, buffer)
    root = put_root(build([(raw, node)], buffer), build([(raw, vector)], buffer), buffer)
    store.put(buffer.new)
    index = Index(tmp_path, store)
    first = index.snapshot(root)
    before = store.read_count
    assert index.snapshot(root) is first
    assert store.read_count == before
    assert Index(tmp_path, store).snapshot(root).ordinal(NodeId(raw)) is not None
    assert store.read_count == before + 1  # the root block alone


def test_a_range_of_values_is_read_from_a_segment_once(tmp_path: Path):
    store = CountingStore()
    buffer = WriteBatch(store)
    rows = [put_node(number, buffer) for number in range(1_000)]
    nodes = build([(raw, cid) for raw, cid, _ in rows], buffer)
    roots = [put_root(nodes, EMPTY_TREE, buffer)]
    raw, node, _ = put_node(1_000, buffer)
    changed = mutate(nodes, {raw: node, rows[700][0]: None}, buffer)
    roots.append(put_root(changed, EMPTY_TREE, buffer))
    store.put(buffer.new)
    index = Index(tmp_path, store)
    before, after = (index.snapshot(root) for root in roots)
    assert len(before.between("number", 600, None)) == 400
    (whole,) = (part.segment for part in before.state.nodes)
    assert whole is after.state.nodes[0].segment
    del whole._columns["ordinals"]  # the nodes of its rows cannot be read any more
    assert len(after.between("number", 600, None)) == 400
    assert len(after.between("number", 600, None) & before.live) == 399
    assert len(before.between("number", 600, None)) == 400


def test_the_last_few_ranges_of_a_segment_are_cached(tmp_path: Path):
    store = CountingStore()
    buffer = WriteBatch(store)
    rows = [put_node(number, buffer) for number in range(100)]
    nodes = build([(raw, cid) for raw, cid, _ in rows], buffer)
    root = put_root(nodes, EMPTY_TREE, buffer)
    store.put(buffer.new)
    snapshot = Index(tmp_path, store).snapshot(root)
    for low in range(20):
        assert len(snapshot.between("number", low, None)) == 100 - low
    assert len(snapshot.state.nodes[0].segment.cache["ranges"]) == 4


def test_remembered_snapshots_and_their_files_are_bounded(tmp_path: Path):
    store = CountingStore()
    index = Index(tmp_path, store)
    nodes: TreeCid = EMPTY_TREE
    vectors: TreeCid = EMPTY_TREE
    first: RootCid | None = None
    for number in range(60):
        buffer = WriteBatch(store)
        raw, node, vector = put_node(number, buffer)
        nodes, vectors = mutate(nodes, {raw: node}, buffer), mutate(vectors, {raw: vector}, buffer)
        root = put_root(nodes, vectors, buffer)
        store.put(buffer.new)
        if first is None:
            first = root
            index.retention = Retention(frozenset([root]))
        index.snapshot(root)
    stats = index.stats()
    assert stats.snapshot_count == 17
    assert len(list((tmp_path / "segments").iterdir())) <= 4 * stats.snapshot_count
    assert first is not None
    assert (tmp_path / "snapshots" / str(first)).is_file()
    assert {family.name: family.row_count for family in stats.families} == {
        "identities": 60,
        "nodes": 60,
        "edges": 0,
        f"vectors/{MODEL}": 60,
    }
    index.compact(root)
    index.forget(root)
    assert index.stats().snapshot_count == 16
