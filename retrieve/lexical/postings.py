"""One term over all segments: its postings, bounds of its contributions, and the contributions.

Three levels of the same information, each derived when first asked for, since most terms are asked
for once: *postings* (slots and frequencies, as stored), *impacts* (one byte that bounds what a
posting contributes, for any query) and *contributions* (exact float64 values, for one weight).

Impacts are BM25's ratio r = tf / (tf + norm), quantised to 1..255: q bounds r from above and q - 1
from below. The index stores them for default parameters and the segment's own mean length; for
others the bounds are widened by a factor, or the impacts computed again (`view.py`).

Impact-ordered and quantised postings: Anh, de Kretser and Moffat, "Vector-space ranking with
effective early termination" (2001).

Spec: retrieval 4.1.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Bools, Term

if TYPE_CHECKING:
    from ibidem.retrieve.lexical.statistics import Statistics
    from ibidem.retrieve.lexical.view import LexicalView

IMPACT_MAX = 255
_DOWN = 1.0 - 2.0**-40
_NO_SLOTS = np.zeros(0, np.uint32)
_NO_BYTES = np.zeros(0, np.uint8)

Slots = npt.NDArray[np.uint32]
Impacts = npt.NDArray[np.uint8]


@record
class SegmentPostings:
    """The part of a term's postings that lies in one segment."""

    first: int
    """Its postings are [first, last) of the merged ones."""
    last: int
    start: int
    """The segment's slots are [start, stop)."""
    stop: int
    dense: Impacts | None
    """(stop - start,) impacts by row, 0 for rows without the term; None where not stored."""


@record
class Contributions:
    """What the postings of a term add to the scores of the view's documents, for one weight."""

    slots: Slots
    """(m,) uint32 ascending; rows outside the view are left out."""
    values: Float64s
    """(m,) the canonical contribution of each."""
    maximum: float
    """The largest of `values`, 0.0 where there are none."""
    bound: float
    """None of `values` is above this, but for those of `exceptions`."""
    exceptions: Slots
    """The slots with a value above `bound`, ascending."""


@record
class TermBounds:
    """Bounds of the BM25 ratio of each posting of a term, from one byte each."""

    impacts: Impacts
    """(m,): a posting's ratio is at most `scale` * impact / 255."""
    scale: float
    lower_factor: float
    """And at least `scale` * `lower_factor` * (impact - 1) / 255."""
    ratio_max: float
    """No posting's ratio is above this."""
    segments: tuple[SegmentPostings, ...]
    """The postings by segment."""


class MergedPostings:
    """A term over all segments; columns are concatenated when they are first asked for."""

    __slots__ = (
        "_bounds",
        "_frequencies",
        "_slots",
        "contributions",
        "count",
        "frequency",
        "idf",
        "parts",
    )

    def __init__(
        self, parts: Sequence[tuple[int, int, Term]], count: int, frequency: int, idf: float
    ) -> None:
        self.parts = parts
        """By segment that has it: the segment's index, its first slot, and the term there."""
        self.count = count
        """The number of postings, those outside the view included."""
        self.frequency = frequency
        """df: documents of the view that have the term."""
        self.idf = idf
        """0.0 where no document has it."""
        self.contributions: dict[float, Contributions | None] = {}
        """By weight; None where a weight was asked for once and nothing was cached."""
        self._slots: Slots | None = None
        self._frequencies: npt.NDArray[np.unsignedinteger] | None = None
        self._bounds: TermBounds | None = None

    @property
    def slots(self) -> Slots:
        """(m,) uint32 ascending, rows outside the view included."""
        if self._slots is None:
            found = [
                part.rows + np.uint32(start) if start else part.rows
                for _, start, part in self.parts
            ]
            self._slots = found[0] if len(found) == 1 else np.concatenate([_NO_SLOTS, *found])
        return self._slots

    @property
    def frequencies(self) -> npt.NDArray[np.unsignedinteger]:
        """(m,) how often each row has the term."""
        if self._frequencies is None:
            found = [part.frequencies for _, _, part in self.parts]
            self._frequencies = found[0] if len(found) == 1 else np.concatenate([_NO_BYTES, *found])
        return self._frequencies

    def bounds(
        self, lexical_view: LexicalView, statistics: Statistics, k1: float, b: float
    ) -> TermBounds:
        """Returns the bounds of its ratios, for the k1 and b that it is cached under."""
        if self._bounds is None:
            self._bounds = _bounds(lexical_view, statistics, self.parts, k1, b)
        return self._bounds

    def contains(self, slots: Slots) -> Bools:
        """Returns (n,) which of some slots have the term."""
        if not self.count:
            return np.zeros(slots.shape[0], np.bool_)
        mine = self.slots
        found: Bools = mine.take(mine.searchsorted(slots), mode="clip") == slots
        return found

    def frequencies_at(self, slots: Slots, out: Float64s) -> None:
        """Writes how often each of (n,) slots has the term, 0 for never, to `out`."""
        mine = self.slots
        postings = mine.searchsorted(slots)
        found = mine.take(postings, mode="clip") == slots
        np.multiply(self.frequencies.take(postings, mode="clip"), found, out=out)


def _bounds(
    lexical_view: LexicalView,
    statistics: Statistics,
    parts: Sequence[tuple[int, int, Term]],
    k1: float,
    b: float,
) -> TermBounds:
    segments: list[SegmentPostings] = []
    impacts: list[Impacts] = [_NO_BYTES]
    high, low, ratio_max, last = 1.0, 1.0, 0.0, 0
    ratio_bounds = lexical_view.ratio_bounds(statistics, k1, b)
    for index, start, part in parts:
        segment, ratio, stored = lexical_view.segments[index], ratio_bounds[index], part.impacts
        first, last = last, last + part.rows.shape[0]
        is_computed = ratio is None or stored is None
        stop = start + segment.ordinals.shape[0]
        segments.append(
            SegmentPostings(first, last, start, stop, None if is_computed else part.dense)
        )
        if ratio is None or stored is None:
            lengths = segment.lengths[part.rows]
            computed = _impacts(part, length_norms(lengths, statistics.mean_length, k1, b))
            impacts.append(computed)
            ratio_max = max(ratio_max, float(computed.max()) / IMPACT_MAX)
        else:
            impacts.append(stored)
            low, high = min(low, ratio[0]), max(high, ratio[1])
            ratio_max = max(ratio_max, ratio[1] * part.top / IMPACT_MAX)
    merged = impacts[1] if len(parts) == 1 else np.concatenate(impacts)
    return TermBounds(merged, high, low / high, min(1.0, ratio_max), tuple(segments))


def length_norms(
    lengths: npt.NDArray[np.unsignedinteger], mean: float, k1: float, b: float
) -> Float64s:
    """Returns norm(x) = k1 * ((1 - b) + b * (length / mean)) of each length, step by step."""
    norms = lengths.astype(np.float64)
    norms /= mean
    norms *= b
    norms += 1.0 - b
    norms *= k1
    return norms


def _impacts(part: Term, norms: Float64s) -> Impacts:
    """Returns the (m,) impacts of postings whose documents have these norms, as the index rounds
    them.
    """
    ratio = part.frequencies.astype(np.float64)
    ratio /= norms + ratio
    ratio *= IMPACT_MAX * _DOWN
    found: Impacts = np.floor(ratio).astype(np.uint8) + np.uint8(1)
    return found
