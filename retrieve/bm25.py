"""BM25: statistics of a view, weights of terms, and the canonical score of rows.

Statistics are those of the view's nodes that have text. What they cost follows what is dead or
hidden, not what is there; what is known of a term is kept with the snapshot.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ibidem.retrieve.numbers import Float64s, ln_ratio
from ibidem.retrieve.protocol import Bools, LexicalSegment, Rows, Term
from ibidem.retrieve.query import Query
from ibidem.retrieve.scope import Scope, cached

_TABLE_MAX = 1 << 20
"""Longest document whose share of the formula is kept in a table by length."""
_TERMS_KEPT = 4_096
"""Terms that a snapshot remembers."""
_CELLS = 1 << 20
"""Terms times rows scored at a time."""

Parts = tuple[Term | None, ...]
"""A term by segment."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 knows of a collection: the view's nodes that have at least one term."""

    documents: int
    terms: int
    """Their lengths, added up."""
    longest: int
    """No row is longer."""
    masks: tuple[Bools | None, ...]
    """By segment, the rows that count; None when all do."""
    gone: tuple[npt.NDArray[np.intp] | None, ...]
    """By segment, the rows that do not, ascending; None when all do."""

    @property
    def mean_length(self) -> float:
        """The average length, rounded once."""
        return self.terms / self.documents


