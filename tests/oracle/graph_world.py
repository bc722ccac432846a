"""Random edges for random repositories: parallel, looping, dangling, hubs, weights of all kinds."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from ibidem.objects.cid import RootCid
from ibidem.objects.derive import edge_id
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree, build

from .fake import FakeSnapshot
from .graph import edge_holds
from .world import WORDS, Facts, wide_options

NEAR = "near\n  has -> 00"
ETYPES = ("cites", "has", NEAR)
BOUNDS = (
    *({}, {}, {}, {"valid_from": 2}, {"valid_to": 3}, {"valid_from": 0, "valid_to": 4.5}),
    *({"valid_from": 1.5}, {"valid_to": 0}, {"valid_from": "2"}, {"valid_from": None}),
    *({"valid_to": [9]}, {"valid_from": 1 << 63}, {"valid_to": -(1 << 64)}, {"valid_to": True}),
)
"""Properties of edges; most edges hold always."""
WEIGHTS = (1.0, 1.0, 1.0, 0.5, 2.0, 0.0, -1.0, 1e300, 1.7e308, 5e-324, 1e-9, 3.25)


def with_edges(rng: random.Random, facts: Facts, edges: list[Edge]) -> Facts:
    """Returns the facts with some edges kept, some changed, some new."""
    kept = [edge for edge in edges if rng.random() < 0.9]
    kept = [
        replace(edge, weight=rng.choice(WEIGHTS)) if rng.random() < 0.2 else edge for edge in kept
    ]
    ids = [node.id for node in facts.nodes] or [NodeId(bytes(16))]
    hub = rng.choice(ids)
    ids = [*ids, NodeId(b"\xff" * 16)] if rng.random() < 0.3 else ids
    for _ in range(rng.randint(0, 3 * len(ids))):
        source, target = rng.choice(ids), rng.choice(ids)
        source = hub if rng.random() < 0.2 else source
        target = source if rng.random() < 0.05 else target
        etype, key = rng.choice(ETYPES), rng.choice((None, None, "k", 2))
        one = edge_id(source, etype, target, key)
        props = rng.choice(BOUNDS)
        weight = rng.choice(WEIGHTS)
        kept.append(Edge(one, etype, source, target, weight=weight, props=props, key=key))
    return set_edges(facts, kept)


def set_edges(facts: Facts, edges: list[Edge]) -> Facts:
    """Returns the facts with exactly these edges, the last of those with one id."""
    entries = []
    for edge in {edge.id: edge for edge in edges}.values():
        facts.buffer.put(edge.cid, edge.encode())
        entries.append((edge.id.raw, edge.cid))
    root = Root.decode(facts.buffer.get(facts.root))
    block = replace(root, edges=build(entries, facts.buffer)).encode()
    cid = RootCid.of(block)
    facts.buffer.put(cid, block)
    return replace(facts, root=cid)


def edges_in(facts: Facts) -> list[Edge]:
    """Returns the edges of the facts' root."""
    tree = Tree(facts.buffer, Root.decode(facts.buffer.get(facts.root)).edges)
    return [Edge.decode(facts.buffer.get(cid)) for _, cid in tree.items()]


def random_walk_options(rng: random.Random) -> dict[str, Any]:
    """Returns options for `resolve` with a lane that walks edges, or two."""
    options = wide_options(rng)
    if rng.random() < 0.7 or not {"text", "vector", "sparse"} & set(options):
        options["text"] = " ".join(rng.sample(WORDS, 3))
    options["limit"] = rng.choice((None, None, 3, 10))
    options["adjacency"] = rng.choice((0, 1, 3, 1000))
    which = rng.random()
    if which < 0.8:
        options["graph"] = random_graph(rng)
    if which > 0.6:
        options["community"] = {
            **random_types(rng),
            "seeds": rng.choice((1, 2, 5)),
            "hops": rng.choice((1, 2, 4)),
            "rounds": rng.choice((1, 2, 8)),
            "decay": rng.choice((0.0, 0.5, 0.85, 1.0)),
            "max_per_community": rng.choice((None, 1, 3)),
            "max_nodes": rng.choice((1, 4, 5000)),
        }
    if options.get("weights") and rng.random() < 0.5:
        options["weights"] = {rng.choice(("graph", "community")): rng.choice((0.3, 2, 1e-3))}
    return options


