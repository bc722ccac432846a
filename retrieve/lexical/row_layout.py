"""Slots: one address space for the rows of all lexical segments, kept from snapshot to snapshot.

Problem: an index has many segments, and a query wants one array of document lengths and one of
ordinals; concatenating them for each snapshot makes the first question after a commit cost as much
as the repository is large. Idea: append-only columns that snapshots share. A *slot* is the position
of a row in them. After a commit the segments of the last snapshot keep their slots, and only new
segments are appended.

Invariant: a slot is never used twice within one set of columns, since an older snapshot may still
be read. Segments that are gone leave unused slots behind; once the columns are full, or more than
about a fifth is unused, the next snapshot gets new columns and older ones keep theirs.

Cost: 8 bytes a row, and per commit the rows of its new segments. With one segment nothing is
copied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.retrieve.lexical import tuning
from ibidem.retrieve.protocol import LexicalSegment, Ordinals

Lengths = npt.NDArray[np.uint32]
T = TypeVar("T", bound=np.generic)


@record
class RowLayout:
    """The slots of one snapshot's rows. The arrays are shared and must not be changed."""

    starts: Mapping[str, int]
    """By name of the segment, the slot of its first row; the others follow."""
    size: int
    """One more than the largest slot in use; slots below it may be unused."""
    lengths: Lengths
    """(size,) terms of each row. Unused slots hold anything."""
    ordinals: Ordinals
    """(size,) of each row's node. Unused slots hold anything, even unknown ordinals."""
    zeros_pool: ArrayPool
    """Zeroed arrays of at least `size` for accumulators and marks."""


class ArrayPool:
    """Zeroed arrays of one size, each lent to one user at a time."""

    __slots__ = ("_free", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: defaultdict[np.dtype[Any], list[npt.NDArray[Any]]] = defaultdict(list)

    def acquire(self, dtype: type[T]) -> npt.NDArray[T]:
        """Returns zeros of a type, (size,). A new array costs only the pages that are touched."""
        try:
            return self._free[np.dtype(dtype)].pop()
        except IndexError:
            return np.zeros(self._size, dtype)

    def release(self, array: npt.NDArray[Any]) -> None:
        """Takes back an array, which must be all zeros again."""
        free = self._free[array.dtype]
        if len(free) < tuning.ACCUMULATORS_KEPT:
            free.append(array)


class SharedColumns:
    """Lengths and ordinals of many snapshots' segments; cached with the largest segment. Thread-
    safe.
    """

    __slots__ = ("_columns", "_lock")

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._columns = _Columns(0)

    def layout(
        self, segments: Sequence[LexicalSegment], slack_rows: int = tuning.SLACK_ROWS
    ) -> RowLayout:
        """Returns the slots of a snapshot's segments, after appending those that are new."""
        rows = sum(_rows(segment) for segment in segments)
        with self._lock:
            columns = self._columns
            added = [segment for segment in segments if segment.name not in columns.starts]
            capacity = rows + rows // tuning.SLACK_SHARE + slack_rows
            if columns.used + sum(map(_rows, added)) > min(capacity, columns.lengths.shape[0]):
                # Older snapshots keep the columns that they have.
                columns = self._columns = _Columns(capacity)
                added = list(segments)
            for segment in added:
                columns.add(segment)
            starts = {segment.name: columns.starts[segment.name] for segment in segments}
            size = max((starts[segment.name] + _rows(segment) for segment in segments), default=0)
            lengths, ordinals = columns.lengths[:size], columns.ordinals[:size]
            return RowLayout(MappingProxyType(starts), size, lengths, ordinals, columns.zeros_pool)


class _Columns:
    """Columns of a fixed capacity, filled from the front."""

    __slots__ = ("lengths", "ordinals", "starts", "used", "zeros_pool")

    def __init__(self, capacity: int) -> None:
        self.lengths: Lengths = np.empty(capacity, np.uint32)
        self.ordinals: Ordinals = np.empty(capacity, np.uint32)
        self.zeros_pool = ArrayPool(capacity)
        self.starts: dict[str, int] = {}
        self.used = 0

    def add(self, segment: LexicalSegment) -> None:
        """Appends a segment's rows, and lists it in `starts` once they are written."""
        start, self.used = self.used, self.used + _rows(segment)
        self.lengths[start : self.used] = segment.lengths
        self.ordinals[start : self.used] = segment.ordinals
        self.starts[segment.name] = start


def row_layout_of(
    segments: Sequence[LexicalSegment], *, slack_rows: int = tuning.SLACK_ROWS
) -> RowLayout:
    """Returns the slots of a snapshot's segments.

    Args:
        slack_rows: rows of unused capacity that are allowed.
    """
    if len(segments) == 1:
        (segment,) = segments
        rows = _rows(segment)
        zeros_pool: ArrayPool = segment.cache.setdefault("zeroed arrays", ArrayPool(rows))
        return RowLayout(
            MappingProxyType({segment.name: 0}), rows, segment.lengths, segment.ordinals, zeros_pool
        )
    if not segments:
        return SharedColumns().layout(())
    shared: SharedColumns = max(segments, key=_rows).cache.setdefault(
        "shared lexical columns", SharedColumns()
    )
    return shared.layout(segments, slack_rows)


def _rows(segment: LexicalSegment) -> int:
    return int(segment.ordinals.shape[0])
