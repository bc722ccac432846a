"""The engine gives the oracle's bytes, whatever the repository, the query and the index layout."""

from __future__ import annotations

import random

import pytest

from ibidem.objects.node import Node
from ibidem.retrieve.execute import execute
from ibidem.retrieve.query import Query, resolve

from .fake import FakeSnapshot
from .oracle import World, answer
from .world import random_facts, random_options

QUERIES_EACH = 5


def check(seed: int) -> None:
    rng = random.Random(seed)
    facts = random_facts(rng)
    world = World(facts.buffer, facts.root)
    snapshots = [FakeSnapshot(facts, rng) for _ in range(2)]
    for _ in range(QUERIES_EACH):
        query = resolve(facts.config, **random_options(rng))
        assert Query.decode(query.encode()) == query
        expected = answer(world, query.form())
        for snapshot in snapshots:
            result = execute(
                snapshot, query, lambda cid: Node.decode(facts.buffer.get(cid)), facts.content
            )
            assert result.to_bytes() == expected


@pytest.mark.parametrize("block", range(8))
def test_engine_equals_oracle_on_random_repositories(block):
    for seed in range(block * 10, block * 10 + 10):
        check(seed)


@pytest.mark.slow
def test_engine_equals_oracle_on_two_thousand_cases():
    for seed in range(1000, 1400):
        check(seed)
