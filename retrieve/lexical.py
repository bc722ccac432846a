"""The lexical lane: BM25 over the terms of a text, every operation rounded on its own.

Statistics are those of the view's nodes that have text. A node's score is summed term by term in
ascending byte order; only documents that have a term are touched. Where common terms would touch
most of the collection, rare terms are evaluated first, and a common one is looked up only for
documents that it could still lift among the best (`pruned`); scores are the same numbers either
way.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ibidem.index.analysis import analyse
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top
from ibidem.retrieve.numbers import Float64s, kth_largest_at_most, ln_ratio
from ibidem.retrieve.protocol import Bools, LexicalSegment, Rows
from ibidem.retrieve.query import Query
from ibidem.retrieve.scope import Scope, Universe, cached

LANE = "lexical"
PRUNE_FROM = 60_000
"""Postings of a query from which on looking at the rare terms first pays."""
_FLOOR = 0.0
_SPARSE_SHARE = 16
"""Below one posting in so many rows, sums go through the touched rows and not a whole column."""
_TABLE_MAX = 1 << 20
"""Longest document whose share of the formula is kept in a table by length."""
_DOWN, _UP = 1.0 - 2.0**-40, 1.0 + 2.0**-40
"""Room for the roundings of sums in another order than the canonical one."""

Postings = tuple[Rows, npt.NDArray[np.unsignedinteger]]
Scored = tuple[Rows, Float64s]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 knows of a collection: the view's nodes that have at least one term."""

    documents: int
    terms: int
    """Their lengths, added up."""
    longest: int
    masks: tuple[Bools | None, ...]
    """By segment, the rows that count; None when all do."""

    @property
    def mean_length(self) -> float:
        """The average length, rounded once."""
        return self.terms / self.documents


@dataclass(frozen=True, slots=True)
class Term:
    """One distinct term of the query."""

    postings: tuple[Postings | None, ...]
    """By segment, (rows, frequencies)."""
    weight: float
    """The term's frequency in the query times its idf."""
    count: int
    """Its postings in all segments."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """The formula with everything filled in that does not depend on a posting.

    Spec: retrieval 4.1.
    """

    segments: Sequence[LexicalSegment]
    statistics: Statistics
    table: Float64s | None
    """By length, k1 · ((1 - b) + b · (length / mean))."""
    k1: float
    b: float

    def gains(self, index: int, rows: Rows, frequencies: Float64s) -> Float64s:
        """Returns (tf · (k1 + 1)) / (tf + k1 · ((1 - b) + b · (length / mean))), step by step."""
        lengths = self.segments[index].lengths[rows]
        share = self.shares(lengths) if self.table is None else self.table[lengths]
        share += frequencies
        gain = frequencies * (self.k1 + 1.0)
        gain /= share
        return gain

    def shares(self, lengths: npt.NDArray[np.unsignedinteger]) -> Float64s:
        """Returns what each length adds to the divisor."""
        share = lengths.astype(np.float64)
        share /= self.statistics.mean_length
        share *= self.b
        share += 1.0 - self.b
        share *= self.k1
        return share


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
    scorer = _scorer(view, statistics, query)
    found = None
    if len(terms) > 1 and sum(term.count for term in terms) >= PRUNE_FROM:
        found = pruned(universe, terms, scorer)
    if found is None:
        found = [_score(index, terms, scorer) for index in range(len(scorer.segments))]
        found = [_kept(universe, scorer, index, *part) for index, part in enumerate(found)]
    ordinals = [
        segment.ordinals[rows] for segment, (rows, _) in zip(scorer.segments, found, strict=True)
    ]
    nodes, values = best(view.snapshot, ordinals, [part[1] for part in found], query.depth)
    return LaneTop(LANE, nodes, values, LaneStatus.OK, _FLOOR)


def statistics_of(view: Scope, *, include_tombstoned: bool) -> Statistics:
    """Returns the statistics of a view, computed once a snapshot."""

    def build() -> Statistics:
        documents = terms = longest = 0
        masks: list[Bools | None] = []
        for segment in view.snapshot.lexical:
            mask = view.mask(segment)
            if mask is not None and mask.all():
                mask = None
            lengths = segment.lengths if mask is None else segment.lengths[mask]
            documents += int(np.count_nonzero(lengths))
            terms += int(lengths.sum(dtype=np.uint64))
            longest = max(longest, int(segment.lengths.max(initial=0)))
            masks.append(mask)
        return Statistics(documents, terms, longest, tuple(masks))

    return cached(view.snapshot, ("lexical", include_tombstoned), build)


def pruned(universe: Universe, terms: Sequence[Term], scorer: Scorer) -> list[Scored] | None:
    """Returns by segment the rows that can be among the best, with their canonical scores.

    Rare terms are summed first. Once the common ones together can not lift a document that has no
    rare term to the depth-th best partial sum, only documents with a rare term are left, and of
    these the ones that the common terms could still lift. None where that never happens.

    Args:
        universe: whose documents compete.
        terms: in ascending byte order.
        scorer: the formula.
    """
    query = universe.query
    order = sorted(range(len(terms)), key=lambda place: terms[place].count)
    rest = [terms[place].weight * (query.k1 + 1.0) * _UP for place in order]
    for split in range(1, len(order)):
        above = sum(rest[split:]) * _UP
        few = [terms[place] for place in order[:split]]
        if sum(term.count for term in few) * 3 > sum(term.count for term in terms):
            return None
        if above >= sum(rest[:split]):
            continue
        parts = [_score(index, few, scorer) for index in range(len(scorer.segments))]
        parts = [_kept(universe, scorer, index, *part) for index, part in enumerate(parts)]
        partial = np.concatenate([part[1] for part in parts])
        least = kth_largest_at_most(partial, query.depth) * _DOWN
        if above < least:
            chosen = [rows[values * _UP + above >= least] for rows, values in parts]
            return [
                (rows, _score_rows(index, rows, terms, scorer)) for index, rows in enumerate(chosen)
            ]
    return None


def add_postings(touched: Rows, gain: Float64s, row_count: int) -> Scored:
    """Returns the distinct rows, ascending, with their gains added in list order, from 0.0 on.

    `bincount` is a plain loop over its input, so the order of addition is the order of the lists.
    """
    if touched.shape[0] * _SPARSE_SHARE < row_count:
        distinct, where = np.unique(touched, return_inverse=True)
        return distinct, _sums(where, gain, distinct.shape[0])
    sums = _sums(touched, gain, row_count)
    flags = np.zeros(row_count, np.bool_)
    flags[touched] = True
    distinct = np.flatnonzero(flags).astype(np.uint32)
    return distinct, sums[distinct]


def _scorer(view: Scope, statistics: Statistics, query: Query) -> Scorer:
    """Returns the formula; its table is made once a snapshot."""
    plain = Scorer(view.snapshot.lexical, statistics, None, query.k1, query.b)
    if statistics.longest > _TABLE_MAX:
        return plain
    key = ("shares", query.include_tombstoned, query.k1, query.b)

    def build() -> Float64s:
        return plain.shares(np.arange(statistics.longest + 1, dtype=np.uint32))

    return Scorer(plain.segments, statistics, cached(view.snapshot, key, build), query.k1, query.b)


def _terms(counts: Counter[str], view: Scope, statistics: Statistics) -> list[Term]:
    """Returns the query's terms that the view has, in ascending byte order."""
    terms: list[Term] = []
    for text in sorted(counts):
        postings: list[Postings | None] = []
        frequency = count = 0
        for segment, mask in zip(view.snapshot.lexical, statistics.masks, strict=True):
            found = segment.postings(text)
            postings.append(found)
            if found is not None:
                rows = found[0]
                count += rows.shape[0]
                frequency += rows.shape[0] if mask is None else int(np.count_nonzero(mask[rows]))
        if frequency:
            idf = ln_ratio(2 * statistics.documents + 2, 2 * frequency + 1)
            terms.append(Term(tuple(postings), counts[text] * idf, count))
    return terms


