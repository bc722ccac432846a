"""Repositories and receipts that earlier versions wrote open, are whole and replay.

Each folder of `repos/` was written once by `make.py` and is never edited.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from ibidem.repo.repository import Repository
from ibidem.repo.sync.clone import clone

from . import make

FROZEN = sorted(path for path in Path(__file__).parent.glob("repos/*") if path.is_dir())


@pytest.fixture(params=FROZEN, ids=lambda one: one.name)
def folder(request: pytest.FixtureRequest) -> Path:
    """A folder that `make.py` wrote."""
    return Path(request.param)


def test_the_first_version_is_frozen() -> None:
    assert [one.name for one in FROZEN][:1] == ["v1"]


def expected(folder: Path, name: str) -> Any:
    return json.loads((folder / f"{name}.json").read_text("ascii"))


def check(repo: Repository, wanted: dict[str, Any]) -> None:
    """Everything is whole and what it was, with the index that it comes with and with a new one."""
    assert make.seen(repo) == wanted
    assert repo.maintenance.fsck(deep=True).is_data_whole
    repo.maintenance.reindex()
    assert make.seen(repo) == wanted


@pytest.mark.parametrize("name", make.NAMES)
def test_a_repository_of_each_version_opens_and_replays(
    folder: Path, name: str, tmp_path: Path
) -> None:
    with make.unpacked(folder / f"{name}.tar.xz", tmp_path) as repo:
        check(repo, expected(folder, name))
        with repo.transaction(message="on top of it") as tx:
            tx.add_node("Doc", summary="added by today's program", key="today")
        assert repo.maintenance.fsck().is_data_whole


@pytest.mark.parametrize("name", make.NAMES)
def test_a_copy_of_each_version_is_taken_in(folder: Path, name: str, tmp_path: Path) -> None:
    (tmp_path / "copy.car").write_bytes(lzma.decompress((folder / f"{name}.car.xz").read_bytes()))
    with clone(tmp_path / "copy.car", tmp_path / "copy") as repo:
        found, wanted = make.seen(repo), expected(folder, name)
        for one in ("view", "signatures"):  # of the copy that it was
            del found[one], wanted[one]
        assert found == wanted
        assert repo.maintenance.fsck(deep=True).is_data_whole


def test_every_feature_is_there(folder: Path) -> None:
    found = {name: expected(folder, name) for name in make.NAMES}
    assert found["library"]["conflicts"]
    assert any(one.endswith(" good") for one in found["library"]["signatures"]["main"])
    assert found["erased"]["erased"]
    assert "erased" in found["erased"]["receipts"].values()
    assert any(name.startswith(f"{make.RUN}/") for name in found["runs"]["runs"])
    assert all(
        len(found[name]["receipts"]) >= 10 for name in ("library", "memory", "runs", "answers")
    )
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert max(sizes) < 1 << 15


@pytest.mark.slow
def test_the_same_program_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        make.write(tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes(), path.name
