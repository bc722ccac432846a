"""Ibidem: a repository on disk, one commit a batch, asked for rendered answers as its users ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corpus import Corpus, Question

import ibidem

MODEL = "m"
COMMIT_NODES = 50_000


class Ours:
    lanes = ("lexical", "dense", "hybrid")
    packages = ("ibidem", "numpy", "lmdb", "numkong", "pyroaring")
    note = "a durable commit every 50,000 nodes; exact; answers are rendered nodes with receipts"

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._repo: Any = None

    def load(self, corpus: Corpus) -> None:
        with ibidem.init(self._folder) as repo:
            for start, texts, vectors in corpus.batches(COMMIT_NODES):
                with repo.transaction() as tx:
                    for number, (text, vector) in enumerate(
                        zip(texts, vectors, strict=True), start
                    ):
                        node = tx.add_node(
                            "Passage", summary=text, props={"number": number}, key=number
                        )
                        tx.set_vector(node, model=MODEL, vector=vector)
            repo.retrieve("bababak", vector=(MODEL, vectors[0]))

    def open(self) -> None:
        self._repo = ibidem.open(self._folder)

    def ask(self, lane: str, question: Question, limit: int) -> Sequence[int]:
        text = None if lane == "dense" else question.text
        options: dict[str, Any] = {"limit": limit}
        if lane != "lexical":
            import numpy as np

            options["vector"] = (MODEL, np.array(question.vector, np.float32))
        found = self._repo.retrieve(text, **options)
        return [item.node.props["number"] for item in found.items]

    def insert(self, number: int, node: Question) -> None:
        import numpy as np

        with self._repo.transaction() as tx:
            added = tx.add_node("Passage", summary=node.text, props={"number": number}, key=number)
            tx.set_vector(added, model=MODEL, vector=np.array(node.vector, np.float32))
