"""Packs, prompts and recollections of a run come back in its replay; what cannot is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.memory.graph import GraphMemory, Record, RecordType
from ibidem.memory.recall.recall import recall
from ibidem.objects.errors import InvalidInputError, ReplayError
from ibidem.repo.repository import Repository
from ibidem.repo.runs.compare import check
from ibidem.repo.runs.session import Session, UnrecordedError
from ibidem.retrieve.access.policy import TrustContext, TrustPolicy

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
    trust = TrustContext(level=1, scopes=())
    with repo.runs.start("nightly") as run:
        assert run.packs("mill", trust=trust).packs
        for refused in (lambda: GraphMemory(run).retrieve_graph("mill"), lambda: run.notes("x")):
            with pytest.raises(UnrecordedError, match="a run has no 'notes'"):
                refused()
        with pytest.raises(InvalidInputError, match="trust: a run does not record"):
            recall(run, "mill", trust=trust)
    assert not hasattr(run, "reindex")


def test_the_receipt_of_a_graph_memory_is_told_from_one_that_can_be_kept(repo: Repository) -> None:
    memory = GraphMemory(repo)
    memory.add([Record(RecordType.SEMANTIC, "the mill is old", scope="")])
    receipt = memory.retrieve_graph("mill").receipt
    for take in (repo.receipts.keep, repo.receipts.replay):
        with pytest.raises(InvalidInputError, match="got GraphReceipt") as raised:
            take(receipt)  # type: ignore[operator]
        assert "GraphMemory.replay" in (raised.value.hint or "")
    assert memory.replay(receipt.encode()).cid == receipt.result
