"""BM25: weights of terms, and the canonical score of documents.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet, cached
from ibidem.retrieve.lexical.postings import MergedPostings, Slots, TermBounds, shares
from ibidem.retrieve.lexical.statistics import Statistics
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Bools
from ibidem.retrieve.query.query import Query

_TABLE_MAX = 1 << 20
"""Longest document whose share of the formula is kept in a table by length."""
_CELLS = 1 << 20
"""Terms times rows scored at a time."""


@record
class Weighted:
    """One term of the formula."""

    joined: MergedPostings
    weight: float


@record
class Scorer:
    """The formula with everything filled in that does not depend on a row."""

    view: NodeSet
    lexical_view: LexicalView
    statistics: Statistics
    """Of the view."""
    terms: Sequence[Weighted]
    """In ascending text order."""
    query: Query
    """Gives k1 and b."""

    @property
    def lift(self) -> float:
        """k1 + 1: what a posting adds is below this, times the weight of its term."""
        return self.query.k1 + 1.0

    def bounds(self, term: Weighted) -> TermBounds:
        """Returns what bounds the postings of a term."""
        view, statistics, k1, b = self.lexical_view, self.statistics, self.query.k1, self.query.b
        widths = view.widths(statistics, k1, b)
        return term.joined.bounds(view.segments, widths, statistics, k1, b)

    def scores(self, slots: Slots) -> tuple[Float64s, Bools]:
        """Returns the canonical scores of slots, and which of them have a term.

        What a slot does not have adds 0.0, which changes nothing.
        """
        step = max(1, _CELLS // len(self.terms))
        if slots.shape[0] <= step:
            return self._scores(slots)
        made = [
            self._scores(slots[start : start + step]) for start in range(0, slots.shape[0], step)
        ]
        return np.concatenate([one[0] for one in made]), np.concatenate([one[1] for one in made])

    def _scores(self, slots: Slots) -> tuple[Float64s, Bools]:
        frequencies = np.empty((len(self.terms), slots.shape[0]), np.float64)
        for line, term in zip(frequencies, self.terms, strict=True):
            term.joined.frequencies_at(slots, line)
        met: Bools = np.asarray(frequencies.any(axis=0))
        return self.scores_of(slots, frequencies), met

    def scores_of(self, slots: Slots, frequencies: Float64s) -> Float64s:
        """Returns the canonical scores for (terms, slots) frequencies, 0 where a term is absent."""
        share = frequencies + self._shares(self.lexical_view.lengths[slots])
        if self.query.k1 == 0.0 or self.query.b == 1.0:
            share += frequencies == 0.0  # not 0 / 0
        gains = frequencies * self.lift
        gains /= share
        gains *= np.array([term.weight for term in self.terms])[:, None]
        total: Float64s = np.add.accumulate(gains, axis=0)[-1]  # one by one, unlike `sum`
        return total

    def gains(
        self, slots: Slots, frequencies: npt.NDArray[np.unsignedinteger], weight: float | Float64s
    ) -> Float64s:
        """Returns what a term of some weight adds to slots that have it, with its frequencies; or
        several terms, each posting with the weight of its own."""
        counts = frequencies.astype(np.float64)
        gains = counts * self.lift
        counts += self._shares(self.lexical_view.lengths.take(slots))
        gains /= counts
        gains *= weight
        return gains

    def _shares(self, lengths: npt.NDArray[np.unsignedinteger]) -> Float64s:
        """Returns k1 · ((1 - b) + b · (length / mean)), from a table by length made once a
        snapshot."""
        query, longest, mean = self.query, self.statistics.longest, self.statistics.mean_length
        if longest > _TABLE_MAX:
            return shares(lengths, mean, query.k1, query.b)

        def build() -> Float64s:
            every = np.arange(longest + 1, dtype=np.uint32)
            return shares(every, mean, query.k1, query.b)

        key = ("shares", query.include_tombstoned, query.k1, query.b)
        return cached(self.view.snapshot, key, build).take(lengths)


def weighted(
    lexical_view: LexicalView, statistics: Statistics, counts: Mapping[str, float], query: Query
) -> list[Weighted]:
    """Returns the terms that the view has, in ascending text order.

    Args:
        plane: the rows of the view.
        statistics: those of the view.
        counts: by term, the number that its idf is multiplied with.
        query: gives k1 and b.
    """
    terms: list[Weighted] = []
    for text in sorted(counts):
        joined = lexical_view.term(text, statistics, query.k1, query.b)
        if joined.frequency:
            terms.append(Weighted(joined, counts[text] * joined.idf))
    return terms
