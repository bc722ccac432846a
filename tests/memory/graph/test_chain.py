"""Records added one by one: the index is not asked for each, and equal ones are one."""

from __future__ import annotations

import random
from typing import Any

import pytest

import ibidem
from ibidem.memory.graph import GraphMemory, Record
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.graph import Graph


def stated(text: str) -> Record:
    return Record("Semantic", text, scope="")


def test_a_writer_asks_the_index_once_for_many_records(monkeypatch: Any):
    snapshots: list[object] = []
    snapshot = Graph.snapshot

    def counted(self: Graph) -> Any:
        snapshots.append(self.root_cid)
        return snapshot(self)

    with ibidem.init("memory:") as repo:
        monkeypatch.setattr(Graph, "snapshot", counted)
        for number in range(12):
            repo.records.add(stated(f"fact {number}"))
        assert len(set(snapshots)) <= 2


def test_equal_records_are_one_whoever_commits_between():
    rng = random.Random(5)
    with ibidem.init("memory:") as repo:
        mine, other = GraphMemory(repo), GraphMemory(repo)
        known: dict[str, Any] = {}
        for number in range(60):
            memory, text = rng.choice((mine, mine, mine, other)), f"fact {rng.randrange(9)}"
            (made,) = memory.add(stated(text))
            assert known.setdefault(text, made) == made
            if rng.random() < 0.1:
                memory.retract(known.pop(text))
            if rng.random() < 0.1:
                with repo.transaction() as tx:
                    tx.add_node("Note", summary=str(number), unique=True)
            if rng.random() < 0.05:
                repo.history.undo()
                known = {one.text: one.id for one in mine.list(limit=99)}


def test_what_is_no_record_is_a_typed_error():
    with ibidem.init("memory:") as repo:
        for given in (["a text"], [None]):
            with pytest.raises(InvalidInputError, match=r"records\[0\]: got .*expected a Record"):
                repo.records.add(given)  # type: ignore[list-item]
        with pytest.raises(InvalidInputError, match="records: got 'a text', expected Records"):
            repo.records.add("a text")  # type: ignore[arg-type]
        assert repo.head is None
