"""A large commit that ends between its batches: nobody sees it, and what it left goes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import StorageError
from ibidem.repo.erasure import erase as erasing
from ibidem.repo.erasure.find_copies import Copies
from ibidem.repo.repository import Repository
from ibidem.repo.transaction.transaction import Transaction
from ibidem.store.lmdb.environment import DATA_FILE, Environment
from ibidem.store.lmdb.store import LmdbStore
from ibidem.store.protocol import PARTIAL_CELL

SECRET = "the colour of the door is heliotrope"


def noted(text: str, tx: Transaction, number: int) -> None:
    tx.add_node("Note", summary=f"{text} {number}", key=number, replace=True)


add_known, add_secret = partial(noted, "what is known"), partial(noted, SECRET)


def add_many(repo: Repository, add: Callable[[Transaction, int], None]) -> None:
    with repo.transaction(message="many") as tx:
        for number in range(20):
            add(tx, number)


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    with ibidem.init(tmp_path / "kb") as repo:
        add_many(repo, add_known)
        yield repo


def cut_short(
    repo: Repository,
    monkeypatch: pytest.MonkeyPatch,
    add: Callable[[Transaction, int], None] = add_secret,
) -> None:
    """Makes a commit of the secret fail after the first batches of its blocks."""
    store, write, called = repo.core.store, Environment.write, []
    assert isinstance(store, LmdbStore)

    def failing(environment: Environment, work: Callable[[Any], Any]) -> Any:
        called.append(work)
        if len(called) == 5:
            raise StorageError("no space left")
        return write(environment, work)

    store.batch_count = 4
    with monkeypatch.context() as patch:
        patch.setattr(Environment, "write", failing)
        with pytest.raises(StorageError):
            add_many(repo, add)


@pytest.fixture
def unreachable_count(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> int:
    """Cuts a commit of the secret short, and returns how many blocks of it are stored."""
    head, report = repo.head, repo.maintenance.fsck()
    cut_short(repo, monkeypatch)
    assert repo.head == head
    after = repo.maintenance.fsck()
    assert after.is_clean
    return after.unreachable_count - report.unreachable_count


def test_what_it_left_is_unreferenced_and_collected(
    repo: Repository, unreachable_count: int
) -> None:
    assert unreachable_count == 16
    assert all(node.summary.startswith("what is known") for node in repo.at().nodes())
    assert repo.maintenance.gc().block_count == 16
    assert PARTIAL_CELL not in repo.core.store.cells()
    add_many(repo, add_secret)
    assert repo.maintenance.fsck().is_clean


def test_what_it_left_is_erased_with_its_nodes(
    repo: Repository, unreachable_count: int, tmp_path: Path
) -> None:
    data = tmp_path / "kb" / ".ibidem" / "blocks" / DATA_FILE
    assert unreachable_count
    assert SECRET.encode() in data.read_bytes()
    repo.maintenance.erase([node.id for node in repo.at().nodes()])
    assert SECRET.encode() not in data.read_bytes()
    assert repo.maintenance.fsck().is_clean


def test_what_it_left_after_an_erasure_had_looked_is_erased_too(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head does not show it, so the publication sets a cell."""
    find = erasing.find_copies

    def found(*given: Any) -> Copies:
        copies = find(*given)
        monkeypatch.setattr(erasing, "find_copies", find)
        cut_short(other, monkeypatch)
        return copies

    with ibidem.open(tmp_path / "kb") as other:
        monkeypatch.setattr(erasing, "find_copies", found)
        repo.maintenance.erase([node.id for node in repo.at().nodes()])
        data = tmp_path / "kb" / ".ibidem" / "blocks" / DATA_FILE
        assert SECRET.encode() not in data.read_bytes()
        assert repo.maintenance.fsck().is_clean


def test_content_that_it_left_without_its_node_is_erased_too(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by its node nor by its text can it be found, so all unreferenced blocks go; also if
    another publication in batches has succeeded since."""

    def add(tx: Transaction, number: int) -> None:
        content = f"{SECRET} {number} ".encode() * 40_000
        tx.add_node("Note", content=content, key=number, replace=True)

    nodes = [node.id for node in repo.at().nodes()]
    cut_short(repo, monkeypatch, add)
    data = tmp_path / "kb" / ".ibidem" / "blocks" / DATA_FILE
    assert SECRET.encode() in data.read_bytes()
    add_many(repo, partial(noted, "what is known now"))
    repo.maintenance.erase(nodes)
    assert SECRET.encode() not in data.read_bytes()
    assert PARTIAL_CELL not in repo.core.store.cells()
    assert repo.maintenance.fsck().is_clean


@pytest.mark.parametrize("how", ["open", "gc"])
def test_content_without_its_node_is_erased_by_who_finishes_an_erasure(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """As the docs say of an erasure that was cut short itself."""

    def add(tx: Transaction, number: int) -> None:
        content = f"{SECRET} {number} ".encode() * 40_000
        tx.add_node("Note", content=content, key=number, replace=True)

    cut_short(repo, monkeypatch, add)
    with monkeypatch.context() as patch:
        patch.setattr(erasing, "finish", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        worker = os.fork()
        if not worker:
            repo.maintenance.erase([node.id for node in repo.at().nodes()])
            os._exit(1)
        assert os.WIFSIGNALED(os.waitpid(worker, 0)[1])
    data = tmp_path / "kb" / ".ibidem" / "blocks" / DATA_FILE
    assert SECRET.encode() in data.read_bytes()
    if how == "open":
        ibidem.open(tmp_path / "kb").close()
    else:
        repo.maintenance.gc()
    assert SECRET.encode() not in data.read_bytes()
    assert repo.core.store.cells().keys() == {"head", "origin"}
    assert repo.maintenance.fsck().is_clean
