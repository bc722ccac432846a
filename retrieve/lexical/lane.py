"""The lexical lane: the `depth` documents with the highest BM25 score, exactly.

Problem: score every document with one of the query's terms, without touching all of them, and get
the same float64 on every machine. Idea: a fast strategy finds a superset of the best documents, and
only these are scored canonically (`bm25.py`: each operation rounded on its own, terms in text
order). Three strategies, cheapest first:

* the universe is small, or the query requires phrases or all terms: score what is left, row by row;
* the posting lists are short: exhaustive, term-at-a-time scoring (`exhaustive.py`);
* otherwise: MaxScore over quantised impacts (`maxscore.py`).

The best nodes are then scored again with the headings above them (`heading.py`).

Invariant: the superset contains every document among the best `depth`, ties included, so the
strategy never shows in an answer. `docs/design/lexical.md` explains the lane on one page.

Cost: proportional to the postings that are read, not to the number of documents or segments.
BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ibidem.index.arrays import firsts
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lane import LaneStatus, LaneTop, empty_top
from ibidem.retrieve.lexical.bm25 import Scorer, WeightedTerm, frequency, weights
from ibidem.retrieve.lexical.exhaustive import rank_exhaustively
from ibidem.retrieve.lexical.fuzzy import near_terms
from ibidem.retrieve.lexical.heading import ranked_with_headings
from ibidem.retrieve.lexical.maxscore import rank_by_bounds
from ibidem.retrieve.lexical.phrase import with_phrase
from ibidem.retrieve.lexical.postings import MergedPostings, Slots
from ibidem.retrieve.lexical.statistics import Statistics, statistics_of
from ibidem.retrieve.lexical.tuning import TUNING, Tuning
from ibidem.retrieve.lexical.view import LexicalView, lexical_view_of
from ibidem.retrieve.lexical.words import Word, phrase_forms, symbol_counts, with_forms, words_of
from ibidem.retrieve.numbers import Float64s, kth_largest, rank
from ibidem.retrieve.protocol import Bools
from ibidem.retrieve.query.match import AND, Fuzzy
from ibidem.retrieve.query.query import Query

LANE = "lexical"
FLOOR = 0.0
"""No score is lower."""


def rank_lexical(universe: Universe, tuning: Tuning = TUNING) -> LaneTop:
    """Returns the best `query.depth` nodes for the query's text, scored with their headings, by
    descending score, ties by node id.
    """
    query, view = universe.query, universe.view
    assert query.text is not None, "BUG: the lexical lane runs on a text"
    flag = query.include_tombstoned
    statistics = statistics_of(view, include_tombstoned=flag)
    home = view.snapshot.config.analyser
    counts = words_of(query.text, home, statistics.analysers, accents=query.match.accents)
    symbols = symbol_counts(query)
    if not counts and not symbols:
        return empty_top(LANE, LaneStatus.NO_TERMS, floor=FLOOR)
    if statistics.documents == 0:
        return empty_top(LANE, LaneStatus.OK, floor=FLOOR)
    lexical_view = lexical_view_of(view, statistics, include_tombstoned=flag)
    frequencies = lexical_view.frequencies(
        {text for word in counts | symbols for text in word}, statistics, query
    )
    wide = words_of_few(query, home, statistics, counts, frequencies)
    if wide:
        counts = renamed(counts, wide)
        added_forms = {text for word in wide.values() for text in word}
        frequencies |= lexical_view.frequencies(added_forms, statistics, query)
    factors: dict[Word, float] = dict(counts + symbols)
    near: dict[Word, list[str]] = {}
    fuzzy = query.match.fuzzy
    if fuzzy is not None:
        near = near_terms(lexical_view, statistics, counts, frequencies, query, home, wide)
        added = _factors(near, counts, fuzzy)
        frequencies |= lexical_view.frequencies({text for (text,) in added}, statistics, query)
        factors |= added
    found = weights(statistics.documents, frequencies, factors)
    if not found:
        return empty_top(LANE, LaneStatus.OK, floor=FLOOR)
    scorer = scorer_of(universe, statistics, found, tuning)
    return ranked_with_headings(universe, scorer, rank_texts(universe, scorer, counts, near))


def words_of_few(
    query: Query,
    home: str,
    statistics: Statistics,
    words: Iterable[Word],
    frequencies: Mapping[str, int],
) -> dict[Word, Word]:
    """Returns what the words of a query that no document has are with the forms that they have
    under the analysers of few documents, too; nothing where no document is of such an analyser.

    Args:
        query: has a text.
        home: the analyser of the root's config.
        statistics: of the view.
        words: of the query.
        frequencies: by form of these, how many documents have it.

    Spec: retrieval 4.1.6.
    """
    assert query.text is not None, "BUG: the lexical lane runs on a text"
    held, every = statistics.analysers, statistics.every_analyser
    if not query.match.minor or len(held) == len(every):
        return {}
    unknown = [one for one in words if not frequency(one, frequencies, statistics.documents)]
    if not unknown:
        return {}
    return with_forms(query.text, home, held, every, unknown, accents=query.match.accents)


def renamed(counts: Counter[Word], wide: Mapping[Word, Word]) -> Counter[Word]:
    """Returns how often a query has each word, with some words in other forms."""
    found: Counter[Word] = Counter()
    for word, count in counts.items():
        found[wide.get(word, word)] += count
    return found


def scorer_of(
    universe: Universe,
    statistics: Statistics,
    weight_of: Mapping[str, float],
    tuning: Tuning = TUNING,
) -> Scorer:
    """Returns the formula for a query.

    Args:
        statistics: of the view.
        weight_of: by term, in ascending text order.
    """
    query, view = universe.query, universe.view
    lexical_view = lexical_view_of(view, statistics, include_tombstoned=query.include_tombstoned)
    terms = [
        WeightedTerm(text, lexical_view.term(text, statistics, query.k1, query.b), weight)
        for text, weight in weight_of.items()
    ]
    return Scorer(view, lexical_view, statistics, terms, query, tuning)


def rank_texts(
    universe: Universe,
    scorer: Scorer,
    words: Iterable[Word],
    near: Mapping[Word, list[str]] = MappingProxyType({}),
) -> LaneTop:
    """Returns the best `query.depth` nodes by their own texts.

    Args:
        scorer: of the query, with at least one term.
        words: of the query.
        near: the terms that each word brings in beside its own.
    """
    slots = _required(universe, scorer.lexical_view, scorer.statistics, words, near)
    if slots is None:
        slots = _small_universe(universe, scorer)
    if slots is None:
        slots, scores = rank_exhaustively(universe, scorer) or rank_by_bounds(universe, scorer)
    else:
        scores, matches = scorer.scores(slots)
        slots, scores = slots[matches], scores[matches]
    return _top(universe.view, scorer.lexical_view, slots, scores, universe.query.depth)


def _top(
    view: NodeSet, lexical_view: LexicalView, slots: Slots, scores: Float64s, depth: int
) -> LaneTop:
    """Returns the best `depth` of `slots` in canonical order.

    Node ids are read only where scores are equal, since they are scattered over the index.
    """
    if scores.shape[0] > 2 * depth:
        kept = (scores >= kth_largest(scores, depth)).nonzero()[0]
        slots, scores = slots.take(kept), scores.take(kept)
    order = (-scores).argsort(kind="stable")[: depth + 1]
    best = scores.take(order)
    if len(set(best.tolist())) < best.shape[0]:  # ids are read for equal scores alone
        order = rank(scores, view.snapshot.node_ids(lexical_view.ordinals.take(slots)))
        best = scores.take(order)
    nodes = lexical_view.ordinals.take(slots.take(order[:depth]))
    return LaneTop(LANE, nodes, best[:depth], LaneStatus.OK, FLOOR)


def _small_universe(universe: Universe, scorer: Scorer) -> Slots | None:
    """Returns the slots of the universe where scoring them all is cheaper than reading postings."""
    if universe.nodes is universe.view:
        return None
    cost = len(universe.nodes.members) * len(scorer.terms) * scorer.tuning.small_universe_row_cost
    if cost > sum(term.postings.count for term in scorer.terms):
        return None
    found: list[Slots] = []
    for segment, start in zip(
        scorer.lexical_view.segments, scorer.lexical_view.starts, strict=True
    ):
        rows = universe.nodes.positions(segment)
        if rows is None:
            rows = np.arange(segment.ordinals.shape[0])
        found.append((rows + start).astype(np.uint32))
    return np.concatenate(found)


def _factors(
    near: Mapping[Word, list[str]], counts: Counter[Word], fuzzy: Fuzzy
) -> dict[Word, float]:
    """Returns the weight factors of the near terms, as words of one form: `fuzzy.weight` for each
    time that the query has a word that brings the term in.
    """
    repeats: Counter[Word] = Counter()
    for word, others in near.items():
        for other in others:
            repeats[other,] += counts[word]
    return {word: fuzzy.weight * count for word, count in repeats.items()}


def _required(
    universe: Universe,
    lexical_view: LexicalView,
    statistics: Statistics,
    words: Iterable[Word],
    near: Mapping[Word, list[str]],
) -> Slots | None:
    """Returns the slots of the universe that satisfy AND and phrases; None where any one term
    suffices.

    Intersects posting lists, the shortest first, by binary search in the longer ones.
    """
    query = universe.query
    assert query.text is not None, "BUG: the lexical lane runs on a text"
    phrases: list[list[Word]] = []
    if query.match.phrases:
        home = universe.view.snapshot.config.analyser
        analysers = statistics.every_analyser if query.match.minor else statistics.analysers
        phrases = phrase_forms(query.text, home, analysers)
    needed: list[list[str]] = []
    if query.match.operator == AND:
        needed = [[*word, *near.get(word, ())] for word in words]
    for runs in phrases:
        needed = needed + (
            [[text] for text in runs[0]]
            if len(runs) == 1
            else [sorted({text for run in runs for text in run})]
        )
    if not needed:
        return None
    lists = [
        [lexical_view.term(text, statistics, query.k1, query.b) for text in group]
        for group in needed
    ]
    lists.sort(key=lambda group: sum(term.count for term in group))
    slots = _union([term.slots for term in lists[0]])
    for group in lists[1:]:
        slots = slots[_has_any(group, slots)]
    slots = lexical_view.visible(slots)
    if universe.nodes is not universe.view:
        slots = slots[universe.nodes.flags()[lexical_view.ordinals[slots]]]
    for runs in phrases:
        found = []
        for run in runs:
            rows = slots
            for text in run:
                term = lexical_view.term(text, statistics, query.k1, query.b)
                rows = rows[_has_any([term], rows)]
            found.append(with_phrase(lexical_view, rows, run))
        slots = _union(found)
    return slots


def _union(found: Sequence[Slots]) -> Slots:
    """Returns the rows of several ascending lists, each once, ascending."""
    if len(found) == 1:
        return found[0]
    rows = np.sort(np.concatenate(found))
    return rows[firsts(rows)]


def _has_any(terms: Sequence[MergedPostings], rows: Slots) -> Bools:
    """Returns (n,) whether each of some rows has one of some terms."""
    found = terms[0].contains(rows)
    for term in terms[1:]:
        found |= term.contains(rows)
    return found
