"""The engine's recall gives the oracle's bytes, with any other options beside it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.cases import by_suite

from ibidem.index.index import Index
from ibidem.objects.cid import CommitCid
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve
from ibidem.retrieve.recall.feedback import (
    NotUseful,
    Outcome,
    Vote,
    feedback_factors,
    worth_factors,
)

from .oracle import World, answer
from .recall import Said, digests, event_id, question_of
from .world import Facts, edited, random_facts, random_options

NOW = 1_000
NOTES = CommitCid.of(b"notes")
TEXTS = (
    "alpha beta gamma of the delta",
    "beta alpha",
    "the of",
    "机器 学习 alpha",
    "delta delta gamma epsilon alpha beta zeta",
)


def random_recall(rng: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {"moment": NOW}
    half_life = rng.choice((1, 7, 300))
    options["recency"] = rng.choice(
        (
            True,
            {"property": rng.choice(("year", "valid_from")), "half_life": half_life, "weight": 0.5},
        )
    )
    if rng.random() < 0.5:
        options["importance"] = rng.choice((True, "year", "valid_from"))
    options["feedback"] = {7: True, 1: {"up": 30, "highest": 70}, 300: {"down": 20, "lowest": -60}}[
        half_life
    ]
    options["notes"] = NOTES
    options["worth"] = rng.choice((True, {"half_life": half_life}))
    if rng.random() < 0.7:
        options["direct"] = rng.choice((True, {"overlap": 0, "importance": 0, "margin": 10}))
    return options


def random_events(rng: random.Random, facts: Facts, text: str) -> list[Said]:
    nodes = sorted(World(facts.buffer, facts.root).nodes)
    found = []
    for number in range(rng.randint(0, 60) if nodes else 0):
        node, time = rng.choice(nodes[:6]), rng.randint(0, NOW + 200)
        asked = rng.choice((text, *TEXTS))
        kind = rng.choice(("vote", "not_useful", "outcome"))
        one = Said(time, event_id(number), kind, rng.choice("abcd"), node, rng.choice((1.0, -1.0)))
        if kind == "vote":
            one.question = question_of(asked, node)
        if kind == "not_useful":
            one.words = tuple(sorted(digests(asked, node)))
        found.append(one)
    return found


def opinions(query: Query, events: list[Said]) -> dict[str, Any]:
    assert query.recall is not None
    assert query.recall.worth is not None
    votes = [
        Vote(one.time, one.id, one.author, NodeId(one.node), one.question, int(one.value))
        for one in events
        if one.kind == "vote"
    ]
    useless = [
        NotUseful(one.time, one.id, one.author, NodeId(one.node), frozenset(one.words))
        for one in events
        if one.kind == "not_useful"
    ]
    outcomes = [
        Outcome(one.time, one.id, NodeId(one.node), one.value == 1.0)
        for one in events
        if one.kind == "outcome"
    ]
    worth = query.recall.worth
    return {
        "feedback": feedback_factors(
            votes, useless, query.text or "", query.recall.feedback.penalties
        ),
        "worth": worth_factors(outcomes, as_of=worth.as_of, half_life=worth.half_life),
    }


def check(seed: int) -> None:
    rng = random.Random(f"recall {seed}")
    facts = edited(rng, random_facts(rng))
    world = World(facts.buffer, facts.root)
    snapshot = Index(None, facts.buffer).build(facts.root)
    for _ in range(4):
        options = random_options(rng)
        options["text"] = options.get("text") or rng.choice(TEXTS)
        said = options.get("rerank")
        query = resolve(facts.config, **options, **random_recall(rng))
        assert Query.decode(query.encode()) == query
        if query.text is None:
            continue
        events = random_events(rng, facts, query.text)
        given = None if said is None else list(said.scores)
        expected = answer(world, query.form(), given, events)
        result = execute(
            snapshot,
            query,
            NodeSource(lambda cid: Node.decode(facts.buffer.get(cid)), facts.content),
            reranker=said,
            opinions=opinions(query, events),
        )
        assert result.to_bytes() == expected


@pytest.mark.parametrize("block", by_suite(range(4), fast=2, slow=4))
def test_recall_equals_the_oracle_on_random_repositories(block: int) -> None:
    for seed in range(block * 6, block * 6 + 6):
        check(seed)


@pytest.mark.parametrize("count", by_suite([50, 500], slow=1))
def test_recall_equals_the_oracle_on_many_random_repositories(count: int) -> None:
    for seed in range(1000, 1000 + count):
        check(seed)
