"""Random states of records, events about them, and questions."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.config import Config, Model
from ibidem.objects.derive import edge_id
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.text import text_digest
from ibidem.objects.vector import Vector
from ibidem.retrieve.access.policy import TrustPolicy
from ibidem.retrieve.query.query import Query, resolve
from ibidem.retrieve.records.record import LAYERS, STANDING, Record, RecordType, Status

from .graph_world import BOUNDS, set_edges
from .records import Event
from .world import Facts, finish

NOW = 1_767_225_600_000_000
DAY = 86_400_000_000
WORDS = ["ada", "tea", "gate", "river", "go", "lovelace", "mill", "cat"]
ETYPES = ("subject_entity", "mentioned_in", "supports", "has", "next")
POLICY = TrustPolicy()


def random_records(rng: random.Random, count: int = 14) -> Facts:
    nodes = [_node(rng, number) for number in range(count)]
    nodes.append(Node(id=_id(count), ntype="Doc", summary="tea at the gate"))
    vectors = {
        node.id: Vector.from_array(
            np.array([rng.uniform(-1, 1) for _ in range(3)], np.float32),
            of=text_digest(node.summary or ""),
        )
        for node in nodes
        if rng.random() < 0.6
    }
    hidden = {node.id for node in nodes if rng.random() < 0.1}
    model = Model(3, metric=rng.choice(("cosine", "dot")))
    config = Config(models={"m": model}, fields=("summary",))
    facts = finish(config, nodes, {"m": vectors}, {}, hidden, WriteBatch())
    edges = []
    for _ in range(2 * count):
        one, other, etype = rng.choice(nodes).id, rng.choice(nodes).id, rng.choice(ETYPES)
        key = rng.choice((None, None, 1))
        weight = rng.choice((1.0, 0.5, 2.0))
        id_ = edge_id(one, etype, other, key)
        props = rng.choice(BOUNDS)
        edges.append(Edge(id_, etype, one, other, weight=weight, props=props, key=key))
    return set_edges(facts, edges)


def random_events(rng: random.Random, facts: Facts) -> list[Event]:
    found = []
    for number in range(rng.randint(0, 12)):
        kind = rng.choice(("reinforce", "penalize", "outcome", "vote"))
        value: float | None = rng.choice((0.25, 0.5, 1.0))
        if kind == "reinforce" and rng.random() < 0.5:
            value = None
        if kind == "outcome":
            value = rng.choice((1.0, 0.0))
        time = NOW + number * DAY // 2
        found.append(Event(kind, rng.choice(facts.nodes).id.raw, time, value))
    return found


def asked(rng: random.Random, facts: Facts) -> Query:
    """Returns a question about the records."""
    text = rng.choice((None, *(" ".join(rng.sample(WORDS, size)) for size in (1, 2, 4))))
    options: dict[str, Any] = {"text": text}
    if rng.random() < 0.4:
        options["vector"] = ("m", [rng.uniform(-1, 1) for _ in range(3)])
    if rng.random() < 0.3:
        options["fusion"] = "convex"
    standing = [str(one) for one in STANDING]
    given = rng.sample(LAYERS, rng.randint(2, 6))
    records = {
        "as_of": NOW + rng.choice((0, 3, 40)) * DAY,
        "undated": rng.choice((None, NOW)),
        "min_salience": rng.choice((0.0, 0.0, 0.3)),
        "root_limit": rng.choice((0, 1, 3, 10)),
        "limit": rng.choice((0, 2, 5, 25)),
        "edge_limit": rng.choice((0, 2, 100)),
        "hops": rng.choice((0, 1, 2, 16)),
        "direction": rng.choice(("both", "outgoing", "incoming")),
        "top_min": rng.choice((0.6, 0.2)),
    }
    return resolve(
        facts.config,
        label=[str(one) for one in given],
        where={"status": {"in": rng.choice((standing, [*standing, "superseded"]))}},
        as_of=records["as_of"],
        depth=rng.choice((1, 3, 200)),
        limit=None,
        token_budget=rng.choice((None, None, 60, 200)),
        records=records,
        **options,
    )


def layered(query: Query) -> Query:
    """Returns the question whose records come by layers."""
    assert query.records is not None
    return replace(query, records=replace(query.records, layered=True))


def _node(rng: random.Random, number: int) -> Node:
    type_ = rng.choice(LAYERS)
    text = " ".join(rng.sample(WORDS, rng.randint(1, 4)))
    payload: dict[str, Any] = {}
    if type_ is RecordType.ENTITY:
        payload = {"canonical_name": rng.choice(WORDS), "aliases": [" ".join(rng.sample(WORDS, 2))]}
    elif type_ in (RecordType.COMPETENCE, RecordType.PLAN_GRAPH):
        payload = {"successes": rng.randint(0, 3), "failures": rng.randint(0, 3)}
    elif rng.random() < 0.3:
        payload = {"mentions": [rng.choice(WORDS)]}
    one = Record(
        type_,
        text,
        scope="",
        payload=payload,
        confidence=rng.choice((0.2, 0.5, 0.9)),
        salience=rng.choice((0.1, 0.8, 1.0)),
        floor=rng.choice((0.0, 0.0, 0.2)),
        max_age_seconds=rng.choice((None, None, 86_400)),
        pinned=rng.random() < 0.2,
        status=rng.choice((*STANDING, *STANDING, Status.SUPERSEDED)),
        valid_to=rng.choice((None, None, NOW + DAY)),
        time=rng.choice((0, NOW - DAY, NOW - 30 * DAY)),
    )
    return Node(id=_id(number), ntype=str(type_), summary=one.text, props=one.props(POLICY))


def _id(number: int) -> NodeId:
    return NodeId(bytes([(number * 37) % 256]) * 16)
