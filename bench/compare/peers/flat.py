"""Exact vector libraries without storage: faiss IndexFlatIP, usearch's search of a matrix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from corpus import DIM, Corpus, Question
from peer import flush, share


class Faiss:
    lanes = ("dense",)
    extra = ("filtered", "updated")
    packages = ("faiss-cpu",)
    note = (
        "IndexFlatIP, one thread (its best for single questions); an insert writes the file again"
    )

    def __init__(self, folder: str) -> None:
        import faiss

        self._faiss: Any = faiss
        faiss.omp_set_num_threads(1)
        self._path = f"{folder}/flat.faiss"
        self._index: Any = None
        self._filters: dict[int, Any] = {}

    def load(self, corpus: Corpus) -> None:
        self._index = self._faiss.IndexFlatIP(DIM)
        for _, _, vectors in corpus.batches():
            self._index.add(vectors)
        self._save()

    def open(self) -> None:
        self._index = self._faiss.read_index(self._path)

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        chosen = {} if below is None else {"params": self._filter(below)}
        _, found = self._index.search(np.array([question.vector], np.float32), limit, **chosen)
        return found[0].tolist()

    def _filter(self, below: int) -> Any:
        if below not in self._filters:
            passing = share(np.arange(self._index.ntotal)) < below
            bits = np.packbits(passing, bitorder="little")
            selector = self._faiss.IDSelectorBitmap(bits)
            self._filters[below] = self._faiss.SearchParameters(sel=selector)
        return self._filters[below]

    def insert(self, number: int, node: Question) -> None:
        self._index.add(np.array([node.vector], np.float32))
        self._save()

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        rows = self._faiss.rev_swig_ptr(self._index.get_xb(), self._index.ntotal * DIM)
        for number, node in nodes:
            rows[DIM * number : DIM * (number + 1)] = node.vector
        self._save()

    def _save(self) -> None:
        self._faiss.write_index(self._index, self._path)
        flush(self._path)


class Usearch:
    lanes = ("dense",)
    extra = ("updated",)
    packages = ("usearch",)
    note = "search(matrix, exact=True) over a mapped file of rows; an insert appends a row"

    def __init__(self, folder: str) -> None:
        from usearch.index import MetricKind, search

        self._search: Any = search
        self._metric: Any = MetricKind.IP
        self._path = f"{folder}/rows.f32"
        self._rows: Any = None

    def load(self, corpus: Corpus) -> None:
        with open(self._path, "wb") as file:
            file.writelines(vectors.tobytes() for _, _, vectors in corpus.batches())
            file.flush()
            os.fsync(file.fileno())

    def open(self) -> None:
        self._rows = np.memmap(self._path, "<f4", "r").reshape(-1, DIM)

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        query = np.array(question.vector, np.float32)
        return self._search(self._rows, query, limit, self._metric, exact=True).keys.tolist()

    def insert(self, number: int, node: Question) -> None:
        with open(self._path, "ab") as file:
            file.write(node.vector.tobytes())
            file.flush()
            os.fsync(file.fileno())
        self.open()

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        rows = np.memmap(self._path, "<f4", "r+").reshape(-1, DIM)
        for number, node in nodes:
            rows[number] = node.vector
        rows.flush()
