"""Rows of lexical segments side by side, in columns that outlive a snapshot.

After a commit a snapshot has the segments of the one before, but for the last ones. Their rows keep
their places here and only what is new is written behind them, so the first question after a commit
pays for what the commit changed. No place is used twice, since an older snapshot may still be read;
once a fifth of them belongs to nobody, the next snapshot gets new columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

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
class Places:
    """Where the rows of some segments are."""

    starts: Mapping[str, int]
    """By name of the segment, the place of its first row; the others follow."""
    size: int
    """No place is beyond it; not every one below it is taken."""
    lengths: Lengths
    """(size,) Those of rows that are not of these segments mean nothing."""
    ordinals: Ordinals
    """(size,) Likewise; they can be larger than any of the snapshot."""
    spare: Spare
    """Zeros for whoever needs some for a while."""


class Spare:
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


class Joint:
    """Grows by the segments that it has not seen; kept with the largest segment."""

    __slots__ = ("_lengths", "_lock", "_ordinals", "_spare", "_starts", "_used")

    def __init__(self) -> None:
        self._lock = Lock()
        self._used = 0
        self._renew(0)

    def places(self, segments: Sequence[LexicalSegment]) -> Places:
        """Returns where the rows of a snapshot's segments are."""
        rows = sum(_rows(one) for one in segments)
        with self._lock:
            new = [one for one in segments if one.name not in self._starts]
            room = rows + rows // _SHARE + _SLACK_ROWS
            if self._used + sum(map(_rows, new)) > min(room, self._lengths.shape[0]):
                self._renew(room)
                new = list(segments)
            for one in new:
                start, self._used = self._used, self._used + _rows(one)
                self._lengths[start : self._used] = one.lengths
                self._ordinals[start : self._used] = one.ordinals
                self._starts[one.name] = start
            starts = {one.name: self._starts[one.name] for one in segments}
            size = max((starts[one.name] + _rows(one) for one in segments), default=0)
            columns = self._lengths[:size], self._ordinals[:size]
            return Places(MappingProxyType(starts), size, *columns, self._spare)

    def _renew(self, room: int) -> None:
        """Begins again in columns of another size; who has the old ones keeps them."""
        self._lengths: Lengths = np.empty(room, np.uint32)
        self._ordinals: Ordinals = np.empty(room, np.uint32)
        self._spare = Spare(room)
        self._starts: dict[str, int] = {}
        self._used = 0


def places_of(segments: Sequence[LexicalSegment]) -> Places:
    """Returns where the rows of a snapshot's segments are; one segment stays where it is."""
    if len(segments) == 1:
        (one,) = segments
        rows = _rows(one)
        spare: Spare = one.cache.setdefault("spare sums", Spare(rows))
        return Places(MappingProxyType({one.name: 0}), rows, one.lengths, one.ordinals, spare)
    if not segments:
        return Joint().places(())
    joint: Joint = max(segments, key=_rows).cache.setdefault("joint rows", Joint())
    return joint.places(segments)


def _rows(segment: LexicalSegment) -> int:
    return int(segment.ordinals.shape[0])
