"""The engine gives the oracle's bytes, whatever the repository, the query, the index layout and
the workers that share it."""

from __future__ import annotations

import random

import pytest
from tests.cases import by_suite

from ibidem.objects.node import Node
from ibidem.retrieve.answer.answer import receipt_of
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve

from .fake import FakeSnapshot
from .oracle import World, answer
from .worker_world import random_workers
from .world import edited, layouts, random_facts, random_options, with_queries

QUERIES_EACH = 4


def check(seed: int) -> None:
    rng = random.Random(seed)
    before = random_facts(rng)
    facts = edited(rng, before)
    world = World(facts.buffer, facts.root)
    snapshots = [FakeSnapshot(facts, rng), FakeSnapshot(facts, rng), *layouts(facts, before)]

    def load(cid):
        return Node.decode(facts.buffer.get(cid))

    for _ in range(QUERIES_EACH):
        options = random_options(rng, (None, before.root, facts.root))
        if rng.random() < 0.3:
            options = with_queries(rng, options)
        if "text" in options and rng.random() < 0.3:
            options["coverage_min"] = rng.choice((0, 1, 333, 500, 1000))
        said = options.get("rerank")
        query = resolve(facts.config, **options)
        assert Query.decode(query.encode()) == query
        expected = answer(world, query.form(), None if said is None else list(said.scores))
        for snapshot in snapshots:

            def ask(reranker, *, lanes=None, snapshot=snapshot, query=query):
                source = NodeSource(load, facts.content)
                return execute(snapshot, query, source, reranker=reranker, lanes=lanes)

            result = ask(said)
            assert result.to_bytes() == expected
            receipt = Receipt.decode(receipt_of(result).encode())
            assert receipt.result == result.cid
            assert ask(receipt.rerank).to_bytes() == expected
            if rng.random() < 0.4:
                workers = random_workers(rng, snapshot, load)
                assert ask(said, lanes=workers.lanes(snapshot)).to_bytes() == expected


@pytest.mark.parametrize("block", by_suite(range(16), fast=1, slow=6))
def test_engine_equals_oracle_on_random_repositories(block):
    for seed in range(block * 5, block * 5 + 5):
        check(seed)


@pytest.mark.parametrize("count", by_suite([30, 500], slow=1))
def test_engine_equals_oracle_many_times(count):
    for seed in range(1000, 1000 + count):
        check(seed)
