"""A part of a snapshot: some of its segments, ranked alone, so that processes share a question.

Problem: the vectors of a root do not fit the memory of one machine, and the answer must have the
same bytes whoever holds which of them. Idea: every process has the nodes of the root, so that it
knows the view and the universe of a query; it ranks only the rows of the segments that it is asked
for. Texts need numbers of the whole collection (N, df, lengths): these are integers, so each part
counts its own, and their sums are exact in any order.

Invariant: a live row of a family is in exactly one segment, scores do not depend on other rows, and
the order is (score, id). So the best `depth` of the best `depth` of all parts are those of the
whole.

Spec: retrieval 13.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Self, cast

import numpy as np
from blake3 import blake3

from ibidem.index.analysis import ANALYSERS
from ibidem.objects.errors import RemoteError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.retrieve.filter import Universe, cached
from ibidem.retrieve.heading import containers_of
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top
from ibidem.retrieve.lexical import lane as lexical
from ibidem.retrieve.lexical.bm25 import frequency, weights
from ibidem.retrieve.lexical.heading import ranked_with_headings
from ibidem.retrieve.lexical.statistics import Statistics, analysers_of, statistics_of
from ibidem.retrieve.lexical.view import lexical_view_of
from ibidem.retrieve.lexical.words import (
    Word,
    possible_terms,
    query_symbols,
    symbol_counts,
    words_of,
)
from ibidem.retrieve.numbers import Float64s, Ids
from ibidem.retrieve.protocol import LexicalSegment, Ordinals, Segment, Snapshot, VectorSegment
from ibidem.retrieve.query.query import Query

DENSE = "dense"
LEXICAL = lexical.LANE
LANES = (DENSE, LEXICAL)
"""The lanes that can be shared out."""
_PARTS_MAX = 4
"""The number of parts that are cached with a snapshot: each has its own caches of rows."""


class _PartSnapshot:
    """A snapshot with some of the segments of the lexical and dense families; all else is that of
    the whole."""

    def __init__(self, whole: Snapshot, names: frozenset[str]) -> None:
        self.whole = whole
        self._names = names
        self.cache: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    @property
    def lexical(self) -> Sequence[LexicalSegment]:
        """Those of the segments."""
        return [one for one in self.whole.lexical if one.name in self._names]

    def vectors(self, model: str) -> Sequence[VectorSegment]:
        """Returns those of the segments of a model."""
        return [one for one in self.whole.vectors(model) if one.name in self._names]


def lane_query(query: Query, lane: str) -> Query:
    """Returns a query with the options that one lane reads, and no other."""
    narrowing = {
        name: getattr(query, name)
        for name in ("labels", "where", "valid", "history", "viewer", "include_tombstoned")
    }
    own = ("text", "match", "k1", "b") if lane == LEXICAL else ("vector",)
    ranking = {name: getattr(query, name) for name in (*own, "depth", "semantics")}
    return Query(**narrowing, **ranking)


def segments_of(snapshot: Snapshot, lane: str, query: Query) -> Sequence[Segment]:
    """Returns the segments that a lane of a query reads."""
    if lane == LEXICAL:
        return snapshot.lexical
    assert query.vector is not None, "BUG: the dense lane runs on a vector"
    return snapshot.vectors(query.vector.model)


def layout_of(snapshot: Snapshot, lane: str, query: Query, salt: bytes) -> dict[str, bytes]:
    """Returns by name of each segment a digest of the rows that it has in this snapshot.

    Processes with equal layouts have equal rows in every segment.

    Args:
        salt: differs from process to process; for segments that are only in its memory, whose names
            are not hashes.
    """

    def build() -> dict[str, bytes]:
        return {one.name: _rows_digest(one, salt) for one in segments_of(snapshot, lane, query)}

    model = "" if lane == LEXICAL or query.vector is None else query.vector.model
    return cached(snapshot, ("layout", lane, model), build)


def _rows_digest(segment: Segment, salt: bytes) -> bytes:
    live = segment.live
    found = blake3(salt if segment.name.startswith("memory-") else b"")
    found.update(segment.name.encode())
    found.update(int(segment.ordinals.shape[0]).to_bytes(8, "big"))
    if live is not None and not live.all():
        found.update(np.packbits(live).tobytes())
    return found.digest()


def part_of(universe: Universe, names: Iterable[str]) -> Universe:
    """Returns a universe of which only the rows of some segments are ranked and counted."""
    whole = universe.view.snapshot
    wanted = frozenset(names)
    parts = cached(whole, ("parts",), dict[frozenset[str], Snapshot])
    part = parts.get(wanted)
    if part is None:
        for old in list(parts)[: max(0, len(parts) + 1 - _PARTS_MAX)]:
            parts.pop(old, None)
        part = parts[wanted] = cast("Snapshot", _PartSnapshot(whole, wanted))
    view = replace(universe.view, snapshot=part)
    nodes = view
    if universe.nodes is not universe.view:
        nodes = replace(universe.nodes, snapshot=part)
    return Universe(universe.query, view, nodes)


@record
class Counts:
    """What BM25 has to know of a collection, or of a part of it: integers, added part by part."""

    documents: int = 0
    terms: int = 0
    longest: int = 0
    by_analyser: Mapping[int, int] = field(default_factory=Counter)
    """By position in `ANALYSERS`, how many documents have terms by it."""
    frequencies: Mapping[str, int] = field(default_factory=Counter)
    """By term that the question may have, how many documents have it."""

    @classmethod
    def of(cls, universe: Universe) -> Self:
        """Returns the counts of a part."""
        query, view = universe.query, universe.view
        found = statistics_of(view, include_tombstoned=query.include_tombstoned)
        rows = lexical_view_of(view, found, include_tombstoned=query.include_tombstoned)
        return cls(
            found.documents,
            found.terms,
            found.longest,
            found.by_analyser,
            rows.frequencies(_terms_of(query, view.snapshot), found, query),
        )

    @classmethod
    def sum(cls, parts: Sequence[Counts]) -> Self:
        """Returns the counts of all parts together."""
        by_analyser: Counter[int] = Counter()
        frequencies: Counter[str] = Counter()
        for part in parts:
            by_analyser.update(part.by_analyser)
            frequencies.update(part.frequencies)
        return cls(
            sum(part.documents for part in parts),
            sum(part.terms for part in parts),
            max((part.longest for part in parts), default=0),
            by_analyser,
            frequencies,
        )

    def statistics(self) -> Statistics:
        """Returns the statistics of the whole, without the rows that are left out."""
        return Statistics(self.documents, self.terms, self.longest, self.by_analyser, {}, {})

    def words(self, universe: Universe) -> Counter[Word]:
        """Returns the words of the query, cut as the documents of the whole are."""
        query = universe.query
        assert query.text is not None, "BUG: the lexical lane runs on a text"
        home = universe.view.snapshot.config.analyser
        statistics = self.statistics()
        words = words_of(query.text, home, statistics.analysers, accents=query.match.accents)
        wide = lexical.words_of_few(query, home, statistics, words, self.frequencies)
        return lexical.renamed(words, wide)

    def scored(self, universe: Universe) -> Counter[Word]:
        """Returns everything that a score can come from: the words, and the symbols."""
        return self.words(universe) + symbol_counts(universe.query)

    def may_have_near_terms(self, universe: Universe) -> bool:
        """Returns whether a word of the query may bring in terms near it, which only a
        whole dictionary has."""
        fuzzy = universe.query.match.fuzzy
        if fuzzy is None:
            return False
        words = [
            word for word in self.words(universe) if any(len(text) >= fuzzy.length for text in word)
        ]
        if fuzzy.rare is None:
            return bool(words)
        return any(frequency(word, self.frequencies, self.documents) < fuzzy.rare for word in words)

    def weights(self, universe: Universe) -> dict[str, float]:
        """Returns the weight of each term, as the lexical lane computes it."""
        return weights(self.documents, self.frequencies, dict(self.scored(universe)))


def _terms_of(query: Query, snapshot: Snapshot) -> Iterator[str]:
    """Yields every term that the question can have, whatever analysers the documents have, those of
    other parts too."""
    assert query.text is not None, "BUG: the lexical lane runs on a text"
    whole = snapshot.whole if isinstance(snapshot, _PartSnapshot) else snapshot
    numbers = {one for segment in whole.lexical for one in analysers_of(segment)}
    names = {*(ANALYSERS[one] for one in numbers), snapshot.config.analyser}
    found = possible_terms(query.text, names, accents=query.match.accents)
    yield from sorted(found | query_symbols(query))


@record
class Top:
    """The best rows of a part."""

    ids: Ids
    """(n, 16) uint8, best first."""
    scores: Float64s
    """(n,)."""
    has_rows: bool
    """Whether a node of the view has a row in the part, ranked or not."""


def top_of(universe: Universe, counts: Counts | None) -> Top:
    """Returns the best `query.depth` rows of a part.

    Args:
        counts: of the whole; None for the dense lane.
    """
    found = _dense(universe) if counts is None else _texts(universe, counts)
    ids = universe.view.snapshot.node_ids(found.ordinals)
    return Top(ids, found.scores, found.status is not LaneStatus.NO_VECTORS)


def _dense(universe: Universe) -> LaneTop:
    from ibidem.retrieve.dense.lane import rank_dense

    return rank_dense(universe)


def _texts(universe: Universe, counts: Counts) -> LaneTop:
    """Returns the top of a part by the texts alone, with the weights of the whole."""
    view, query = universe.view, universe.query
    own = statistics_of(view, include_tombstoned=query.include_tombstoned)
    whole = replace(counts.statistics(), masks=own.masks, gone=own.gone)
    scorer = lexical.scorer_of(universe, whole, counts.weights(universe))
    scorer = replace(scorer, terms=[term for term in scorer.terms if term.postings.count])
    if not scorer.terms:
        return empty_top(LEXICAL, LaneStatus.OK)
    return lexical.rank_texts(universe, scorer, counts.words(universe))


def merged_top(universe: Universe, tops: Sequence[Top]) -> LaneTop:
    """Returns the top of the dense lane from those of all parts, in any order.

    Raises:
        RemoteError: a part gave a node that is not in the view.
    """
    from ibidem.retrieve.dense.lane import FLOORS, check_model

    nodes, scores = _best(universe, tops)
    floor = FLOORS[check_model(universe.view.snapshot, universe.query).metric]
    has_rows = any(top.has_rows for top in tops)
    return LaneTop(
        DENSE, nodes, scores, LaneStatus.OK if has_rows else LaneStatus.NO_VECTORS, floor
    )


def merged_texts(universe: Universe, counts: Counts, tops: Sequence[Top]) -> LaneTop:
    """Returns the top of the lexical lane from those of all parts, in any order: by their own
    texts, then with their headings, which are read here. Raises as `merged_top` does."""
    nodes, scores = _best(universe, tops)
    top = LaneTop(LEXICAL, nodes, scores, LaneStatus.OK, lexical.FLOOR)
    view = universe.view
    if not containers_of(view):
        return top
    own = statistics_of(view, include_tombstoned=universe.query.include_tombstoned)
    scorer = lexical.scorer_of(universe, own, counts.weights(universe))
    return ranked_with_headings(universe, scorer, top)


def _best(universe: Universe, tops: Sequence[Top]) -> tuple[Ordinals, Float64s]:
    snapshot, members = universe.view.snapshot, universe.nodes.members
    ordinals: list[Ordinals] = []
    for top in tops:
        found = [snapshot.ordinal(NodeId(row.tobytes())) for row in top.ids]
        known = [one for one in found if one is not None and one in members]
        if len(known) != len(found):
            raise RemoteError("worker: its answer has nodes that the question does not rank")
        ordinals.append(np.array(known, np.uint32))
    every = np.concatenate([np.empty(0, np.uint32), *ordinals])
    if len(np.unique(every)) < len(every):
        raise RemoteError("worker: its answer has a node twice, or one of another worker")
    return best(snapshot, ordinals, [top.scores for top in tops], universe.query.depth)
