"""The lexical rows of a view: which documents count, and the posting lists over all segments.

Problem: a caller's view hides some documents (tombstones, trust, erasures), and N, df, mean length
and the posting lists must be those of the view, without reading what is not hidden. Idea: each
segment stores its totals, and only the rows outside the view are subtracted. Posting lists of one
term are merged over segments when a query first asks for it, and cached; hidden rows stay in the
lists and are excluded by starting their sum at -inf.

A *slot* is the position of a row in the columns of `retrieve/lexical/row_layout.py`, which number
the rows of all segments through.

Invariant: nothing here depends on how rows are divided into segments. Cost: proportional to the
rows that are hidden, then to the postings of the terms that are asked for; with one segment nothing
is copied.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet, cached
from ibidem.retrieve.lexical import tuning
from ibidem.retrieve.lexical.postings import (
    IMPACT_MAX,
    Impacts,
    MergedPostings,
    SegmentPostings,
    Slots,
    TermBounds,
    length_norms,
)
from ibidem.retrieve.lexical.row_layout import RowLayout, row_layout_of
from ibidem.retrieve.lexical.statistics import Statistics
from ibidem.retrieve.numbers import Float32s, Float64s
from ibidem.retrieve.protocol import Bools, LexicalSegment, Ordinals, Term
from ibidem.retrieve.query.query import Query

_DOWN = 1.0 - 2.0**-40
_NO_BYTES = np.zeros(0, np.uint8)
_MINUS_INFINITY = np.uint32(0xFF800000)
"""The bits of the float32."""

RatioBounds = tuple[float, float] | None
"""The smallest and the largest quotient of a posting's ratio for the query's k1, b and mean length
by its ratio for those of the segment's impacts; None where they are too far apart to be of use.
"""


@record
class LexicalView:
    """The lexical rows of a view, by slot, and a cache of its terms."""

    segments: Sequence[LexicalSegment]
    """In the order of their slots."""
    starts: tuple[int, ...]
    """By segment, its first slot."""
    layout: RowLayout
    in_view: Bools | None
    """(slots,) whether the row of a slot is in the view; None where all are. Never changed."""
    _initial_sums: list[Float32s] = field(default_factory=list)
    _free_sums: list[Float32s] = field(default_factory=list)
    _terms: dict[tuple[str, float, float], MergedPostings] = field(default_factory=dict)
    _cached_bytes: list[int] = field(default_factory=lambda: [0])
    _ratio_bounds: dict[tuple[float, float], list[RatioBounds]] = field(default_factory=dict)

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """(slots,) terms of each row."""
        return self.layout.lengths

    @property
    def ordinals(self) -> Ordinals:
        """(slots,) of each row's node."""
        return self.layout.ordinals

    @property
    def size(self) -> int:
        """The number of slots."""
        return self.layout.size

    @property
    def initial_sums(self) -> Float32s | None:
        """(slots,) what accumulators start from: 0 in the view, -inf outside; None where all are in
        it.
        """
        if self.in_view is not None and not self._initial_sums:
            sums = np.empty(self.size, np.float32)
            # The bits of 0.0 or of -inf, by row: one multiplication instead of a masked write.
            np.multiply(~self.in_view, _MINUS_INFINITY, out=sums.view(np.uint32))
            self._initial_sums.append(sums)
        return self._initial_sums[0] if self._initial_sums else None

    def visible(self, slots: Slots) -> Slots:
        """Returns those of some slots that are in the view."""
        return slots if self.in_view is None else slots[self.in_view[slots]]

    def acquire_sums(self) -> Float32s:
        """Returns accumulators for one user, equal to `initial_sums` (or zeros); (slots,) or
        longer.
        """
        initial_sums = self.initial_sums
        if initial_sums is None:
            return self.layout.zeros_pool.acquire(np.float32)
        try:
            return self._free_sums.pop()
        except IndexError:
            return initial_sums.copy()

    def release_sums(self, sums: Float32s) -> None:
        """Takes accumulators back, which must be as they were acquired."""
        if self.in_view is None:
            self.layout.zeros_pool.release(sums)
        elif len(self._free_sums) < tuning.ACCUMULATORS_KEPT:
            self._free_sums.append(sums)

    def reset_sums(self, sums: Float32s) -> None:
        """Makes accumulators what they were when acquired."""
        initial_sums = self.initial_sums
        if initial_sums is None:
            sums.fill(0.0)
        else:
            np.copyto(sums, initial_sums)

    def ratio_bounds(self, statistics: Statistics, k1: float, b: float) -> list[RatioBounds]:
        """Returns, by segment, how far its impacts are off for a query's parameters."""
        found = self._ratio_bounds.get((k1, b))
        if found is None:
            found = [_ratio_bounds_of(segment, statistics, k1, b) for segment in self.segments]
            if len(self._ratio_bounds) >= tuning.RATIO_BOUNDS_CACHED_MAX:
                self._ratio_bounds.clear()
            self._ratio_bounds[k1, b] = found
        return found

    def term(self, text: str, statistics: Statistics, k1: float, b: float) -> MergedPostings:
        """Returns the postings of a term over all segments; empty where no row has it."""
        found = self._terms.get((text, k1, b))
        if found is None:
            found = _merge_postings(self, statistics, text)
            self.charge(tuning.POSTING_BYTES * found.count)
            self._terms[text, k1, b] = found
        return found

    def frequencies(
        self, texts: Iterable[str], statistics: Statistics, query: Query
    ) -> dict[str, int]:
        """Returns by term how many documents of the view have it."""
        k1, b = query.k1, query.b
        return {text: self.term(text, statistics, k1, b).frequency for text in texts}

    def bounds(
        self, postings: MergedPostings, statistics: Statistics, k1: float, b: float
    ) -> TermBounds:
        """Returns the bounds of the ratios of a term, for the k1 and b that it is cached under."""
        if postings.bounds is None:
            postings.bounds = _bounds(self, statistics, postings.parts, k1, b)
        return postings.bounds

    def ratio_max(
        self, postings: MergedPostings, statistics: Statistics, k1: float, b: float
    ) -> float:
        """Returns an upper bound of the ratios of a term, without reading its postings."""
        ratio_bounds = self.ratio_bounds(statistics, k1, b)
        found = 0.0
        for index, _, part in postings.parts:
            ratio = ratio_bounds[index]
            if ratio is None:
                return 1.0
            found = max(found, ratio[1] * part.top / IMPACT_MAX)
        return min(1.0, found)

    def charge(self, size_bytes: int) -> None:
        """Counts bytes that are about to be cached with a term, and empties a full cache."""
        if (
            len(self._terms) >= tuning.TERM_CACHE_TERMS
            or self._cached_bytes[0] > tuning.TERM_CACHE_BYTES
        ):
            self._terms.clear()
            self._cached_bytes[0] = 0
        self._cached_bytes[0] += size_bytes


