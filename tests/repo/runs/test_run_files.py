"""A run as a file: it replays in an empty repository, and no byte of it can be changed unseen."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import IbidemError
from ibidem.repo.repository import Repository
from ibidem.repo.runs.compare import check, differences
from ibidem.repo.sync.export import write_refs
from ibidem.repo.sync.integrate import import_car


def working(session: Any, answer: str = "so") -> list[str]:
    """Asks, calls a tool, and writes down what it said."""
    found = session.retrieve("advice on retries", limit=2)
    said = session.event("model", [item.rendered for item in found.items], lambda: answer * 3000)
    with session.transaction(message="note") as tx:
        tx.add_node("Answer", summary=said[:20], key="answer")
    again = session.retrieve("so advice")
    return [said, str(found.cid), str(again.cid), str(tx.commit.cid)]


@pytest.fixture
def recorded(repo: Repository) -> tuple[Repository, list[str]]:
    for turn in range(3):
        with repo.transaction(message=f"turn {turn}") as tx:
            tx.add_node("Note", summary=f"advice {turn} on retries", content=b"x" * 5000, key=turn)
            tx.add_node("Gone", summary=f"history only {turn}", key=turn, replace=True)
    with repo.transaction(message="forget") as tx:
        for node in repo.query(label="Gone"):
            tx.remove_node(node.id)
    with repo.runs.start("desk", agent="scripted") as run:
        said = working(run)
    return repo, said


def test_a_run_replays_in_an_empty_repository_and_brings_no_history(recorded, tmp_path: Path):
    repo, said = recorded
    size = repo.runs.open("desk").export(tmp_path / "desk.car")
    data = (tmp_path / "desk.car").read_bytes()
    assert size == len(data)
    assert b"history only" not in data
    with ibidem.init(tmp_path / "empty") as empty, io.BytesIO(data) as stream:
        import_car(empty.core, stream)
        assert empty.head is None
        with empty.runs.open("desk").replay() as replay:
            assert working(replay) == said
        assert check(empty.runs.open("desk"))["retrieve"] == 2
        assert empty.runs.open("desk").lines() == repo.runs.open("desk").lines()
        assert empty.maintenance.fsck().is_clean


def test_a_kept_receipt_replays_in_an_empty_repository(recorded, tmp_path: Path):
    repo, _ = recorded
    result = repo.retrieve("advice", label="Note")
    cid = repo.receipts.keep(result.receipt)
    write_refs(repo.core, {f"receipts/{cid}": cid}, tmp_path / "one.car")
    with ibidem.init("memory:") as empty, (tmp_path / "one.car").open("rb") as stream:
        import_car(empty.core, stream)
        assert empty.receipts.replay(cid).to_bytes() == result.to_bytes()


def test_every_flipped_byte_of_an_exported_run_is_refused(recorded, tmp_path: Path):
    repo, _ = recorded
    with repo.runs.start("short") as run:
        run.event("tool", "question", lambda: "answer")
    repo.runs.open("short").export(tmp_path / "short.car")
    data = (tmp_path / "short.car").read_bytes()
    for at in range(len(data)):
        flipped = bytes([*data[:at], data[at] ^ 0x01, *data[at + 1 :]])
        with ibidem.init("memory:", clock=lambda: 0) as empty, pytest.raises(IbidemError):
            import_car(empty.core, io.BytesIO(flipped))
    assert len(data) > 300


def test_every_flipped_byte_of_a_run_in_the_store_is_refused(recorded):
    repo, said = recorded
    run = repo.runs.open("desk")
    steps = {step.cid: step.encode() for step in run.steps}
    receipts = {
        s.receipt: repo.core.store.get(s.receipt) for s in run.steps if s.receipt is not None
    }
    blocks = repo.core.store._blocks  # type: ignore[attr-defined]
    for cid, block in (steps | receipts).items():
        for at in range(0, len(block), 7):
            blocks[cid] = bytes([*block[:at], block[at] ^ 0x40, *block[at + 1 :]])
            with pytest.raises(IbidemError):
                working(repo.runs.open("desk").replay())
        blocks[cid] = block
    assert working(run.replay()) == said


def test_two_runs_are_compared_step_by_step(recorded):
    repo, _ = recorded
    repo.history.undo()
    with repo.runs.start("desk", agent="scripted") as run:
        working(run)
    assert differences(repo.runs.open("desk/1"), repo.runs.open("desk/2")) == []
    repo.history.undo()
    with repo.runs.start("desk", agent="scripted") as run:
        working(run, answer="no")
        run.event("more")
    found = differences(repo.runs.open("desk/1"), repo.runs.open("desk/3"))
    assert [(one.index, one.is_request_changed) for one in found] == [
        (2, False),
        (4, False),
        (5, False),
        (6, True),
        (7, True),
    ]
    assert found[0].before != found[0].after
    assert found[-1].before is None