def _score(index: int, terms: Sequence[Term], scorer: Scorer) -> Scored:
    """Returns the rows of a segment that have a term, and their sums in the order of `terms`."""
    found = [(term.weight, part) for term in terms if (part := term.postings[index]) is not None]
    if not found:
        return np.zeros(0, np.uint32), np.zeros(0, np.float64)
    rows = np.concatenate([part[0] for _, part in found])
    gain = scorer.gains(
        index, rows, np.concatenate([part[1] for _, part in found]).astype(np.float64)
    )
    gain *= np.repeat([weight for weight, _ in found], [part[0].shape[0] for _, part in found])
    if len(found) == 1:
        return rows, gain
    return add_postings(rows, gain, scorer.segments[index].ordinals.shape[0])


def _score_rows(index: int, rows: Rows, terms: Sequence[Term], scorer: Scorer) -> Float64s:
    """Returns the canonical scores of some rows of a segment; what a row does not have adds 0.0."""
    scores = np.zeros(rows.shape[0], np.float64)
    if rows.shape[0] == 0:
        return scores
    for term in terms:
        part = term.postings[index]
        if part is None:
            continue
        places = np.minimum(np.searchsorted(part[0], rows), part[0].shape[0] - 1)
        has = np.flatnonzero(part[0][places] == rows)
        gain = scorer.gains(index, rows[has], part[1][places[has]].astype(np.float64))
        gain *= term.weight
        scores[has] += gain
    return scores


def _kept(universe: Universe, scorer: Scorer, index: int, rows: Rows, scores: Float64s) -> Scored:
    """Returns the rows of the universe."""
    keep = universe.scope.keep(scorer.segments[index], rows)
    return (rows, scores) if keep is None else (rows[keep], scores[keep])


def _sums(places: npt.NDArray[np.integer], gain: Float64s, count: int) -> Float64s:
    return np.asarray(np.bincount(places, weights=gain, minlength=count), np.float64)
