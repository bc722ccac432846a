"""The lanes that walk edges give the oracle's bytes, whatever the graph and the index layout."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from tests.cases import by_suite

from ibidem.index.segments import combined
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve

from .graph import edges_of, visible
from .graph_world import GraphFake, edges_in, random_walk_options, with_edges
from .oracle import World, answer, first_passage
from .world import edited, layouts, random_facts

QUERIES_EACH = 4


@pytest.fixture(autouse=True)
def _combine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins segments as if they were large and many, from the second read on."""
    for name, value in (("ROWS_MIN", 2), ("SEGMENTS_MIN", 2), ("READS_BEFORE", 1)):
        monkeypatch.setattr(combined, name, value)


def check(seed: int) -> None:
    rng = random.Random(seed)
    before = with_edges(rng, random_facts(rng, node_count_max=30), [])
    facts = with_edges(rng, edited(rng, before), edges_in(before))
    world = World(facts.buffer, facts.root)
    snapshots = [GraphFake(facts, rng), *layouts(facts, before)]
    for _ in range(QUERIES_EACH):
        query = resolve(facts.config, **random_walk_options(rng))
        assert Query.decode(query.encode()) == query
        expected = answer(world, query.form())
        explained = set()
        for snapshot in snapshots:
            result = execute(
                snapshot,
                query,
                NodeSource(lambda cid: Node.decode(facts.buffer.get(cid)), facts.content),
            )
            assert result.to_bytes() == expected
            check_paths(world, result)
            explained.add(result.explain())
        assert len(explained) == 1


def check_paths(world: World, result: Any) -> None:
    """Every way is a way: from a seed along visible edges to the item, or to a heading above it."""
    form = result.query.form()
    view = {key for key in world.nodes if form["include_tombstoned"] or key not in world.tombstones}
    for item in result.items:
        assert set(item.paths) == {"graph", "community"} & set(item.lanes)
        for lane, path in item.paths.items():
            arcs = visible(world, view, form[lane], form["valid"])
            end = path.nodes[-1]
            assert item.id in (end, NodeId(first_passage(world, end.raw, view) or end.raw))
            hops = zip(pairwise(path.nodes), path.etypes, path.incoming, strict=True)
            for (one, other), etype, is_back in hops:
                assert other.raw in {target for target, _ in arcs[one.raw]}
                ends = (other, one) if is_back else (one, other)
                assert any(
                    (edge.src, edge.etype, edge.dst) == (ends[0], etype, ends[1])
                    for edge in edges_of(world)
                )


@pytest.mark.parametrize("block", by_suite(range(16), fast=1, slow=6))
def test_lanes_that_walk_edges_equal_the_oracle(block):
    for seed in range(block * 5, block * 5 + 5):
        check(seed)


@pytest.mark.parametrize("count", by_suite([10, 500], slow=1))
def test_lanes_that_walk_edges_equal_the_oracle_many_times(count):
    for seed in range(1000, 1000 + count):
        check(seed)
