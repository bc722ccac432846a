"""Two programs share the files of an index: none takes away what the other has just named."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import ibidem
from ibidem.index import manifest, retention, snapshot_registry
from ibidem.index.manifest import Manifest
from ibidem.index.segments import store
from ibidem.index.tuning import Tuning
from ibidem.objects.errors import ErrorKind, StorageError
from ibidem.store.lock import writer_lock


def test_nothing_is_swept_while_a_manifest_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, refused = snapshot_registry.write_manifest, []
    monkeypatch.setattr(snapshot_registry, "REMOVE_SECONDS", 0.0)
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:

        def written(path: Path, found: Manifest) -> int:
            with pytest.raises(StorageError) as error:
                other.maintenance.gc(keep_operations=1)
            refused.append(error.value.kind)
            return write(path, found)

        with repo.transaction() as tx:
            tx.add_node("Doc", summary="a summary")
        monkeypatch.setattr(snapshot_registry, "write_manifest", written)
        assert repo.retrieve("summary").items
        assert refused == [ErrorKind.LOCKED]
        other.maintenance.gc(keep_operations=1)
        assert repo.maintenance.fsck().faults == ()
        assert repo.core.search_index.current.remembered()


def test_who_cannot_get_the_lock_answers_without_remembering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_registry, "REMEMBER_SECONDS", 0.0)
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="a summary")
        (tmp_path / ".ibidem/index").mkdir(exist_ok=True)
        with writer_lock(tmp_path / ".ibidem/index/lock", timeout_seconds=0.0):
            assert repo.retrieve("summary").items
        assert repo.core.search_index.current.remembered() == []
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="another summary")
        assert len(repo.retrieve("summary").items) == 2
        assert len(repo.core.search_index.current.remembered()) == 1
        assert repo.maintenance.fsck().faults == ()


class Killed(BaseException):
    """Stands for the end of the process: nothing below catches it."""


@pytest.mark.parametrize("step", range(1, 34))
def test_a_process_may_end_before_any_file_is_written_or_unlinked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    done = 0

    def before(act: Callable[..., None]) -> Callable[..., None]:
        def stopped(*arguments: object, **options: object) -> None:
            nonlocal done
            done += 1
            if done == step:
                raise Killed
            act(*arguments, **options)

        return stopped

    monkeypatch.setattr(retention, "SNAPSHOTS_MAX", 2)
    with ibidem.init(tmp_path) as repo:
        repo.core.search_index.tuning = Tuning(steps_unwritten=0)
        with monkeypatch.context() as patched, suppress(Killed):
            patched.setattr(snapshot_registry, "unlink", before(store.unlink))
            patched.setattr(store, "unlink", before(store.unlink))
            patched.setattr(store, "write_file", before(store.write_file))
            patched.setattr(manifest, "write_file", before(store.write_file))
            for number in range(5):
                with repo.transaction() as tx:
                    tx.add_node("Doc", summary=f"a summary {number}")
                assert repo.retrieve("summary").items
            repo.maintenance.reindex()
        assert done >= step, "there are fewer steps than this test takes"
        assert repo.maintenance.fsck().faults == ()
    with ibidem.open(tmp_path) as repo:
        assert repo.retrieve("summary").items


def test_a_manifest_that_another_program_has_replaced_is_read_again(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        for count in (300, 1):
            with repo.transaction() as tx:
                for number in range(count):
                    tx.add_node("Doc", summary=f"a summary {count} {number}")
            assert repo.retrieve("summary").items
        other.maintenance.gc()
        before = set((tmp_path / ".ibidem/index/segments").iterdir())
        repo.maintenance.reindex()
        assert not before & set((tmp_path / ".ibidem/index/segments").iterdir())
        other.maintenance.gc()
        assert repo.maintenance.fsck().faults == ()
