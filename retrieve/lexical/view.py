"""The lexical rows of a view as one plane, over all segments.

A *slot* is the place of a row among those of all segments, see `retrieve/lexical/row_layout.py`.
A term is joined over the segments when it is first asked for, and
remembered; with one segment nothing is copied.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet, cached
from ibidem.retrieve.lexical.postings import MergedPostings, Slots, Width
from ibidem.retrieve.lexical.row_layout import RowPlaces, places_of
from ibidem.retrieve.lexical.statistics import Statistics
from ibidem.retrieve.numbers import Float32s, ln_ratio
from ibidem.retrieve.protocol import Bools, LexicalSegment, Ordinals, Term

_SPREAD_MAX = 1.25
"""A segment whose impacts are further off than this for the view gets new ones."""
_BYTES_KEPT, _TERMS_KEPT = 48_000_000, 16_384
"""What a plane remembers of terms."""
_POSTING_BYTES = 6
"""A slot, a frequency and an impact."""
_MINUS_INFINITY = np.uint32(0xFF800000)
"""The bits of the float32."""


@record
class LexicalView:
    """The lexical rows of a view."""

    segments: Sequence[LexicalSegment]
    """In the order of their slots."""
    starts: tuple[int, ...]
    """By segment, its first slot."""
    places: RowPlaces
    inside: Bools | None
    """(slots,) whether a slot's row is in the view; None where all are. Never changed."""
    _empty: list[Float32s] = field(default_factory=list)
    _spare: list[Float32s] = field(default_factory=list)
    _terms: dict[tuple[str, float, float], MergedPostings] = field(default_factory=dict)
    _kept: list[int] = field(default_factory=lambda: [0])
    _widths: dict[tuple[float, float], list[Width]] = field(default_factory=dict)

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """(slots,)"""
        return self.places.lengths

    @property
    def ordinals(self) -> Ordinals:
        """(slots,)"""
        return self.places.ordinals

    @property
    def size(self) -> int:
        """No slot is beyond it."""
        return self.places.size

    @property
    def empty(self) -> Float32s | None:
        """(slots,) what sums start from: 0 in the view, -inf outside; None where all are in it."""
        if self.inside is not None and not self._empty:
            made = np.empty(self.size, np.float32)
            np.multiply(~self.inside, _MINUS_INFINITY, out=made.view(np.uint32))
            self._empty.append(made)
        return self._empty[0] if self._empty else None

    def seen(self, slots: Slots) -> Slots:
        """Returns those of some slots that are in the view."""
        return slots if self.inside is None else slots[self.inside[slots]]

    def take(self) -> Float32s:
        """Returns sums that nobody else uses, as at the start; (slots,) or longer."""
        empty = self.empty
        if empty is None:
            return self.places.spare.take(np.float32)
        try:
            return self._spare.pop()
        except IndexError:
            return empty.copy()

    def give(self, sums: Float32s) -> None:
        """Takes sums back, as they were."""
        if self.inside is None:
            self.places.spare.give(sums)
        elif len(self._spare) < 2:
            self._spare.append(sums)

    def reset(self, sums: Float32s) -> None:
        """Makes sums what they were when taken."""
        empty = self.empty
        if empty is None:
            sums.fill(0.0)
        else:
            np.copyto(sums, empty)

    def widths(self, statistics: Statistics, k1: float, b: float) -> list[Width]:
        """Returns by segment what its impacts are widened by for a query's parameters."""
        found = self._widths.get((k1, b))
        if found is None:
            found = [_width(segment, statistics, k1, b) for segment in self.segments]
            if len(self._widths) >= 64:
                self._widths.clear()
            self._widths[k1, b] = found
        return found

    def term(self, text: str, statistics: Statistics, k1: float, b: float) -> MergedPostings:
        """Returns a term; one that no row has is empty."""
        found = self._terms.get((text, k1, b))
        if found is None:
            found = _join(self, statistics, text)
            self.keep(_POSTING_BYTES * found.count)
            self._terms[text, k1, b] = found
        return found

    def keep(self, size_bytes: int) -> None:
        """Learns that something of some size is about to be remembered with a term."""
        if len(self._terms) >= _TERMS_KEPT or self._kept[0] > _BYTES_KEPT:
            self._terms.clear()
            self._kept[0] = 0
        self._kept[0] += size_bytes


def lexical_view_of(
    view: NodeSet, statistics: Statistics, *, include_tombstoned: bool
) -> LexicalView:
    """Returns the plane of a view, made once a snapshot."""

    def build() -> LexicalView:
        places = places_of(view.snapshot.lexical)
        starts = places.starts
        segments = sorted(view.snapshot.lexical, key=lambda one: starts[one.name])
        inside = None
        if statistics.masks and len(segments) == 1:
            (inside,) = statistics.masks.values()
        elif statistics.masks:
            inside = np.ones(places.size, np.bool_)
            for name, mask in statistics.masks.items():
                inside[starts[name] : starts[name] + mask.shape[0]] = mask
        return LexicalView(segments, tuple(starts[one.name] for one in segments), places, inside)

    return cached(view.snapshot, ("plane", include_tombstoned), build)


def _join(lexical_view: LexicalView, statistics: Statistics, text: str) -> MergedPostings:
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
            if segment.name in statistics.masks:
                frequency -= _gone(statistics, segment.name, part)
    idf = ln_ratio(2 * statistics.documents + 2, 2 * frequency + 1) if frequency else 0.0
    return MergedPostings(parts, count, frequency, idf)


def _width(segment: LexicalSegment, statistics: Statistics, k1: float, b: float) -> Width:
    """Returns bounds of a ratio here divided by the one that the segment's impacts are made for.

    None where they are too far apart, or the segment has no impacts.

    Spec: retrieval 4.1.1.
    """
    slope = k1 * b / statistics.mean_length
    if segment.reference is None or slope == 0.0:
        return None
    known, weight, mean = segment.reference
    ratios = (1.0 + known * (1.0 - weight)) / (1.0 + k1 * (1.0 - b)), known * weight / mean / slope
    low, high = min(1.0, *ratios) * (1.0 - 2.0**-30), max(1.0, *ratios) * (1.0 + 2.0**-30)
    return None if high > low * _SPREAD_MAX else (low, high)


def _gone(statistics: Statistics, name: str, part: Term) -> int:
    """Returns how many postings of a segment with a mask belong to rows that do not count."""
    mask, gone = statistics.masks[name], statistics.gone.get(name)
    if part.dense is not None and gone is not None and gone.shape[0] < part.rows.shape[0]:
        return int(np.count_nonzero(part.dense[gone]))
    if part.dense is not None:
        return int(part.rows.shape[0]) - int(np.count_nonzero(part.dense * mask))
    return int(part.rows.shape[0]) - int(np.count_nonzero(mask.take(part.rows)))
