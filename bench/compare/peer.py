"""What the harness asks of a peer, and where it finds one.

A peer is a class in a module of `peers/`, made on an empty or a loaded folder. Nodes are numbered
from 0; the number is what a peer answers with, so that answers can be compared. A peer without
storage of its own is saved with its own `save` into one file, flushed; a peer that can not add to
its index builds it anew, because that is what its user would have to do.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any, Protocol

from corpus import Corpus, Question

PEERS = {
    "ibidem": "ours:Ours",
    "mnem-py": "mnem:Mnem",
    "faiss flat": "flat:Faiss",
    "usearch exact": "flat:Usearch",
    "hnswlib": "hnsw:Hnswlib",
    "bm25s numpy": "bm25s_:Bm25sNumpy",
    "bm25s numba": "bm25s_:Bm25sNumba",
    "tantivy": "tantivy_:Tantivy",
    "sqlite fts5": "fts5:Fts5",
    "lancedb": "lance:Lance",
    "chroma": "chroma:Chroma",
}
LANES = ("lexical", "dense", "hybrid")
EXTRA = ("filtered", "updated", "served")


class Peer(Protocol):
    """One engine on one folder."""

    lanes: tuple[str, ...]
    """Which of LANES it answers, the one that is asked after an insert last."""
    packages: tuple[str, ...]
    """The distributions whose versions are reported."""
    note: str
    """How it is set up, in a clause."""

    def __init__(self, folder: str) -> None: ...

    def load(self, corpus: Corpus) -> None:
        """Makes a new index of all nodes, durable and ready for questions on return."""

    def open(self) -> None:
        """Opens what was loaded."""

    extra: tuple[str, ...]
    """Which of EXTRA it can do."""

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        """Returns the numbers of the best nodes, best first; with `below`, which is asked only if
        it can be "filtered", of the nodes whose `share(number)` is below it."""

    def insert(self, number: int, node: Question) -> None:
        """Adds a node, durable on return."""

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        """Replaces text and vector of nodes, durable on return; only if it can be "updated"."""


def find(name: str) -> type[Any]:
    """Returns the class of a peer; its library is imported with it or when it is used."""
    module, _, cls = PEERS[name].partition(":")
    found: type[Any] = getattr(importlib.import_module(f"peers.{module}"), cls)
    return found


def share(number: int) -> int:
    """Returns the property that filters compare, 0 to 99: n percent of the nodes are below n."""
    return number % 100


def flush(path: str) -> None:
    """Brings a file, or every file below a folder, to the disk."""
    files = [path] if os.path.isfile(path) else []
    for folder, _, names in os.walk(path):
        files += [os.path.join(folder, name) for name in names]
    for file in files:
        handle = os.open(file, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
