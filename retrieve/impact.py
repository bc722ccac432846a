"""Which rows can be among the best of the lexical lane, from bounds instead of scores.

Every posting has a byte that bounds what it adds (`index/impacts.py`). Terms are added up from the
one that can add most; once the terms that are left can not lift a row without the others to the
depth-th best, only rows met so far are left, and few of them. What is returned is a superset of the
best `depth`, to be scored canonically. Terms that many rows have are added as whole columns.

Spec: retrieval 4.1.1 has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ibidem.retrieve.bm25 import Scorer, Statistics, Weighted
from ibidem.retrieve.numbers import kth_largest_at_most
from ibidem.retrieve.protocol import LexicalSegment, Ordinals, Term
from ibidem.retrieve.scope import Scope, Universe, cached

Slots = npt.NDArray[np.intp]
Float32s = npt.NDArray[np.float32]

LEVELS = 255.0
_SPREAD_MAX = 1.25
"""A segment whose impacts are further off than this for the collection has its gains computed."""
_WORTH = 1_500
"""Postings that must be left for a look at the threshold to pay."""
_SHARE = 6
"""Once one slot in so many was met, whole columns are cheaper than single slots."""
_FEW = 256
"""Candidates that are not worth refining, beside four times the depth."""


@dataclass(frozen=True, slots=True)
class Plane:
    """The rows of all segments, side by side: a *slot* is a row plus the start of its segment."""

    starts: tuple[int, ...]
    """(segments + 1,)"""
    hidden: Slots
    """Slots outside the view."""
    segments: Sequence[LexicalSegment]
    _spare: list[Float32s] = field(default_factory=list)
    _ordinals: list[Ordinals] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of slots."""
        return self.starts[-1]

    def take(self) -> Float32s:
        """Returns an accumulator that nobody else uses: 0 in the view, -inf outside."""
        try:
            return self._spare.pop()
        except IndexError:
            return self.cleared(np.empty(self.size, np.float32))

    def give(self, sums: Float32s) -> None:
        """Takes back an accumulator, cleared."""
        if len(self._spare) < 4:
            self._spare.append(sums)

    def cleared(self, sums: Float32s) -> Float32s:
        """Clears an accumulator."""
        sums.fill(0.0)
        sums[self.hidden] = -np.inf
        return sums

    def ordinals(self) -> Ordinals:
        """Returns (slots,) uint32, made when first asked for."""
        if not self._ordinals:
            self._ordinals.append(np.concatenate([one.ordinals for one in self.segments]))
        return self._ordinals[0]


def plane_of(view: Scope, statistics: Statistics, *, include_tombstoned: bool) -> Plane:
    """Returns the plane of a view, made once a snapshot."""

    def build() -> Plane:
        segments = view.snapshot.lexical
        starts = [0]
        hidden: list[Slots] = [np.zeros(0, np.intp)]
        for segment, gone in zip(segments, statistics.gone, strict=True):
            if gone is not None:
                hidden.append(gone + starts[-1])
            starts.append(starts[-1] + segment.ordinals.shape[0])
        return Plane(tuple(starts), np.concatenate(hidden), segments)

    return cached(view.snapshot, ("plane", include_tombstoned), build)


def candidates(universe: Universe, scorer: Scorer, plane: Plane) -> Slots:
    """Returns slots of the universe, ascending, with every row among the best `depth` in them."""
    scan = _Scan(universe, scorer, plane)
    found = scan.run()
    plane.give(scan.sums)
    return found


