"""To find a file with the text of another branch costs no more with thousands of branches."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.ingest.folder_status import (
    OPERATIONS_MAX,
    REFS_MAX,
    files_of_branches,
    folder_status,
)
from ibidem.ingest.ingest import ingest
from ibidem.ingest.stat_table import REMOVED
from ibidem.ingest.working_folder import WorkingFolder
from ibidem.repo.repository import Repository
from ibidem.store.testing import RecordingStore

FORMER = "# Retries\n\nNever.\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A folder with the text of the branch `side`, and the branch `main` as the current one."""
    repo = ibidem.init(tmp_path)
    file = tmp_path / "retries.md"
    for branch, text in (("", "# Retries\n\nThrice.\n"), ("side", FORMER)):
        if branch:
            repo.branch(branch)
            repo.switch(branch)
        file.write_text(text, "utf-8")
        repo.ingest(tmp_path, message="notes")
    repo.switch("main")
    return repo


def add_branches(repo: Repository, count: int) -> None:
    """Adds branches with different documents, none of which was ever current."""
    for number in range(len(repo.branches()), count):
        repo.add(f"text {number}")
        repo.branch(f"b{number}", at="main")


def found(repo: Repository) -> tuple[dict[str, str], int]:
    """Returns the files of other branches, and the number of blocks that were read for them."""
    assert repo.folder is not None
    working = WorkingFolder.open(repo.core, repo.folder.parent)
    assert folder_status(working).changed == ["retries.md"]
    store, counted = repo.core.store, RecordingStore(repo.core.store)
    repo.core.store = counted  # type: ignore[assignment]
    try:
        return files_of_branches(working), counted.read_count
    finally:
        repo.core.store = store


def test_with_few_branches_all_are_compared(repo: Repository) -> None:
    for _ in range(OPERATIONS_MAX):
        repo.add("one more operation")
    assert found(repo)[0] == {"retries.md": "side"}


def test_with_many_branches_those_that_were_current_lately_are_compared(repo: Repository) -> None:
    add_branches(repo, REFS_MAX + 1)
    repo.switch("side")
    repo.switch("main")
    files, few_count = found(repo)
    assert files == {"retries.md": "side"}
    add_branches(repo, 2 * REFS_MAX)
    files, many_count = found(repo)
    assert files == {}
    assert many_count <= few_count <= 4 * OPERATIONS_MAX


def test_a_file_whose_removal_was_committed_is_not_looked_for_again(repo: Repository) -> None:
    assert repo.folder is not None
    folder = repo.folder.parent
    working = WorkingFolder.open(repo.core, folder)
    folder_status(working)
    (folder / "retries.md").unlink()
    with repo.transaction(message="remove") as tx:
        ingest(tx, [folder], root=folder, folder=working)
    working.published(tx.commit)
    looked_for: list[str] = []

    class Recording(type(folder)):  # type: ignore[misc]
        def __truediv__(self, name: str) -> Path:
            looked_for.append(name)
            return folder / name

    working.path = Recording(folder)
    assert working.missing([]) == looked_for == []
    assert working.row("retries.md").base == REMOVED
