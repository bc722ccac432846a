"""An erasure that is cut short, at every step: it is known, and whoever comes next finishes it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError, StorageError
from ibidem.objects.ids import NodeId
from ibidem.objects.text import node_text, text_digest
from ibidem.repo import refs
from ibidem.repo.erasure import destroy, local_files
from ibidem.repo.erasure import erase as erasing
from ibidem.repo.maintenance.report import FaultKind, FsckReport
from ibidem.repo.repository import Repository
from ibidem.repo.state import ERASING_CELL
from ibidem.store.lmdb import file as lmdb_file
from ibidem.store.lmdb.environment import Environment

from .conftest import SECRET
from .secret import NEEDLES, add_secret, places_of

NO_SPACE = OSError(errno.ENOSPC, "no space left")
FAILING: tuple[tuple[Any, str, OSError], ...] = (
    (Environment, "write", StorageError("no space left")),
    (os, "fsync", NO_SPACE),
    (os, "unlink", NO_SPACE),
    (os, "rmdir", NO_SPACE),
    (lmdb_file, "_blank", NO_SPACE),
    (local_files, "blank", NO_SPACE),
)
"""Every call by which an erasure changes what is on the medium, and what it raises."""


class Killed(BaseException):
    """Ends the work where it stands, as a kill does."""


class Medium:
    """Fails once, at one of the calls that change it."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int, *, kills: bool, late: bool) -> None:
        self.count = 0
        self._at, self._late = at, late
        for owner, name, error in FAILING:
            raised = Killed() if kills else error
            patch.setattr(owner, name, self._failing(getattr(owner, name), raised))

    @property
    def has_failed(self) -> bool:
        return self.count >= self._at

    def _failing(self, call: Callable[..., Any], error: BaseException) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            if self.count != self._at:
                return call(*arguments, **options)
            if self._late:
                call(*arguments, **options)
            raise error

        return called


def filled(folder: Path) -> NodeId:
    """Makes a repository with the secret in every kind of file."""
    with ibidem.init(folder) as repo:
        secret = add_secret(repo)
        repo.branch("other")
        repo.retrieve(SECRET)
        with repo.transaction() as tx:
            tx.update_node(secret, summary=f"still about {SECRET}")
        repo.retrieve(SECRET)
        node = repo.at().node(secret)
        text = node_text(node, repo.at().config.fields, repo.core.content_of(node))
        vector = np.full(4, 0.123456789, np.float32)
        repo.core.vector_cache.add(bytes(32), {text_digest(text): vector})
        cache = folder / ".ibidem" / "cache"
        cache.mkdir()
        (cache / "answer").write_text(SECRET)
    assert len(places_of(folder, *NEEDLES)) > 4
    return secret


def erase_again(folder: Path, repo: Repository, secret: NodeId) -> None:
    report = repo.maintenance.erase(secret)
    assert report.nodes == (secret,)
    assert report.erasures


def open_again(folder: Path, repo: Repository, secret: NodeId) -> None:
    repo.close()
    ibidem.open(folder).close()


def collect(folder: Path, repo: Repository, secret: NodeId) -> None:
    repo.maintenance.gc()


def finish(folder: Path, repo: Repository, secret: NodeId) -> None:
    repo.maintenance.finish_erasing()


Way = Callable[[Path, Repository, NodeId], None]
WAYS: tuple[Way, ...] = (erase_again, open_again, collect, finish)


def fail_at_every_step(folder: Path, way: Callable[[int], tuple[Way, bool]]) -> None:
    """Fails at each step in turn, by an error or a kill, until one erasure meets no failure."""
    secret = filled(folder / "whole")
    at, finished = 0, 0
    has_failed = True
    while has_failed:
        at += 1
        come_next, late = way(at)
        copy = folder / str(at)
        shutil.copytree(folder / "whole", copy)
        repo = ibidem.open(copy)
        with pytest.MonkeyPatch.context() as patch:
            medium = Medium(patch, at, kills=(at + late) % 2 == 0, late=late)
            with suppress(StorageError, Killed):  # no other error comes out
                repo.maintenance.erase(secret, reason="asked")
            has_failed = medium.has_failed
        is_published = repo.core.store.cell(ERASING_CELL) is not None
        if is_published or come_next is erase_again:
            finished += is_published
            come_next(copy, repo, secret)
            assert places_of(copy, *NEEDLES) == []
        repo.close()
        with ibidem.open(copy) as opened:
            assert opened.maintenance.fsck().is_clean
        shutil.rmtree(copy)
    assert finished > 20


