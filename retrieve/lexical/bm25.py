"""BM25: the weights of terms, and the canonical score of a document.

The score of document x is the sum, over the query's terms t that x has, of

    contribution(t, x) = weight(t) * (k1 + 1) * tf / (tf + norm(x))
    norm(x)            = k1 * ((1 - b) + b * length(x) / mean)
    weight(t)          = qtf * ln((2N + 2) / (2 df + 1))

where df and qtf are those of the word that t is a form of (`words.py`).

Sums of floats depend on their order, so the score is defined operation by operation: contributions
are added one by one, from 0.0, in ascending text order of the terms. Everything here is vectorised
over documents and never over terms, which keeps that order.

Invariant: `scores`, `scores_of`, and `contributions` added in text order give the same bits. Cost:
terms x rows, plus one binary search each. Papers: Robertson, Walker et al., "Okapi at TREC-3"
(1994); Robertson and Zaragoza (2009). The idf is the one with 1 added to the quotient, which is
never negative.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet, cached
from ibidem.retrieve.lexical.postings import MergedPostings, Slots, TermBounds, length_norms
from ibidem.retrieve.lexical.statistics import Statistics
from ibidem.retrieve.lexical.tuning import LENGTH_TABLE_MAX, SCORED_CELLS_MAX, TUNING, Tuning
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.lexical.words import Word
from ibidem.retrieve.numbers import Float64s, ln_ratio
from ibidem.retrieve.protocol import Bools
from ibidem.retrieve.query.query import Query


@record
class WeightedTerm:
    """A term of the query: its text, its postings over all segments, and its weight."""

    text: str
    postings: MergedPostings
    weight: float


class Alternatives(NamedTuple):
    """Terms that stand for terms of the query in the documents where they add more to a score."""

    rows: Sequence[int]
    """(m,) the position of the query's term among its terms."""
    weights: Float64s
    """(m,)"""
    frequencies: Float64s
    """(m, n) of the other terms, in the documents that are scored."""


