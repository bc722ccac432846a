"""A term over all segments of a plane: its postings, what bounds them, and what they add.

Nothing is put together before somebody asks for it: most terms are asked for once.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.lexical.statistics import Statistics
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Bools, LexicalSegment, Term

LEVELS = 255
_DOWN = 1.0 - 2.0**-40
_NO_SLOTS = np.zeros(0, np.uint32)
_NO_BYTES = np.zeros(0, np.uint8)

Slots = npt.NDArray[np.uint32]
Impacts = npt.NDArray[np.uint8]
Width = tuple[float, float] | None
"""Bounds of a ratio divided by the one that an impact was made for; None where these say too
little."""


@record
class Piece:
    """The part of a term that lies in one segment."""

    first: int
    """Where its postings begin among the term's, and `last` where they end."""
    last: int
    start: int
    """Where the segment's slots begin, and `stop` where they end."""
    stop: int
    dense: Impacts | None
    """(stop - start,) the impacts by row, 0 for rows without the term; None where not kept."""


@record
class Contributions:
    """What a term adds to the scores of the view's rows, for one weight."""

    slots: Slots
    """(m,) uint32 ascending, rows of the view only."""
    values: Float64s
    """(m,) the gain of each, canonical."""
    top: float
    """The largest."""
    most: float
    """None is above this but those of `exceptions`."""
    exceptions: Slots
    """The slots of those, ascending."""


@record
class TermBounds:
    """What bounds the postings of a term, one byte each."""

    impacts: Impacts
    """(m,): a posting's ratio is at most `width` / 255 times its impact."""
    width: float
    spread: float
    """And at least `width` · `spread` / 255 times its impact less one."""
    top: float
    """No posting's ratio is above this."""
    pieces: tuple[Piece, ...]
    """The postings by segment."""


class MergedPostings:
    """A term over all segments; its columns are put together when they are first asked for."""

    __slots__ = ("_bounds", "_frequencies", "_slots", "count", "frequency", "gains", "idf", "parts")

    def __init__(
        self, parts: Sequence[tuple[int, int, Term]], count: int, frequency: int, idf: float
    ) -> None:
        self.parts = parts
        """By segment that has it: its place, its first slot, and the term there."""
        self.count = count
        """The number of postings, dead rows included."""
        self.frequency = frequency
        """Documents of the view that have the term."""
        self.idf = idf
        """0.0 where none has."""
        self.gains: dict[float, Contributions | None] = {}
        """By weight, what was made for it; None where it was only asked for."""
        self._slots: Slots | None = None
        self._frequencies: npt.NDArray[np.unsignedinteger] | None = None
        self._bounds: TermBounds | None = None

    @property
    def slots(self) -> Slots:
        """(m,) uint32 ascending, dead rows included."""
        if self._slots is None:
            found = [
                part.rows + np.uint32(start) if start else part.rows
                for _, start, part in self.parts
            ]
            self._slots = found[0] if len(found) == 1 else np.concatenate([_NO_SLOTS, *found])
        return self._slots

    @property
    def frequencies(self) -> npt.NDArray[np.unsignedinteger]:
        """(m,): how often each row has it."""
        if self._frequencies is None:
            found = [part.frequencies for _, _, part in self.parts]
            self._frequencies = found[0] if len(found) == 1 else np.concatenate([_NO_BYTES, *found])
        return self._frequencies

    def bounds(
        self,
        segments: Sequence[LexicalSegment],
        widths: Sequence[Width],
        statistics: Statistics,
        k1: float,
        b: float,
    ) -> TermBounds:
        """Returns the bounds of its postings, for what it was made for.

        Args:
            segments: of the view.
            widths: likewise, what the impacts of each are widened by.
            statistics: of the view.
            k1: the query's, as is `b`.
        """
        if self._bounds is None:
            self._bounds = _bounds(self.parts, segments, widths, statistics, k1, b)
        return self._bounds

    def has(self, slots: Slots) -> Bools:
        """Returns which of some slots have the term."""
        if not self.count:
            return np.zeros(slots.shape[0], np.bool_)
        mine = self.slots
        found: Bools = mine.take(mine.searchsorted(slots), mode="clip") == slots
        return found

    def frequencies_at(self, slots: Slots, out: Float64s) -> None:
        """Writes how often each of some slots has the term."""
        mine = self.slots
        places = mine.searchsorted(slots)
        has = mine.take(places, mode="clip") == slots
        np.multiply(self.frequencies.take(places, mode="clip"), has, out=out)


def _bounds(
    parts: Sequence[tuple[int, int, Term]],
    segments: Sequence[LexicalSegment],
    widths: Sequence[Width],
    statistics: Statistics,
    k1: float,
    b: float,
) -> TermBounds:
    pieces: list[Piece] = []
    impacts: list[Impacts] = [_NO_BYTES]
    high, low, top, last = 1.0, 1.0, 0.0, 0
    for index, start, part in parts:
        segment, width, known = segments[index], widths[index], part.impacts
        first, last = last, last + part.rows.shape[0]
        is_new = width is None or known is None
        stop = start + segment.ordinals.shape[0]
        pieces.append(Piece(first, last, start, stop, None if is_new else part.dense))
        if width is None or known is None:
            lengths = segment.lengths[part.rows]
            made = _impacts(part, shares(lengths, statistics.mean_length, k1, b))
            impacts.append(made)
            top = max(top, float(made.max()) / LEVELS)
        else:
            impacts.append(known)
            low, high = min(low, width[0]), max(high, width[1])
            top = max(top, width[1] * part.top / LEVELS)
    joined = impacts[1] if len(parts) == 1 else np.concatenate(impacts)
    return TermBounds(joined, high, low / high, min(1.0, top), tuple(pieces))


def shares(lengths: npt.NDArray[np.unsignedinteger], mean: float, k1: float, b: float) -> Float64s:
    """Returns k1 · ((1 - b) + b · (length / mean)) of each length, step by step."""
    share = lengths.astype(np.float64)
    share /= mean
    share *= b
    share += 1.0 - b
    share *= k1
    return share


def _impacts(part: Term, share: Float64s) -> Impacts:
    """Returns impacts for what the share of each posting is here, as the index makes them."""
    ratio = part.frequencies.astype(np.float64)
    ratio /= share + ratio
    ratio *= LEVELS * _DOWN
    found: Impacts = np.floor(ratio).astype(np.uint8) + np.uint8(1)
    return found
