"""Ids in columns: from 16 bytes to a row, and back.

Columns of n ids:
    ids    (n, 16) uint8 in row order
    high   (n,) uint64: the first eight bytes as a big-endian number, ascending
    order  (n,) uint32: the row of each place in `high`; equal `high` are ordered by the other eight
    bytes

The family of node identities gives an ordinal to every id that a lineage of snapshots has ever
seen: the position in the concatenation of its segments. It does not record which ids are live.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ibidem.index.arrays import Array, Bytes, Columns, Ordinals
from ibidem.index.segments.segment import Segment

_BIG = np.dtype(">u8")


def id_array(ids: Sequence[bytes]) -> Bytes:
    """Returns ids as (n, 16) uint8."""
    return np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(-1, 16)


def id_halves(ids: Bytes) -> tuple[Array, Array]:
    """Returns both halves of (n, 16) ids as native uint64; (high, low) orders like the bytes."""
    halves = np.ascontiguousarray(ids).view(_BIG).reshape(-1, 2)
    return halves[:, 0].astype(np.uint64), halves[:, 1].astype(np.uint64)


def id_order(ids: Bytes) -> Array:
    """Returns the rows of (n, 16) ids in ascending order of id, (n,) int64; equal ids by row."""
    high, low = id_halves(ids)
    if len(high) and bool((high[1:] > high[:-1]).all()):
        return np.arange(len(high))
    return np.lexsort((low, high))


def id_columns(ids: Bytes) -> Columns:
    """Returns the three columns for ids in row order."""
    order = id_order(ids)
    return {"ids": ids, "high": id_halves(ids)[0][order], "order": order.astype(np.uint32)}


def find_row(segment: Segment, raw: bytes) -> list[int]:
    """Returns the rows that hold an id: at most one where ids are unique."""
    high = segment["high"]
    start = int(np.searchsorted(high, np.uint64(int.from_bytes(raw[:8], "big"))))
    rows = []
    while start < len(high) and int(high[start]) == int.from_bytes(raw[:8], "big"):
        row = segment.column("order").item(start)
        if segment.column("ids")[row : row + 1].tobytes() == raw:
            rows.append(row)
        start += 1
    return rows


def find_rows(segment: Segment, ids: Bytes) -> Array:
    """Returns the row of each of (m, 16) ids, (m,) int64, -1 where the segment has none.

    If several rows have the id, any of them is returned.
    """
    high, low = id_halves(ids)
    column = segment["high"]
    found = np.full(len(ids), -1, dtype=np.int64)
    if not len(column) or not len(ids):
        return found
    pending = np.arange(len(ids))
    position = np.searchsorted(column, high)
    order, ids_of = segment.column("order"), segment.column("ids")
    while len(pending):
        inside = position < len(column)
        pending, position = pending[inside], position[inside]
        same = column[position] == high[pending]
        pending, position = pending[same], position[same]
        rows = order[position].astype(np.int64)
        hit = ids_of[rows].view(_BIG)[:, 1] == low[pending]
        found[pending[hit]] = rows[hit]
        pending, position = pending[~hit], position[~hit] + 1
    return found


class Identities:
    """The identity family of a snapshot: ids by ordinal over its segments."""

    __slots__ = ("count", "parts", "starts")

    def __init__(self, parts: Sequence[Segment]) -> None:
        self.parts = tuple(parts)
        sizes = [len(part.column("ids")) for part in self.parts]
        self.starts = np.cumsum([0, *sizes])
        self.count = int(self.starts[-1])

    def ordinal(self, raw: bytes) -> int | None:
        """Returns the ordinal of an id that this lineage has seen."""
        for start, part in zip(self.starts.tolist(), self.parts, strict=False):
            rows = find_row(part, raw)
            if rows:
                return int(start) + rows[0]
        return None

    def ordinals(self, ids: Bytes) -> Array:
        """Returns the ordinal of each of (m, 16) ids, (m,) int64, -1 for unknown ones."""
        found = np.full(len(ids), -1, dtype=np.int64)
        pending = np.arange(len(ids))
        for start, part in zip(self.starts.tolist(), self.parts, strict=False):
            rows = find_rows(part, ids[pending])
            hit = rows >= 0
            found[pending[hit]] = rows[hit] + start
            pending = pending[~hit]
            if not len(pending):
                break
        return found

    def ids(self, ordinals: Ordinals) -> Bytes:
        """Returns the ids of known ordinals, (m, 16) uint8."""
        if len(self.parts) == 1:
            return self.parts[0].column("ids")[ordinals]
        result = np.empty((len(ordinals), 16), dtype=np.uint8)
        index = np.searchsorted(self.starts, ordinals.astype(np.int64), side="right") - 1
        for number, part in enumerate(self.parts):
            here = np.flatnonzero(index == number)
            if len(here):
                rows = ordinals[here].astype(np.int64) - self.starts[number]
                result[here] = part.column("ids")[rows]
        return result
