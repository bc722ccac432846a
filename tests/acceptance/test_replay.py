"""Kept receipts and runs replay to the same bytes, whatever happens to machine and repository."""

from __future__ import annotations

import importlib.util
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.repo.repository import Repository
from ibidem.repo.sync.export import write_refs
from ibidem.repo.sync.integrate import import_car

HERE = Path(__file__).parent
PROBE, REPLAY, DETERMINISM = (
    runpy.run_path(str(HERE / name))
    for name in ("probe.py", "probe_replay.py", "test_determinism.py")
)
FAST = ("Prescott kernels",)


def model(texts: list[str]) -> str:
    """Stands for a model."""
    return f"{len(texts)} texts, the first begins with {texts[0][:20] if texts else 'nothing'}"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A repository with kept receipts of every lane and a run, and what they have to give."""
    folder = tmp_path_factory.mktemp("original")
    vector = PROBE["vector"](7)
    np.save(folder / "vector.npy", vector)
    with ibidem.init(folder) as repo:
        PROBE["fill"](repo, list(range(PROBE["NODES"])))
        kept = {}
        for question in REPLAY["questions"](vector):
            result = repo.retrieve(**question)
            kept[str(repo.receipts.keep(result.receipt))] = str(result.cid)
        with repo.runs.start(REPLAY["RUN"], agent="scripted") as run:
            said = REPLAY["agent"](run, vector, model)
    return folder, {"kept": kept, "run": said}


@pytest.fixture
def copied(original: tuple[Path, dict[str, Any]], tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    folder, expected = original
    return Path(shutil.copytree(folder, tmp_path / "copy")), expected


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in FAST else pytest.mark.slow)
        for name in DETERMINISM["ENVIRONMENTS"]
    ],
)
def test_no_environment_changes_a_replay(name: str, copied: tuple[Path, dict[str, Any]]) -> None:
    folder, expected = copied
    shutil.rmtree(folder / ".ibidem" / "index")
    environment = DETERMINISM["ENVIRONMENTS"][name]
    assert DETERMINISM["run"]([str(HERE / "probe_replay.py"), str(folder)], environment) == expected


@pytest.mark.parametrize("missing", DETERMINISM["ABSENT"])
def test_no_accelerator_is_needed_for_a_replay(
    missing: tuple[str, ...], copied: tuple[Path, dict[str, Any]]
) -> None:
    if not any(map(importlib.util.find_spec, missing)):
        pytest.skip(f"{missing} is not installed, so nothing would change")
    folder, expected = copied
    code = DETERMINISM["WITHOUT"].format(missing=set(missing))
    assert (
        DETERMINISM["run"](["-c", code, str(HERE / "probe_replay.py"), str(folder)], {}) == expected
    )


def reindexed(repo: Repository) -> None:
    """Builds the index anew."""
    repo.maintenance.reindex()


def compacted(repo: Repository) -> None:
    """Merges the segments of the index."""
    repo.maintenance.reindex(compact=True)


def edited(repo: Repository, count: int = 15) -> None:
    """Commits edits that change every answer."""
    for number in range(count):
        with repo.transaction(author="ada", message=f"edit {number}") as tx:
            tx.add_node(
                "Note", summary=f"retries commit postings memory {number}", key=("new", number)
            )
            node = repo.query(label="Note", limit=1, offset=number % 50)[0]
            tx.update_node(node.id, summary=f"retries back off {number}")


def edited_1_000_times(repo: Repository) -> None:
    """Commits as often as the promise says."""
    edited(repo, 1000)


def collected(repo: Repository) -> None:
    """Collects garbage after a branch of edits is gone and the log is cut."""
    repo.branch("aside")
    repo.switch("aside")
    edited(repo, 20)
    repo.switch("main")
    repo.delete_branch("aside")
    assert repo.maintenance.gc(keep_operations=1).block_count > 0


def pruned(repo: Repository) -> None:
    """Lets the history begin at the head, and collects what was behind it."""
    edited(repo, 5)
    commits = [commit.cid for commit in repo.history.log()]
    repo.history.prune("HEAD")
    repo.maintenance.gc(keep_operations=1)
    assert len(list(repo.history.log())) == 1
    assert not any(repo.core.store.has(cid) for cid in commits)


@pytest.mark.parametrize(
    "change",
    [
        reindexed,
        compacted,
        edited,
        collected,
        pruned,
        pytest.param(edited_1_000_times, marks=pytest.mark.slow),
    ],
    ids=lambda change: change.__name__,
)
def test_nothing_done_later_changes_a_replay(
    change: Callable[[Repository], None], copied: tuple[Path, dict[str, Any]]
) -> None:
    folder, expected = copied
    vector = np.load(folder / "vector.npy")
    with ibidem.open(folder) as repo:
        change(repo)
        assert REPLAY["replayed"](repo, vector) == expected
        assert repo.maintenance.fsck().is_clean


def test_an_empty_repository_replays_what_a_file_brings(
    copied: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, expected = copied
    with ibidem.open(folder) as repo:
        targets = {f"receipts/{one.cid}": one.cid for one in repo.receipts.list()}
        targets[f"runs/{repo.runs.open('desk').name}"] = repo.runs.open("desk").tip
        write_refs(repo.core, targets, tmp_path / "all.car")
    with ibidem.init(tmp_path / "empty") as empty:
        with (tmp_path / "all.car").open("rb") as file:
            import_car(empty.core, file)
        assert REPLAY["replayed"](empty, np.load(folder / "vector.npy")) == expected
        assert empty.maintenance.fsck().is_clean