class _Scan:
    """One query's way through the postings; used once."""

    def __init__(self, universe: Universe, scorer: Scorer, plane: Plane) -> None:
        self.plane, self.scorer = plane, scorer
        self.depth = universe.query.depth
        self.scope = None if universe.scope is universe.view else universe.scope
        self.widths, self.spread = _widths(scorer)
        lift = scorer.k1 + 1.0
        bounds = [self._bound(term) for term in scorer.terms]
        order = sorted(range(len(bounds)), key=bounds.__getitem__, reverse=True)
        self.terms = [scorer.terms[place] for place in order]
        self.bounds = [bounds[place] for place in order]
        self.loss = lift * sum(term.weight for term in self.terms) / LEVELS
        self.slack = (len(self.terms) + 8) * 2.0**-23
        self.sums = plane.take()
        self.least = -np.inf
        """A row of the universe with a smaller score is not among the best."""

    def run(self) -> Slots:
        """Returns the candidates and leaves `sums` cleared."""
        met: list[Slots] = []
        count = done = 0
        left = sum(term.count for term in self.terms)
        while done < len(self.terms):
            stop = self._next_look(done, left)
            size = sum(term.count for term in self.terms[done:stop])
            if (count + size) * _SHARE > self.plane.size and count + size > _WORTH:
                return self._whole(done)
            met.append(self._add(self.terms[done:stop], size))
            count, left, done = count + size, left - size, stop
            if done < len(self.terms):
                slots = met[0] if len(met) == 1 else np.concatenate(met)
                met = [slots]
                values = self._values(slots)
                self._raise(self._best_of(slots, values, done))
                if self._rest(done) < self.least:
                    return self._near(slots, values, done)
        slots = met[0] if len(met) == 1 else np.concatenate(met)
        values = self._values(slots)
        self._raise(self._best_of(slots, values, done))
        return self._near(slots, values, done)

    def _bound(self, term: Weighted) -> float:
        """Returns what the term adds to a score at most."""
        ratio = 0.0
        for part, width in zip(term.parts, self.widths, strict=True):
            if part is not None:
                ratio = max(ratio, 1.0 if width is None else min(1.0, width * part.top / LEVELS))
        return (self.scorer.k1 + 1.0) * term.weight * ratio

    def _rest(self, done: int) -> float:
        return sum(self.bounds[done:]) * (1.0 + self.slack)

    def _next_look(self, done: int, left: int) -> int:
        """Returns up to which term to add before the threshold may be high enough."""
        stop = done
        while stop < len(self.terms):
            left -= self.terms[stop].count
            stop += 1
            if left > _WORTH and sum(self.bounds[stop:]) < 0.7 * sum(self.bounds[:stop]):
                return stop
        return stop

    def _add(self, terms: Sequence[Weighted], size: int) -> Slots:
        """Adds the postings of terms; returns their slots, a slot as often as it has a term."""
        slots = np.empty(size, np.intp)
        values = np.empty(size, np.float32)
        stop = 0
        for term in terms:
            for index, part in enumerate(term.parts):
                if part is None:
                    continue
                start, stop = stop, stop + part.rows.shape[0]
                slots[start:stop] = part.rows
                if index:
                    slots[start:stop] += self.plane.starts[index]
                self._fill(values[start:stop], term, index, part)
        np.add.at(self.sums, slots, values)
        return slots

    def _fill(self, out: Float32s, term: Weighted, index: int, part: Term) -> None:
        """Writes what each posting adds at most."""
        width = self.widths[index]
        if width is None or part.impacts is None:
            out[:] = self.scorer.gains(index, part, term.weight)
        else:
            np.multiply(part.impacts, self._unit(term, width), out=out)

    def _unit(self, term: Weighted, width: float) -> np.float32:
        return np.float32((self.scorer.k1 + 1.0) * term.weight * width / LEVELS)

    def _values(self, slots: Slots) -> Float32s:
        values = self.sums.take(slots)
        if self.scope is not None:
            values[~self.scope.flags()[self.plane.ordinals()[slots]]] = -np.inf
        return values

    def _best_of(self, slots: Slots, values: Float32s, done: int) -> float:
        """Returns the depth-th largest sum of distinct slots; -inf when there are too few."""
        if slots.shape[0] < self.depth:
            return -np.inf
        bar = kth_largest_at_most(values, min(slots.shape[0], self.depth * done))
        _, distinct = _distinct(slots, values, np.flatnonzero(values >= bar))
        if distinct.shape[0] < self.depth:
            return -np.inf
        return float(np.partition(distinct, -self.depth)[-self.depth])

    def _raise(self, partial: float) -> None:
        """Learns that `depth` rows of the universe have at least this sum of bounds."""
        if partial > 0.0:
            sure = partial * self.spread * (1.0 - self.slack) - self.loss * (1.0 + self.slack)
            self.least = max(self.least, sure)

    def _bar(self, done: int) -> float:
        """Returns the sum after `done` terms below which a row is not among the best."""
        return max(0.0, self.least * (1.0 - self.slack) - self._rest(done))

    def _near(self, slots: Slots, values: Float32s, done: int) -> Slots:
        """Returns what is left of the slots that were met."""
        bar = self._bar(done)
        chosen = np.flatnonzero(values > 0.0 if bar == 0.0 else values >= bar)
        found, sums = _distinct(slots, values, chosen)
        np.minimum(values, 0.0, out=values)
        if self.scope is None:
            self.sums[slots] = values
        else:
            self.plane.cleared(self.sums)
        return self._refined(found, sums, done)

    def _whole(self, done: int) -> Slots:
        """Adds the terms from `done` on to whole columns; returns the slots that are left."""
        for term in self.terms[done:]:
            for index, part in enumerate(term.parts):
                if part is None:
                    continue
                width = self.widths[index]
                start, stop = self.plane.starts[index], self.plane.starts[index + 1]
                if part.dense is not None and width is not None:
                    self.sums[start:stop] += part.dense * self._unit(term, width)
                else:
                    values = np.empty(part.rows.shape[0], np.float32)
                    self._fill(values, term, index, part)
                    np.add.at(self.sums[start:stop], part.rows, values)
        sums = self.sums
        if self.scope is not None:
            sums = np.where(self.scope.flags()[self.plane.ordinals()], sums, np.float32(-np.inf))
        self._raise(kth_largest_at_most(sums, self.depth))
        bar = self._bar(len(self.terms))
        found = np.flatnonzero(sums > 0.0 if bar == 0.0 else sums >= bar)
        self.plane.cleared(self.sums)
        return found

    def _refined(self, slots: Slots, sums: Float32s, done: int) -> Slots:
        """Adds the terms that are left to the candidates, as long as these are many."""
        while done < len(self.terms) and slots.shape[0] > 4 * self.depth + _FEW:
            sums = sums + self._looked_up(self.terms[done], slots)
            done += 1
            self._raise(float(np.partition(sums, -self.depth)[-self.depth]))
            keep = np.flatnonzero(sums >= self._bar(done))
            slots, sums = slots[keep], sums[keep]
        return slots

    def _looked_up(self, term: Weighted, slots: Slots) -> Float32s:
        """Returns what a term adds to each of ascending slots at most."""
        values = np.zeros(slots.shape[0], np.float32)
        ends = np.searchsorted(slots, self.plane.starts)
        for index, part in enumerate(term.parts):
            span = slice(int(ends[index]), int(ends[index + 1]))
            if part is None or span.start == span.stop:
                continue
            width = self.widths[index]
            rows = slots[span] - self.plane.starts[index]
            if part.dense is not None and width is not None:
                values[span] = part.dense[rows] * self._unit(term, width)
                continue
            places = part.rows.searchsorted(rows.astype(np.uint32))
            has = part.rows.take(places, mode="clip") == rows
            gains = np.empty(part.rows.shape[0], np.float32)
            self._fill(gains, term, index, part)
            values[span] = gains.take(places, mode="clip") * has
        return values


