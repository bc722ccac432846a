"""The processes that help fsck: the same report with them, without them, and where they fail."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.objects.root import EDGES, NODES
from ibidem.objects.tree import Tree
from ibidem.repo.maintenance import block_checks, workers
from ibidem.repo.maintenance.fsck import fsck
from ibidem.repo.maintenance.report import FaultKind, FsckReport
from ibidem.repo.repository import Repository

from .conftest import fill


@pytest.fixture
def repo(tmp_path: Path):
    with ibidem.init(tmp_path / "r") as made:
        fill(made, count=40)
        yield made


def checked(repo: Repository, monkeypatch: pytest.MonkeyPatch, processors: int) -> FsckReport:
    monkeypatch.setattr(workers, "_BLOCKS_PER_CHILD", 1)
    monkeypatch.setattr(workers, "_processor_count", lambda: processors)
    monkeypatch.setattr(block_checks, "_VALUES_AT_ONCE", 4)
    return fsck(repo.core)


def test_the_report_is_the_same_with_any_number_of_processors(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
):
    whole = checked(repo, monkeypatch, 1)
    assert whole.is_clean
    assert [checked(repo, monkeypatch, count) for count in (2, 9)] == [whole] * 2
    graph, store = repo.at().graph, repo.core.store
    lost = [
        cid for tree in (NODES, EDGES) for _, cid in Tree(store, graph.root.tree(*tree)).items()
    ]
    store.delete([*lost[::7], graph.root.tree(*EDGES)])
    damaged = checked(repo, monkeypatch, 1)
    assert {fault.kind for fault in damaged.faults} >= {FaultKind.MISSING}
    assert len(damaged.faults) > 6
    assert [checked(repo, monkeypatch, count) for count in (2, 9)] == [damaged] * 2


def test_children_do_the_work(repo: Repository, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the parent did it")

    monkeypatch.setattr(workers, "plain_values", refuse)
    monkeypatch.setattr("ibidem.repo.maintenance.fsck.check_roots", refuse)
    assert checked(repo, monkeypatch, 4).is_clean


def test_a_single_child_shares_the_values_with_the_parent(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
):
    counts = []
    for processors in (1, 2):
        with monkeypatch.context() as patch:
            calls = []
            real = workers.plain_values
            patch.setattr(workers, "plain_values", lambda *a, c=calls, r=real: c.append(a) or r(*a))
            assert checked(repo, patch, processors).is_clean
        counts.append(len(calls))
    assert 0 < counts[1] <= counts[0] / 2


def test_a_child_that_fails_changes_nothing(repo: Repository, monkeypatch: pytest.MonkeyPatch):
    whole = checked(repo, monkeypatch, 1)
    monkeypatch.setattr(workers, "_START", "raise SystemExit(3)")
    assert checked(repo, monkeypatch, 4) == whole
