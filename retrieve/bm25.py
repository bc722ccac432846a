"""BM25: weights of terms, and the canonical score of documents.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ibidem.retrieve.numbers import Float64s, ln_ratio
from ibidem.retrieve.plane import Joined, Plane, Slots, Statistics, shares
from ibidem.retrieve.protocol import Bools
from ibidem.retrieve.query import Query
from ibidem.retrieve.scope import Scope, cached

_TABLE_MAX = 1 << 20
"""Longest document whose share of the formula is kept in a table by length."""
_CELLS = 1 << 20
"""Terms times rows scored at a time."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """One term of the formula."""

    joined: Joined
    weight: float


@dataclass(frozen=True, slots=True)
class Scorer:
    """The formula with everything filled in that does not depend on a row."""

    plane: Plane
    mean: float
    terms: Sequence[Weighted]
    """In ascending text order."""
    table: Float64s | None
    """By length, k1 · ((1 - b) + b · (length / mean))."""
    k1: float
    b: float
    weights: Float64s
    """(terms, 1): the weight of each term."""

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
        share = frequencies + self._shares(self.plane.lengths[slots])
        if self.k1 == 0.0 or self.b == 1.0:
            share += frequencies == 0.0  # not 0 / 0
        gains = frequencies * (self.k1 + 1.0)
        gains /= share
        gains *= self.weights
        total: Float64s = np.add.accumulate(gains, axis=0)[-1]  # one by one, unlike `sum`
        return total

    def _shares(self, lengths: npt.NDArray[np.unsignedinteger]) -> Float64s:
        if self.table is not None:
            return self.table.take(lengths)
        return shares(lengths, self.mean, self.k1, self.b)


def weighted(
    plane: Plane, statistics: Statistics, counts: Mapping[str, float], query: Query
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
        joined = plane.term(text, statistics, query.k1, query.b)
        if joined.frequency:
            idf = ln_ratio(2 * statistics.documents + 2, 2 * joined.frequency + 1)
            terms.append(Weighted(joined, counts[text] * idf))
    return terms


def scorer_of(
    view: Scope,
    plane: Plane,
    statistics: Statistics,
    terms: Sequence[Weighted],
    query: Query,
) -> Scorer:
    """Returns the formula; its table is made once a snapshot."""
    table = None
    mean = statistics.mean_length
    if statistics.longest <= _TABLE_MAX:

        def build() -> Float64s:
            every = np.arange(statistics.longest + 1, dtype=np.uint32)
            return shares(every, mean, query.k1, query.b)

        key = ("shares", query.include_tombstoned, query.k1, query.b)
        table = cached(view.snapshot, key, build)
    weights = np.array([term.weight for term in terms])[:, None]
    return Scorer(plane, mean, terms, table, query.k1, query.b, weights)
