"""How often a command reads the cells: once to open, and once for each call that it consists of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ibidem.store.lmdb.store import LmdbStore

from .conftest import Run

Count = Callable[..., int]

READS = {
    "log": 2,
    "log --graph": 2,
    "diff": 2,
    "diff HEAD HEAD": 2,
    "show NODE": 2,
    "query --label Document": 2,
    "packs deadline": 2,
    "prompt deadline": 2,
    "tag": 2,
    "branch": 3,
    "show HEAD": 4,
    "status": 7,
    "tag v1": 3,
    "undo": 4,
    "redo": 4,
}
"""In the order in which they are called; NODE stands for the id of a document."""


@pytest.fixture
def count(notes: Run, monkeypatch: pytest.MonkeyPatch) -> Count:
    """Calls the program and returns how often it read cells, one or all."""
    reads = 0
    one, every = LmdbStore.cell, LmdbStore.cells

    def cell(store: LmdbStore, name: str) -> bytes | None:
        nonlocal reads
        reads += 1
        return one(store, name)

    def cells(store: LmdbStore) -> dict[str, bytes]:
        nonlocal reads
        reads += 1
        return every(store)

    monkeypatch.setattr(LmdbStore, "cell", cell)
    monkeypatch.setattr(LmdbStore, "cells", cells)

    def call(*arguments: str) -> int:
        nonlocal reads
        reads = 0
        notes(*arguments)
        return reads

    return call


def test_a_question_reads_the_cells_at_most_twice(count: Count) -> None:
    assert count("retrieve", "deadline") <= 3, "an erasure may come while the index is written"
    assert count("retrieve", "deadline") <= 2
    assert count("retrieve", "deadline", "--at", "main~0") <= 2


def test_a_commit_reads_the_cells_at_most_twice(count: Count, tmp_path: Path) -> None:
    (tmp_path / "notes" / "more.md").write_text("# More\n\nBack off.\n")
    assert count("commit", "notes", "-m", "more") <= 2
    assert count("commit", "notes", "-m", "nothing new") <= 2
    (tmp_path / "notes" / "more.md").write_text("# More\n\nBack off longer.\n")
    assert count("add", "notes") <= 3, "once more to learn what was staged"
    assert count("commit", "-m", "what is staged") <= 2


def test_other_commands_read_the_cells_once_for_each_call(
    count: Count, data: Callable[..., dict[str, Any]]
) -> None:
    node = data("query", "--label", "Document")["nodes"][0]["id"]
    count("retrieve", "deadline")  # makes the index
    found = {said: count(*said.replace("NODE", node).split()) for said in READS}
    assert found == READS
