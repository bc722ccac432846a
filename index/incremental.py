"""Builds the index of one root from that of another, by the differences of their trees.

The same code builds from nothing: the state before is then empty. The cost is proportional to the
differences, whichever root is older, and memory is bounded by the chunks in which rows are built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from pyroaring import BitMap

from ibidem.index.arrays import Array, Bytes, Columns, to_bitmap
from ibidem.index.extract import (
    BATCH_BLOCKS,
    Change,
    batches,
    changes,
    checked_id,
    text_of,
)
from ibidem.index.families.edge_rows import EdgeRows
from ibidem.index.families.family import FamilyWriter
from ibidem.index.families.node_rows import NodeRows
from ibidem.index.families.ordinals import OrdinalTable
from ibidem.index.families.snapshot_parts import EDGES, MERGES, NODES, Key, SnapshotParts
from ibidem.index.families.vector_rows import ROWS
from ibidem.index.segments.identity import find_rows, id_array
from ibidem.index.segments.store import SegmentStore
from ibidem.index.tuning import TUNING, Tuning
from ibidem.objects.blocks import Source
from ibidem.objects.cid import Cid, EdgeCid, NodeCid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.node import Node
from ibidem.objects.progress import Progress, silent
from ibidem.objects.root import NOUNS, Root
from ibidem.objects.tree import EMPTY_TREE, Tree

CHUNK_TERMS = 8_000_000
"""Terms after which a segment of nodes is closed, however few rows it has."""
LAST_SHARE = 8
"""Where a full segment has this many times as many rows as nodes are left, these are added to it,
up to twice its size: a segment costs every question a search for each of its words."""
CHUNK_COMPONENTS = 33_554_432
"""Vector components after which a segment of vectors is closed: 128 MiB."""

EMPTY_ROOT = Root(EMPTY_TREE, EMPTY_TREE, EMPTY_TREE, EMPTY_TREE)
"""The root from which a build from nothing starts."""


class IncrementalBuild:
    """One step from the state of `before` to that of `after`; used once, by `advance`."""

    def __init__(
        self,
        state: SnapshotParts,
        before: Root,
        after: Root,
        blocks: Source,
        segment_store: SegmentStore,
        tuning: Tuning,
        progress: Progress,
    ) -> None:
        self._state = state
        self._tuning = tuning
        self._before, self._after = before, after
        self._config = Config.from_map(after.config)
        self._blocks, self._segment_store = blocks, segment_store
        self._table = OrdinalTable(
            state.identities, segment_store, tuning, before_change=self._settle
        )
        self._growths: list[FamilyWriter] = []
        self._progress = progress

    def run(self, root: RootCid) -> SnapshotParts:
        """Returns the state of `after`, whose CID is `root`."""
        try:
            return self._state_of(root)
        finally:
            for growth in self._growths:
                growth.end()

    def _state_of(self, root: RootCid) -> SnapshotParts:
        if not self._state.identities and self._after.nodes != EMPTY_TREE:
            leaves = Tree(self._blocks, self._after.nodes).leaves()
            self._table.assign(id_array([leaf.keys for leaf in leaves]))
        growths = {NODES: self._nodes(), EDGES: self._edges()}
        before, after = self._before.trees(), self._after.trees()
        for kind in ROWS:
            for key in sorted(key for key in before.keys() | after.keys() if key[0] == kind):
                stream = changes(
                    self._blocks, before.get(key, EMPTY_TREE), after.get(key, EMPTY_TREE)
                )
                growths[key] = self._vectors(key, stream)
        tombstoned = self._tombstoned()
        families = {key: growth.parts for key, growth in growths.items() if growth.parts}
        return SnapshotParts(root, self._table.segments, families, tombstoned)

    def _nodes(self) -> FamilyWriter:
        growth = self._growth(NODES)
        rows = NodeRows(self._config.analyser)
        stream = changes(self._blocks, self._before.nodes, self._after.nodes)
        total, done = self._total(NODES), 0
        for batch, blocks in self._read(stream, NodeCid, "indexing nodes", total):
            done += len(batch)
            self._kill(growth, batch)
            for key, cid, block in blocks:
                node = Node.decode(block)
                checked_id(key, node.id.raw, "node")
                rows.add(node, cid[4:], text_of(node, self._config, self._blocks))
            share = max(len(rows) / self._tuning.chunk_rows, rows.term_count / CHUNK_TERMS)
            is_last = total is not None and (total - done) * LAST_SHARE <= len(rows)
            if share >= (2.0 if is_last else 1.0):
                self._add_nodes(growth, rows)
                rows = rows.another()
        self._add_nodes(growth, rows)
        return growth

    def _add_nodes(self, growth: FamilyWriter, rows: NodeRows) -> None:
        rows.number_terms()  # in this thread: the analyser's cache is shared
        self._add(growth, [*rows.ids, *rows.children], len(rows), rows.columns)

    def _edges(self) -> FamilyWriter:
        growth = self._growth(EDGES)
        rows = EdgeRows()
        stream = changes(self._blocks, self._before.edges, self._after.edges)
        total = self._total(EDGES)
        for batch, blocks in self._read(stream, EdgeCid, "indexing edges", total):
            _kill_edges(growth, batch)
            for key, cid, block in blocks:
                edge = rows.read(block)
                checked_id(key, edge.id.raw, "edge")
                rows.add(edge, cid[4:])
            if len(rows) >= self._tuning.chunk_rows:
                self._add_edges(growth, rows)
                rows = EdgeRows()
        self._add_edges(growth, rows)
        return growth

    def _add_edges(self, growth: FamilyWriter, rows: EdgeRows) -> None:
        last = (int(part.segment["ordinals"][-1]) + 1 for part in growth.parts)
        serial = max(last, default=0)
        ids = [*rows.sources, *rows.targets]
        self._add(growth, ids, len(rows), lambda known: rows.columns(known, serial))

    def _vectors(self, key: Key, stream: Iterator[Change]) -> FamilyWriter:
        growth = self._growth(key)
        rows = ROWS[key[0]].begin(key[1], self._config)
        total = self._total(key)
        for batch, blocks in self._read(stream, Cid, f"indexing {NOUNS[key[0]]}s", total):
            self._kill(growth, batch)
            rows.follow(growth)
            found = list(blocks)
            rows.add_blocks(
                [key for key, _, _ in found],
                [cid[4:] for _, cid, _ in found],
                [block for _, _, block in found],
            )
            if len(rows) >= self._tuning.chunk_rows or rows.component_count >= CHUNK_COMPONENTS:
                self._add(growth, rows.ids, len(rows), rows.columns)
                rows = rows.another()
        self._add(growth, rows.ids, len(rows), rows.columns)
        return growth

    def _growth(self, key: Key) -> FamilyWriter:
        growth = FamilyWriter(
            self._state.of(key), MERGES[key[0]], self._segment_store, self._tuning
        )
        self._growths.append(growth)
        return growth

    def _add(
        self,
        growth: FamilyWriter,
        ids: list[bytes],
        row_count: int,
        columns: Callable[[Callable[[Bytes], Array]], Columns],
    ) -> None:
        """Adds rows to a family; the segment of another may be in progress meanwhile, of which the
        larger part is I/O and arithmetic."""
        if not row_count:
            return
        for other in self._growths[:-2]:
            other.settle()  # memory is bounded by two segments
        # The table must not change while a thread reads it: ids get their ordinals here or earlier.
        self._table.assign(id_array(ids))
        growth.add(lambda: columns(self._table.known), row_count)

    def _settle(self) -> None:
        for growth in self._growths:
            growth.settle()

    def _tombstoned(self) -> BitMap:
        tombstoned = self._state.tombstoned
        stream = changes(self._blocks, self._before.tombstones, self._after.tombstones)
        for batch in batches(stream, BATCH_BLOCKS):
            ordinals = self._table.assign(id_array([key for key, _ in batch]))
            is_set = np.fromiter(
                (cid is not None for _, cid in batch), dtype=bool, count=len(batch)
            )
            tombstoned = (tombstoned - to_bitmap(ordinals[~is_set])) | to_bitmap(ordinals[is_set])
        return tombstoned

    def _kill(self, growth: FamilyWriter, batch: list[Change]) -> None:
        """Marks the rows of the changed nodes as dead."""
        if growth.is_new:
            return
        ordinals = self._table.known(id_array([key for key, _ in batch]))
        growth.kill(ordinals[ordinals >= 0].astype(np.uint32))

    def _total(self, key: Key) -> int | None:
        """Returns the number of entries to read, None if only those that changed are read."""
        if self._before.tree(*key) != EMPTY_TREE:
            return None
        tree = self._after.tree(*key)
        return 0 if tree == EMPTY_TREE else len(Tree(self._blocks, tree))

    def _read(
        self, stream: Iterator[Change], kind: type[Cid], work: str, total: int | None
    ) -> Iterator[tuple[list[Change], Iterator[tuple[bytes, bytes, bytes]]]]:
        """Yields each batch of changes with (key, CID bytes, block) of the entries that exist
        now."""
        done = 0
        self._progress(work, done, total)
        for batch in batches(stream, BATCH_BLOCKS):
            present = [(key, cid) for key, cid in batch if cid is not None]
            found = self._blocks.get_many([kind(cid) for _, cid in present])
            yield (
                batch,
                ((key, cid, block) for (key, cid), block in zip(present, found, strict=True)),
            )
            done += len(batch)
            self._progress(work, done, total)
        self._progress(work, done, done)


def advance(
    state: SnapshotParts,
    before: Root,
    after: Root,
    root: RootCid,
    blocks: Source,
    segment_store: SegmentStore,
    tuning: Tuning = TUNING,
    progress: Progress = silent,
) -> SnapshotParts:
    """Returns the state of the root `after`, whose CID is `root`, built from that of `before`.

    Raises:
        NotFoundError: a block of one of the two roots is missing.
        CorruptError: a block or a segment is damaged or invalid.
        StorageError: a segment could not be written.
    """
    build = IncrementalBuild(state, before, after, blocks, segment_store, tuning, progress)
    return build.run(root)


def _kill_edges(growth: FamilyWriter, batch: list[Change]) -> None:
    """Marks the live rows of the changed edges as dead."""
    if growth.is_new or not growth.parts:  # an earlier batch may have killed all rows
        return
    ids = id_array([key for key, _ in batch])
    dead: list[Array] = []
    for part in growth.parts:
        rows = find_rows(part.segment, ids)
        dead.append(part.segment["ordinals"][rows[rows >= 0]])
    growth.kill(np.sort(np.concatenate(dead)))
