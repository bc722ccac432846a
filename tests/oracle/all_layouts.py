"""One comparison with the oracle: every layout of an index and every division among workers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ibidem.objects.node import Node
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve

from .fake import FakeSnapshot
from .oracle import World, answer
from .worker_world import random_workers
from .world import Facts, edited, layouts

QUERIES_EACH = 4


def equal_in_all_layouts(
    seed: int,
    random_facts: Callable[[random.Random], Facts],
    reworded: Callable[[random.Random, Facts], Facts],
    random_options: Callable[[random.Random], dict[str, Any]],
) -> list[Query]:
    """Asks a random state some questions, compares, and returns the questions."""
    rng = random.Random(seed)
    before = random_facts(rng)
    facts = reworded(rng, edited(rng, before))
    world = World(facts.buffer, facts.root)
    snapshots = [FakeSnapshot(facts, rng), *layouts(facts, before)]

    def load(cid):
        return Node.decode(facts.buffer.get(cid))

    queries = []
    for _ in range(QUERIES_EACH):
        query = resolve(facts.config, **random_options(rng))
        assert Query.decode(query.encode()) == query
        expected = answer(world, query.form())
        for snapshot in snapshots:
            nodes = NodeSource(load, facts.content)
            assert execute(snapshot, query, nodes).to_bytes() == expected
            if rng.random() < 0.4:
                lanes = random_workers(rng, snapshot, load).lanes(snapshot)
                assert execute(snapshot, query, nodes, lanes=lanes).to_bytes() == expected
        queries.append(query)
    return queries
