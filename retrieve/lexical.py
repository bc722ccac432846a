"""The lexical lane: BM25 over the terms of a text, every operation rounded on its own.

Statistics are those of the view's nodes that have text. A node's score is summed term by term in
ascending byte order; only documents that have a term are touched.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ibidem.index.analysis import analyse
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top
from ibidem.retrieve.numbers import Float64s, ln_ratio
from ibidem.retrieve.protocol import Bools, LexicalSegment, Ordinals, Rows
from ibidem.retrieve.query import Query
from ibidem.retrieve.scope import Scope, Universe, cached

LANE = "lexical"
_FLOOR = 0.0
_SPARSE_SHARE = 16
"""Below one posting in so many rows, sums go through the touched rows and not through a whole
column."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 knows of a collection: the view's nodes that have at least one term."""

    documents: int
    terms: int
    """Their lengths, added up."""
    masks: tuple[Bools | None, ...]
    """By segment, the rows that count; None when all do."""

    @property
    def mean_length(self) -> float:
        """The average length, rounded once."""
        return self.terms / self.documents


@dataclass(frozen=True, slots=True)
class Term:
    """One distinct term of the query."""

    postings: tuple[tuple[Rows, Float64s] | None, ...]
    """By segment, (rows, frequencies)."""
    weight: float
    """The term's frequency in the query times its idf."""


def rank_lexical(universe: Universe) -> LaneTop:
    """Returns the best nodes for the query's text."""
    query, view = universe.query, universe.view
    assert query.text is not None, "BUG: the lexical lane runs on a text"
    counts = Counter(analyse(query.text, view.snapshot.config.analyser))
    if not counts:
        return empty_top(LANE, LaneStatus.NO_TERMS, floor=_FLOOR)
    statistics = statistics_of(view, include_tombstoned=query.include_tombstoned)
    terms = _terms(counts, view, statistics)
    if not terms:
        return empty_top(LANE, LaneStatus.OK, floor=_FLOOR)
    ordinals: list[Ordinals] = []
    scores: list[Float64s] = []
    for index, segment in enumerate(view.snapshot.lexical):
        rows, values = _score(segment, index, terms, statistics, query)
        keep = universe.scope.keep(segment, rows)
        if keep is not None:
            rows, values = rows[keep], values[keep]
        ordinals.append(segment.ordinals[rows])
        scores.append(values)
    found, values = best(view.snapshot, ordinals, scores, query.depth)
    return LaneTop(LANE, found, values, LaneStatus.OK, _FLOOR)


def statistics_of(view: Scope, *, include_tombstoned: bool) -> Statistics:
    """Returns the statistics of a view, computed once a snapshot."""

    def build() -> Statistics:
        documents = terms = 0
        masks: list[Bools | None] = []
        for segment in view.snapshot.lexical:
            mask = view.mask(segment)
            if mask is not None and mask.all():
                mask = None
            lengths = segment.lengths if mask is None else segment.lengths[mask]
            documents += int(np.count_nonzero(lengths))
            terms += int(lengths.sum(dtype=np.uint64))
            masks.append(mask)
        return Statistics(documents, terms, tuple(masks))

    return cached(view.snapshot, ("lexical", include_tombstoned), build)


def _terms(counts: Counter[str], view: Scope, statistics: Statistics) -> list[Term]:
    """Returns the query's terms that the view has, in ascending byte order."""
    terms: list[Term] = []
    for text in sorted(counts):
        postings: list[tuple[Rows, Float64s] | None] = []
        frequency = 0
        for segment, mask in zip(view.snapshot.lexical, statistics.masks, strict=True):
            found = segment.postings(text)
            if found is None:
                postings.append(None)
                continue
            rows, counted = found
            if mask is None:
                frequency += rows.shape[0]
            else:
                frequency += int(np.count_nonzero(mask[rows]))
            postings.append((rows, counted.astype(np.float64)))
        if frequency:
            idf = ln_ratio(2 * statistics.documents + 2, 2 * frequency + 1)
            terms.append(Term(tuple(postings), counts[text] * idf))
    return terms


def _score(
    segment: LexicalSegment, index: int, terms: list[Term], statistics: Statistics, query: Query
) -> tuple[Rows, Float64s]:
    """Returns the rows that have a term, ascending, and their scores, rows outside the view
    included."""
    parts = [(term.weight, term.postings[index]) for term in terms]
    rows = [found[0] for _, found in parts if found is not None]
    if not rows:
        return np.zeros(0, np.uint32), np.zeros(0, np.float64)
    lengths, mean = segment.lengths, statistics.mean_length
    gains = [
        _gains(weight, found[1], lengths[found[0]], mean, query)
        for weight, found in parts
        if found is not None
    ]
    if len(rows) == 1:
        return rows[0], gains[0]
    return add_postings(rows, gains, segment.ordinals.shape[0])


def add_postings(rows: list[Rows], gains: list[Float64s], row_count: int) -> tuple[Rows, Float64s]:
    """Returns the distinct rows, ascending, with their gains added in list order starting from 0.0.

    `bincount` is a plain loop over its input, so the order of addition is the order of the lists.
    """
    touched, gain = np.concatenate(rows), np.concatenate(gains)
    if touched.shape[0] * _SPARSE_SHARE < row_count:
        distinct, where = np.unique(touched, return_inverse=True)
        return distinct, _sums(where, gain, distinct.shape[0])
    sums = _sums(touched, gain, row_count)
    flags = np.zeros(row_count, np.bool_)
    flags[touched] = True
    distinct = np.flatnonzero(flags).astype(np.uint32)
    return distinct, sums[distinct]


def _sums(places: npt.NDArray[np.integer], gain: Float64s, count: int) -> Float64s:
    return np.asarray(np.bincount(places, weights=gain, minlength=count), np.float64)


def _gains(
    weight: float, frequencies: Float64s, lengths: Rows, mean: float, query: Query
) -> Float64s:
    """Returns weight · (tf · (k1 + 1)) / (tf + k1 · ((1 - b) + b · (length / mean))), step by step.

    Spec: retrieval 4.1.
    """
    share = lengths.astype(np.float64)
    share /= mean
    share *= query.b
    share += 1.0 - query.b
    share *= query.k1
    share += frequencies
    gain = frequencies * (query.k1 + 1.0)
    gain /= share
    gain *= weight
    return gain