@pytest.mark.slow
def test_an_erasure_that_fails_at_any_step_is_finished_by_whoever_comes_next(
    tmp_path: Path,
) -> None:
    fail_at_every_step(tmp_path, lambda at: (WAYS[at // 2 % len(WAYS)], at % 3 == 0))


@pytest.mark.slow
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("way", WAYS)
def test_an_erasure_that_fails_at_any_step_is_finished_by_each_who_may_come_next(
    tmp_path: Path, way: Way, late: bool
) -> None:
    fail_at_every_step(tmp_path, lambda _: (way, late))


def cut_short(folder: Path, at: int) -> NodeId:
    """Makes a repository where an erasure failed at its n-th durable step; returns the node."""
    secret = filled(folder)
    with ibidem.open(folder) as repo, pytest.MonkeyPatch.context() as patch:
        calls: list[str] = []
        for name in ("drop_derived", "delete", "scrub"):
            owner = repo.core if name == "drop_derived" else repo.core.store

            def fails(*_: object, name: str = name) -> None:
                raise StorageError(f"no {name}")

            if len(calls) == at:
                patch.setattr(type(owner), name, fails)
            calls.append(name)
        with pytest.raises(StorageError):
            repo.maintenance.erase(secret, reason="asked")
    return secret


def checked(folder: Path) -> FsckReport:
    with ibidem.open(folder, finish_erasing=False) as repo:
        return repo.maintenance.fsck()


def test_what_is_still_readable_after_a_failure_is_named(tmp_path: Path) -> None:
    secret = cut_short(tmp_path, 0)
    report = checked(tmp_path)
    assert {fault.kind for fault in report.faults} == {FaultKind.UNFINISHED}
    assert report.is_data_whole
    assert not report.is_clean
    node, *files = report.faults
    assert node.where == f"erasure of node {secret}"
    assert "blocks still readable: 6" in node.detail
    assert {Path(fault.where).parts[0] for fault in files} == {"cache", "index", "receipts"}
    assert all("run 'repo erase --finish'" in fault.detail for fault in report.faults)
    assert places_of(tmp_path, *NEEDLES)


def test_deleted_records_that_were_not_overwritten_are_named(tmp_path: Path) -> None:
    cut_short(tmp_path, 2)
    (fault,) = checked(tmp_path).faults
    assert fault.kind is FaultKind.UNFINISHED
    assert "no block is left" in fault.detail
    assert " 0 bytes" not in fault.detail
    assert places_of(tmp_path, *NEEDLES) == [".ibidem/blocks/data.mdb"]


def test_a_repository_whose_erasure_cannot_be_finished_opens_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_short(tmp_path, 1)
    with monkeypatch.context() as patch:
        Medium(patch, 1, kills=False, late=False)
        with ibidem.open(tmp_path) as repo:
            assert not repo.retrieve(SECRET).items
            assert repo.core.store.cell(ERASING_CELL) is not None
            with pytest.raises(InvalidInputError):
                add_secret(repo)
            report = repo.maintenance.fsck()
            assert {fault.kind for fault in report.faults} == {FaultKind.UNFINISHED}
    with ibidem.open(tmp_path, finish_erasing=False) as repo:
        assert repo.maintenance.repair(report).is_clean
    assert places_of(tmp_path, *NEEDLES) == []


def test_who_opens_it_meanwhile_leaves_the_work_to_the_one_who_is_at_it(tmp_path: Path) -> None:
    cut_short(tmp_path, 1)
    with (
        ibidem.open(tmp_path, finish_erasing=False) as repo,
        destroy._lock(repo.core, is_needed=True),
        ibidem.open(tmp_path) as other,
    ):
        assert other.core.store.cell(ERASING_CELL) is not None
        assert repo.maintenance.finish_erasing()
    assert places_of(tmp_path, *NEEDLES) == []


def test_an_open_of_a_whole_repository_reads_one_cell_more_and_no_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    monkeypatch.setattr(Environment, "write", None)
    reads: list[object] = []
    read = Environment.read
    monkeypatch.setattr(
        Environment, "read", lambda self, work: reads.append(work) or read(self, work)
    )
    ibidem.open(tmp_path).close()
    assert len(reads) == 1


def test_erasing_what_is_erased_changes_nothing_and_says_what_was_done(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        first = repo.maintenance.erase(secret, reason="asked")
        view = repo.core.view
        again = repo.maintenance.erase(secret)
        assert (again.erasures, again.block_count, again.commits) == (first.erasures, 0, {})
        assert repo.core.view == view


def test_erasing_again_takes_it_out_of_a_branch_that_another_program_left_at_it(
    tmp_path: Path,
) -> None:
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        old = repo.head
        repo.maintenance.erase(secret, reason="asked")
        repo.core.operation_log.change(
            lambda state, buffer: replace(
                state.view, refs=refs.changed(state.view, {"heads/old": old}, buffer)
            ),
            author="",
            time=None,
            description="create heads/old",
        )
        assert list(repo.maintenance.erase(secret).commits) == ["heads/old"]
        assert [node.summary for node in repo.at("old").nodes()] == ["harmless"]
        assert repo.maintenance.fsck().is_clean


def test_what_a_torn_receipt_still_says_is_overwritten(tmp_path: Path) -> None:
    """As an overwriting that was stopped in the middle, or a crash, leaves one."""
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        repo.retrieve(SECRET)
        log = tmp_path / ".ibidem" / "receipts" / "log"
        data = bytearray(log.read_bytes())
        data[:60] = bytes(60)
        log.write_bytes(data)
        assert places_of(log.parent, *NEEDLES)
        repo.maintenance.erase(secret)
    assert places_of(tmp_path, *NEEDLES) == []


def test_an_erasure_finishes_another_that_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        with repo.transaction() as tx:
            other = tx.add_node("Doc", summary="another one that has to go")
        repo.retrieve(SECRET)
        with monkeypatch.context() as patch:
            patch.setattr(erasing, "finish", lambda *_: True)
            repo.maintenance.erase(secret)
        assert places_of(tmp_path, *NEEDLES)
        repo.maintenance.erase(other)
        assert repo.maintenance.fsck().is_clean
    assert places_of(tmp_path, *NEEDLES) == []
