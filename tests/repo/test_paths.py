"""What callers give for files: each wrong argument and each failing medium is an error of ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import IbidemError, InvalidInputError, NotFoundError, StorageError
from ibidem.repo.maintenance.folder import fsck_folder
from ibidem.repo.repository import Repository
from ibidem.repo.sync.files import read_token, token_in
from ibidem.repo.sync.remotes import RemoteAddress, address_of
from ibidem.testing import golden

NO_PATHS = (7, None, b"bytes", "", "a\0b", ["list"])


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    found = ibidem.init(tmp_path / "repo")
    with found.transaction() as tx:
        tx.add_node("Doc", summary="the mill calculates")
    return found


def recorded(repo: Repository) -> Any:
    with repo.runs.start("nightly") as run:
        run.event("tool", lambda: 1)
    return repo.runs.list()


CALLS: dict[str, Callable[[Repository, Any], object]] = {
    "init": lambda _, path: ibidem.init(path),
    "open": lambda _, path: ibidem.open(path),
    "clone from": lambda repo, path: ibidem.clone(path, repo.folder / "new"),  # type: ignore[operator]
    "clone to": lambda repo, path: ibidem.clone(repo.folder.parent, path),  # type: ignore[union-attr]
    "export": lambda repo, path: repo.sync.export(path),
    "export_part": lambda repo, path: repo.sync.export_part(path),
    "import": lambda repo, path: repo.sync.load(path),
    "import_run": lambda repo, path: repo.runs.load(path),
    "address_of": lambda _, path: address_of(path),
    "token file": lambda _, path: address_of("http://127.0.0.1:1", token_file=path or ""),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("path", NO_PATHS, ids=repr)
def test_what_is_no_path_is_refused_by_name(repo: Repository, name: str, path: Any) -> None:
    with pytest.raises(InvalidInputError, match="expected"):
        CALLS[name](repo, path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("init", StorageError),
        ("open", NotFoundError),
        ("clone from", NotFoundError),
        ("clone to", StorageError),
        ("export", StorageError),
        ("export_part", StorageError),
        ("import", NotFoundError),
        ("import_run", NotFoundError),
    ],
)
def test_a_path_below_a_file_is_an_error_of_ours(
    repo: Repository, tmp_path: Path, name: str, expected: type[IbidemError]
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(expected):
        CALLS[name](repo, tmp_path / "file" / "below")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "repo"]


@pytest.mark.parametrize("name", ["export", "export_part", "import", "import_run", "clone from"])
def test_a_name_too_long_for_the_system_is_an_error_of_ours(
    repo: Repository, tmp_path: Path, name: str
) -> None:
    with pytest.raises((StorageError, NotFoundError)):
        CALLS[name](repo, tmp_path / ("x" * 300))


def test_a_remote_takes_an_address_and_nothing_else(repo: Repository) -> None:
    wrong: Any
    for wrong in ("/path", Path("/path"), None, {"location": "/path"}):
        with pytest.raises(InvalidInputError, match="expected a RemoteAddress") as caught:
            repo.sync.remotes.add("d", wrong)
        assert "address_of" in str(caught.value.hint)
    for wrong in (None, 7, ["d"], "D", ""):
        with pytest.raises(InvalidInputError, match="remote: got"):
            repo.sync.remotes.add(wrong, address_of("/path"))
        with pytest.raises(InvalidInputError, match="remote: got"):
            repo.sync.remotes.remove(wrong)
    assert repo.sync.remotes.all() == {}
    with pytest.raises(InvalidInputError, match="location: got"):
        RemoteAddress(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="token_file: got"):
        RemoteAddress("/path", 7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="is_plain_allowed: got"):
        RemoteAddress("/path", None, "yes")  # type: ignore[arg-type]
    repo.sync.remotes.add("d", address_of(Path("/path")))
    assert repo.sync.remotes.get("d") == RemoteAddress("/path")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do all")
def test_files_that_may_not_be_touched_are_errors_of_ours(repo: Repository, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    for name in ("export", "import", "clone from"):
        with pytest.raises(StorageError):
            CALLS[name](repo, locked / "file")
    locked.chmod(0o700)


def test_a_token_is_whole_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_token(tmp_path / "token")
    with pytest.raises(StorageError):
        token_in(tmp_path / "missing" / "token")
    with pytest.raises(InvalidInputError):
        read_token(tmp_path)
    token = token_in(tmp_path / "token")
    assert token_in(tmp_path / "token") == read_token(tmp_path / "token") == token
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_files_in_the_place_of_folders_are_errors_of_ours(repo: Repository) -> None:
    assert repo.folder is not None
    for name in ("keys", "local"):
        (repo.folder / name).write_text("in the way")
    for work in (
        repo.keys.ring.names,
        repo.keys.ring.trust,
        lambda: repo.keys.ring.generate("ada"),
        repo.sync.remotes.all,
        lambda: repo.sync.remotes.add("one", address_of("/one")),
    ):
        with pytest.raises(StorageError):
            work()
    (repo.folder / "keys").unlink()
    (repo.folder / "keys").mkdir()
    (repo.folder / "keys" / "trusted").mkdir()
    assert any("keys" in fault.where for fault in fsck_folder(repo.folder.parent).faults)


def test_a_golden_file_that_cannot_be_written_or_read_is_an_error_of_ours(tmp_path: Path) -> None:
    empty = golden.Golden("test", {})
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError):
        empty.write(tmp_path / "file" / "golden")
    with pytest.raises(StorageError):
        golden.read(tmp_path)
    empty.write(tmp_path / "new" / "golden")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["golden"]
