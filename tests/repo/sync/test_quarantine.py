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
from ibidem.store.testing import RecordingStore


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


def test_blocks_of_a_clone_are_written_in_batches_and_refused_ones_go_again(
    tmp_path: Path,
) -> None:
    with ibidem.init(tmp_path) as repo:
        before = set(repo.core.store.cids())
        bodies = [b"%d" % number * 100 for number in range(40)]
        blocks = {BlobCid.of(body): body for body in bodies}
        accepted = set(list(blocks)[:30])
        store = RecordingStore(repo.core.store)
        repo.core.store = store  # type: ignore[assignment]
        with Quarantine(repo.core, memory_bytes_max=1_500, is_unseen=True) as found:
            found.take(blocks.items())
            assert store.publish_count > 5
            assert store.size_bytes <= store.publish_count * 1_500
            assert store.block_count + len(found._pending) == len(found) == 40
            assert not list((tmp_path / ".ibidem").glob("quarantine-*"))
            assert {cid: found[cid] for cid in found} == blocks
            rest = found.accept(accepted.__contains__)
            assert set(rest) == accepted & set(found._pending)
            store.put(dict(rest))
        assert set(store.cids()) - before == accepted  # type: ignore[operator]
        assert all(store.get(cid) == blocks[cid] for cid in accepted)
