"""What the lanes that walk edges cost beside the lexical lane they begin from.

    python bench/graph.py [NODES [EDGES]]        default 100000 1000000

Half of the edges end at nodes drawn evenly, half at hubs (the square of an even draw), so degrees
are uneven as in real graphs. Each row: median and worst of the added time over queries with
different seeds, and how many nodes the walk met and arcs it read. The first row is without edges.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import EdgeCid, NodeCid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.derive import edge_id
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, build
from ibidem.retrieve.filter import universe
from ibidem.retrieve.graph.lane import run_graph_lanes
from ibidem.retrieve.pipeline import run_lanes
from ibidem.retrieve.query.query import resolve
from ibidem.store.memory import MemoryStore

QUERIES = 60
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ppr", {"graph": {"mode": "ppr"}}),
    ("ppr epsilon 1e-3", {"graph": {"mode": "ppr", "epsilon": 1e-3}}),
    ("ppr epsilon 1e-4", {"graph": {"mode": "ppr", "epsilon": 1e-4}}),
    ("ppr epsilon 1e-5", {"graph": {"mode": "ppr", "epsilon": 1e-5}}),
    ("decay depth 1", {"graph": {"mode": "decay", "depth": 1}}),
    ("decay depth 2", {"graph": {"mode": "decay", "depth": 2}}),
    ("decay depth 3", {"graph": {"mode": "decay", "depth": 3}}),
    ("community", {"community": {}}),
)


def make(node_count: int, edge_count: int) -> tuple[Index, RootCid]:
    """Returns an index over a random graph, built."""
    random = np.random.default_rng(7)
    store, buffer = MemoryStore(), WriteBatch(MemoryStore())
    ids = [NodeId(random.bytes(16)) for _ in range(node_count)]
    nodes = []
    for number, node in enumerate(ids):
        words = f"w{number % 977} x{number % 9973} y{number}"
        block = Node(node, "Passage", words).encode()
        cid = NodeCid.of(block)
        store.put({cid: block})
        nodes.append((node.raw, cid))
    sources = (random.random(edge_count) * node_count).astype(int)
    draw = random.random(edge_count)
    targets = np.where(random.random(edge_count) < 0.5, draw, draw**2)
    targets = (targets * node_count).astype(int)
    edges: dict[bytes, EdgeCid] = {}
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        etype = "cites" if (source + target) % 3 else "has"
        one = edge_id(ids[source], etype, ids[target], None)
        edge = Edge(one, etype, ids[source], ids[target], weight=1.0 + source % 4)
        block = edge.encode()
        edges[one.raw] = cid = EdgeCid.of(block)
        store.put({cid: block})
    root = Root(
        nodes=build(nodes, buffer),
        edges=build(list(edges.items()), buffer),
        tombstones=EMPTY_TREE,
        conflicts=EMPTY_TREE,
        vectors={},
        sparse={},
        config=Config(fields=("summary",)).to_map(),
    )
    block = root.encode()
    cid = RootCid.of(block)
    store.put({**buffer.new, cid: block})
    return Index(None, store), cid


def main() -> None:
    """Prints the table."""
    node_count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    edge_count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    index, root = make(node_count, edge_count)
    start = time.perf_counter()
    snapshot = index.build(root)
    built = time.perf_counter() - start
    print(f"{node_count} nodes, {edge_count} edges, index built in {built:.1f} s")
    print(f"{'lane':20} {'median ms':>10} {'worst ms':>10} {'met':>8} {'arcs':>8}")
    for name, options in (("lexical alone", {}), *VARIANTS):
        times, met, arcs = [], 0, 0
        for number in range(QUERIES):
            text = f"w{number} x{number + 5} x{number + 977}"
            scope = universe(snapshot, resolve(snapshot.config, text=text, **options))
            start = time.perf_counter()
            tops = run_lanes(scope)
            if options:
                start = time.perf_counter()
            for walk in run_graph_lanes(scope, tops):
                if walk.near is not None:
                    met, arcs = met + walk.near.count, arcs + walk.near.sources.shape[0]
            times.append((time.perf_counter() - start) * 1e3)
        median, worst = statistics.median(times[1:]), max(times[1:])
        print(f"{name:20} {median:10.2f} {worst:10.2f} {met // QUERIES:8} {arcs // QUERIES:8}")


if __name__ == "__main__":
    main()
