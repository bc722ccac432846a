"""tantivy: a segment index on disk, terms by its default analyser, OR of the terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tantivy
from corpus import Corpus, Question
from peer import share

HEAP_BYTES = 128_000_000


class Tantivy:
    lanes = ("lexical",)
    packages = ("tantivy",)
    extra = ("filtered", "updated")
    note = "text indexed and stored, default threads; an insert commits and reloads"

    def __init__(self, folder: str) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("number", stored=True, indexed=True, fast=True)
        builder.add_unsigned_field("share", indexed=True, fast=True)
        builder.add_text_field("text", stored=True)
        self._index: Any = tantivy.Index(builder.build(), path=folder)
        self._writer: Any = None
        self._searcher: Any = None

    def load(self, corpus: Corpus) -> None:
        writer: Any = self._index.writer(HEAP_BYTES)
        for start, texts, _ in corpus.batches():
            for number, text in enumerate(texts, start):
                writer.add_document(_document(number, text))
        writer.commit()
        writer.wait_merging_threads()

    def open(self) -> None:
        self._index.reload()
        self._searcher = self._index.searcher()

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        query = self._index.parse_query(question.text, ["text"])
        if below is not None:
            passing = tantivy.Query.range_query(
                self._index.schema, "share", tantivy.FieldType.Unsigned, 0, below, True, False
            )
            parts = [(tantivy.Occur.Must, query), (tantivy.Occur.Must, passing)]
            query = tantivy.Query.boolean_query(parts)
        hits = self._searcher.search(query, limit).hits
        return [self._searcher.doc(address)["number"][0] for _, address in hits]

    def insert(self, number: int, node: Question) -> None:
        self.update([(number, node)])

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        if self._writer is None:
            self._writer = self._index.writer(HEAP_BYTES)
        for number, node in nodes:
            self._writer.delete_documents("number", number)
            self._writer.add_document(_document(number, node.text))
        self._writer.commit()
        self.open()


def _document(number: int, text: str) -> Any:
    document = tantivy.Document()
    document.add_unsigned("number", number)
    document.add_unsigned("share", share(number))
    document.add_text("text", text)
    return document
