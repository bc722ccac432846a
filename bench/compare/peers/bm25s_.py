"""bm25s, with its numpy and its numba scorer. It can not add: an insert indexes all texts again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bm25s
import numpy as np
from corpus import Corpus, Question
from peer import flush, share


class Bm25sNumpy:
    lanes = ("lexical",)
    packages = ("bm25s", "numba")
    extra = ("filtered", "updated")
    note = "no stop words, no stemmer; saved without texts; an insert indexes all texts again"
    backend = "numpy"

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/index"
        self._texts_path = f"{folder}/texts.txt"
        self._index: Any = None
        self._masks: dict[int, Any] = {}

    def load(self, corpus: Corpus) -> None:
        texts = corpus.texts()
        with open(self._texts_path, "w") as file:
            file.writelines(text + "\n" for text in texts)
        self._build(texts)

    def _build(self, texts: list[str]) -> None:
        tokens = bm25s.tokenize(texts, stopwords=None, show_progress=False)
        self._index = bm25s.BM25(backend=self.backend)
        self._index.index(tokens, show_progress=False)
        self._index.save(self._folder)
        flush(self._folder)
        flush(self._texts_path)

    def open(self) -> None:
        self._index = bm25s.BM25.load(self._folder)
        self._index.backend = self.backend
        if self.backend == "numba":
            self._index.activate_numba_scorer()

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        tokens = bm25s.tokenize(
            [question.text], stopwords=None, show_progress=False, return_ids=False
        )
        mask = None if below is None else self._mask(below)
        found, _ = self._index.retrieve(tokens, k=limit, show_progress=False, weight_mask=mask)
        return found[0].tolist()

    def _mask(self, below: int) -> Any:
        if below not in self._masks:
            numbers = np.arange(self._index.scores["num_docs"])
            self._masks[below] = (share(numbers) < below).astype(np.float32)
        return self._masks[below]

    def insert(self, number: int, node: Question) -> None:
        self.update([(number, node)])

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        with open(self._texts_path) as file:
            texts = [line.strip() for line in file]
        for number, node in nodes:
            texts[number : number + 1] = [node.text]
        with open(self._texts_path, "w") as file:
            file.writelines(text + "\n" for text in texts)
        self._build(texts)
        if self.backend == "numba":
            self._index.activate_numba_scorer()


class Bm25sNumba(Bm25sNumpy):
    backend = "numba"
    note = Bm25sNumpy.note + "; a cold process compiles"
