"""Long work shows itself: a bar, a line every few seconds, or nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import ibidem
from ibidem.cli.render import output
from ibidem.cli.render.progress import Meter
from ibidem.repo.maintenance.folder import fsck_folder
from ibidem.repo.sync.clone import clone_from
from ibidem.repo.sync.remotes import address_of

from .conftest import Run

Calls = list[tuple[str, int, int | None]]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(output, "note", found.append)
    return found


def meter(times: list[float], *, is_shown: bool = True, is_terminal: bool = False) -> Meter:
    return Meter(is_shown, is_terminal, is_colored=False, clock=lambda: times.pop(0))


def test_a_log_gets_a_line_every_few_seconds_with_an_estimate(lines: list[str]):
    show = meter([0.0, 0.5, 5.0, 7.0, 10.0, 11.0])
    for done in (0, 100, 1000, 1400, 2000, 8000):
        show("indexing nodes", done, 8000)
    assert lines == [
        "indexing nodes: 1,000 of 8,000 (12 %), about 35 s left",
        "indexing nodes: 2,000 of 8,000 (25 %), about 30 s left",
    ]


def test_an_unknown_total_has_no_estimate(lines: list[str]):
    show = meter([0.0, 1.5])
    show("receiving blocks", 0, None)
    show("receiving blocks", 7000, None)
    assert lines == ["receiving blocks: 7,000"]


def test_short_work_is_silent_and_each_work_has_its_own_second(lines: list[str]):
    show = meter([0.0, 0.9, 5.5, 6.2])
    for work, done in (("a", 0), ("a", 5), ("b", 0), ("b", 5)):
        show(work, done, 10)
    assert show._bar is None
    assert lines == []


def test_a_terminal_gets_a_bar_that_ends_with_the_work():
    show = meter([0.0, 2.0, 3.0], is_terminal=True)
    show("checking blocks", 0, 10)
    show("checking blocks", 4, 10)
    assert show._bar is not None
    show("checking blocks", 10, 10)
    assert show._bar is None


def test_quiet_shows_nothing_and_reads_no_clock(lines: list[str]):
    show = meter([], is_shown=False)
    show("indexing nodes", 0, 10)
    assert lines == []


def test_every_command_on_a_repository_takes_quiet(notes: Run):
    assert notes("retrieve", "deadline", "--quiet").stdout == notes("retrieve", "deadline").stdout
    notes("-q", "fsck")


def test_all_long_work_reports_itself_and_ends(tmp_path: Path):
    calls: Calls = []

    def seen() -> set[str]:
        """Returns the names of the work since the last call, each begun at 0 and ended."""
        found = {work for work, _, _ in calls}
        for name in found:
            own = [call for call in calls if call[0] == name]
            assert own[0][1] == 0, own
            assert own[-1][1] == own[-1][2], own
        calls.clear()
        return found

    def note(work: str, done: int, total: int | None) -> None:
        calls.append((work, done, total))

    with ibidem.init(tmp_path / "a") as repo:
        repo.show_progress(note)
        with repo.transaction(author="ada") as tx:
            one, two = (tx.add_node("Note", summary=text) for text in ("mill", "store"))
            tx.add_edge(one, "near", two)
            tx.set_vector(one, model="m", vector=[1.0, 0.0])
        repo.retrieve("mill")
        assert seen() == {"indexing nodes", "indexing edges", "indexing vectors"}
        for read_every_text in (
            repo.maintenance.audit_texts,
            repo.maintenance.audit_vectors,
            partial(repo.maintenance.missing_vectors, "m"),
        ):
            read_every_text()
            assert seen() == {"reading texts"}
        repo.maintenance.gc()
        assert seen() == {"marking blocks", "deleting blocks"}
        assert repo.maintenance.fsck().is_clean
        assert seen() == {"checking blocks"}
        repo.sync.export(tmp_path / "a.car")
        assert seen() == {"writing blocks"}
    with ibidem.init(tmp_path / "b") as repo:
        repo.show_progress(note)
        repo.sync.load(tmp_path / "a.car")
        assert seen() == {"reading blocks", "checking blocks"}
    with ibidem.init(tmp_path / "c") as repo:
        repo.show_progress(note)
        repo.sync.remotes.add("a", address_of(str(tmp_path / "a")))
        repo.sync.fetch("a")
        assert seen() == {"receiving blocks", "checking blocks"}
        repo.sync.pull("a")
        with repo.transaction(author="bob") as tx:
            tx.add_node("Note", summary="another")
        seen()
        repo.sync.push("a", ["main"])
        assert "sending blocks" in seen()
    clone_from(address_of(str(tmp_path / "a")), tmp_path / "d", progress=note)
    assert seen() == {"receiving blocks", "checking blocks"}
    fsck_folder(tmp_path / "d", progress=note)
    assert seen() == {"checking blocks"}