@dataclass(frozen=True, slots=True)
class Known:
    """What the view says of a term."""

    parts: Parts
    count: int
    """Postings in all segments, dead ones included."""
    frequency: int
    """Documents of the view that have the term."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """One term of the formula."""

    parts: Parts
    weight: float
    count: int


@dataclass(frozen=True, slots=True)
class Scorer:
    """The formula with everything filled in that does not depend on a row."""

    segments: Sequence[LexicalSegment]
    statistics: Statistics
    terms: Sequence[Weighted]
    """In ascending text order."""
    table: Float64s | None
    """By length, k1 · ((1 - b) + b · (length / mean))."""
    k1: float
    b: float

    def scores(self, index: int, rows: Rows) -> tuple[Float64s, Bools]:
        """Returns the canonical scores of rows of a segment, and which of them have a term.

        What a row does not have adds 0.0, which changes nothing.
        """
        found = [
            (term.weight, part) for term in self.terms if (part := term.parts[index]) is not None
        ]
        if not found or rows.shape[0] == 0:
            return np.zeros(rows.shape[0], np.float64), np.zeros(rows.shape[0], np.bool_)
        step = max(1, _CELLS // len(found))
        if rows.shape[0] <= step:
            return self._scores(index, found, rows)
        made = [
            self._scores(index, found, rows[start : start + step])
            for start in range(0, rows.shape[0], step)
        ]
        return np.concatenate([one[0] for one in made]), np.concatenate([one[1] for one in made])

    def _scores(
        self, index: int, found: Sequence[tuple[float, Term]], rows: Rows
    ) -> tuple[Float64s, Bools]:
        frequencies = np.empty((len(found), rows.shape[0]), np.float64)
        for line, (_, part) in zip(frequencies, found, strict=True):
            places = part.rows.searchsorted(rows)
            has = part.rows.take(places, mode="clip") == rows
            np.multiply(part.frequencies.take(places, mode="clip"), has, out=line)
        absent = frequencies == 0.0
        share = self.shares(self.segments[index].lengths[rows]) + frequencies
        share += absent  # not 0 / 0
        gains = frequencies * (self.k1 + 1.0)
        gains /= share
        gains *= np.array([weight for weight, _ in found])[:, None]
        total = gains[0]
        for line in gains[1:]:
            total = total + line
        return total, ~absent.all(axis=0)

    def gains(self, index: int, part: Term, weight: float) -> Float64s:
        """Returns what each posting of a term adds."""
        frequencies = part.frequencies.astype(np.float64)
        share = self.shares(self.segments[index].lengths[part.rows]) + frequencies
        gain = frequencies * (self.k1 + 1.0)
        gain /= share
        gain *= weight
        return gain

    def shares(self, lengths: npt.NDArray[np.unsignedinteger]) -> Float64s:
        """Returns what each length adds to the divisor."""
        if self.table is not None:
            return self.table[lengths]
        return _shares(lengths, self.statistics.mean_length, self.k1, self.b)


def statistics_of(view: Scope, *, include_tombstoned: bool) -> Statistics:
    """Returns the statistics of a view, computed once a snapshot."""

    def build() -> Statistics:
        documents = terms = longest = 0
        masks: list[Bools | None] = []
        gone: list[npt.NDArray[np.intp] | None] = []
        for segment in view.snapshot.lexical:
            mask = view.mask(segment)
            out = None if mask is None else np.flatnonzero(~mask)
            if out is None or out.shape[0] == 0:
                mask = out = None
            counted = segment.counted
            documents, terms = documents + counted[0], terms + counted[1]
            longest = max(longest, counted[2])
            if out is not None:
                lengths = segment.lengths[out]
                documents -= int(np.count_nonzero(lengths))
                terms -= int(lengths.sum(dtype=np.uint64))
            masks.append(mask)
            gone.append(out)
        return Statistics(documents, terms, longest, tuple(masks), tuple(gone))

    return cached(view.snapshot, ("lexical", include_tombstoned), build)


def known(view: Scope, statistics: Statistics, text: str, *, include_tombstoned: bool) -> Known:
    """Returns what the view says of a term, looked up once a snapshot."""
    memory: dict[str, Known] = cached(view.snapshot, ("terms", include_tombstoned), _Memory)
    found = memory.get(text)
    if found is None:
        parts = tuple(segment.term(text) for segment in view.snapshot.lexical)
        count = frequency = 0
        for index, part in enumerate(parts):
            if part is not None:
                count += part.rows.shape[0]
                frequency += part.rows.shape[0] - _gone(statistics, index, part)
        found = Known(parts, count, frequency)
        if len(memory) >= _TERMS_KEPT:
            memory.clear()
        memory[text] = found
    return found


def weighted(
    view: Scope, statistics: Statistics, counts: Mapping[str, float], query: Query
) -> list[Weighted]:
    """Returns the terms that the view has, in ascending text order.

    Args:
        view: the view.
        statistics: its statistics.
        counts: by term, the number that its idf is multiplied with.
        query: says which view it is.
    """
    terms: list[Weighted] = []
    for text in sorted(counts):
        one = known(view, statistics, text, include_tombstoned=query.include_tombstoned)
        if one.frequency:
            idf = ln_ratio(2 * statistics.documents + 2, 2 * one.frequency + 1)
            terms.append(Weighted(one.parts, counts[text] * idf, one.count))
    return terms


def scorer_of(
    view: Scope, statistics: Statistics, terms: Sequence[Weighted], query: Query
) -> Scorer:
    """Returns the formula; its table is made once a snapshot."""
    table = None
    if statistics.longest <= _TABLE_MAX:
        key = ("shares", query.include_tombstoned, query.k1, query.b)
        lengths = statistics.longest + 1

        def build() -> Float64s:
            every = np.arange(lengths, dtype=np.uint32)
            return _shares(every, statistics.mean_length, query.k1, query.b)

        table = cached(view.snapshot, key, build)
    return Scorer(view.snapshot.lexical, statistics, terms, table, query.k1, query.b)


class _Memory(dict[str, Known]):
    """What is known of terms; not falsy for being empty."""

    def __bool__(self) -> bool:
        return True


def _gone(statistics: Statistics, index: int, part: Term) -> int:
    """Returns how many postings belong to rows that do not count."""
    mask, gone = statistics.masks[index], statistics.gone[index]
    if mask is None or gone is None:
        return 0
    if part.dense is not None and gone.shape[0] < part.rows.shape[0]:
        return int(np.count_nonzero(part.dense[gone]))
    return part.rows.shape[0] - int(np.count_nonzero(mask[part.rows]))


def _shares(lengths: npt.NDArray[np.unsignedinteger], mean: float, k1: float, b: float) -> Float64s:
    share = lengths.astype(np.float64)
    share /= mean
    share *= b
    share += 1.0 - b
    share *= k1
    return share