def random_types(rng: random.Random) -> dict[str, Any]:
    """Returns a filter on edge types and factors of them, or neither."""
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["etypes"] = rng.choice(("cites", ["has", NEAR], [NEAR, "never"]))
    if rng.random() < 0.3:
        options["weights"] = {rng.choice(ETYPES): rng.choice((0, 0.5, 1e9))}
    return options


def random_graph(rng: random.Random) -> dict[str, Any]:
    """Returns options of the graph lane."""
    options: dict[str, Any] = {
        **random_types(rng),
        "mode": rng.choice(("decay", "ppr")),
        "direction": rng.choice(("outgoing", "incoming", "both")),
        "seeds": rng.choice((1, 2, 5, 1000)),
        "max_expand": rng.choice((None, None, 1, 4)),
    }
    if options["mode"] == "decay":
        return options | {
            "depth": rng.randint(1, 4),
            "decay": rng.choice((0.0, 0.7, 1.0, 0.1)),
            "max_per_seed": rng.choice((None, None, 1, 2)),
            "max_frontier": rng.choice((1, 3, 5000)),
        }
    return options | {
        "damping": rng.choice((0.0, 0.5, 0.85, 0.999)),
        "epsilon": rng.choice((0.0, 1e-5, 0.01, 0.2, 1.0)),
        "rounds": rng.choice((1, 2, 15)),
    }


class GraphFake(FakeSnapshot):
    """The fake snapshot with edges, laid out at random among rows that died."""

    def __init__(self, facts: Facts, rng: random.Random) -> None:
        super().__init__(facts, rng)
        edges = edges_in(facts)
        spare = iter(sorted(set(range(self.ordinal_count)) - set(self._ordinal.values())))
        self._place = dict(self._ordinal)
        for edge in edges:
            for end in (edge.src, edge.dst):
                if end not in self._place:
                    self._place[end] = next(spare)
        parts: list[list[Edge]] = [[] for _ in range(rng.randint(1, 4))]
        for edge in edges:
            rng.choice(parts).append(edge)
        self.edges = [self._edge_segment(part, rng) for part in parts]
        rng.shuffle(edges)
        self._edges = edges

    def outgoing(self, ordinal: int, *, at: int | None = None) -> Any:
        return self._edges_of(ordinal, "src", "dst", at)

    def incoming(self, ordinal: int, *, at: int | None = None) -> Any:
        return self._edges_of(ordinal, "dst", "src", at)

    def _edges_of(self, ordinal: int, here: str, there: str, at: int | None) -> Any:
        found = [
            edge
            for edge in self._edges
            if self._place[getattr(edge, here)] == ordinal
            and getattr(edge, there) in self._ordinal
            and edge_holds(edge, None if at is None else {"at": at})
        ]
        return SimpleNamespace(
            neighbours=np.array([self._place[getattr(edge, there)] for edge in found], np.uint32),
            etypes=tuple(edge.etype for edge in found),
            edge_ids=np.frombuffer(b"".join(edge.id.raw for edge in found), np.uint8).reshape(
                -1, 16
            ),
        )

    def _edge_segment(self, part: list[Edge], rng: random.Random) -> Any:
        etypes = sorted({edge.etype for edge in part} | {rng.choice(ETYPES)})
        rng.shuffle(part)

        def arcs(nodes: Any, *, outgoing: bool, at: int | None = None) -> Any:
            rows = [
                (place, edge.dst if outgoing else edge.src, edge.weight, etypes.index(edge.etype))
                for place, node in enumerate(nodes.tolist())
                for edge in part
                if self._place[edge.src if outgoing else edge.dst] == node
                and edge_holds(edge, None if at is None else {"at": at})
            ]
            return SimpleNamespace(
                places=np.array([row[0] for row in rows], np.intp),
                neighbours=np.array([self._place[row[1]] for row in rows], np.uint32),
                weights=np.array([row[2] for row in rows], np.float64),
                codes=np.array([row[3] for row in rows], np.uint32),
            )

        counts = [sum(edge.etype == name for edge in part) for name in etypes]
        return SimpleNamespace(
            etypes=etypes, etype_counts=lambda: np.array(counts, np.int64), arcs=arcs
        )
