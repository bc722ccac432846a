"""hnswlib: an approximate graph index of vectors; its recall is reported beside its speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hnswlib
import numpy as np
from corpus import DIM, Corpus, Question
from peer import flush, share

M, EF_CONSTRUCTION, EF = 16, 200, 100
ROOM = 1_000


class Hnswlib:
    lanes = ("dense",)
    packages = ("hnswlib",)
    extra = ("filtered", "updated")
    note = f"approximate: M {M}, ef_construction {EF_CONSTRUCTION}, ef {EF}; an insert saves again"

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/graph.hnsw"
        self._index: Any = hnswlib.Index("ip", DIM)

    def load(self, corpus: Corpus) -> None:
        self._index.init_index(corpus.size + ROOM, M=M, ef_construction=EF_CONSTRUCTION)
        for start, _, vectors in corpus.batches():
            self._index.add_items(vectors, np.arange(start, start + len(vectors)))
        self._save()

    def open(self) -> None:
        self._index.load_index(self._path)
        self._index.set_ef(EF)
        self._index.resize_index(self._index.get_current_count() + ROOM)

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        chosen = {} if below is None else {"filter": lambda number: share(number) < below}
        query = np.array([question.vector], np.float32)
        labels, _ = self._index.knn_query(query, limit, **chosen)
        return labels[0].tolist()

    def insert(self, number: int, node: Question) -> None:
        self.update([(number, node)])

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        rows = np.array([node.vector for _, node in nodes], np.float32)
        self._index.add_items(rows, [number for number, _ in nodes])
        self._save()

    def _save(self) -> None:
        self._index.save_index(self._path)
        flush(self._path)
