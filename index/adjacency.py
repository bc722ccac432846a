"""Edges and parts of one node, collected over the segments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.index.arrays import Array, Ordinals
from ibidem.index.families.family import FamilyParts
from ibidem.index.segments.column import Column
from ibidem.index.segments.identity import Identities, id_order
from ibidem.index.segments.key_list import KeyList
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.reader import SegmentView, valid_rows
from ibidem.objects.cid import DAG_CBOR_PREFIX, EdgeCid
from ibidem.objects.ids import EdgeId
from ibidem.objects.record import record


@record
class Adjacency:
    """m edges of one node, by edge id ascending."""

    neighbours: Ordinals
    """(m,) uint32: the node at the other end."""
    weights: npt.NDArray[np.float64]
    """(m,) float64."""
    etypes: tuple[str, ...]
    """m edge types."""
    edge_ids: npt.NDArray[np.uint8]
    """(m, 16) uint8."""
    digests: npt.NDArray[np.uint8]
    """(m, 32) uint8: the last 32 bytes of each edge's CID."""

    def __len__(self) -> int:
        return len(self.neighbours)

    def ids(self) -> list[EdgeId]:
        """Returns the edge ids."""
        return [EdgeId(row.tobytes()) for row in self.edge_ids]

    def cids(self) -> list[EdgeCid]:
        """Returns the edge CIDs."""
        return [EdgeCid(DAG_CBOR_PREFIX + row.tobytes()) for row in self.digests]


@record
class Children:
    """The parts of one node that exist."""

    ordinals: Ordinals
    """(m,) uint32, in the order of the parts."""
    positions: npt.NDArray[np.uint32]
    """(m,) uint32: the position of each in `Node.children`."""


def adjacency(
    parts: FamilyParts, direction: str, ordinal: int, nodes: BitMap, at: int | None = None
) -> Adjacency:
    """Returns the edges of a node whose both ends are in `nodes`, those that hold at the
    microsecond `at` if it is given; `direction` is "out" or "in"."""
    found = [
        (part, rows)
        for part in parts
        if len(rows := _live_rows(part, direction, _rows_of(part, direction, ordinal), nodes, at))
    ]
    if ordinal not in nodes or not found:
        return _NO_EDGES
    ids = _joined(found, "ids")
    order = id_order(ids)
    etypes: list[str] = []
    for part, rows in found:
        names = KeyList(part.segment.column("etype.keys"), part.segment.column("etype.ends"))
        etypes += [names[code].decode() for code in part.segment["code"][rows].tolist()]
    return Adjacency(
        _joined(found, _OTHER_END[direction])[order],
        _joined(found, "weight")[order],
        tuple(etypes[index] for index in order.tolist()),
        ids[order],
        _joined(found, "cids")[order],
    )


def edge_ids(
    parts: FamilyParts, ordinal: int, nodes: BitMap, *, after: EdgeId | None, limit: int
) -> list[EdgeId]:
    """Returns the first ids, ascending, of the edges that start or end at a node and whose other
    end is in `nodes`; the cost does not grow with the number of edges.

    Args:
        after: only ids greater than this one.
        limit: number of ids, at least 1.
    """
    found = {
        raw
        for part in parts
        for direction in _OTHER_END
        for raw in _first_ids(part, direction, ordinal, nodes, after, limit)
    }
    return [EdgeId(raw) for raw in sorted(found)[:limit]]


def children_of(segments: Sequence[SegmentView], ordinal: int, nodes: BitMap) -> Children:
    """Returns the parts of a node that are in `nodes`."""
    for segment in segments:
        rows, present = segment.find(np.array([ordinal], dtype=np.uint32))
        if present[0]:
            starts = segment.part.segment.column("child.starts")
            row = int(rows[0])
            span = slice(starts.item(row), starts.item(row + 1))
            items = segment.part.segment.column("child.items")[span]
            positions = [at for at, item in enumerate(items.tolist()) if item in nodes]
            return Children(items[positions], np.array(positions, dtype=np.uint32))
    return Children(np.empty(0, np.uint32), np.empty(0, np.uint32))


