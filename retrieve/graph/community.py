"""Communities around the seeds, found by label propagation along edges.

The nodes within a number of hops of the seeds each begin with a label of their own. In every round
all nodes at once take the label with most weight among their neighbours and themselves; ties go to
the label of the smaller node id. Weights are integers, so no order matters. Nodes that end with the
label of a seed belong to its community.

Spec: retrieval 5.5.
"""

from __future__ import annotations

import numpy as np

from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet
from ibidem.retrieve.graph.neighbourhood import SHARE_BITS, Int64s, Neighbourhood, Places, shares
from ibidem.retrieve.graph.option import Community
from ibidem.retrieve.numbers import Float64s

_OWN_VOTE = 1 << SHARE_BITS
"""The weight of a node's own label: that of its strongest edge, so that two nodes do not swap
labels for ever."""


@record
class Members:
    """The nodes that share a label with a seed, by position in the neighbourhood."""

    places: Places
    scores: Float64s
    """(k,) above zero."""
    labels: Int64s
    """(k,) equal for nodes of one community."""
    left_out: int
    """Nodes near the seeds that were ignored because there were too many."""


def find_members(
    near: Neighbourhood, strengths: Float64s, view: NodeSet, options: Community
) -> Members:
    """Returns the members of the seeds' communities with their scores.

    Args:
        near: a neighbourhood whose first nodes are the seeds, in their order.
        strengths: (s,) of the seeds, above zero, descending.
        view: provides the ids of nodes.
        options: the hops, the rounds and the bounds.
    """
    hops, left_out = _surround(near, strengths.shape[0], view, options)
    taken = np.flatnonzero(hops >= 0)
    ids = np.ascontiguousarray(view.snapshot.node_ids(near.ordinals[taken])).view(">u8")
    taken = taken[np.lexsort((ids[:, 1], ids[:, 0]))]
    graph = _inner(near, taken)
    labels = _propagate(graph, taken.shape[0], options.rounds)
    best = np.zeros(taken.shape[0], np.float64)
    seeds = np.flatnonzero(taken < strengths.shape[0])
    np.maximum.at(best, labels[seeds], strengths[taken[seeds]])
    scores = best[labels]
    steps = np.maximum(hops[taken], 1)
    for step in range(1, options.hops + 1):
        scores = np.where(steps >= step, scores * options.decay, scores)
    scores = scores * _share(graph, labels)
    found = np.flatnonzero(scores > 0.0)
    return Members(taken[found], scores[found], labels[found], left_out)


@record
class _Graph:
    """Arcs between numbered nodes, with integer weights."""

    sources: Places
    targets: Places
    units: Int64s


def _surround(
    near: Neighbourhood, seed_count: int, view: NodeSet, options: Community
) -> tuple[Int64s, int]:
    """Returns by position the hops from the nearest seed, -1 for nodes that do not take part, and
    how many were left out.

    If a hop would add too many nodes, those with the smallest ids take part.
    """
    hops = np.zeros(seed_count, np.int64)
    frontier = np.arange(seed_count, dtype=np.intp)
    left_out = 0
    for hop in range(1, options.hops + 1):
        near.walk(frontier)
        hops = np.concatenate([hops, np.full(near.count - hops.shape[0], -2, np.int64)])
        _, arcs = near.arcs_of(frontier)
        fresh = np.unique(near.targets[arcs])
        fresh = fresh[hops[fresh] == -2]
        room = options.max_nodes - int(np.count_nonzero(hops >= 0))
        if fresh.shape[0] > room:
            ids = np.ascontiguousarray(view.snapshot.node_ids(near.ordinals[fresh])).view(">u8")
            order = np.lexsort((ids[:, 1], ids[:, 0]))
            cut = max(0, room)
            left_out += fresh.shape[0] - cut
            hops[fresh[order[cut:]]] = -1
            fresh = np.sort(fresh[order[:cut]])
        hops[fresh] = hop
        frontier = fresh
    near.walk(frontier)
    return np.concatenate([hops, np.full(near.count - hops.shape[0], -1, np.int64)]), left_out


def _inner(near: Neighbourhood, taken: Places) -> _Graph:
    """Returns the arcs with both ends among the nodes that take part, numbered as in `taken`."""
    number = np.full(near.count, -1, np.intp)
    number[taken] = np.arange(taken.shape[0], dtype=np.intp)
    owners, arcs = near.arcs_of(taken)
    targets = number[near.targets[arcs]]
    keep = targets >= 0
    owners, targets, weights = owners[keep], targets[keep], near.weights[arcs[keep]]
    if owners.shape[0] == 0:
        return _Graph(owners, targets, np.zeros(0, np.int64))
    begins = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
    units, _ = shares(weights, begins, np.diff(np.append(begins, owners.shape[0])))
    return _Graph(owners, targets, units)


def _propagate(graph: _Graph, count: int, rounds: int) -> Int64s:
    """Returns the label of every node after at most `rounds` rounds; a label is a node's number."""
    own = np.arange(count, dtype=np.int64)
    labels = own
    for _ in range(rounds):
        voters = np.concatenate([own, graph.sources])
        ballots = np.concatenate([labels, labels[graph.targets]])
        units = np.concatenate([np.full(count, _OWN_VOTE, np.int64), graph.units])
        pairs, where = np.unique(voters * count + ballots, return_inverse=True)
        votes = np.zeros(pairs.shape[0], np.int64)
        np.add.at(votes, where, units)
        order = np.lexsort((pairs, -votes, pairs // count))
        first = np.ones(order.shape[0], np.bool_)
        first[1:] = (pairs // count)[order[1:]] != (pairs // count)[order[:-1]]
        after = (pairs % count)[order[first]]
        if np.array_equal(after, labels):
            break
        labels = after
    return labels


def _share(graph: _Graph, labels: Int64s) -> Float64s:
    """Returns the share of each node's weight that lies within its community, from 0.0 to 1.0."""
    count = labels.shape[0]
    inside = labels[graph.sources] == labels[graph.targets]
    all_units = np.zeros(count, np.int64)
    np.add.at(all_units, graph.sources, graph.units)
    own_units = np.zeros(count, np.int64)
    np.add.at(own_units, graph.sources, np.where(inside, graph.units, 0))
    return own_units / np.maximum(all_units, 1)
