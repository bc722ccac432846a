"""Best paths from the seeds: a path's score is the product of its steps, and a node takes its best.

Each step walks from all nodes that the last one improved. If there are more of them than the
frontier allows, only the best are used, and the answer says how many were left out.

Spec: retrieval 5.3.
"""

from __future__ import annotations

import numpy as np

from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet
from ibidem.retrieve.graph.neighbourhood import WEIGHT_HIGH, Int64s, Neighbourhood, Places
from ibidem.retrieve.graph.option import Decay
from ibidem.retrieve.numbers import Float64s, rank


@record
class Walked:
    """The result of a walk, by position in the neighbourhood."""

    scores: Float64s
    """(n,) 0.0 for a node that was not reached."""
    origins: Int64s
    """(n,) the seed, from 0, at which the best path begins; -1 without one."""
    left_out: int
    """Nodes that were left out of the frontier because there were too many."""


def walk_decay(near: Neighbourhood, strengths: Float64s, view: NodeSet, options: Decay) -> Walked:
    """Returns the best path score of every node within `options.depth` steps of the seeds.

    Args:
        near: a neighbourhood whose first nodes are the seeds, in their order.
        strengths: (s,) of the seeds, above zero, descending.
        view: provides the ids of nodes.
        options: the walk.
    """
    scores, origins = strengths.copy(), np.arange(strengths.shape[0], dtype=np.int64)
    frontier = np.arange(strengths.shape[0], dtype=np.intp)
    left_out = 0
    for _ in range(options.depth):
        order = rank(scores[frontier], view.snapshot.node_ids(near.ordinals[frontier]))
        left_out += max(0, frontier.shape[0] - options.max_frontier)
        frontier = frontier[order[: options.max_frontier]]
        near.walk(frontier)
        extra = near.count - scores.shape[0]
        scores = np.concatenate([scores, np.zeros(extra, np.float64)])
        origins = np.concatenate([origins, np.full(extra, -1, np.int64)])
        reached, values, starts = _arrivals(near, frontier, scores, origins, options.decay)
        better = values > scores[reached]
        frontier = reached[better]
        scores[frontier], origins[frontier] = values[better], starts[better]
        if frontier.shape[0] == 0:
            break
    return Walked(scores, origins, left_out)


def _arrivals(
    near: Neighbourhood, frontier: Places, scores: Float64s, origins: Int64s, decay: float
) -> tuple[Places, Float64s, Int64s]:
    """Returns for each node that an arc reaches its best score and seed, the first of equals."""
    owners, arcs = near.arcs_of(frontier)
    kept = scores[frontier] * decay
    with np.errstate(over="ignore", under="ignore"):
        values = np.minimum(kept[owners] * near.weights[arcs], WEIGHT_HIGH)
    starts = origins[frontier][owners]
    targets = near.targets[arcs]
    best = np.zeros(near.count, np.float64)
    np.maximum.at(best, targets, values)
    tied = np.flatnonzero((values == best[targets]) & (values > 0.0))
    first = np.full(near.count, near.count, np.int64)
    np.minimum.at(first, targets[tied], starts[tied])
    reached = np.flatnonzero(best)
    return reached, best[reached], first[reached]