def child_counts(segments: Sequence[SegmentView], ordinals: Ordinals) -> npt.NDArray[np.int64]:
    """Returns the number of children that each node lists, (m,), missing children included."""
    counts = np.zeros(len(ordinals), np.int64)
    for segment in segments:
        rows, present = segment.find(ordinals)
        starts = segment.part.segment["child.starts"]
        rows = rows[present]
        counts[present] = starts[rows + 1].astype(np.int64) - starts[rows]
    return counts


def parent_of(
    segments: Sequence[SegmentView],
    identities: Identities,
    ordinal: int,
    among: BitMap | None = None,
) -> tuple[int, int] | None:
    """Returns (ordinal, position) of the live parent with the smallest id, None without one.

    Args:
        among: the parents that count, None for all.
    """
    best: tuple[bytes, int, int] | None = None
    for segment in segments:
        columns = segment.part.segment
        child = columns["parent.child"]
        start = int(np.searchsorted(child, np.uint32(ordinal)))
        while start < len(child) and int(child[start]) == ordinal:
            parent = int(columns["ordinals"][columns["parent.row"][start]])
            is_dead = segment.part.dead and parent in segment.part.dead
            if not is_dead and (among is None or parent in among):
                raw = identities.ids(np.array([parent], dtype=np.uint32))[0].tobytes()
                found = (raw, int(columns["parent.position"][start]), parent)
                best = found if best is None else min(best, found)
            start += 1
    return None if best is None else (best[2], best[1])


def _rows_of(part: Part, direction: str, ordinal: int, after: EdgeId | None = None) -> Array:
    """Returns the rows of a node in one segment, live or not, (m,) uint32: by edge id ascending,
    those after an id."""
    column, rows = part.segment[f"{direction}.node"], part.segment.column(f"{direction}.row")
    start, stop = (
        int(np.searchsorted(column, np.uint32(ordinal), side=side)) for side in _BOTH_SIDES
    )
    if after is not None:
        ids = part.segment.column("ids")
        node = range(start, stop)
        start += bisect_right(node, after.raw, key=lambda at: _id_at(ids, rows.item(at)))
    return rows[start:stop]


def _first_ids(
    part: Part, direction: str, ordinal: int, nodes: BitMap, after: EdgeId | None, limit: int
) -> list[bytes]:
    """Returns the first edge ids of a node in one segment, ascending."""
    ids = part.segment.column("ids")
    waiting = _rows_of(part, direction, ordinal, after)
    found: list[bytes] = []
    while len(waiting) and len(found) < limit:
        rows, waiting = waiting[:limit], waiting[limit:]
        found += [row.tobytes() for row in ids[_live_rows(part, direction, rows, nodes)]]
    return found


def _id_at(ids: Column, row: int) -> bytes:
    return ids[row : row + 1].tobytes()


def _live_rows(
    part: Part, direction: str, rows: Array, nodes: BitMap, at: int | None = None
) -> Array:
    """Returns those of some rows that are live, hold at `at`, and whose other end is in `nodes`."""
    if at is not None and (valid := valid_rows(part.segment, rows, at)) is not None:
        rows = rows[valid]
    if not len(rows):
        return rows
    serials = part.segment.column("ordinals")[rows].tolist()
    ends = part.segment.column(_OTHER_END[direction])[rows].tolist()
    dead = part.dead or ()
    keep = [
        position
        for position, (serial, end) in enumerate(zip(serials, ends, strict=True))
        if end in nodes and serial not in dead
    ]
    return rows if len(keep) == len(rows) else rows[keep]


def _joined(found: list[tuple[Part, Array]], name: str) -> Array:
    return np.concatenate([part.segment.column(name)[rows] for part, rows in found])


_OTHER_END = {"out": "target", "in": "source"}
"""By direction, the column of an edge's other end."""
_BOTH_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
_NO_EDGES = Adjacency(
    np.empty(0, np.uint32),
    np.empty(0, np.float64),
    (),
    np.empty((0, 16), np.uint8),
    np.empty((0, 32), np.uint8),
)
