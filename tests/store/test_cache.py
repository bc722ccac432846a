"""Copies on this machine: what was deleted from the store does not come back to the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import StorageError
from ibidem.store.cache import BlockCache
from ibidem.store.testing import blocks_of

SECRET, PLAIN = BlobCid.of(b"secret"), BlobCid.of(b"plain")


def looked(folder: Path, mark: bytes | None = None) -> BlockCache:
    cache = BlockCache(folder)
    with cache.looking():
        if mark is not None:
            cache.follow(mark)
    return cache


def on_disk(folder: Path) -> set[Cid]:
    cache = BlockCache(folder)
    try:
        return set(cache.get_many([SECRET, PLAIN]))
    finally:
        cache.close()


def test_what_another_process_destroys_is_not_written_again(tmp_path: Path) -> None:
    first, second = looked(tmp_path), looked(tmp_path)
    first.add(blocks_of(b"secret"))
    second.forget([SECRET])
    first.close()
    second.close()
    assert on_disk(tmp_path) == set()


def test_what_is_read_before_the_next_look_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ibidem.store.cache._PENDING_BYTES_MAX", 0)
    first, second = looked(tmp_path), looked(tmp_path)
    second.forget([SECRET])
    first.add(blocks_of(b"other"))  # here it learns that something was destroyed, not what
    first.add(blocks_of(b"secret"))
    assert on_disk(tmp_path) == set()
    with first.looking():
        first.forget([SECRET])
    first.add(blocks_of(b"plain"))
    assert on_disk(tmp_path) == {PLAIN}
    first.close()
    second.close()


def test_a_look_that_another_deletion_overtakes_is_repeated(tmp_path: Path) -> None:
    first, second = looked(tmp_path), looked(tmp_path)
    second.forget([PLAIN])
    first.forget([PLAIN])  # the same one; it did not see that there may be others
    first.add(blocks_of(b"secret"))
    first.close()
    second.close()
    assert on_disk(tmp_path) == set()


def test_another_mark_empties_the_disk(tmp_path: Path) -> None:
    first = looked(tmp_path, b"1")
    first.add(blocks_of(b"secret", b"plain"))
    first.close()
    same, other = looked(tmp_path, b"1"), looked(tmp_path, b"1")
    same.add(blocks_of(b"third"))
    assert on_disk(tmp_path) == {SECRET, PLAIN}
    other.forget([SECRET], mark=b"2")
    assert on_disk(tmp_path) == {PLAIN}
    same.close()
    other.close()
    looked(tmp_path, b"2").close()
    assert on_disk(tmp_path) == {PLAIN}
    looked(tmp_path, b"3").close()
    assert on_disk(tmp_path) == set()


def test_who_is_killed_while_it_destroys_leaves_no_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = looked(tmp_path, b"1")
    first.add(blocks_of(b"secret"))
    first.close()
    second = looked(tmp_path, b"1")

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("ibidem.store.lmdb.store.LmdbStore.delete", killed)
        with pytest.raises(KeyboardInterrupt):
            second.forget([SECRET], mark=b"2")
    second.close()
    assert on_disk(tmp_path) == {SECRET}
    looked(tmp_path, b"2").close()
    assert on_disk(tmp_path) == set()


def test_a_disk_that_fails_is_passed_over_unless_copies_have_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = looked(tmp_path, b"1")
    first.add(blocks_of(b"secret"))
    first.close()

    def fails(*_: object, **__: object) -> None:
        raise StorageError("input/output error")

    second = BlockCache(tmp_path)
    monkeypatch.setattr("ibidem.store.lmdb.store.LmdbStore.cell", fails)
    assert second.note() is None
    with second.looking(), pytest.raises(StorageError):
        second.follow(b"2")
    assert not second.get_many([SECRET])
    monkeypatch.undo()
    second.follow(b"2")
    second.close()
    assert on_disk(tmp_path) == set()
