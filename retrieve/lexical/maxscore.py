"""Which rows can be among the best of the lexical lane, from bounds instead of scores.

Every posting has a byte that bounds what it adds (`index/segments/impacts.py`). Terms are added up
from the one that can add most; once the terms that are left can not lift a row without the others
to the depth-th best, only rows met so far are left, and few of them. What is returned is a superset
of the best `depth`, to be scored canonically. Terms that many rows have are added as whole columns.

Spec: retrieval 4.1.1 has the proof.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import firsts
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lexical.bm25 import Scorer
from ibidem.retrieve.lexical.postings import LEVELS, Slots
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.numbers import Float64s, kth_largest_at_most

Float32s = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]

_WORTH = 20_000
"""Postings that must be left for a look at the threshold to pay."""
_SHARE = 4
"""Once one slot in so many was met, whole columns are cheaper than single slots."""
_LIKELY = 0.5
"""The share of the largest bound of a term that the depth-th best row is likely to reach."""
_FEW = 64
"""Candidates that are not worth refining, beside four times the depth."""
_LOOK_UP_COST = 16
"""What looking a slot up in a term costs, in postings passed."""


def best_slots(universe: Universe, scorer: Scorer) -> tuple[Slots, Float64s]:
    """Returns slots of the universe, ascending, and their canonical scores.

    Every row among the best `depth` is in them.
    """
    return _Scan(universe, scorer).run()


class _Scan:
    """One query's way through the postings; used once."""

    def __init__(self, universe: Universe, scorer: Scorer) -> None:
        lift = scorer.lift
        self.scorer = scorer
        self.lexical_view: LexicalView = scorer.lexical_view
        self.depth = universe.query.depth
        self.scope: NodeSet | None = None if universe.scope is universe.view else universe.scope
        known = [scorer.bounds(term) for term in scorer.terms]
        bounds = [
            lift * term.weight * one.top for term, one in zip(scorer.terms, known, strict=True)
        ]
        self.order = sorted(range(len(bounds)), key=bounds.__getitem__, reverse=True)
        """The place among the scorer's terms of each term here."""
        self.terms = [scorer.terms[place] for place in self.order]
        self.bounds = [bounds[place] for place in self.order]
        self.known = [known[place] for place in self.order]
        """What the bounds are made of."""
        self.units = [
            np.float32(lift * term.weight * one.width / LEVELS)
            for term, one in zip(self.terms, self.known, strict=True)
        ]
        self.spread = min(one.spread for one in known)
        self.loss = lift * sum(term.weight for term in self.terms) / LEVELS
        self.slack = (len(self.terms) + 8) * 2.0**-23
        self.held = self.lexical_view.take()
        self.sums = self.held[: self.lexical_view.size]
        self.least = -np.inf
        """A row of the universe with a smaller score is not among the best."""

    def run(self) -> tuple[Slots, Float64s]:
        """Returns the candidates and their scores, and gives the sums back."""
        terms = self.terms
        slots = np.zeros(0, np.intp)
        left = sum(term.joined.count for term in terms)
        done = 0
        while True:
            stop = self._next_look(done, left)
            size = sum(term.joined.count for term in terms[done:stop])
            if (slots.shape[0] + size) * _SHARE > self.lexical_view.size and size > _WORTH:
                return self._scored(self._whole(done))
            slots = self._add(slots, done, stop)
            left, done = left - size, stop
            found = self._prune_below(slots, done, left)
            if found is not None:
                return found

    def _next_look(self, done: int, left: int) -> int:
        """Returns up to which term to add before the threshold may be high enough."""
        head = self._next_head(done)
        left -= sum(term.joined.count for term in self.terms[done:head])
        return head if left > _WORTH else len(self.terms)

    def _add(self, met: Places, done: int, until: int) -> Places:
        """Adds the postings of terms; returns all slots met, one as often as it has a term."""
        terms, known = self.terms[done:until], self.known[done:until]
        slots = np.concatenate([term.joined.slots for term in terms], dtype=np.intp)
        values = np.concatenate([one.impacts for one in known], dtype=np.float32)
        stop = 0
        for one, unit in zip(known, self.units[done:until], strict=True):
            start, stop = stop, stop + one.impacts.shape[0]
            part = values[start:stop]
            np.multiply(part, unit, out=part)
        np.add.at(self.sums, slots, values)
        return np.concatenate([met, slots]) if done else slots

    def _prune_below(self, slots: Places, done: int, left: int) -> tuple[Slots, Float64s] | None:
        """Returns the candidates; None where the terms that are left might bring others."""
        if done == len(self.terms):
            return self._last_look(slots)
        values = self._values(slots)
        self._raise_threshold(kth_largest_at_most(values, self.depth * done))
        if self._rest(done) >= self.least:
            return None
        found, sums, *_ = self._reaching(slots, values, done)
        if found.shape[0] * _LOOK_UP_COST > left + _FEW * _LOOK_UP_COST:
            return None
        self._clear(slots)
        return self._scored(self._refined(found, sums, done))

    def _last_look(self, slots: Places) -> tuple[Slots, Float64s]:
        """Returns the candidates once all terms are added.

        Where the best rows are certain to have one of the terms that can add most, only postings of
        these are looked at.
        """
        every = len(self.terms)
        head = self._next_head(0)
        while head < every:
            first = slots[: sum(term.joined.count for term in self.terms[:head])]
            values = self._values(first)
            self._raise_threshold(kth_largest_at_most(values, self.depth * head))
            if self._rest(head) < self.least:
                found, *_ = self._reaching(first, values, every)
                self._clear(slots)
                return self._scored(found)
            head = self._next_head(head)
        values = self._values(slots)
        self._raise_threshold(kth_largest_at_most(values, self.depth * every))
        found, _, places, first_of, keep = self._reaching(slots, values, every)
        self._clear(slots)
        return found, self.scorer.scores_of(found, self._met(places, first_of, keep))

    def _values(self, slots: Places) -> Float32s:
        """Returns the sums of slots, -inf outside the universe."""
        values: Float32s = self.sums.take(slots)
        if self.scope is not None:
            values[~self.scope.flags()[self.lexical_view.ordinals[slots]]] = -np.inf
        return values

    def _next_head(self, head: int) -> int:
        """Returns how many terms, more than `head`, may tell the best rows from those without
        them."""
        likely = max(self.least, _LIKELY * self.bounds[0])
        while head < len(self.terms):
            head += 1
            if self._rest(head) < likely:
                break
        return head

    def _reaching(
        self, slots: Places, values: Float32s, done: int
    ) -> tuple[Slots, Float32s, Places, npt.NDArray[np.bool_], Places]:
        """Returns the distinct slots that are not excluded after `done` terms, and their sums.

        And which of `slots` could be among them, grouped by slot; which of those are the first of
        their group; and which groups were kept.
        """
        chosen = self._above(values, done)
        found, first, order = _distinct(slots, chosen)
        chosen = chosen[order]
        sums = values[chosen[first]]
        if sums.shape[0] > self.depth:
            self._raise_threshold(float(np.partition(sums, -self.depth)[-self.depth]))
        keep = self._above(sums, done)
        return found[keep].astype(np.uint32), sums[keep], chosen, first, keep

    def _scored(self, slots: Slots) -> tuple[Slots, Float64s]:
        return slots, self.scorer.scores(slots)[0]

    def _met(self, places: Places, first: npt.NDArray[np.bool_], keep: Places) -> Float64s:
        """Returns how often some distinct slots have each term, (terms, kept), once all are added.

        `places` among the postings in the order in which they were added, grouped by slot; `first`
        is true for the first of each group; `keep` are the groups wanted.
        """
        ends = np.array([term.joined.count for term in self.terms]).cumsum()
        every = np.concatenate([term.joined.frequencies for term in self.terms])
        group = first.cumsum() - 1
        frequencies = np.zeros((len(self.terms), int(group[-1]) + 1 if len(group) else 0))
        lines = np.array(self.order)[ends.searchsorted(places, side="right")]
        frequencies[lines, group] = every[places]
        return frequencies[:, keep] if keep.shape[0] < frequencies.shape[1] else frequencies

    def _raise_threshold(self, partial: float) -> None:
        """Learns that `depth` rows of the universe have at least this sum of bounds."""
        if partial > 0.0:
            sure = partial * self.spread * (1.0 - self.slack) - self.loss * (1.0 + self.slack)
            self.least = max(self.least, sure)

    def _rest(self, done: int) -> float:
        return sum(self.bounds[done:]) * (1.0 + self.slack)

    def _above(self, sums: Float32s, done: int) -> npt.NDArray[np.intp]:
        """Returns where the sums after `done` terms do not exclude a row from the best."""
        bar = self.least * (1.0 - self.slack) - self._rest(done)
        return (sums >= bar if bar > 0.0 else sums > 0.0).nonzero()[0]

    def _clear(self, slots: Places) -> None:
        """Gives the sums back, as they were; none but `slots` have changed."""
        if slots.shape[0] * 12 > self.lexical_view.size:
            self.lexical_view.reset(self.sums)
        else:
            empty = self.lexical_view.empty
            self.sums[slots] = 0.0 if empty is None else empty.take(slots)
        self.lexical_view.give(self.held)

    def _whole(self, done: int) -> Slots:
        """Adds the terms from `done` on to whole columns; returns the slots that are left."""
        rest = zip(self.terms[done:], self.known[done:], self.units[done:], strict=True)
        for term, one, unit in rest:
            for piece in one.pieces:
                sums = self.sums[piece.start : piece.stop]
                if piece.dense is not None:
                    sums += piece.dense * unit
                else:
                    span = slice(piece.first, piece.last)
                    np.add.at(self.sums, term.joined.slots[span], one.impacts[span] * unit)
        sums = self.sums
        if self.scope is not None:
            # Slots of nobody have any ordinal, and no sum that would let them in.
            inside = self.scope.flags().take(self.lexical_view.ordinals, mode="clip")
            sums = np.where(inside, sums, np.float32(-np.inf))
        self._raise_threshold(kth_largest_at_most(sums, self.depth))
        found = self._above(sums, len(self.terms)).astype(np.uint32)
        self.lexical_view.reset(self.sums)
        self.lexical_view.give(self.held)
        return found

    def _refined(self, slots: Slots, sums: Float32s, done: int) -> Slots:
        """Adds the terms that are left to the candidates, as long as these are many."""
        while done < len(self.terms) and slots.shape[0] > 4 * self.depth + _FEW:
            joined = self.terms[done].joined
            places = joined.slots.searchsorted(slots)
            has = joined.slots.take(places, mode="clip") == slots
            impacts = self.known[done].impacts.take(places, mode="clip")
            sums = sums + impacts * has * self.units[done]
            done += 1
            self._raise_threshold(float(np.partition(sums, -self.depth)[-self.depth]))
            keep = self._above(sums, done)
            slots, sums = slots[keep], sums[keep]
        return slots


def _distinct(slots: Places, chosen: Places) -> tuple[Places, npt.NDArray[np.bool_], Places]:
    """Returns the distinct slots among those at `chosen`, ascending; (c,) whether the first of
    its slot; and the order of `chosen` in which they are ascending."""
    found = slots.take(chosen)
    order = found.argsort(kind="stable")
    found = found.take(order)
    first = firsts(found)
    return found[first], first, order
