"""mnem-py, the Rust original: a redb file, one transaction for the load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymnem
from corpus import Corpus, Question

MODEL = "m"


class Mnem:
    lanes = ("dense",)
    packages = ("mnem-py",)
    extra = ()
    note = "redb file, one transaction for the load; it ranks no text without an embedding service"

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/repo.redb"
        self._repo: Any = None

    def load(self, corpus: Corpus) -> None:
        repo = pymnem.Repo.open_or_init(self._path)
        with repo.transaction("bench", "load") as tx:
            for start, texts, vectors in corpus.batches():
                for number, (text, vector) in enumerate(zip(texts, vectors, strict=True), start):
                    tx.add_node("Passage", summary=text, props={"number": number})
                    tx.add_embedding_f32(MODEL, vector.tolist())

    def open(self) -> None:
        self._repo = pymnem.Repo.open_or_init(self._path)

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        found = self._repo.retrieve(vector=question.vector.tolist(), model=MODEL, limit=limit)
        return [_number(item.rendered) for item in found.items]

    def insert(self, number: int, node: Question) -> None:
        with self._repo.transaction("bench", "insert") as tx:
            tx.add_node("Passage", summary=node.text, props={"number": number})
            tx.add_embedding_f32(MODEL, node.vector.tolist())


def _number(rendered: str) -> int:
    return int(rendered.rpartition("number: ")[2])
