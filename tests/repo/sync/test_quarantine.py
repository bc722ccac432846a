"""Blocks that wait on disk: no other import takes their folder for one that nobody has."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.cid import BlobCid
from ibidem.objects.errors import ErrorKind, StorageError
from ibidem.repo.erasure import quarantines
from ibidem.repo.sync.quarantine import Quarantine


def test_a_folder_that_was_just_made_is_not_swept_by_another_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, refused = tempfile.mkdtemp, []
    block = b"from elsewhere"
    monkeypatch.setattr(quarantines, "_CLAIM_SECONDS", 0.0)
    with (
        ibidem.init(tmp_path) as repo,
        Quarantine(repo.core, memory_bytes_max=0) as first,
        Quarantine(repo.core, memory_bytes_max=0) as second,
    ):

        def made(**options: object) -> str:
            monkeypatch.setattr(tempfile, "mkdtemp", make)
            folder = make(**options)  # type: ignore[call-overload]
            with pytest.raises(StorageError) as error:
                second.take([(BlobCid.of(block), block)])
            refused.append(error.value.kind)
            return str(folder)

        monkeypatch.setattr(tempfile, "mkdtemp", made)
        first.take([(BlobCid.of(block), block)])
        assert refused == [ErrorKind.LOCKED]
        second.take([(BlobCid.of(block), block)])
        assert first[BlobCid.of(block)] == second[BlobCid.of(block)] == block
    assert not list((tmp_path / ".ibidem").glob("quarantine-*"))


def test_what_a_killed_import_has_left_goes_with_the_next(tmp_path: Path) -> None:
    block = b"from elsewhere"
    with ibidem.init(tmp_path) as repo:
        left = tmp_path / ".ibidem" / "quarantine-left"
        (left / "blocks").mkdir(parents=True)
        with Quarantine(repo.core, memory_bytes_max=0) as found:
            found.take([(BlobCid.of(block), block)])
            assert not left.exists()
