"""What an index costs: building it, advancing it by one node, opening it. Prints one row a size.

    python bench/index.py [SIZE...]        default 1000 10000 100000

Blocks are in memory, so the figures are those of the index alone; its files are on disk.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import NodeCid, RootCid, VectorCid
from ibidem.objects.config import Config, Model
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.text import text_digest
from ibidem.objects.tree import EMPTY_TREE, build, mutate
from ibidem.objects.vector import Vector
from ibidem.store.memory import MemoryStore

DIM = 384
TOKENS = 80
STEPS = 200


class Corpus:
    """Nodes with texts of Zipf-like words and unit vectors, from a seed."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)
        self._words = np.array(
            [
                "".join(chr(97 + number // 26**place % 26) for place in range(4))
                for number in range(50_000)
            ]
        )

    def node(self, number: int) -> tuple[bytes, bytes, bytes]:
        """Returns (key, node block, vector block)."""
        picks = (50_000 * self._random.random(TOKENS) ** 3).astype(np.int64)
        text = " ".join(self._words[picks])
        raw = self._random.bytes(16)
        node = Node(
            NodeId(raw),
            "Passage",
            text,
            props={"lang": "en", "number": number, "tag": f"t{number % 97}"},
        )
        vector = Vector.from_array(
            self._random.standard_normal(DIM, np.float32), of=text_digest(text)
        )
        return raw, node.encode(), vector.encode()


def make_root(nodes: object, vectors: object, buffer: WriteBatch) -> RootCid:
    """Puts a root block with these trees."""
    root = Root(
        nodes,  # type: ignore[arg-type]
        EMPTY_TREE,
        EMPTY_TREE,
        EMPTY_TREE,
        {"m": vectors},  # type: ignore[dict-item]
        {},
        Config(models={"m": Model(DIM)}).to_map(),
    )
    block = root.encode()
    cid = RootCid.of(block)
    buffer.put(cid, block)
    return cid


def measure(size: int) -> str:
    """Returns the row of one size."""
    corpus, store = Corpus(), MemoryStore()
    buffer = WriteBatch(store)
    entries: list[tuple[bytes, NodeCid]] = []
    vectors: list[tuple[bytes, VectorCid]] = []
    for number in range(size):
        raw, node, vector = corpus.node(number)
        entries.append((raw, NodeCid.of(node)))
        vectors.append((raw, VectorCid.of(vector)))
        buffer.put(entries[-1][1], node)
        buffer.put(vectors[-1][1], vector)
    trees = build(entries, buffer), build(vectors, buffer)
    root = make_root(*trees, buffer)
    store.put(buffer.new)
    del entries, vectors
    with tempfile.TemporaryDirectory() as directory:
        index = Index(Path(directory), store)
        started = time.perf_counter()
        index.build(root)
        built = time.perf_counter() - started
        steps = []
        for number in range(STEPS):
            raw, node, vector = corpus.node(size + number)
            buffer = WriteBatch(store)
            cids = NodeCid.of(node), VectorCid.of(vector)
            buffer.put(cids[0], node)
            buffer.put(cids[1], vector)
            trees = (
                mutate(trees[0], {raw: cids[0]}, buffer),
                mutate(trees[1], {raw: cids[1]}, buffer),
            )
            following = make_root(*trees, buffer)
            store.put(buffer.new)
            started = time.perf_counter()
            snapshot = index.snapshot(following, near=(root,))
            assert snapshot.ordinal(NodeId(raw)) is not None
            steps.append(1e3 * (time.perf_counter() - started))
            root = following
        sizes = index.stats()
        started = time.perf_counter()
        opened = Index(Path(directory), store).snapshot(root)
        ready = 1e3 * (time.perf_counter() - started)
        started = time.perf_counter()
        assert opened.lexical
        assert opened.vectors("m")
        found = len(opened.label("Passage") & opened.equal("lang", "en"))
        assert found == size + STEPS
        first = 1e3 * (time.perf_counter() - started)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"| {size:,} | {size / built:,.0f} | {statistics.median(steps):.2f} | {max(steps):.1f} "
        f"| {ready:.2f} | {first:.2f} | {sizes.size_bytes / size:,.0f} | {memory:,.0f} |"
    )


def main() -> None:
    """Prints the table."""
    print(
        "| nodes | build nodes/s | advance ms | worst | open ms | label and value ms "
        "| bytes/node | peak MB |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for size in [int(text) for text in sys.argv[1:]] or [1_000, 10_000, 100_000]:
        print(measure(size), flush=True)


if __name__ == "__main__":
    main()
