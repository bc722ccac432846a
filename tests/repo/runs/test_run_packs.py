"""Packs, prompts and recollections of a run come back in its replay; what cannot is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.memory.graph import GraphMemory, Record, RecordType
from ibidem.memory.recall.recall import recall
from ibidem.objects.errors import InvalidInputError, ReplayError, UnrecordedError
from ibidem.repo.repository import Repository
from ibidem.repo.runs.compare import check
from ibidem.repo.runs.session import Session
from ibidem.retrieve.access.policy import TrustPolicy, Viewer

TEXT = """# Mills

The mill has two stones.

It grinds in spring.

# Locks

The lock has one gate.
"""


class Embedder:
    """Counts how often it is asked."""

    name, digest, dim = "m", bytes(32), 2
    asked_count = 0

    def embed(self, texts: list[str]) -> np.ndarray:
        self.asked_count += len(texts)
        return np.array([[len(text), 1.0] for text in texts], np.float32)


@pytest.fixture
def repo() -> Repository:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        ingest_text(tx, TEXT, path="mills.md")
    return repo


def ask(run: Any, *, word: str = "mill", embedder: Embedder | None = None) -> list[bytes | str]:
    """What an agent is told, by every way of asking."""
    packs = run.packs(word, per_hit_neighbors=1, limit=2)
    older = run.at("main").packs(word, expand="section")
    with run.transaction() as tx:
        tx.add_node("Note", summary="read about the mill")
    found = [packs.to_bytes(), older.to_bytes()]
    found += [run.prompt("how many?", packs).user, run.prompt(f"how many {word} stones?").user]
    found.append(run.at().prompt(word, style="summarize").user)
    remembered = recall(run, word, disclosure="section")
    found += [remembered.result.to_bytes(), *remembered.texts]
    if embedder is not None:
        found.append(run.packs(word, rank="hybrid", embedder=embedder).to_bytes())
    return found


def test_packs_prompts_and_recollections_come_back(repo: Repository) -> None:
    embedder = Embedder()
    repo.embed(embedder)
    before = repo.packs("mill", per_hit_neighbors=1, limit=2)
    with repo.runs.start("nightly") as run:
        recorded = ask(run, embedder=embedder)
    assert recorded[0] == before.to_bytes()
    asked_count = embedder.asked_count
    with repo.transaction() as tx:
        ingest_text(tx, "# Mills\n\nAnother mill.\n", path="others.md")
    with run.replay() as again:
        assert ask(again, embedder=embedder) == recorded
    assert embedder.asked_count == asked_count
    assert check(repo.runs.open("nightly"))["retrieve"] == 7
    lines = repo.runs.open("nightly").lines()
    assert any("packs" in line for line in lines)


def test_a_run_with_packs_replays_in_an_empty_repository(repo: Repository, tmp_path: Path) -> None:
    with repo.runs.start("nightly") as run:
        recorded = ask(run)
    repo.runs.open("nightly").export(tmp_path / "run.car")
    other = ibidem.init("memory:")
    with other.runs.load(tmp_path / "run.car").replay() as again:
        assert ask(again) == recorded


@pytest.mark.parametrize(
    "other",
    [
        lambda run: run.packs("lock"),
        lambda run: run.packs("mill", limit=1),
        lambda run: run.packs("mill", expand="section"),
        lambda run: run.retrieve("mill"),
    ],
)
def test_an_agent_that_asks_for_other_packs_fails_there(repo: Repository, other: Any) -> None:
    with repo.runs.start("nightly") as run:
        run.packs("mill")
    with pytest.raises(ReplayError) as raised, run.replay() as again:
        other(again)
    assert "recorded: retrieved for 'mill'" in str(raised.value)


def test_packs_that_failed_fail_again(repo: Repository) -> None:
    def wrong(run: Session) -> str:
        with pytest.raises(InvalidInputError) as raised:
            run.packs("mill", rank="hybrid")
        return str(raised.value)

    with repo.runs.start("nightly") as run:
        recorded = wrong(run)
    with run.replay() as again:
        assert wrong(again) == recorded
    with pytest.raises(ReplayError), run.replay() as again:
        again.retrieve("mill")


def test_what_a_run_cannot_record_is_refused_by_type(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    viewer = Viewer(level=1, scopes=())
    with repo.runs.start("nightly") as run:
        assert run.packs("mill", viewer=viewer).packs
        for refused in (lambda: GraphMemory(run).notes, lambda: run.notes("x")):  # type: ignore[arg-type]
            with pytest.raises(UnrecordedError, match="a run has no 'notes'"):
                refused()
        assert recall(run, "mill", viewer=viewer).result.items
    assert not hasattr(run, "reindex")


def remembering(repo: Repository) -> GraphMemory:
    memory = GraphMemory(repo)
    facts = [Record(RecordType.SEMANTIC, text, scope="") for text in ("the mill is old", "stones")]
    fact, _ = memory.add(facts, relations=[(0, "has", 1)])
    memory.notes.penalize(fact, 0.5)
    return memory


def remembered(run: Any) -> list[bytes]:
    """What an agent is told by a graph memory."""
    memory = GraphMemory(run)
    answers = [
        memory.retrieve_graph("mill"),
        memory.retrieve_graph("mill", feedback=True, hops=0),
        memory.retrieve_graph(at="main", types=["Semantic"], root_limit=1),
    ]
    return [answer.to_bytes() for answer in answers]


def test_what_a_graph_memory_said_comes_back(repo: Repository, tmp_path: Path) -> None:
    memory = remembering(repo)
    with repo.runs.start("nightly") as run:
        recorded = remembered(run)
    repo.runs.open("nightly").export(tmp_path / "run.car")
    memory.notes.penalize(memory.list()[0].id, 0.1)
    memory.add(Record(RecordType.SEMANTIC, "another mill", scope=""))
    with run.replay() as again:
        assert remembered(again) == recorded
    assert remembered(repo) != recorded
    other = ibidem.init("memory:")
    with other.runs.load(tmp_path / "run.car").replay() as again:
        assert remembered(again) == recorded
    assert check(repo.runs.open("nightly"))["retrieve"] == 3
    assert any("records" in line for line in repo.runs.open("nightly").lines())


def test_an_agent_that_asks_a_graph_memory_something_else_fails_there(repo: Repository) -> None:
    remembering(repo)
    with repo.runs.start("nightly") as run:
        GraphMemory(run).retrieve_graph("mill")
    with pytest.raises(ReplayError, match="hops"), run.replay() as again:
        GraphMemory(again).retrieve_graph("mill", hops=3)


def test_the_receipt_of_a_graph_memory_is_kept_and_replayed(repo: Repository) -> None:
    memory = remembering(repo)
    answer = memory.retrieve_graph("mill")
    receipt = answer.receipt
    assert receipt is not None
    assert receipt.notes_head == memory.notes.head
    kept = repo.receipts.keep(receipt)
    sealed = repo.receipts.keep(receipt, key=bytes(32))
    memory.notes.penalize(answer.items[0].id, 0.5)
    memory.add(Record(RecordType.SEMANTIC, "another mill", scope=""))
    repo.maintenance.gc(keep_operations=1)
    for again in (
        repo.receipts.replay(receipt),
        repo.receipts.replay(kept),
        repo.receipts.replay(sealed, text="mill", key=bytes(32)),
    ):
        assert again.to_bytes() == answer.to_bytes()
    forged = replace(receipt, items=(replace(receipt.items[0], score=1.0), *receipt.items[1:]))
    with pytest.raises(ReplayError, match="item 1, "):
        repo.receipts.replay(forged)
