"""Communities of a whole graph, by the Leiden algorithm in integers.

Problem: which nodes belong together, when nobody says how many groups there are? Idea: modularity
compares the weight inside a group with what the degrees of its nodes let one expect. Nodes move to
the neighbouring group that gains most, one after the other, until none gains; then each group is
merged anew from its own nodes, only where these are well connected, and the merged nodes take part
as one node in the next round. So a group never hangs together by a node that has left.

Everything that the original draws at random is ordered here: nodes by number, ties by the smaller
label, and a merge takes the largest gain. Gains are compared as integers of any size, so the result
is a function of the graph alone. In the end a group that is not connected is split, which can only
improve it.

Traag, Waltman, van Eck: From Louvain to Leiden, Scientific Reports 9, 2019.

Cost: about 20 visits of each arc. Spec: retrieval 14.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from ibidem.objects.record import record

ROUNDS = 2
"""How often the whole is repeated, beginning with the groups that were found."""


@record
class WeightedGraph:
    """n nodes by number, and undirected edges, each as two arcs."""

    starts: Sequence[int]
    """n + 1 offsets: the arcs of node i are those from starts[i] to starts[i + 1]."""
    targets: Sequence[int]
    weights: Sequence[int]
    """Above zero."""
    strengths: Sequence[int]
    """The weight at each node, what was merged into it included; all together below 2^62."""

    def __len__(self) -> int:
        return len(self.strengths)

    def arcs(self, node: int) -> Iterable[tuple[int, int]]:
        """Yields (target, weight) for each arc of a node."""
        start, stop = self.starts[node], self.starts[node + 1]
        return zip(self.targets[start:stop], self.weights[start:stop], strict=True)


@record
class Resolution:
    """How small the groups are: above 1 smaller, below 1 larger; a fraction of integers."""

    numerator: int = 1
    denominator: int = 1


def graph_of(count: int, edges: Iterable[tuple[int, int, int]]) -> WeightedGraph:
    """Returns the graph of some edges (node, other node, weight); weights of the same two nodes are
    added, and edges of a node to itself count for its strength alone."""
    linked: list[dict[int, int]] = [{} for _ in range(count)]
    strengths = [0] * count
    for one, other, weight in edges:
        strengths[one] += weight
        strengths[other] += weight
        if one != other:
            linked[one][other] = linked[one].get(other, 0) + weight
            linked[other][one] = linked[other].get(one, 0) + weight
    return _graph(linked, strengths)


def communities(graph: WeightedGraph, resolution: Resolution) -> list[int]:
    """Returns a label for each node: equal ones belong together. Labels are numbers from 0 in the
    order in which they first occur."""
    found = list(range(len(graph)))
    for _ in range(ROUNDS):
        found = _numbered(_round(graph, resolution, found))
    return _connected(graph, found)


def modularity(graph: WeightedGraph, resolution: Resolution, labels: Sequence[int]) -> int:
    """Returns the modularity of a partition, times (2m)^2 and the denominator."""
    total = sum(graph.strengths)
    sums: dict[int, int] = {}
    inside = 0
    for node, label in enumerate(labels):
        sums[label] = sums.get(label, 0) + graph.strengths[node]
        own = graph.strengths[node] - sum(weight for _, weight in graph.arcs(node))
        inside += own + sum(weight for other, weight in graph.arcs(node) if labels[other] == label)
    expected = sum(value * value for value in sums.values())
    return resolution.denominator * total * inside - resolution.numerator * expected


def _round(graph: WeightedGraph, resolution: Resolution, found: list[int]) -> list[int]:
    """Returns better labels: moves, merges and moves again until nothing is left to merge."""
    total = sum(graph.strengths)
    scale = resolution.denominator * total, resolution.numerator
    at = list(range(len(graph)))
    labels = list(found)
    while True:
        _move(graph, scale, labels)
        merged = _numbered(_merge(graph, scale, labels))
        count = max(merged, default=-1) + 1
        if count == len(graph):
            return [labels[one] for one in at]
        groups = [0] * count
        for node, part in enumerate(merged):
            groups[part] = labels[node]
        graph, labels = _merged(graph, merged, count), _numbered(groups)
        at = [merged[one] for one in at]


def _move(graph: WeightedGraph, scale: tuple[int, int], labels: list[int]) -> None:
    """Moves nodes to the label of a neighbour, or to one of their own, while that gains."""
    unit, share = scale
    count = len(graph)
    sums, sizes = [0] * count, [0] * count
    for node, label in enumerate(labels):
        sums[label] += graph.strengths[node]
        sizes[label] += 1
    free = [label for label in range(count) if not sizes[label]]
    waiting, waits = deque(range(count)), [True] * count
    while waiting:
        node = waiting.popleft()
        waits[node] = False
        old, strength = labels[node], graph.strengths[node]
        near: dict[int, int] = {old: 0}
        for other, weight in graph.arcs(node):
            label = labels[other]
            near[label] = near.get(label, 0) + weight
        sums[old] -= strength
        best, gain = old, unit * near[old] - share * strength * sums[old]
        stay = gain
        for label, weight in near.items():
            found = unit * weight - share * strength * sums[label]
            if found > gain or (found == gain and found > stay and label < best):
                best, gain = label, found
        if gain < 0 and sizes[old] > 1:
            best = heappop(free)
        if best != old:
            labels[node] = best
            sizes[old] -= 1
            sizes[best] += 1
            if not sizes[old]:
                heappush(free, old)
            for other, _ in graph.arcs(node):
                if labels[other] != best and not waits[other]:
                    waits[other] = True
                    waiting.append(other)
        sums[best] += strength


def _merge(graph: WeightedGraph, scale: tuple[int, int], labels: Sequence[int]) -> list[int]:
    """Returns smaller groups within those of the labels, each of them well connected."""
    unit, share = scale
    whole: dict[int, int] = {}
    for node, label in enumerate(labels):
        whole[label] = whole.get(label, 0) + graph.strengths[node]
    found, alone = list(range(len(graph))), [True] * len(graph)
    sums = list(graph.strengths)
    outside = [0] * len(graph)
    """By group, the weight between it and the rest of its community."""
    for node, label in enumerate(labels):
        outside[node] = sum(weight for other, weight in graph.arcs(node) if labels[other] == label)
    for node, label in enumerate(labels):
        strength, all_of_it = graph.strengths[node], whole[label]
        if not alone[node] or unit * outside[node] < share * strength * (all_of_it - strength):
            continue
        near: dict[int, int] = {}
        for other, weight in graph.arcs(node):
            if labels[other] == label:
                near[found[other]] = near.get(found[other], 0) + weight
        best, gain = node, 0
        for group, weight in near.items():
            value = unit * weight - share * strength * sums[group]
            if (value > gain or (value == gain > 0 and group < best)) and (
                unit * outside[group] >= share * sums[group] * (all_of_it - sums[group])
            ):
                best, gain = group, value
        if best != node:
            found[node] = best
            alone[node] = alone[best] = False
            outside[best] += outside[node] - 2 * near[best]
            sums[best] += strength
    return found


def _merged(graph: WeightedGraph, merged: Sequence[int], count: int) -> WeightedGraph:
    """Returns the graph whose nodes are groups."""
    linked: list[dict[int, int]] = [{} for _ in range(count)]
    strengths = [0] * count
    for node, at in enumerate(merged):
        strengths[at] += graph.strengths[node]
        own = linked[at]
        for other, weight in graph.arcs(node):
            if merged[other] != at:
                own[merged[other]] = own.get(merged[other], 0) + weight
    return _graph(linked, strengths)


def _graph(linked: Sequence[dict[int, int]], strengths: Sequence[int]) -> WeightedGraph:
    starts, targets, weights = [0], [], []
    for own in linked:
        for other in sorted(own):
            targets.append(other)
            weights.append(own[other])
        starts.append(len(targets))
    return WeightedGraph(starts, targets, weights, strengths)


def _numbered(labels: Iterable[int]) -> list[int]:
    """Returns the labels as numbers from 0 in the order in which they first occur."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]


def _connected(graph: WeightedGraph, labels: Sequence[int]) -> list[int]:
    """Returns the labels, with another one for each connected part of a group."""
    found = [-1] * len(graph)
    count = 0
    for first in range(len(graph)):
        if found[first] >= 0:
            continue
        found[first] = count
        waiting = [first]
        while waiting:
            node = waiting.pop()
            for other, _ in graph.arcs(node):
                if found[other] < 0 and labels[other] == labels[node]:
                    found[other] = count
                    waiting.append(other)
        count += 1
    return found
