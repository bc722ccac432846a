"""Random repositories for the tests of the index: facts in dictionaries, and roots made of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.cid import RootCid, TreeCid
from ibidem.objects.config import Config, Model
from ibidem.objects.edge import Edge
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Node, split_content
from ibidem.objects.root import Root
from ibidem.objects.text import text_digest
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import EMPTY_TREE, build
from ibidem.objects.vector import Sparse, Vector
from ibidem.store.memory import MemoryStore

MODEL = "m"
DIM = 4
CONFIG = Config(models={MODEL: Model(DIM)})
WORDS = [
    "red",
    "green",
    "blue",
    "apple",
    "pear",
    "stone",
    "the",
    "running",
    "ran",
    "Straße",
    "東京",
    "a := b",
    "(@)",
    "//",
    "--all",
    "push.default",
    "WITH",
]
VALUES: list = [True, False, 1, 1.0, 2, 2.5, -7, 2**53, 2**53 + 1, 2.0**53, -(2**64), 2**64 - 1]
VALUES += [
    "",
    "a",
    "a\x00",
    "ab",
    "é",
    "\U0001f600",
    "\uffff",
    b"a",
    None,
    {"x": 1},
    [1, "a"],
    [],
    [[1], 2.5],
]
VALUES += ["z" * 300, 1e300, -1e300, 5e-324, 0]


@dataclass
class Graph:
    """The facts of one root."""

    nodes: dict[bytes, Node] = field(default_factory=dict)
    edges: dict[bytes, Edge] = field(default_factory=dict)
    vectors: dict[str, dict[bytes, Vector]] = field(default_factory=dict)
    sparse: dict[str, dict[bytes, Sparse]] = field(default_factory=dict)
    tombstones: dict[bytes, Tombstone] = field(default_factory=dict)
    config: Config = CONFIG

    def copy(self) -> Graph:
        return Graph(
            dict(self.nodes),
            dict(self.edges),
            {model: dict(rows) for model, rows in self.vectors.items()},
            {vocab: dict(rows) for vocab, rows in self.sparse.items()},
            dict(self.tombstones),
            self.config,
        )


def store_root(graph: Graph, store: MemoryStore) -> RootCid:
    """Stores the graph's blocks and returns its root."""
    buffer = WriteBatch(store)

    def tree(values: dict) -> TreeCid:
        entries = []
        for key, value in values.items():
            block = value.encode()
            cid = type(value).CID.of(block)
            buffer.put(cid, block)
            entries.append((key, cid))
        return build(entries, buffer)

    root = Root(
        tree(graph.nodes),
        tree(graph.edges),
        tree(graph.tombstones),
        EMPTY_TREE,
        {model: tree(rows) for model, rows in graph.vectors.items() if rows},
        {vocab: tree(rows) for vocab, rows in graph.sparse.items() if rows},
        graph.config.to_map(),
    )
    block = root.encode()
    cid = RootCid.of(block)
    buffer.put(cid, block)
    store.put(buffer.new)
    return cid


def node_id(number: int) -> NodeId:
    """Returns one of a few ids; some share their first half, as time-ordered ids may."""
    high = number % 5 if number % 2 else number * 0x9E3779B97F4A7C15 % 2**64
    return NodeId(high.to_bytes(8, "big") + number.to_bytes(8, "big"))


def random_node(draw: random.Random, number: int, store: MemoryStore, span: int) -> Node:
    """Returns a node with that number, and stores the raw blocks of its content."""
    content = None
    if draw.random() < 0.4:
        text = " ".join(draw.choices(WORDS, k=draw.choice([3, 10, 1_500])))
        content, blocks = split_content(draw.choice([text.encode(), text.encode() + b"\xff"]))
        store.put(blocks)
    children = draw.sample(range(span), k=draw.choice([0, 0, 0, 2, 3]))
    return Node(
        id=node_id(number),
        ntype=draw.choice(["Document", "Passage", "Día"]),
        summary=" ".join(draw.choices(WORDS, k=draw.randrange(8))) or None,
        props={
            name: draw.choice(VALUES)
            for name in draw.sample(["a", "b", "aa", "ü", "a\x00", ""], k=draw.randrange(4))
        },
        content=content,
        children=tuple(Child(node_id(child), "", 0, 0) for child in children),
    )


def mutate(
    graph: Graph, draw: random.Random, store: MemoryStore, *, span: int, edits: int
) -> Graph:
    """Returns the graph after some random edits over `span` possible nodes."""
    graph = graph.copy()
    for _ in range(edits):
        number = draw.randrange(span)
        raw = node_id(number).raw
        match draw.randrange(9):
            case 0 | 1 | 2:
                graph.nodes[raw] = random_node(draw, number, store, span)
            case 3:
                graph.nodes.pop(raw, None)
            case 4:
                other = draw.randrange(span)
                etype = draw.choice(["cites", "is part of"])
                key = EdgeId(
                    number.to_bytes(7, "big") + other.to_bytes(8, "big") + etype[:1].encode()
                )
                weight = draw.choice([1.0, 0.5, -2.0])
                props = draw.choice([{}, {}, {}, {}, {"valid_from": 3}, {"valid_to": 4.5}])
                edge = Edge(key, etype, node_id(number), node_id(other), weight, props)
                graph.edges[key.raw] = edge
            case 5:
                if graph.edges:
                    graph.edges.pop(draw.choice(sorted(graph.edges)))
            case 6:
                array = np.array([draw.choice([0.0, 1.5, -2.0, 3.0]) for _ in range(DIM)])
                rows = graph.vectors.setdefault(MODEL, {})
                of = text_digest(str(number))
                rows[raw] = Vector.from_array(array, of=of, dtype=draw.choice(["f32", "f16"]))
                if draw.random() < 0.3:
                    rows.pop(draw.choice(sorted(rows)))
            case 7:
                tokens = sorted(draw.sample(range(30), k=draw.randrange(5)))
                rows = graph.sparse.setdefault("v", {})
                rows[raw] = Sparse.from_arrays(
                    np.array(tokens, dtype=np.uint32),
                    np.array([draw.choice([0.5, 2.0]) for _ in tokens], dtype=np.float32),
                    of=text_digest(str(number)),
                )
                if draw.random() < 0.3:
                    rows.pop(draw.choice(sorted(rows)))
            case _:
                if draw.random() < 0.5:
                    graph.tombstones[raw] = Tombstone("gone")
                else:
                    graph.tombstones.pop(raw, None)
    return graph


def with_fields(graph: Graph, fields: tuple[str, ...]) -> Graph:
    """Returns the graph with another configuration of its texts."""
    return replace(graph, config=replace(graph.config, fields=fields))
