"""Non-interference: what a caller gets is, byte for byte, what a repository without the rest gives.

The two differ in their root and in the context itself, and in nothing else that is compared here:
items, scores, counters, dropped nodes, warnings, status, explanations, pages, paths, errors.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.cases import by_suite

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.cid import RootCid
from ibidem.objects.config import Config
from ibidem.objects.errors import IbidemError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.access.policy import TrustPolicy, Viewer
from ibidem.retrieve.access.restricted_snapshot import RestrictedSnapshot, restrict
from ibidem.retrieve.engine import execute
from ibidem.retrieve.filter import view_of
from ibidem.retrieve.graph.paths import find_paths, parse_steps
from ibidem.retrieve.listing import Order, list_nodes
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.query.query import Query, resolve
from ibidem.store.memory import MemoryStore

from .graph_world import ETYPES, random_walk_options
from .test_recall import random_recall
from .trust_world import random_policy, random_trust, rebuilt, trust_facts, with_policy
from .world import LABELS, Facts, finish, layouts, random_options

QUERIES_EACH = 4
NO_ROOT = RootCid.of(b"")


def check(seed: int) -> None:
    rng = random.Random(seed)
    policy = random_policy(rng)
    facts, before = trust_facts(rng, policy)
    snapshots = layouts(facts, before)
    viewer = random_trust(rng)
    without = rebuilt(facts, policy, viewer)
    store = MemoryStore()
    store.put(without.buffer.new)
    plain = Index(None, store).build(without.root)
    for snapshot in snapshots:
        view = restrict(snapshot, viewer, loader(facts))
        assert isinstance(view, RestrictedSnapshot)
        check_snapshot(view, plain)
    for number in range(QUERIES_EACH):
        options = random_walk_options(rng) if number % 2 else random_options(rng)
        opinions = None
        if rng.random() < 0.3:
            options = as_packs(rng, options)
        elif rng.random() < 0.5 and options.get("text", "").strip():
            options |= random_recall(rng)
            opinions = random_opinions(rng, facts)
        expected = said(without, plain, options, None, opinions)
        for snapshot in snapshots:
            assert said(facts, snapshot, options, viewer, opinions) == expected


def random_opinions(rng: random.Random, facts: Facts) -> dict[str, dict[NodeId, float]]:
    """Returns factors of nodes that are seen and of nodes that are not."""
    return {
        name: {node.id: rng.choice((0.7, 1.15, 1.6)) for node in facts.nodes if rng.random() < 0.5}
        for name in ("feedback", "worth")
    }


def said(
    facts: Facts,
    snapshot: Any,
    options: dict[str, Any],
    viewer: Viewer | None,
    opinions: dict[str, dict[NodeId, float]] | None,
) -> tuple[Any, ...]:
    """Returns all that an answer says, its root and the context aside."""
    try:
        query = resolve(facts.config, **options, viewer=viewer)
        assert Query.decode(query.encode()) == query
        noted = {} if opinions is None else {"opinions": opinions}
        result = execute(
            snapshot,
            query,
            NodeSource(loader(facts), facts.content),
            reranker=options.get("rerank"),
            **noted,
        )
    except IbidemError as error:
        return type(error), error.kind, str(error), error.hint
    assert result.query.viewer == viewer
    result = replace(result, root=NO_ROOT, query=replace(query, viewer=None))
    return result.to_bytes(), result.explain()


def loader(facts: Facts) -> Any:
    return lambda cid: Node.decode(facts.buffer.get(cid))


def as_packs(rng: random.Random, options: dict[str, Any]) -> dict[str, Any]:
    packs = {
        "expand": rng.choice(("neighbors", "section", "edges")),
        "merge": rng.choice(("absorb", "coalesce")),
    }
    return {**options, "packs": packs}


def check_snapshot(view: Any, plain: Any) -> None:
    assert view.labels() == plain.labels()
    assert list(view.property_names()) == list(plain.property_names())
    ids = ids_of(view, view.live)
    assert ids == ids_of(plain, plain.live)
    assert ids_of(view, view.tombstoned) == ids_of(plain, plain.tombstoned)
    for id_ in ids:
        one, other = view.ordinal(id_), plain.ordinal(id_)
        for way in ("outgoing", "incoming"):
            assert arcs(view, getattr(view, way)(one)) == arcs(plain, getattr(plain, way)(other))
        assert cids(view, one) == cids(plain, other)
        parts = [at.children(number).ordinals for at, number in ((view, one), (plain, other))]
        assert in_order(view, parts[0]) == in_order(plain, parts[1])
        above = [at.parent(number) for at, number in ((view, one), (plain, other))]
        assert (above[0] is None) == (above[1] is None)
        if above[0] is not None:
            assert above[0][1] == above[1][1]
            assert in_order(view, [above[0][0]]) == in_order(plain, [above[1][0]])
    every = [np.array(sorted(at.live), np.uint32) for at in (view, plain)]
    counts = [at.child_counts(one).tolist() for at, one in zip((view, plain), every, strict=True)]
    assert sorted(counts[0]) == sorted(counts[1])
    check_listing(view, plain, ids)


def check_listing(view: Any, plain: Any, ids: list[NodeId]) -> None:
    scopes = [view_of(at, include_tombstoned=False) for at in (view, plain)]
    for order_by in (None, "year", "-lang"):
        after: str | None = None
        while True:
            pages = [
                list_nodes(scope, Order.parse(order_by), limit=3, after=after) for scope in scopes
            ]
            assert in_order(view, pages[0].ordinals) == in_order(plain, pages[1].ordinals)
            assert (pages[0].count, pages[0].next) == (pages[1].count, pages[1].next)
            after = pages[0].next
            if after is None:
                break
    steps = parse_steps([(ETYPES[0], "both"), ("*", "out")])
    assert find_paths(scopes[0], ids, steps) == find_paths(scopes[1], ids, steps)
    for name in (*LABELS, "Document"):
        assert ids_of(view, view.label(name)) == ids_of(plain, plain.label(name))


def ids_of(snapshot: Any, members: Any) -> list[NodeId]:
    return sorted(in_order(snapshot, sorted(members & snapshot.live)))


def in_order(snapshot: Any, ordinals: Any) -> list[NodeId]:
    rows = snapshot.node_ids(np.array(ordinals, np.uint32))
    return [NodeId(row.tobytes()) for row in rows]


def cids(snapshot: Any, ordinal: int) -> list[Any]:
    return list(snapshot.node_cids(np.array([ordinal], np.uint32)))


def arcs(snapshot: Any, edges: Any) -> list[Any]:
    others = in_order(snapshot, edges.neighbours)
    rows = [row.tobytes() for row in edges.edge_ids]
    return sorted(zip(rows, others, edges.weights.tolist(), edges.etypes, strict=True))


def test_a_container_whose_own_parts_are_all_seen_keeps_the_size_that_is_listed():
    """The size is one that nobody added up, and what is hidden is below a part with no text."""
    policy, viewer = TrustPolicy(), Viewer(level=1, scopes=())
    ids = [NodeId(bytes([number]) * 16) for number in range(4)]
    below = Node(ids[3], "Passage", "hidden", props={"level": 4})
    part = Node(ids[2], "Part", "part", children=(Child(ids[3], "", 0, 0),))
    section = Node(ids[1], "Section", "section", children=(Child(ids[2], "", 1, 1),))
    top = Node(ids[0], "Document", "top", children=(Child(ids[1], "", 7, 7),))
    facts = finish(Config(), [below, part, section, top], {}, {}, set(), WriteBatch())
    facts = with_policy(facts, policy)
    without = rebuilt(facts, policy, viewer)
    store = MemoryStore()
    store.put({**facts.buffer.new, **without.buffer.new})
    view = restrict(Index(None, store).build(facts.root), viewer, loader(facts))
    check_snapshot(view, Index(None, store).build(without.root))


@pytest.mark.parametrize("block", by_suite(range(6), fast=1, slow=6))
def test_tr4_a_view_answers_as_a_repository_without_the_rest(block):
    for seed in range(block * 6, block * 6 + 6):
        check(seed)


@pytest.mark.parametrize("count", by_suite([30, 500], slow=1))
def test_tr4_a_view_answers_as_a_repository_without_the_rest_many_times(count):
    for seed in range(1000, 1000 + count):
        check(seed)
