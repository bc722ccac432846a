"""The lexical lane: BM25 over the terms of a text, every operation rounded on its own.

Bounds say which rows can be among the best (`impact.py`); only those are scored (`bm25.py`). Where
the universe is small, its rows are scored without asking. Scores are the same numbers either way.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ibidem.index.analysis import analyse
from ibidem.retrieve.bm25 import Scorer, scorer_of, weighted
from ibidem.retrieve.impact import candidates
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top
from ibidem.retrieve.plane import Slots, plane_of, statistics_of
from ibidem.retrieve.scope import Universe

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
    plane = plane_of(view, statistics, include_tombstoned=flag)
    terms = weighted(plane, statistics, counts, query)
    if not terms:
        return empty_top(LANE, LaneStatus.OK, floor=_FLOOR)
    scorer = scorer_of(view, plane, statistics, terms, query)
    slots = _small(universe, scorer)
    if slots is None:
        slots = candidates(universe, scorer)
    scores, has = scorer.scores(slots)
    if not has.all():
        slots, scores = slots[has], scores[has]
    nodes, values = best(view.snapshot, [plane.ordinals[slots]], [scores], query.depth)
    return LaneTop(LANE, nodes, values, LaneStatus.OK, _FLOOR)


def _small(universe: Universe, scorer: Scorer) -> Slots | None:
    """Returns the slots of the universe where these are few, None otherwise."""
    if universe.scope is universe.view:
        return None
    cost = len(universe.scope.members) * len(scorer.terms) * _ROW_COST
    if cost > sum(term.joined.count for term in scorer.terms):
        return None
    found: list[Slots] = []
    for segment, start in zip(scorer.plane.segments, scorer.plane.starts, strict=False):
        rows = universe.scope.positions(segment)
        if rows is None:
            rows = np.arange(segment.ordinals.shape[0])
        found.append((rows + start).astype(np.uint32))
    return np.concatenate(found)
