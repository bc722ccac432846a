"""The lanes of subqueries: each ranks by its own words and vectors, fused like those of the
question, in the universe of the question.

Spec: retrieval 5.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ibidem.retrieve.filter import Universe
from ibidem.retrieve.lane import LaneStatus, LaneTop, best
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.query.subquery import Subquery, lane_of
from ibidem.retrieve.semantics import rules

RunLanes = Callable[[Universe], list[LaneTop]]


def run_subqueries(scope: Universe, run_lanes: RunLanes) -> Iterator[LaneTop]:
    """Yields the lane of each subquery, in order.

    Args:
        scope: the universe of the question.
        run_lanes: ranks a scope by the words and vectors of its query.
    """
    for index, one in enumerate(scope.query.queries or ()):
        own = replace(scope, query=as_query(scope.query, one))
        yield _one_lane(own, lane_of(index), run_lanes(own))


def as_query(query: Query, one: Subquery) -> Query:
    """Returns a subquery with the conditions of the question that it belongs to."""
    return replace(query, text=one.text, vector=one.vector, sparse=one.sparse, queries=None)


def check_models(snapshot: Snapshot, query: Query) -> None:
    """Raises `InvalidInputError` if the root has no vectors of a model of the query, or of another
    dimension."""
    queries = {"vector": query} | {
        f"{lane_of(index)}.vector": as_query(query, one)
        for index, one in enumerate(query.queries or ())
    }
    with_vector = {label: one for label, one in queries.items() if one.vector is not None}
    if with_vector:
        from ibidem.retrieve.dense.lane import check_model  # not loaded for words alone

        for label, one in with_vector.items():
            check_model(snapshot, one, label)


def _one_lane(scope: Universe, name: str, tops: list[LaneTop]) -> LaneTop:
    """Returns the best nodes of some lanes as one."""
    if len(tops) == 1:
        return replace(tops[0], lane=name)
    fused = rules(scope.query.semantics).fuse(tops, scope.query.fusion)
    nodes, scores = best(scope.view.snapshot, [fused.ordinals], [fused.scores], scope.query.depth)
    is_ranked = any(top.status is LaneStatus.OK for top in tops)
    return LaneTop(name, nodes, scores, LaneStatus.OK if is_ranked else tops[0].status)
