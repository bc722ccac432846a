"""The lanes "graph" and "community": walks along edges from the best nodes of the first fusion.

Walks cover the view; their results are limited to the universe before they are cut to a number of
nodes. A seed counts by its rank alone, 1 / rank, so that the other lanes may use any scale,
including negative scores.

Spec: retrieval 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

import numpy as np

from ibidem.objects.record import record
from ibidem.retrieve.answer.lane_path import LanePath
from ibidem.retrieve.filter import Universe
from ibidem.retrieve.graph.neighbourhood import Int64s, Neighbourhood, Places
from ibidem.retrieve.graph.option import Community, Decay, PageRank
from ibidem.retrieve.heading import with_passages
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top
from ibidem.retrieve.numbers import Float64s, rank
from ibidem.retrieve.protocol import Ordinals
from ibidem.retrieve.semantics import rules

GRAPH, COMMUNITY = "graph", "community"
_FLOOR = 0.0


@record
class GraphTop:
    """The top of a lane that walked edges, with facts about the walk."""

    top: LaneTop
    near: Neighbourhood | None
    left_out: int = 0
    """Nodes that the walk left out because of a bound in the query."""
    ends: Mapping[int, int] = field(default_factory=dict)
    """By node of the lane, that at which its walk ended: a heading, if the node is the passage in
    its place."""

    def path(self, ordinal: int) -> LanePath:
        """Returns a shortest path from a seed to the end of the walk for a node of the lane, both
        included."""
        assert self.near is not None, "BUG: a lane without a walk has no node"
        ordinal = self.ends[ordinal]
        return self.near.path(int(self.near.places_of(np.array([ordinal], np.uint32))[0]))


def run_graph_lanes(scope: Universe, tops: Sequence[LaneTop]) -> list[GraphTop]:
    """Returns the tops of the lanes of a query that walk edges, in fusion order.

    Args:
        scope: the view that is walked, and the universe that is ranked.
        tops: the other lanes, one or more.
    """
    query = scope.query
    wanted = [one for one in (query.graph, query.community) if one is not None]
    if not wanted:
        return []
    seeds = seeds_of(scope, tops, max(one.seeds for one in wanted))
    return [_run(scope, seeds[: one.seeds], one) for one in wanted]


def seeds_of(scope: Universe, tops: Sequence[LaneTop], count: int) -> Ordinals:
    """Returns the best nodes of the first fusion, best first."""
    if len(tops) == 1:
        return tops[0].ordinals[:count]
    fused = rules(scope.query.semantics).fuse(tops, scope.query.fusion)
    nodes, _ = best(scope.view.snapshot, [fused.ordinals], [fused.scores], count)
    return nodes


def _run(scope: Universe, seeds: Ordinals, options: Decay | PageRank | Community) -> GraphTop:
    lane = COMMUNITY if isinstance(options, Community) else GRAPH
    if seeds.shape[0] == 0:
        return GraphTop(empty_top(lane, LaneStatus.NO_SEEDS, floor=_FLOOR), None)
    near = Neighbourhood(
        scope.view,
        direction="both" if isinstance(options, Community) else options.direction,
        etypes=options.etypes,
        weights=options.weights,
        seeds=seeds,
        at=scope.query.as_of,
    )
    strengths = 1.0 / np.arange(1, seeds.shape[0] + 1, dtype=np.float64)
    near.walk(np.arange(seeds.shape[0], dtype=np.intp))
    if near.sources.shape[0] == 0:
        return GraphTop(empty_top(lane, LaneStatus.NO_EDGES, floor=_FLOOR), None)
    places, scores, left_out = _walk(scope, near, strengths, options)
    depth = scope.query.depth
    if not isinstance(options, Community) and options.max_expand is not None:
        depth = min(depth, options.max_expand)
    nodes, values = best(scope.view.snapshot, [near.ordinals[places]], [scores], depth)
    walked = LaneTop(lane, nodes, values, LaneStatus.OK, _FLOOR)
    top, ends = with_passages(scope, walked, counts_own=False)
    return GraphTop(
        top, near, left_out, dict(zip(top.ordinals.tolist(), ends.tolist(), strict=True))
    )


def _walk(
    scope: Universe, near: Neighbourhood, strengths: Float64s, options: Decay | PageRank | Community
) -> tuple[Places, Float64s, int]:
    """Returns the positions that rank, their scores, and how many nodes a bound left out."""
    # The walks are imported on use: most processes need none of them.
    match options:
        case PageRank():
            from ibidem.retrieve.graph.pagerank import cap_seeds, walk_pagerank

            scores = walk_pagerank(near, strengths, options)
            places = _ranked(scope, near, np.flatnonzero(scores > 0.0))
            return places, cap_seeds(places, scores[places], strengths.shape[0]), 0
        case Decay():
            from ibidem.retrieve.graph.decay import walk_decay

            walked = walk_decay(near, strengths, scope.view, options)
            places = _ranked(scope, near, np.flatnonzero(walked.scores > 0.0))
            if options.max_per_seed is not None:
                seed_count = strengths.shape[0]
                own, others = places[places < seed_count], places[places >= seed_count]
                kept = _first_of_each(
                    scope, near, others, walked.scores, walked.origins, options.max_per_seed
                )
                places = np.concatenate([own, kept])
            return places, walked.scores[places], walked.left_out
        case Community():
            from ibidem.retrieve.graph.community import find_members

            members = find_members(near, strengths, scope.view, options)
            scores = np.zeros(near.count, np.float64)
            scores[members.places] = members.scores
            groups = np.zeros(near.count, np.int64)
            groups[members.places] = members.labels
            places = _ranked(scope, near, members.places)
            if options.max_per_community is not None:
                places = _first_of_each(
                    scope, near, places, scores, groups, options.max_per_community
                )
            return places, scores[places], members.left_out


def _ranked(scope: Universe, near: Neighbourhood, places: Places) -> Places:
    """Returns the positions whose nodes are in the universe."""
    if scope.nodes is scope.view:
        return places
    return places[scope.nodes.flags()[near.ordinals[places]]]


def _first_of_each(
    scope: Universe,
    near: Neighbourhood,
    places: Places,
    scores: Float64s,
    groups: Int64s,
    count: int,
) -> Places:
    """Returns the best `count` positions of each group."""
    ids = scope.view.snapshot.node_ids(near.ordinals[places])
    places = places[rank(scores[places], ids)]
    order = np.argsort(groups[places], kind="stable")
    sorted_groups = groups[places[order]]
    begins = np.searchsorted(sorted_groups, sorted_groups, side="left")
    return places[order[np.arange(order.shape[0]) - begins < count]]


def paths_of(lanes: Sequence[GraphTop], ordinals: Ordinals) -> list[Mapping[str, LanePath]]:
    """Returns for each node, by lane that has it, a path from a seed to it."""
    held = [(lane, set(lane.top.ordinals.tolist())) for lane in lanes]
    return [
        MappingProxyType(
            {lane.top.lane: lane.path(ordinal) for lane, has in held if ordinal in has}
        )
        for ordinal in ordinals.tolist()
    ]


def unknown_etypes(scope: Universe) -> list[tuple[str, str]]:
    """Returns (lane, type) for each type in the query that no edge of the root has."""
    query = scope.query
    named: dict[str, set[str]] = {}
    for lane, one in ((GRAPH, query.graph), (COMMUNITY, query.community)):
        if one is not None and (one.etypes is not None or one.weights):
            named[lane] = {*(one.etypes or ()), *one.weights}
    if not named:
        return []
    known = {
        name
        for segment in scope.view.snapshot.edges
        for name, count in zip(segment.etypes, segment.etype_counts().tolist(), strict=True)
        if count
    }
    return [(lane, name) for lane in named for name in sorted(named[lane] - known)]
