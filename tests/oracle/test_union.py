"""A question to several roots gives the bytes of one root with all their nodes.

Spec: retrieval 3.5.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.cases import by_suite

from ibidem.objects.node import Node
from ibidem.retrieve.access.union_snapshot import UnionSnapshot
from ibidem.retrieve.answer.answer import receipt_of
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve
from ibidem.retrieve.query.union import RootSet

from .graph_world import edges_in, random_walk_options, set_edges, with_edges
from .oracle import World, answer
from .union_world import of_several, part, split
from .world import edited, layouts, random_facts, random_options, with_queries

QUERIES_EACH = 4


def check(seed: int) -> None:
    rng = random.Random(seed)
    before = with_edges(rng, random_facts(rng, node_count_max=30), [])
    facts = edited(rng, before)
    facts = with_edges(rng, facts, edges_in(before))
    count = rng.randint(1, 4)
    parts, within = split(rng, facts, count)
    whole = set_edges(facts, within)
    several = [part(whole, parts, index, within) for index in range(count)]
    several = list({one.root: one for one in several}.values())
    unions = [
        UnionSnapshot(
            [rng.choice(layouts(one, several[-1])) for one in rng.sample(several, len(several))],
            whole.config,
            None,
        )
        for _ in range(2)
    ]
    source = NodeSource(lambda cid: Node.decode(facts.buffer.get(cid)), facts.content)
    world = World(facts.buffer, whole.root)
    home = {node.id.raw: one.root for one in several for node in one.nodes}
    for _ in range(QUERIES_EACH):
        options = random_walk_options(rng) if rng.random() < 0.5 else random_options(rng)
        if rng.random() < 0.2:
            options = with_queries(rng, options)
        query, said = resolve(whole.config, **options), options.get("rerank")
        expected = answer(world, query.form(), None if said is None else list(said.scores))
        for union in unions:
            found = execute(union, query, source, reranker=said)
            assert replace(found, root=whole.root).to_bytes() == expected
        if len(several) > 1:
            over = query.over(RootSet.of(one.root for one in several))
            assert Query.decode(over.encode()) == over
            found = execute(unions[0], over, source, reranker=said)
            assert found.to_bytes() == of_several(expected, over, home)
            receipt = Receipt.decode(receipt_of(found).encode())
            assert receipt.result == found.cid
            assert [over.union.roots[item.origin] for item in receipt.items] == [
                item.root for item in found.items
            ]


@pytest.mark.parametrize("block", by_suite(range(16), fast=1, slow=6))
def test_a_union_of_random_parts_answers_as_the_whole(block):
    for seed in range(block * 5, block * 5 + 5):
        check(seed)


@pytest.mark.parametrize("count", by_suite([30, 500], slow=1))
def test_a_union_of_random_parts_answers_as_the_whole_many_times(count):
    for seed in range(1000, 1000 + count):
        check(seed)