@record
class Scorer:
    """The BM25 formula for one query and view, with all filled in that does not depend on a row."""

    view: NodeSet
    lexical_view: LexicalView
    statistics: Statistics
    """Of the view."""
    terms: Sequence[WeightedTerm]
    """In ascending text order."""
    query: Query
    """Gives k1 and b."""
    tuning: Tuning = TUNING

    @property
    def gain_factor(self) -> float:
        """k1 + 1: a posting contributes less than this times the weight of its term."""
        return self.query.k1 + 1.0

    def bounds(self, term: WeightedTerm) -> TermBounds:
        """Returns upper and lower bounds of the contributions of a term."""
        k1, b = self.query.k1, self.query.b
        return self.lexical_view.bounds(term.postings, self.statistics, k1, b)

    def ratio_max(self, term: WeightedTerm) -> float:
        """Returns an upper bound of the ratios of a term, without reading its postings."""
        k1, b = self.query.k1, self.query.b
        return self.lexical_view.ratio_max(term.postings, self.statistics, k1, b)

    def scores(self, slots: Slots) -> tuple[Float64s, Bools]:
        """Returns the (n,) canonical scores of `slots`, and (n,) whether a slot has one of the
        terms.

        A term that a document lacks adds 0.0, which changes no sum.
        """
        step = max(1, SCORED_CELLS_MAX // len(self.terms))
        if slots.shape[0] <= step:
            return self._scores(slots)
        chunks = [
            self._scores(slots[start : start + step]) for start in range(0, slots.shape[0], step)
        ]
        return np.concatenate([chunk[0] for chunk in chunks]), np.concatenate(
            [chunk[1] for chunk in chunks]
        )

    def _scores(self, slots: Slots) -> tuple[Float64s, Bools]:
        frequencies = np.empty((len(self.terms), slots.shape[0]), np.float64)
        for row, term in zip(frequencies, self.terms, strict=True):
            term.postings.frequencies_at(slots, row)
        has_term: Bools = np.asarray(frequencies.any(axis=0))
        return self.scores_of(self.lexical_view.lengths[slots], frequencies), has_term

    def scores_of(
        self,
        lengths: npt.NDArray[np.unsignedinteger],
        frequencies: Float64s,
        alternatives: Alternatives | None = None,
    ) -> Float64s:
        """Returns (n,) canonical scores of documents with (n,) lengths and a (terms, n) table of
        frequencies, 0 where absent.

        Args:
            lengths: of the documents.
            frequencies: in them.
            alternatives: to some of the terms.
        """
        longest = self.statistics.longest  # of the rows; with headings, a text can be longer
        if longest > LENGTH_TABLE_MAX or int(lengths.max(initial=0)) > longest:
            query, mean = self.query, self.statistics.mean_length
            norms = length_norms(lengths, mean, query.k1, query.b)
        else:
            norms = self._norms_of_rows(lengths)
        weights = np.array([term.weight for term in self.terms])[:, None]
        contributions = self._contributions(frequencies, norms, weights)
        if alternatives is not None:
            rows, others, their_frequencies = alternatives
            found = self._contributions(their_frequencies, norms, others[:, None])
            np.maximum.at(contributions, rows, found)
        return _added(contributions)

    def scores_without_length(self, frequencies: Float64s) -> Float64s:
        """Returns (n,) scores by a (terms, n) table of frequencies, as if b were 0."""
        weights = np.array([term.weight for term in self.terms])[:, None]
        return _added(self._contributions(frequencies, self.query.k1, weights))

    def _contributions(
        self, frequencies: Float64s, norms: float | Float64s, weights: float | Float64s
    ) -> Float64s:
        """Returns what each frequency adds to a score: 0 for 0."""
        denominators = frequencies + norms
        if self.query.k1 == 0.0 or self.query.b == 1.0:
            denominators += frequencies == 0.0  # not 0 / 0
        contributions = frequencies * self.gain_factor
        contributions /= denominators
        contributions *= weights
        return contributions

    def contributions(
        self,
        slots: Slots | npt.NDArray[np.intp],
        frequencies: npt.NDArray[np.unsignedinteger],
        weight: float | Float64s,
    ) -> Float64s:
        """Returns what postings add to the scores of their documents, (m,) float64.

        Args:
            slots: (m,) the documents.
            frequencies: (m,) how often each has its term, at least 1.
            weight: of the one term, or (m,) of the term of each posting.
        """
        tf = frequencies.astype(np.float64)
        contributions = tf * self.gain_factor
        tf += self._norms_of_rows(self.lexical_view.lengths.take(slots))
        contributions /= tf
        contributions *= weight
        return contributions

    def _norms_of_rows(self, lengths: npt.NDArray[np.unsignedinteger]) -> Float64s:
        """Returns norm(x) for the (n,) lengths of rows, from a table by length built once a
        snapshot."""
        query, longest, mean = self.query, self.statistics.longest, self.statistics.mean_length
        if longest > LENGTH_TABLE_MAX:
            return length_norms(lengths, mean, query.k1, query.b)

        def build() -> Float64s:
            lengths_to_longest = np.arange(longest + 1, dtype=np.uint32)
            return length_norms(lengths_to_longest, mean, query.k1, query.b)

        key = ("shares", query.include_tombstoned, query.k1, query.b)
        return cached(self.view.snapshot, key, build).take(lengths)


def _added(contributions: Float64s) -> Float64s:
    """Returns (n,) the sums of a (terms, n) table, added one by one, unlike `sum`."""
    total: Float64s = np.add.accumulate(contributions, axis=0)[-1]
    return total


def weights(
    documents: int, frequencies: Mapping[str, int], factors: Mapping[Word, float]
) -> dict[str, float]:
    """Returns the weight of each term that some document of the view has, in ascending text order.

    Args:
        documents: of the view (N).
        frequencies: by form of a word, how many of these have it.
        factors: by word, the factor of its idf (qtf).
    """
    found: dict[str, float] = {}
    for word in sorted(factors):
        df = frequency(word, frequencies, documents)
        if not df:
            continue
        weight = factors[word] * idf(documents, df)
        for text in word:
            if frequencies[text]:
                found[text] = found[text] + weight if text in found else weight
    return dict(sorted(found.items()))


def idf(documents: int, df: int) -> float:
    """Returns the idf of a word that `df` of the documents have."""
    return ln_ratio(2 * documents + 2, 2 * df + 1)


def frequency(word: Word, frequencies: Mapping[str, int], documents: int) -> int:
    """Returns the df of a word: those of its forms added up, at most N."""
    found = frequencies[word[0]] if len(word) == 1 else sum(frequencies[text] for text in word)
    return min(found, documents)
