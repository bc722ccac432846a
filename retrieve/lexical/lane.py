"""The lexical lane: BM25 over the terms of a text, every operation rounded on its own.

Bounds say which rows can be among the best (`retrieve/lexical/maxscore.py`); only those are scored
(`bm25.py`). Where the universe is small, or phrases or all terms are required, the rows that are
left are scored without asking. Scores are the same numbers either way.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ibidem.index.analysis import analyse
from ibidem.index.arrays import firsts
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lane import LaneStatus, LaneTop, empty_top
from ibidem.retrieve.lexical.bm25 import Scorer, weighted
from ibidem.retrieve.lexical.exhaustive import best_sums
from ibidem.retrieve.lexical.fuzzy import near_terms
from ibidem.retrieve.lexical.maxscore import best_slots
from ibidem.retrieve.lexical.phrase import phrases_of, with_phrase
from ibidem.retrieve.lexical.postings import Slots
from ibidem.retrieve.lexical.statistics import Statistics, statistics_of
from ibidem.retrieve.lexical.view import LexicalView, lexical_view_of
from ibidem.retrieve.numbers import Float64s, rank
from ibidem.retrieve.query.match import AND
from ibidem.retrieve.query.query import Query

LANE = "lexical"
_FLOOR = 0.0
_ROW_COST = 16
"""What scoring a row costs, a term, in postings passed."""


def rank_lexical(universe: Universe) -> LaneTop:
    """Returns the best nodes for the query's text."""
    query, view = universe.query, universe.view
    assert query.text is not None, "BUG: the lexical lane runs on a text"
    counts = Counter(analyse(query.text, view.snapshot.config.analyser))
    if not counts:
        return empty_top(LANE, LaneStatus.NO_TERMS, floor=_FLOOR)
    flag = query.include_tombstoned
    statistics = statistics_of(view, include_tombstoned=flag)
    if statistics.documents == 0:
        return empty_top(LANE, LaneStatus.OK, floor=_FLOOR)
    lexical_view = lexical_view_of(view, statistics, include_tombstoned=flag)
    asked, groups = _asked(lexical_view, statistics, counts, query)
    terms = weighted(lexical_view, statistics, asked, query)
    if not terms:
        return empty_top(LANE, LaneStatus.OK, floor=_FLOOR)
    scorer = Scorer(view, lexical_view, statistics, terms, query)
    slots = _required(universe, lexical_view, statistics, groups)
    if slots is None:
        slots = _small(universe, scorer)
    if slots is None:
        slots, scores = best_sums(universe, scorer) or best_slots(universe, scorer)
    else:
        scores, has = scorer.scores(slots)
        slots, scores = slots[has], scores[has]
    return _top(view, lexical_view, slots, scores, query.depth)


def _top(
    view: NodeSet, lexical_view: LexicalView, slots: Slots, scores: Float64s, depth: int
) -> LaneTop:
    """Returns the best `depth` of some slots in canonical order."""
    if scores.shape[0] > 2 * depth:
        keep = (scores >= np.partition(scores, -depth)[-depth]).nonzero()[0]
        slots, scores = slots.take(keep), scores.take(keep)
    order = (-scores).argsort(kind="stable")[: depth + 1]
    best = scores.take(order)
    if len(set(best.tolist())) < best.shape[0]:  # ids are read for equal scores alone
        order = rank(scores, view.snapshot.node_ids(lexical_view.ordinals.take(slots)))
        best = scores.take(order)
    nodes = lexical_view.ordinals.take(slots.take(order[:depth]))
    return LaneTop(LANE, nodes, best[:depth], LaneStatus.OK, _FLOOR)


def _small(universe: Universe, scorer: Scorer) -> Slots | None:
    """Returns the slots of the universe where these are few, None otherwise."""
    if universe.scope is universe.view:
        return None
    cost = len(universe.scope.members) * len(scorer.terms) * _ROW_COST
    if cost > sum(term.joined.count for term in scorer.terms):
        return None
    found: list[Slots] = []
    for segment, start in zip(
        scorer.lexical_view.segments, scorer.lexical_view.starts, strict=True
    ):
        rows = universe.scope.positions(segment)
        if rows is None:
            rows = np.arange(segment.ordinals.shape[0])
        found.append((rows + start).astype(np.uint32))
    return np.concatenate(found)


def _asked(
    lexical_view: LexicalView, statistics: Statistics, counts: Counter[str], query: Query
) -> tuple[dict[str, float], list[list[str]]]:
    """Returns how much each term counts, and the groups of terms of which one each is needed."""
    asked: dict[str, float] = dict(counts)
    groups = [[text] for text in counts]
    fuzzy = query.match.fuzzy
    if fuzzy is not None:
        near = near_terms(lexical_view, statistics, sorted(counts), query)
        reached: Counter[str] = Counter()
        for text, others in near.items():
            for other in others:
                reached[other] += counts[text]
        asked |= {text: fuzzy.weight * count for text, count in reached.items()}
        groups = [[text, *others] for text, others in near.items()]
    return asked, groups


def _required(
    universe: Universe, lexical_view: LexicalView, statistics: Statistics, groups: list[list[str]]
) -> Slots | None:
    """Returns the slots that have all that the query asks for; None where any term will do."""
    query = universe.query
    assert query.text is not None, "BUG: the lexical lane runs on a text"
    phrases: list[list[str]] = []
    if query.match.phrases:
        phrases = phrases_of(query.text, universe.view.snapshot.config.analyser)
    needed = groups if query.match.operator == AND else []
    needed = needed + [[text] for phrase in phrases for text in phrase]
    if not needed:
        return None
    joined = [
        [lexical_view.term(text, statistics, query.k1, query.b) for text in group]
        for group in needed
    ]
    joined.sort(key=lambda group: sum(one.count for one in group))
    slots = joined[0][0].slots
    if len(joined[0]) > 1:
        slots = np.sort(np.concatenate([one.slots for one in joined[0]]))
        slots = slots[firsts(slots)]
    for group in joined[1:]:
        has = group[0].has(slots)
        for one in group[1:]:
            has |= one.has(slots)
        slots = slots[has]
    slots = lexical_view.seen(slots)
    if universe.scope is not universe.view:
        slots = slots[universe.scope.flags()[lexical_view.ordinals[slots]]]
    for phrase in phrases:
        slots = with_phrase(lexical_view, slots, phrase)
    return slots
