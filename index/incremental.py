"""From the index of one root to that of another, by the differences of their trees.

The same code builds from nothing: the state before is then empty. What it costs is proportional to
the differences, in either direction of time, and memory is bounded by the chunks in which rows are
made.
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
from ibidem.index.families.family import FamilyParts, FamilyWriter
from ibidem.index.families.node_rows import NodeRows
from ibidem.index.families.ordinals import OrdinalTable
from ibidem.index.families.snapshot_parts import MERGES, SnapshotParts
from ibidem.index.families.vector_rows import SparseRows, VectorRows
from ibidem.index.segments.identity import find_rows, id_array
from ibidem.index.segments.store import SegmentStore
from ibidem.objects.blocks import Source
from ibidem.objects.cid import Cid, EdgeCid, NodeCid, RootCid, SparseCid, TreeCid, VectorCid
from ibidem.objects.config import Config
from ibidem.objects.edge import Edge
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.objects.vector import Sparse

CHUNK_ROWS = 131_072
"""Rows that are made into one segment at most."""
CHUNK_TERMS = 8_000_000
"""Terms after which a segment of nodes is closed, whatever its rows."""
CHUNK_COMPONENTS = 33_554_432
"""Vector components after which a segment of vectors is closed: 128 MiB."""

EMPTY_ROOT = Root(EMPTY_TREE, EMPTY_TREE, EMPTY_TREE, EMPTY_TREE)
"""What a build from nothing starts from."""


class IncrementalBuild:
    """One step from the state of `before` to that of `after`; used once, by `advance`."""

    def __init__(
        self,
        state: SnapshotParts,
        before: Root,
        after: Root,
        blocks: Source,
        segment_store: SegmentStore,
    ) -> None:
        self._state = state
        self._before, self._after = before, after
        self._config = Config.from_map(after.config)
        self._blocks, self._segment_store = blocks, segment_store
        self._table = OrdinalTable(state.identities, segment_store)
        self._growths: list[FamilyWriter] = []

    def run(self, root: RootCid) -> SnapshotParts:
        """Returns the state of `after`, whose CID is `root`."""
        try:
            return self._state_of(root)
        finally:
            for growth in self._growths:
                growth.end()

    def _state_of(self, root: RootCid) -> SnapshotParts:
        if not self._state.identities and self._after.nodes != EMPTY_TREE:
            self._table.assign(Tree(self._blocks, self._after.nodes).arrays()[0])
        nodes = self._nodes()
        edges = self._edges()
        vectors = {
            model: self._vectors(model)
            for model in sorted({*self._before.vectors, *self._after.vectors})
        }
        sparse = {
            vocab: self._sparse(vocab)
            for vocab in sorted({*self._before.sparse, *self._after.sparse})
        }
        tombstoned = self._tombstoned()
        return SnapshotParts(
            root,
            self._table.segments,
            nodes.parts,
            edges.parts,
            {model: growth.parts for model, growth in vectors.items() if growth.parts},
            {vocab: growth.parts for vocab, growth in sparse.items() if growth.parts},
            tombstoned,
        )

    def _nodes(self) -> FamilyWriter:
        growth = self._growth("nodes", self._state.nodes)
        rows = NodeRows(self._config.analyser)
        stream = changes(self._blocks, self._before.nodes, self._after.nodes)
        for batch, blocks in self._read(stream, NodeCid):
            self._kill(growth, batch)
            for key, cid, block in blocks:
                node = Node.decode(block)
                checked_id(key, node.id.raw, "node")
                rows.add(node, cid[4:], text_of(node, self._config, self._blocks))
            if len(rows) >= CHUNK_ROWS or rows.term_count >= CHUNK_TERMS:
                self._add_nodes(growth, rows)
                rows = NodeRows(self._config.analyser)
        self._add_nodes(growth, rows)
        return growth

    def _add_nodes(self, growth: FamilyWriter, rows: NodeRows) -> None:
        rows.number_terms()  # here: what the analyser remembers is shared
        self._add(growth, [*rows.ids, *rows.children], len(rows), rows.columns)

    def _edges(self) -> FamilyWriter:
        growth = self._growth("edges", self._state.edges)
        rows = EdgeRows()
        stream = changes(self._blocks, self._before.edges, self._after.edges)
        for batch, blocks in self._read(stream, EdgeCid):
            _kill_edges(growth, batch)
            for key, cid, block in blocks:
                edge = Edge.decode(block)
                checked_id(key, edge.id.raw, "edge")
                rows.add(edge, cid[4:])
            if len(rows) >= CHUNK_ROWS:
                self._add_edges(growth, rows)
                rows = EdgeRows()
        self._add_edges(growth, rows)
        return growth

    def _add_edges(self, growth: FamilyWriter, rows: EdgeRows) -> None:
        last = (int(part.segment["ordinals"][-1]) + 1 for part in growth.parts)
        serial = max(last, default=0)
        ids = [*rows.sources, *rows.targets]
        self._add(growth, ids, len(rows), lambda known: rows.columns(known, serial))

    def _vectors(self, model: str) -> FamilyWriter:
        growth = self._growth("vectors", self._state.vectors.get(model, ()))
        known = self._config.models.get(model)
        rows = VectorRows(model, known.dim if known else None)
        stream = self._changes(self._before.vectors.get(model), self._after.vectors.get(model))
        for batch, blocks in self._read(stream, VectorCid):
            self._kill(growth, batch)
            if rows.dim is None and growth.parts:
                rows.dim = growth.parts[0].segment.column("rows").shape[1]
            found = list(blocks)
            rows.add_blocks(
                [key for key, _, _ in found],
                [cid[4:] for _, cid, _ in found],
                [block for _, _, block in found],
            )
            if len(rows) >= CHUNK_ROWS or len(rows) * (rows.dim or 0) >= CHUNK_COMPONENTS:
                self._add(growth, rows.ids, len(rows), rows.columns)
                rows = VectorRows(model, rows.dim)
        self._add(growth, rows.ids, len(rows), rows.columns)
        return growth

    def _sparse(self, vocab: str) -> FamilyWriter:
        growth = self._growth("sparse", self._state.sparse.get(vocab, ()))
        rows = SparseRows()
        stream = self._changes(self._before.sparse.get(vocab), self._after.sparse.get(vocab))
        for batch, blocks in self._read(stream, SparseCid):
            self._kill(growth, batch)
            for key, cid, block in blocks:
                rows.add(key, Sparse.decode(block), cid[4:])
            if len(rows) >= CHUNK_ROWS:
                self._add(growth, rows.ids, len(rows), rows.columns)
                rows = SparseRows()
        self._add(growth, rows.ids, len(rows), rows.columns)
        return growth

    def _growth(self, kind: str, parts: FamilyParts) -> FamilyWriter:
        growth = FamilyWriter(parts, MERGES[kind], self._segment_store)
        self._growths.append(growth)
        return growth

    def _add(
        self,
        growth: FamilyWriter,
        ids: list[bytes],
        row_count: int,
        columns: Callable[[Callable[[Bytes], Array]], Columns],
    ) -> None:
        """Adds rows to a family, after the segment that is being made for any of them."""
        if not row_count:
            return
        self._settle()
        # The table stands still while a thread reads it: ids get their ordinals here and before.
        self._table.assign(id_array(ids))
        growth.add(lambda: columns(self._table.known), row_count)

    def _settle(self) -> None:
        for growth in self._growths:
            growth.settle()

    def _tombstoned(self) -> BitMap:
        tombstoned = self._state.tombstoned
        stream = changes(self._blocks, self._before.tombstones, self._after.tombstones)
        for batch in batches(stream, BATCH_BLOCKS):
            self._settle()
            ordinals = self._table.assign(id_array([key for key, _ in batch]))
            is_set = np.fromiter(
                (cid is not None for _, cid in batch), dtype=bool, count=len(batch)
            )
            tombstoned = (tombstoned - to_bitmap(ordinals[~is_set])) | to_bitmap(ordinals[is_set])
        return tombstoned

    def _changes(self, before: TreeCid | None, after: TreeCid | None) -> Iterator[Change]:
        return changes(self._blocks, before or EMPTY_TREE, after or EMPTY_TREE)

    def _kill(self, growth: FamilyWriter, batch: list[Change]) -> None:
        """Takes the rows of the nodes that changed for dead."""
        if growth.is_new:
            return
        ordinals = self._table.known(id_array([key for key, _ in batch]))
        growth.kill(ordinals[ordinals >= 0].astype(np.uint32))

    def _read(
        self, stream: Iterator[Change], kind: type[Cid]
    ) -> Iterator[tuple[list[Change], Iterator[tuple[bytes, bytes, bytes]]]]:
        """Yields each batch of changes with (key, CID bytes, block) of the entries that are there
        now."""
        for batch in batches(stream, BATCH_BLOCKS):
            present = [(key, cid) for key, cid in batch if cid is not None]
            found = self._blocks.get_many([kind(cid) for _, cid in present])
            yield (
                batch,
                ((key, cid, block) for (key, cid), block in zip(present, found, strict=True)),
            )


def advance(
    state: SnapshotParts,
    before: Root,
    after: Root,
    root: RootCid,
    blocks: Source,
    segment_store: SegmentStore,
) -> SnapshotParts:
    """Returns the state of the root `after`, whose CID is `root`, made from that of `before`.

    Raises:
        NotFoundError: a block of one of the two roots is missing.
        CorruptError: a block, or a segment, is not what it should be.
        StorageError: a segment could not be written.
    """
    return IncrementalBuild(state, before, after, blocks, segment_store).run(root)


def _kill_edges(growth: FamilyWriter, batch: list[Change]) -> None:
    """Takes the live rows of the edges that changed for dead."""
    if growth.is_new or not growth.parts:  # an earlier batch may have killed all that there was
        return
    ids = id_array([key for key, _ in batch])
    dead: list[Array] = []
    for part in growth.parts:
        rows = find_rows(part.segment, ids)
        dead.append(part.segment["ordinals"][rows[rows >= 0]])
    growth.kill(np.sort(np.concatenate(dead)))