def _widths(scorer: Scorer) -> tuple[list[float | None], float]:
    """Returns by segment what widens its impacts to bounds here, and how far off they may be.

    None stands for a segment whose impacts say too little here. The second number is at most the
    smallest ratio of what a posting adds to its widened bound, quantisation aside.

    Spec: retrieval 4.1.1.
    """
    constant = scorer.k1 * (1.0 - scorer.b)
    slope = scorer.k1 * scorer.b / scorer.statistics.mean_length
    widths: list[float | None] = []
    spread = 1.0
    for segment in scorer.segments:
        k1, b, mean = segment.reference or (0.0, 0.0, 1.0)
        if slope == 0.0 or k1 == 0.0:
            widths.append(None)
            continue
        ratios = (1.0 + k1 * (1.0 - b)) / (1.0 + constant), k1 * b / mean / slope
        high, low = max(1.0, *ratios), min(1.0, *ratios)
        if high > low * _SPREAD_MAX:
            widths.append(None)
            continue
        widths.append(high * (1.0 + 2.0**-30))
        spread = min(spread, low / high * (1.0 - 2.0**-30))
    return widths, spread


def _distinct(slots: Slots, values: Float32s, chosen: Slots) -> tuple[Slots, Float32s]:
    """Returns the distinct slots among those at `chosen`, ascending, with their values."""
    found = slots[chosen]
    order = np.argsort(found, kind="stable")
    found = found[order]
    first = np.empty(found.shape[0], np.bool_)
    first[:1] = True
    np.not_equal(found[1:], found[:-1], out=first[1:])
    return found[first], values[chosen[order[first]]]
