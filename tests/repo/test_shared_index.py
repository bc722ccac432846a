"""Two programs share the files of an index: none takes away what the other has just named."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.index import catalog
from ibidem.index.manifest import Manifest


def test_a_segment_that_is_swept_while_its_manifest_is_written_is_put_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = catalog.write_manifest
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:

        def written(path: Path, manifest: Manifest) -> int:
            monkeypatch.undo()
            other.collect_garbage(keep_operations=1)
            return write(path, manifest)

        with repo.transaction() as tx:
            tx.add_node("Doc", summary="a summary")
        monkeypatch.setattr(catalog, "write_manifest", written)
        assert repo.retrieve("summary").items
        assert repo.fsck().faults == ()


def test_a_manifest_that_another_program_has_replaced_is_read_again(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        for count in (300, 1):
            with repo.transaction() as tx:
                for number in range(count):
                    tx.add_node("Doc", summary=f"a summary {count} {number}")
            assert repo.retrieve("summary").items
        other.collect_garbage()
        before = set((tmp_path / ".ibidem/index/segments").iterdir())
        repo.reindex()
        assert not before & set((tmp_path / ".ibidem/index/segments").iterdir())
        other.collect_garbage()
        assert repo.fsck().faults == ()
