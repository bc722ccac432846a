"""LanceDB: a table with vectors (scanned, so exact) and its full-text index; hybrid by its RRF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from corpus import DIM, Corpus, Question
from peer import share


class Lance:
    lanes = ("lexical", "dense", "hybrid")
    packages = ("lancedb", "pyarrow")
    extra = ("filtered", "updated")
    note = "no vector index (exact scan), full-text index; a new row is searched without it"

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._table: Any = None
        self._reranker: Any = None

    def load(self, corpus: Corpus) -> None:
        def batches() -> Iterator[Any]:
            for start, texts, vectors in corpus.batches():
                yield _batch(range(start, start + len(texts)), texts, vectors.reshape(-1))

        table: Any = lancedb.connect(self._folder).create_table(
            "nodes", batches(), schema=_schema()
        )
        table.create_fts_index(
            "text", with_position=False, stem=False, remove_stop_words=False, ascii_folding=False
        )

    def open(self) -> None:
        self._table = lancedb.connect(self._folder).open_table("nodes")

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        if lane == "lexical":
            query = self._table.search(question.text, query_type="fts")
        elif lane == "dense":
            query = self._table.search(question.vector.tolist()).distance_type("dot")
        else:
            from lancedb.rerankers import RRFReranker

            self._reranker = self._reranker or RRFReranker()
            query = self._table.search(query_type="hybrid").distance_type("dot")
            query = query.vector(question.vector.tolist()).text(question.text)
            query = query.rerank(self._reranker)
        if below is not None:
            query = query.where(f"share < {below}", prefilter=True)
        found = query.limit(limit).select(["number", "text"]).to_arrow()
        return found["number"].to_pylist()

    def insert(self, number: int, node: Question) -> None:
        self._table.add(pa.Table.from_batches([_batch([number], [node.text], node.vector)]))

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        numbers, texts = [number for number, _ in nodes], [node.text for _, node in nodes]
        rows = _batch(numbers, texts, np.array([node.vector for _, node in nodes]).reshape(-1))
        merge = self._table.merge_insert("number").when_matched_update_all()
        merge.execute(pa.Table.from_batches([rows]))


def _schema() -> Any:
    return pa.schema(
        [
            ("number", pa.int64()),
            ("share", pa.int64()),
            ("text", pa.string()),
            ("vector", pa.list_(pa.float32(), DIM)),
        ]
    )


def _batch(numbers: Sequence[int], texts: list[str], values: Any) -> Any:
    rows = pa.FixedSizeListArray.from_arrays(pa.array(values, pa.float32()), DIM)
    shares = pa.array([share(number) for number in numbers], pa.int64())
    columns = [pa.array(numbers, pa.int64()), shares, pa.array(texts), rows]
    return pa.record_batch(columns, _schema())
