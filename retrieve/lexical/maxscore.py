"""MaxScore over quantised impacts: which documents can be among the best, without scoring them.

Problem: common terms have posting lists as long as the collection, and contribute least. Idea:
every posting has a byte, its impact, that bounds its contribution from above and below
(`index/segments/impacts.py`). Terms are read in descending order of the most that they can
contribute, and impacts are added up in one float32 accumulator per row. The depth-th largest sum
gives a *threshold*, a score that `depth` documents provably reach. Once all unread terms together
cannot reach it, a document with none of the terms read is out, and the unread terms are looked up
for the few candidates only. Terms that many rows have are added as whole columns.

Invariant: threshold <= the depth-th best canonical score, always, and the upper bound of a document
>= its canonical score; only documents with an upper bound strictly below the threshold are
excluded, so ties survive. Float32 and quantisation errors are inside the bounds.

Cost: the postings of the terms read, plus candidates x unread terms binary searches.
Papers: Turtle and Flood (1995) for MaxScore; Broder et al., "Efficient query evaluation using a
two-level retrieval process" (2003), for WAND, and Ding and Suel, "Faster top-k document retrieval
using block-max indexes" (2011), for bounds finer than one a term, which here are one a posting;
Anh and Moffat, "Pruned query evaluation using pre-computed impacts" (2006), for the impacts.
Document-at-a-time skipping as in WAND is absent: in numpy a loop over documents costs more than it
skips.

Spec: retrieval 4.1.1 has the proof.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import firsts
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lexical.bm25 import Scorer
from ibidem.retrieve.lexical.postings import IMPACT_MAX, Slots
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.numbers import Float64s, kth_largest_at_most

Float32s = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]


def rank_by_bounds(universe: Universe, scorer: Scorer) -> tuple[Slots, Float64s]:
    """Returns slots of the universe, ascending, and their canonical scores.

    Every document among the best `depth` is among them.
    """
    return _MaxScore(universe, scorer).run()


class _MaxScore:
    """The evaluation of one query; used once.

    Terms are in descending order of `contribution_bounds`, and `read` counts those whose postings
    were added.
    """

    def __init__(self, universe: Universe, scorer: Scorer) -> None:
        gain_factor = scorer.gain_factor
        self.scorer = scorer
        self.tuning = scorer.tuning
        self.lexical_view: LexicalView = scorer.lexical_view
        self.depth = universe.query.depth
        self.scope: NodeSet | None = None if universe.nodes is universe.view else universe.nodes
        bounds_of = [scorer.bounds(term) for term in scorer.terms]
        most = [
            gain_factor * term.weight * bounds.ratio_max
            for term, bounds in zip(scorer.terms, bounds_of, strict=True)
        ]
        self.order = sorted(range(len(most)), key=most.__getitem__, reverse=True)
        """The index among the scorer's terms of each term here."""
        self.terms = [scorer.terms[place] for place in self.order]
        self.contribution_bounds = [most[place] for place in self.order]
        """The most that each term can contribute, descending."""
        self.bounds_of = [bounds_of[place] for place in self.order]
        """The impacts of each term, and what an impact is worth."""
        self.unit_scores = [
            np.float32(gain_factor * term.weight * bounds.scale / IMPACT_MAX)
            for term, bounds in zip(self.terms, self.bounds_of, strict=True)
        ]
        self.lower_factor = min(bounds.lower_factor for bounds in bounds_of)
        self.quantisation_loss = gain_factor * sum(term.weight for term in self.terms) / IMPACT_MAX
        self.rounding = (len(self.terms) + 8) * 2.0**-23
        self.accumulators = self.lexical_view.acquire_sums()
        self.sums = self.accumulators[: self.lexical_view.size]
        self.threshold = -np.inf
        """A proven lower bound of the depth-th best score of the universe."""

    def run(self) -> tuple[Slots, Float64s]:
        """Returns the candidates and their scores, and releases the accumulators."""
        terms = self.terms
        slots = np.zeros(0, np.intp)
        unread = sum(term.postings.count for term in terms)
        read = 0
        while True:
            stop = self._next_check(read, unread)
            size = sum(term.postings.count for term in terms[read:stop])
            touched = slots.shape[0] + size
            is_wide = touched * self.tuning.column_share > self.lexical_view.size
            if is_wide and size > self.tuning.check_postings_min:
                return self._score(self._add_columns(read))
            slots = self._add_postings(slots, read, stop)
            unread, read = unread - size, stop
            found = self._prune_below(slots, read, unread)
            if found is not None:
                return found

    def _next_check(self, read: int, unread: int) -> int:
        """Returns how many terms to read before the threshold is checked again."""
        prefix = self._next_prefix(read)
        unread -= sum(term.postings.count for term in self.terms[read:prefix])
        return prefix if unread > self.tuning.check_postings_min else len(self.terms)

    def _add_postings(self, touched: Places, read: int, stop_term: int) -> Places:
        """Adds the postings of terms [read, stop_term) to the accumulators.

        Returns all slots touched so far, each as often as it has a term that was read.
        """
        terms, bounds_of = self.terms[read:stop_term], self.bounds_of[read:stop_term]
        slots = np.concatenate([term.postings.slots for term in terms], dtype=np.intp)
        values = np.concatenate([bounds.impacts for bounds in bounds_of], dtype=np.float32)
        stop = 0
        for bounds, unit in zip(bounds_of, self.unit_scores[read:stop_term], strict=True):
            start, stop = stop, stop + bounds.impacts.shape[0]
            part = values[start:stop]
            np.multiply(part, unit, out=part)
        np.add.at(self.sums, slots, values)
        return np.concatenate([touched, slots]) if read else slots

    def _prune_below(self, slots: Places, read: int, unread: int) -> tuple[Slots, Float64s] | None:
        """Returns the candidates; None where a document with unread terms only might be among the
        best.
        """
        if read == len(self.terms):
            return self._select_after_all(slots)
        values = self._values(slots)
        self._raise_threshold(kth_largest_at_most(values, self.depth * read))
        if self._remaining_bound(read) >= self.threshold:
            return None
        found, sums, *_ = self._distinct_candidates(slots, values, read)
        if (found.shape[0] - self.tuning.refine_rows) * self.tuning.lookup_cost > unread:
            return None
        self._clear(slots)
        return self._score(self._refine(found, sums, read))

    def _select_after_all(self, slots: Places) -> tuple[Slots, Float64s]:
        """Returns the candidates once all terms are added.

        Where the best documents certainly have one of the first terms, only the postings of these
        are examined.
        """
        term_count = len(self.terms)
        prefix = self._next_prefix(0)
        while prefix < term_count:
            first = slots[: sum(term.postings.count for term in self.terms[:prefix])]
            values = self._values(first)
            self._raise_threshold(kth_largest_at_most(values, self.depth * prefix))
            if self._remaining_bound(prefix) < self.threshold:
                found, *_ = self._distinct_candidates(first, values, term_count)
                self._clear(slots)
                return self._score(found)
            prefix = self._next_prefix(prefix)
        values = self._values(slots)
        self._raise_threshold(kth_largest_at_most(values, self.depth * term_count))
        found, _, places, first_of, kept = self._distinct_candidates(slots, values, term_count)
        self._clear(slots)
        frequencies = self._frequencies(places, first_of, kept)
        return found, self.scorer.scores_of(self.lexical_view.lengths[found], frequencies)

    def _values(self, slots: Places) -> Float32s:
        """Returns the accumulated upper bounds of slots, -inf outside the universe."""
        values: Float32s = self.sums.take(slots)
        if self.scope is not None:
            values[~self.scope.flags()[self.lexical_view.ordinals[slots]]] = -np.inf
        return values

    def _next_prefix(self, prefix: int) -> int:
        """Returns the length of a prefix of the terms, longer than `prefix`, without whose terms a
        document is expected to stay below the threshold.
        """
        expected = max(self.threshold, self.tuning.likely_threshold * self.contribution_bounds[0])
        while prefix < len(self.terms):
            prefix += 1
            if self._remaining_bound(prefix) < expected:
                break
        return prefix

    def _distinct_candidates(
        self, slots: Places, values: Float32s, read: int
    ) -> tuple[Slots, Float32s, Places, npt.NDArray[np.bool_], Places]:
        """Returns the distinct slots that can still be among the best after `read` terms, with
        their sums.

        Also what `_frequencies` needs: the postings that may belong to them, grouped by slot; (c,)
        which of those begin a group; and which groups were kept.
        """
        candidates = self._possible(values, read)
        found, first, order = _distinct(slots, candidates)
        candidates = candidates[order]
        sums = values[candidates[first]]
        if sums.shape[0] > self.depth:
            self._raise_threshold(float(np.partition(sums, -self.depth)[-self.depth]))
        kept = self._possible(sums, read)
        return found[kept].astype(np.uint32), sums[kept], candidates, first, kept

    def _score(self, slots: Slots) -> tuple[Slots, Float64s]:
        return slots, self.scorer.scores(slots)[0]

    def _frequencies(self, places: Places, first: npt.NDArray[np.bool_], kept: Places) -> Float64s:
        """Returns how often distinct slots have each term, (terms, kept), once all terms are added.

        Args:
            places: indices of postings in the order they were added, grouped by slot.
            first: (c,) true for the first posting of each group.
            kept: the groups wanted.
        """
        ends = np.array([term.postings.count for term in self.terms]).cumsum()
        every = np.concatenate([term.postings.frequencies for term in self.terms])
        group = first.cumsum() - 1
        frequencies = np.zeros((len(self.terms), int(group[-1]) + 1 if len(group) else 0))
        terms_at = np.array(self.order)[ends.searchsorted(places, side="right")]
        frequencies[terms_at, group] = every[places]
        return frequencies[:, kept] if kept.shape[0] < frequencies.shape[1] else frequencies

    def _raise_threshold(self, partial: float) -> None:
        """Raises the threshold, given that `depth` documents of the universe have at least this
        sum.

        A sum of impacts is an upper bound; the lower one subtracts a quantisation step for each
        term, and the roundings of float32.
        """
        if partial > 0.0:
            lower = partial * self.lower_factor * (1.0 - self.rounding)
            proven = lower - self.quantisation_loss * (1.0 + self.rounding)
            self.threshold = max(self.threshold, proven)

    def _remaining_bound(self, read: int) -> float:
        """Returns the most that the unread terms can add to a score."""
        return sum(self.contribution_bounds[read:]) * (1.0 + self.rounding)

    def _possible(self, sums: Float32s, read: int) -> npt.NDArray[np.intp]:
        """Returns the indices of sums after `read` terms that do not exclude a document from the
        best.
        """
        cutoff = self.threshold * (1.0 - self.rounding) - self._remaining_bound(read)
        return (sums >= cutoff if cutoff > 0.0 else sums > 0.0).nonzero()[0]

    def _clear(self, slots: Places) -> None:
        """Resets the accumulators, of which only `slots` have changed, and releases them."""
        if slots.shape[0] * self.tuning.reset_share > self.lexical_view.size:
            self.lexical_view.reset_sums(self.sums)
        else:
            initial = self.lexical_view.initial_sums
            self.sums[slots] = 0.0 if initial is None else initial.take(slots)
        self.lexical_view.release_sums(self.accumulators)

    def _add_columns(self, read: int) -> Slots:
        """Adds the terms from `read` on as whole columns; returns the candidates, ascending.

        A dense pass over all rows, cheaper than scattered additions once a large share was touched.
        """
        remaining = zip(
            self.terms[read:], self.bounds_of[read:], self.unit_scores[read:], strict=True
        )
        for term, bounds, unit in remaining:
            for piece in bounds.segments:
                sums = self.sums[piece.start : piece.stop]
                if piece.dense is not None:
                    sums += piece.dense * unit
                else:
                    span = slice(piece.first, piece.last)
                    np.add.at(self.sums, term.postings.slots[span], bounds.impacts[span] * unit)
        sums = self.sums
        if self.scope is not None:
            # Unused slots may hold any ordinal; their sums are 0, so they are not selected.
            in_scope = self.scope.flags().take(self.lexical_view.ordinals, mode="clip")
            sums = np.where(in_scope, sums, np.float32(-np.inf))
        self._raise_threshold(kth_largest_at_most(sums, self.depth))
        found = self._possible(sums, len(self.terms)).astype(np.uint32)
        self.lexical_view.reset_sums(self.sums)
        self.lexical_view.release_sums(self.accumulators)
        return found

    def _refine(self, slots: Slots, sums: Float32s, read: int) -> Slots:
        """Looks unread terms up for the candidates, one term at a time, while there are many of
        these.
        """
        few = self.tuning.refine_factor * self.depth + self.tuning.refine_rows
        while read < len(self.terms) and slots.shape[0] > few:
            postings = self.terms[read].postings
            places = postings.slots.searchsorted(slots)
            has = postings.slots.take(places, mode="clip") == slots
            impacts = self.bounds_of[read].impacts.take(places, mode="clip")
            sums = sums + impacts * has * self.unit_scores[read]
            read += 1
            self._raise_threshold(float(np.partition(sums, -self.depth)[-self.depth]))
            kept = self._possible(sums, read)
            slots, sums = slots[kept], sums[kept]
        return slots


def _distinct(slots: Places, candidates: Places) -> tuple[Places, npt.NDArray[np.bool_], Places]:
    """Returns the distinct slots among those at `candidates`, ascending; (c,) whether each begins a
    group of equal slots; and the order of `candidates` in which slots ascend.
    """
    found = slots.take(candidates)
    order = found.argsort(kind="stable")
    found = found.take(order)
    first = firsts(found)
    return found[first], first, order
