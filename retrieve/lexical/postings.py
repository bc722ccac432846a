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
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Bools, Term

IMPACT_MAX = 255
_NO_SLOTS = np.zeros(0, np.uint32)
_NO_BYTES = np.zeros(0, np.uint8)

Number = TypeVar("Number", bound=np.generic)
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
    """(m,) uint32 ascending."""
    values: Float64s | None
    """(m,) the canonical contribution of each; None where they are computed as they are needed."""
    maximum: float
    """None of `values` is above this: the largest of them, or a bound where these are absent."""
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
        "_frequencies",
        "_slots",
        "bounds",
        "contributions",
        "count",
        "frequency",
        "parts",
    )

    def __init__(self, parts: Sequence[tuple[int, int, Term]], count: int, frequency: int) -> None:
        self.parts = parts
        """By segment that has it: the segment's index, its first slot, and the term there."""
        self.count = count
        """The number of postings, those outside the view included."""
        self.frequency = frequency
        """df: documents of the view that have the term."""
        self.contributions: dict[float, Contributions | None] = {}
        """By weight; None where a weight was asked for once and nothing was cached."""
        self._slots: Slots | None = None
        self._frequencies: npt.NDArray[np.unsignedinteger] | None = None
        self.bounds: TermBounds | None = None
        """Of its ratios, for the k1 and b that it is cached under; None before they are needed."""

    @property
    def slots(self) -> Slots:
        """(m,) uint32 ascending, rows outside the view included."""
        if self._slots is None:
            found = [part.rows + start if start else part.rows for _, start, part in self.parts]
            self._slots = _merged(found, _NO_SLOTS)
        return self._slots

    @property
    def frequencies(self) -> npt.NDArray[np.unsignedinteger]:
        """(m,) how often each row has the term."""
        if self._frequencies is None:
            found = [part.frequencies for _, _, part in self.parts]
            self._frequencies = _merged(found, _NO_BYTES)
        return self._frequencies

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


def _merged(found: Sequence[npt.NDArray[Number]], none: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Returns columns one after the other, `none` if there are none."""
    if len(found) < 2:
        return found[0] if found else none
    return np.concatenate(found)


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
