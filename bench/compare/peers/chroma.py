"""Chroma: a persistent collection with documents; its vector index is approximate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import chromadb
from chromadb.config import Settings
from corpus import Corpus, Question
from peer import share


class Chroma:
    lanes = ("dense",)
    packages = ("chromadb",)
    extra = ("filtered", "updated")
    note = "PersistentClient, cosine, default HNSW (approximate); it ranks no text by words"

    def __init__(self, folder: str) -> None:
        settings = Settings(anonymized_telemetry=False)
        self._client: Any = chromadb.PersistentClient(folder, settings)
        self._collection: Any = None

    def load(self, corpus: Corpus) -> None:
        self._collection = self._client.create_collection(
            "nodes", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        for start, texts, vectors in corpus.batches():
            numbers = range(start, start + len(texts))
            shares = [{"share": share(one)} for one in numbers]
            self._collection.add([str(one) for one in numbers], vectors, shares, texts)

    def open(self) -> None:
        self._collection = self._client.get_collection("nodes", embedding_function=None)

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        found = self._collection.query(
            query_embeddings=[question.vector.tolist()],
            n_results=limit,
            where=None if below is None else {"share": {"$lt": below}},
            include=["documents", "distances"],
        )
        return [int(one) for one in found["ids"][0]]

    def insert(self, number: int, node: Question) -> None:
        self.update([(number, node)])

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        self._collection.upsert(
            [str(number) for number, _ in nodes],
            [node.vector.tolist() for _, node in nodes],
            [{"share": share(number)} for number, _ in nodes],
            [node.text for _, node in nodes],
        )
