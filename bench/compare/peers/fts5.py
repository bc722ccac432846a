"""SQLite FTS5: a table of texts, OR of the terms, ordered by its bm25."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from corpus import Corpus, Question


class Fts5:
    lanes = ("lexical",)
    packages = ()
    extra = ("filtered", "updated")
    note = f"SQLite {sqlite3.sqlite_version}, WAL, synchronous FULL, text stored"

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/texts.db"
        self._db: Any = None

    def load(self, corpus: Corpus) -> None:
        self.open()
        self._db.execute("CREATE VIRTUAL TABLE nodes USING fts5(text)")
        for start, texts, _ in corpus.batches():
            self._db.executemany(
                "INSERT INTO nodes(rowid, text) VALUES (?, ?)", enumerate(texts, start + 1)
            )
        self._db.execute("INSERT INTO nodes(nodes) VALUES ('optimize')")
        self._db.commit()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()

    def open(self) -> None:
        self._db = sqlite3.connect(self._path)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        condition = "" if below is None else f"AND (rowid - 1) % 100 < {below}"
        rows = self._db.execute(
            f"SELECT rowid, text FROM nodes WHERE nodes MATCH ? {condition} ORDER BY rank LIMIT ?",
            (" OR ".join(question.text.split()), limit),
        )
        return [row[0] - 1 for row in rows]

    def insert(self, number: int, node: Question) -> None:
        self._db.execute("INSERT INTO nodes(rowid, text) VALUES (?, ?)", (number + 1, node.text))
        self._db.commit()

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        rows = [(node.text, number + 1) for number, node in nodes]
        self._db.executemany("UPDATE nodes SET text = ? WHERE rowid = ?", rows)
        self._db.commit()
