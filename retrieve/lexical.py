"""The lexical lane: BM25 over the terms of a text, every operation rounded on its own.

Bounds say which rows can be among the best (`impact.py`); only those are scored (`bm25.py`). Where
the universe is small, its rows are scored without asking. Scores are the same numbers either way.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ibidem.index.analysis import analyse
from ibidem.retrieve.bm25 import Scorer, scorer_of, statistics_of, weighted
from ibidem.retrieve.impact import Plane, candidates, plane_of
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Ordinals, Rows
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
    statistics = statistics_of(view, include_tombstoned=query.include_tombstoned)
    terms = weighted(view, statistics, counts, query)
    if not terms:
        return empty_top(LANE, LaneStatus.OK, floor=_FLOOR)
    scorer = scorer_of(view, statistics, terms, query)
    plane = plane_of(view, statistics, include_tombstoned=query.include_tombstoned)
    rows = _small(universe, scorer)
    if rows is None:
        rows = _by_segment(plane, candidates(universe, scorer, plane))
    return _ranked(universe, scorer, rows)


def _small(universe: Universe, scorer: Scorer) -> list[Rows] | None:
    """Returns the rows of the universe by segment where these are few, None otherwise."""
    if universe.scope is universe.view:
        return None
    cost = len(universe.scope.members) * len(scorer.terms) * _ROW_COST
    if cost > sum(term.count for term in scorer.terms):
        return None
    found: list[Rows] = []
    for segment in scorer.segments:
        positions = universe.scope.positions(segment)
        if positions is None:
            positions = np.arange(segment.ordinals.shape[0])
        found.append(positions.astype(np.uint32))
    return found


def _by_segment(plane: Plane, slots: npt.NDArray[np.intp]) -> list[Rows]:
    ends = np.searchsorted(slots, plane.starts).tolist()
    return [
        (slots[ends[index] : ends[index + 1]] - plane.starts[index]).astype(np.uint32)
        for index in range(len(ends) - 1)
    ]


def _ranked(universe: Universe, scorer: Scorer, rows: Sequence[Rows]) -> LaneTop:
    """Returns the best of some rows, scored canonically."""
    ordinals: list[Ordinals] = []
    scores: list[Float64s] = []
    for index, chosen in enumerate(rows):
        if chosen.shape[0] == 0:
            continue
        values, has = scorer.scores(index, chosen)
        if not has.all():
            chosen, values = chosen[has], values[has]
        ordinals.append(scorer.segments[index].ordinals[chosen])
        scores.append(values)
    nodes, found = best(universe.view.snapshot, ordinals, scores, universe.query.depth)
    return LaneTop(LANE, nodes, found, LaneStatus.OK, _FLOOR)
