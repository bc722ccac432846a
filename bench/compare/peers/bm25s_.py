"""bm25s, with its numpy and its numba scorer. It can not add: an insert indexes all texts again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bm25s
from corpus import Corpus, Question
from peer import flush


class Bm25sNumpy:
    lanes = ("lexical",)
    packages = ("bm25s", "numba")
    note = "no stop words, no stemmer; saved without texts; an insert indexes all texts again"
    backend = "numpy"

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/index"
        self._texts_path = f"{folder}/texts.txt"
        self._index: Any = None

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

    def ask(self, lane: str, question: Question, limit: int) -> Sequence[int]:
        tokens = bm25s.tokenize(
            [question.text], stopwords=None, show_progress=False, return_ids=False
        )
        found, _ = self._index.retrieve(tokens, k=limit, show_progress=False)
        return found[0].tolist()

    def insert(self, number: int, node: Question) -> None:
        with open(self._texts_path, "a") as file:
            file.write(node.text + "\n")
        with open(self._texts_path) as file:
            self._build([line.strip() for line in file])
        if self.backend == "numba":
            self._index.activate_numba_scorer()


class Bm25sNumba(Bm25sNumpy):
    backend = "numba"
    note = Bm25sNumpy.note + "; a cold process compiles"