def lexical_view_of(
    view: NodeSet, statistics: Statistics, *, include_tombstoned: bool
) -> LexicalView:
    """Returns the lexical rows of a view, built once a snapshot."""

    def build() -> LexicalView:
        layout = row_layout_of(view.snapshot.lexical)
        starts = layout.starts
        segments = sorted(view.snapshot.lexical, key=lambda one: starts[one.name])
        in_view = None
        if statistics.masks and len(segments) == 1:
            (in_view,) = statistics.masks.values()
        elif statistics.masks:
            in_view = np.ones(layout.size, np.bool_)
            for name, mask in statistics.masks.items():
                in_view[starts[name] : starts[name] + mask.shape[0]] = mask
        return LexicalView(segments, tuple(starts[one.name] for one in segments), layout, in_view)

    return cached(view.snapshot, ("lexical view", include_tombstoned), build)


def _merge_postings(lexical_view: LexicalView, statistics: Statistics, text: str) -> MergedPostings:
    parts: list[tuple[int, int, Term]] = []
    count = frequency = 0
    for index, (segment, start) in enumerate(
        zip(lexical_view.segments, lexical_view.starts, strict=True)
    ):
        part = segment.term(text)
        if part is not None:
            parts.append((index, start, part))
            size = part.rows.shape[0]
            count += size
            frequency += size
            if statistics.masks and segment.name in statistics.masks:
                frequency -= _postings_outside(statistics, segment.name, part)
    return MergedPostings(parts, count, frequency)


def _ratio_bounds_of(
    segment: LexicalSegment, statistics: Statistics, k1: float, b: float
) -> RatioBounds:
    """Returns how far the impacts of a segment are off for a query's k1, b and mean length.

    r / r' is a mediant of two quotients that do not depend on the posting, and so lies between
    them. None where the bounds are too far apart to prune with, or the segment has no impacts.

    Spec: retrieval 4.1.1.
    """
    slope = k1 * b / statistics.mean_length
    if segment.reference is None or slope == 0.0:
        return None
    known, weight, mean = segment.reference
    ratios = (1.0 + known * (1.0 - weight)) / (1.0 + k1 * (1.0 - b)), known * weight / mean / slope
    low, high = min(1.0, *ratios) * (1.0 - 2.0**-30), max(1.0, *ratios) * (1.0 + 2.0**-30)
    return None if high > low * tuning.RATIO_SPREAD_MAX else (low, high)


def _postings_outside(statistics: Statistics, name: str, part: Term) -> int:
    """Returns how many postings of a term in one segment belong to rows outside the view."""
    mask, gone = statistics.masks[name], statistics.gone.get(name)
    if part.dense is not None and gone is not None and gone.shape[0] < part.rows.shape[0]:
        return int(np.count_nonzero(part.dense[gone]))
    if part.dense is not None:
        return int(part.rows.shape[0]) - int(np.count_nonzero(part.dense * mask))
    return int(part.rows.shape[0]) - int(np.count_nonzero(mask.take(part.rows)))


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


def _impacts(part: Term, norms: Float64s) -> Impacts:
    """Returns the (m,) impacts of postings whose documents have these norms, as the index rounds
    them.
    """
    ratio = part.frequencies.astype(np.float64)
    ratio /= norms + ratio
    ratio *= IMPACT_MAX * _DOWN
    found: Impacts = np.floor(ratio).astype(np.uint8) + np.uint8(1)
    return found
