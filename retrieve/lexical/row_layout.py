"""Rows of lexical segments side by side, in columns that outlive a snapshot.

After a commit a snapshot has the segments of the one before, but for the last ones. Their rows keep
their places here and only what is new is written behind them, so the first question after a commit
pays for what the commit changed. No place is used twice, since an older snapshot may still be read;
once a fifth of them belongs to nobody, the next snapshot gets new columns.
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
from ibidem.retrieve.protocol import LexicalSegment, Ordinals

Lengths = npt.NDArray[np.uint32]
T = TypeVar("T", bound=np.generic)

_SLACK_ROWS = 8_192
"""Places that may lie idle however small a snapshot is: the tails of some commits."""
_SHARE = 4
"""Beside one in so many."""
_SPARE_MAX = 2


@record
class RowPlaces:
    """Where the rows of some segments are."""

    starts: Mapping[str, int]
    """By name of the segment, the place of its first row; the others follow."""
    size: int
    """No place is beyond it; not every one below it is taken."""
    lengths: Lengths
    """(size,) Those of rows that are not of these segments mean nothing."""
    ordinals: Ordinals
    """(size,) Likewise; they can be larger than any of the snapshot."""
    spare: ArrayPool
    """Zeros for whoever needs some for a while."""


class ArrayPool:
    """Arrays of zeros, lent to one user at a time."""

    __slots__ = ("_kept", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: defaultdict[np.dtype[Any], list[npt.NDArray[Any]]] = defaultdict(list)

    def take(self, kind: type[T]) -> npt.NDArray[T]:
        """Returns zeros of some kind, (size,). Fresh ones cost only the pages that are touched."""
        try:
            return self._kept[np.dtype(kind)].pop()
        except IndexError:
            return np.zeros(self._size, kind)

    def give(self, array: npt.NDArray[Any]) -> None:
        """Takes zeros back."""
        kept = self._kept[array.dtype]
        if len(kept) < _SPARE_MAX:
            kept.append(array)


class RowLayout:
    """Grows by the segments that it has not seen; kept with the largest segment."""

    __slots__ = ("_columns", "_lock")

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._columns = _Columns(0)

    def places(self, segments: Sequence[LexicalSegment]) -> RowPlaces:
        """Returns where the rows of a snapshot's segments are."""
        rows = sum(_rows(one) for one in segments)
        with self._lock:
            columns = self._columns
            new = [one for one in segments if one.name not in columns.starts]
            room = rows + rows // _SHARE + _SLACK_ROWS
            if columns.used + sum(map(_rows, new)) > min(room, columns.lengths.shape[0]):
                # Who has the old ones keeps them.
                columns = self._columns = _Columns(room)
                new = list(segments)
            for one in new:
                columns.add(one)
            starts = {one.name: columns.starts[one.name] for one in segments}
            size = max((starts[one.name] + _rows(one) for one in segments), default=0)
            both = columns.lengths[:size], columns.ordinals[:size]
            return RowPlaces(MappingProxyType(starts), size, *both, columns.spare)


class _Columns:
    """Columns of one size, filled from the beginning."""

    __slots__ = ("lengths", "ordinals", "spare", "starts", "used")

    def __init__(self, room: int) -> None:
        self.lengths: Lengths = np.empty(room, np.uint32)
        self.ordinals: Ordinals = np.empty(room, np.uint32)
        self.spare = ArrayPool(room)
        self.starts: dict[str, int] = {}
        self.used = 0

    def add(self, segment: LexicalSegment) -> None:
        """Writes a segment's rows behind the others; it has a start once they are there."""
        start, self.used = self.used, self.used + _rows(segment)
        self.lengths[start : self.used] = segment.lengths
        self.ordinals[start : self.used] = segment.ordinals
        self.starts[segment.name] = start


def places_of(segments: Sequence[LexicalSegment]) -> RowPlaces:
    """Returns where the rows of a snapshot's segments are; one segment stays where it is."""
    if len(segments) == 1:
        (one,) = segments
        rows = _rows(one)
        spare: ArrayPool = one.cache.setdefault("spare sums", ArrayPool(rows))
        return RowPlaces(MappingProxyType({one.name: 0}), rows, one.lengths, one.ordinals, spare)
    if not segments:
        return RowLayout().places(())
    joint: RowLayout = max(segments, key=_rows).cache.setdefault("joint rows", RowLayout())
    return joint.places(segments)


def _rows(segment: LexicalSegment) -> int:
    return int(segment.ordinals.shape[0])
