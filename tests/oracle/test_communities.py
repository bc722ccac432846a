"""Communities equal the oracle's, hang together, and are about as good as they can be."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle import communities as oracle

from ibidem.retrieve.graph.leiden import Resolution, communities, graph_of, modularity

VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "retrieval" / "communities.json"
Edges = list[tuple[int, int, int]]


@st.composite
def graphs(draw: st.DrawFn, nodes_max: int = 14) -> tuple[int, Edges]:
    count = draw(st.integers(0, nodes_max))
    if not count:
        return 0, []
    node = st.integers(0, count - 1)
    weight = st.one_of(st.just(64), st.integers(1, 64), st.just(10**12))
    return count, draw(st.lists(st.tuples(node, node, weight), max_size=4 * count))


@pytest.mark.hypothesis
@given(graphs(), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=examples(400))
def test_communities_equal_the_oracle(graph: tuple[int, Edges], p: int, q: int) -> None:
    """[14.2-a] [14.2-b] [14.2-c] [14.2-d]"""
    count, edges = graph
    found = communities(graph_of(count, edges), Resolution(p, q))
    assert found == oracle.communities(count, edges, p, q)


@pytest.mark.hypothesis
@given(graphs(30))
@settings(max_examples=examples(200))
def test_communities_hang_together_and_follow_from_the_graph(graph: tuple[int, Edges]) -> None:
    count, edges = graph
    found = graph_of(count, edges)
    labels = communities(found, Resolution())
    assert communities(graph_of(count, edges[::-1]), Resolution()) == labels
    assert communities(graph_of(count, [(b, a, w) for a, b, w in edges]), Resolution()) == labels
    for label in set(labels):
        part = {node for node in range(count) if labels[node] == label}
        reached, waiting = set(), [min(part)]
        while waiting:
            node = waiting.pop()
            reached.add(node)
            waiting += [at for at, _ in found.arcs(node) if at in part and at not in reached]
        assert reached == part
    assert modularity(found, Resolution(), labels) >= modularity(found, Resolution(), range(count))


def test_vectors() -> None:
    for case in json.loads(VECTORS.read_text()):
        graph = graph_of(case["count"], [tuple(edge) for edge in case["edges"]])
        assert communities(graph, Resolution(*case["resolution"])) == case["labels"], case["name"]


def test_there_are_two_rounds() -> None:
    """[14.2-c], on a graph where a third round would move nodes again."""
    edges = [(3, 8, 1), (0, 5, 2), (0, 3, 2), (5, 7, 2), (6, 8, 1), (4, 6, 1), (3, 4, 2), (2, 7, 1)]
    edges += [(0, 6, 1), (2, 3, 1)]
    assert communities(graph_of(9, edges), Resolution(1, 1)) == [0, 1, 0, 2, 2, 0, 2, 0, 2]


def test_cliques_on_a_ring_are_found_one_by_one() -> None:
    edges = [
        (5 * ring + one, 5 * ring + other, 1)
        for ring in range(6)
        for one, other in combinations(range(5), 2)
    ]
    edges += [(5 * ring, 5 * ((ring + 1) % 6) + 1, 1) for ring in range(6)]
    labels = communities(graph_of(30, edges), Resolution())
    assert labels == [node // 5 for node in range(30)]
    assert len(set(communities(graph_of(30, edges), Resolution(1, 8)))) < 6
    assert len(set(communities(graph_of(30, edges), Resolution(40)))) == 30
