"""What lies in the folder of a repository after every feature was used is in one table."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.cli.options.settings import write_local
from ibidem.cli.session import SETTINGS_FILE
from ibidem.embed.protocol import identity
from ibidem.memory.recall.rerank_cache import remembered
from ibidem.objects.cid import BlobCid
from ibidem.repo.erasure.local_files import LOCAL_FILES, row_of, unlisted
from ibidem.repo.sync.files import token_in
from ibidem.repo.sync.quarantine import Quarantine
from ibidem.repo.sync.remotes import address_of

from .conftest import EveryCommand

SHARED = {"copies/*", "log/*", "local/erasures"}
"""Files that only a repository elsewhere has here; tests/repo/test_shared.py has one."""


class Lengths:
    """An embedder and a reranker in one."""

    name = "lengths"
    dim = 1
    digest = identity({"lengths": 1})

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[len(text)] for text in texts], np.float32)

    def rerank(self, text: str, rendered: Sequence[str]) -> Sequence[float]:
        return [float(len(one)) for one in rendered]


@pytest.fixture
def used(every_command: EveryCommand, tmp_path: Path) -> Path:
    """The folder of a repository in which everything was done that leaves a file."""
    shutil.copytree(every_command.folder, tmp_path, dirs_exist_ok=True)
    folder = tmp_path / ".ibidem"
    with ibidem.open(tmp_path) as repo:
        repo.embed(Lengths())
        remembered(repo.core, Lengths()).rerank("what?", ["this"])
        (folder / "local" / "slow.jsonl").write_text("{}\n")
        repo.sync.remotes.add("elsewhere", address_of("/srv"))
        token_in(folder / "local" / "serve-token")
        write_local(folder / SETTINGS_FILE, "limit", 5)
        held = Quarantine(repo.core, memory_bytes_max=0)
        held.take([(BlobCid.of(b"x"), b"x")])
        left = next(folder.glob("quarantine-*"))
        shutil.copytree(left, folder / "quarantine-left")
        held.close()
    return folder


def test_every_file_has_a_row_and_every_row_a_file(used: Path) -> None:
    paths = [path.relative_to(used).as_posix() for path in used.rglob("*") if path.is_file()]
    assert unlisted(used) == []
    rows = {row_of(path).pattern for path in paths}
    assert rows == {row.pattern for row in LOCAL_FILES} - SHARED
