"""Communities as section 14.2 of spec/retrieval.md says, written out plainly: sets, and every sum
computed anew where it is used."""

from __future__ import annotations

Weights = dict[frozenset[int], int]


def ordered(labels: list[int]) -> list[int]:
    firsts = list(dict.fromkeys(labels))
    return [firsts.index(label) for label in labels]


class Plain:
    """A graph: weights by pair, and the strength of each node."""

    def __init__(self, weights: Weights, strengths: list[int], p: int, q: int) -> None:
        self.weights, self.strengths, self.p, self.q = weights, strengths, p, q
        self.all = sum(strengths)

    def between(self, one: set[int], other: set[int]) -> int:
        return sum(self.weights.get(frozenset((a, b)), 0) for a in one for b in other if a != b)

    def neighbours(self, node: int) -> list[int]:
        return sorted(
            other for pair in self.weights if node in pair for other in pair if other != node
        )

    def sum(self, group: set[int]) -> int:
        return sum(self.strengths[node] for node in group)

    def gain(self, node: int, group: set[int]) -> int:
        rest = group - {node}
        weight = self.between({node}, rest)
        return self.q * self.all * weight - self.p * self.strengths[node] * self.sum(rest)

    def is_well_connected(self, part: set[int], group: set[int]) -> bool:
        rest = group - part
        expected = self.p * self.sum(part) * self.sum(rest)
        return self.q * self.all * self.between(part, rest) >= expected


def group(labels: list[int], label: int) -> set[int]:
    return {node for node, own in enumerate(labels) if own == label}


def moved(graph: Plain, labels: list[int]) -> list[int]:
    labels, queue = list(labels), list(range(len(labels)))
    while queue:
        node = queue.pop(0)
        old = labels[node]
        gains = {
            label: graph.gain(node, group(labels, label))
            for label in {old, *(labels[other] for other in graph.neighbours(node))}
        }
        best = max(gains.values())
        if gains[old] < best:
            labels[node] = min(label for label, gain in gains.items() if gain == best)
        if best < 0 and len(group(labels, old)) > 1:
            labels[node] = min(set(range(len(labels))) - set(labels))
        if labels[node] != old:
            for other in graph.neighbours(node):
                if labels[other] != labels[node] and other not in queue:
                    queue.append(other)
    return labels


def merged(graph: Plain, labels: list[int]) -> list[int]:
    parts = list(range(len(labels)))
    for node in range(len(labels)):
        whole = group(labels, labels[node])
        if len(group(parts, parts[node])) > 1 or not graph.is_well_connected({node}, whole):
            continue
        found = []
        for label in {parts[other] for other in graph.neighbours(node) if other in whole}:
            part = group(parts, label)
            gain = graph.gain(node, part)
            if gain > 0 and graph.is_well_connected(part, whole):
                found.append((-gain, label))
        if found:
            parts[node] = min(found)[1]
    return parts


def one_round(graph: Plain, labels: list[int]) -> list[int]:
    labels = moved(graph, labels)
    parts = ordered(merged(graph, labels))
    count = max(parts, default=-1) + 1
    if count == len(labels):
        return labels
    weights: Weights = {}
    for pair, weight in graph.weights.items():
        ends = frozenset(parts[node] for node in pair)
        if len(ends) == 2:
            weights[ends] = weights.get(ends, 0) + weight
    strengths = [graph.sum(group(parts, part)) for part in range(count)]
    inner = ordered([labels[parts.index(part)] for part in range(count)])
    above = one_round(Plain(weights, strengths, graph.p, graph.q), inner)
    return [above[part] for part in parts]


def communities(count: int, edges: list[tuple[int, int, int]], p: int, q: int) -> list[int]:
    weights: Weights = {}
    strengths = [0] * count
    for one, other, weight in edges:
        strengths[one] += weight
        strengths[other] += weight
        if one != other:
            pair = frozenset((one, other))
            weights[pair] = weights.get(pair, 0) + weight
    graph = Plain(weights, strengths, p, q)
    labels = list(range(count))
    for _ in range(2):
        labels = ordered(one_round(graph, labels))
    reached: list[set[int]] = []
    for node in range(count):
        if any(node in part for part in reached):
            continue
        part, size = {node}, 0
        while len(part) > size:
            size = len(part)
            near = {other for one in part for other in graph.neighbours(one)}
            part |= {one for one in near if labels[one] == labels[node]}
        reached.append(part)
    return [next(at for at, part in enumerate(reached) if node in part) for node in range(count)]
