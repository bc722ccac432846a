"""Answers about records equal those of the oracle, and the vectors are of today."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.cases import by_suite

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.repo.events import Event as NotedEvent
from ibidem.retrieve.answer.answer import receipt_of
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.engine import execute
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.query.query import Query

from .make_record_vectors import FILE, case
from .oracle import World
from .record_world import asked, layered, random_events, random_records
from .records import Event, answer_records


def about(events: list[Event]) -> Callable[[NodeId], list[NotedEvent]]:
    """Returns the events as the notes give them."""
    return lambda node: [
        NotedEvent(one.kind, (node,), time=one.time, value=one.value)
        for one in events
        if one.node == node.raw
    ]


def bytes_of(world: World, snapshot: Any, query: Query, events: list[Event]) -> bytes:
    nodes = NodeSource(lambda cid: Node.decode(world.source.get(cid)), world.content)
    result = execute(snapshot, query, nodes, events=about(events))
    receipt = Receipt.decode(receipt_of(result, notes_head=query.notes).encode())
    assert receipt.result == result.cid
    assert len(receipt.items) == len(result)
    assert result.explain() == execute(snapshot, query, nodes, events=about(events)).explain()
    return result.to_bytes()


@pytest.mark.parametrize("block", by_suite(range(16), fast=1, slow=6))
def test_records_equal_the_oracle_on_random_states(block: int):
    for seed in range(block * 10, block * 10 + 10):
        rng = random.Random(seed)
        facts = random_records(rng)
        world, events = World(facts.buffer, facts.root), random_events(rng, facts)
        snapshot = Index(None, facts.buffer).snapshot(facts.root)
        queries = [asked(rng, facts) for _ in range(6)]
        for query in [*queries, *map(layered, queries[:3])]:
            assert Query.decode(query.encode()) == query
            expected = answer_records(world, query.form(), events)
            assert bytes_of(world, snapshot, query, events) == expected, seed


def test_the_vectors_are_those_of_the_oracle():
    cases = json.loads(FILE.read_text("ascii"))
    assert cases == [case(seed) for seed in range(len(cases))]


@pytest.mark.parametrize("one", json.loads(FILE.read_text("ascii")), ids=lambda one: one["name"])
def test_the_engine_gives_the_vectors(one: dict[str, Any]):
    buffer = WriteBatch()
    for text, block in one["input"]["blocks"].items():
        buffer.put(Cid.parse(text), bytes.fromhex(block))
    root = RootCid.parse(one["input"]["root"])
    world, snapshot = World(buffer, root), Index(None, buffer).snapshot(root)
    events = [
        Event(kind, bytes.fromhex(node), time, value)
        for kind, node, time, value in one["input"]["events"]
    ]
    for pair in one["output"]:
        query = Query.decode(bytes.fromhex(pair["query"]))
        assert bytes_of(world, snapshot, query, events).hex() == pair["result"]
