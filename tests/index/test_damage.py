"""Damage to the files of an index costs time, never an answer."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from ibidem.index.index import Index
from ibidem.index.segments import store as segment_store
from ibidem.index.segments.segment import SegmentFile
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.errors import CorruptError
from ibidem.store.memory import MemoryStore

from .graphs import Graph, mutate, store_root
from .model import check


def indexed(directory: Path) -> tuple[MemoryStore, list[tuple[RootCid, Graph]]]:
    draw, store, graph, roots = random.Random(3), MemoryStore(), Graph(), []
    index = Index(directory, store)
    for _ in range(3):
        graph = mutate(graph, draw, store, span=25, edits=40)
        roots.append((store_root(graph, store), graph))
        index.snapshot(roots[-1][0])
    return store, roots


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in (0, len(data) // 3, len(data) // 2, len(data) - 1):
        data[place] ^= 0x40
    path.write_bytes(data)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\x00" * 64)


def swap(path: Path) -> None:
    """Puts a sound file of another name in its place."""
    other = next(other for other in sorted(path.parent.iterdir()) if other != path)
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize(
    "harm",
    [
        flip,
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (Path.unlink, truncate, swap, empty, lengthen)
        ),
    ],
)
def test_any_damaged_file_is_rebuilt(tmp_path: Path, harm):
    store, roots = indexed(tmp_path)
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.glob("*/*"))
    assert {path.parts[0] for path in files} == {"segments", "snapshots"}
    for number, file in enumerate(files):
        path = tmp_path / file
        if path.is_file():
            harm(path)
        root, graph = roots[number % 3]
        check(Index(tmp_path, store).snapshot(root), graph, store)
    for root, graph in roots:
        check(Index(tmp_path, store).snapshot(root), graph, store)
        assert Index(tmp_path, store).verify(root) == []


def test_a_rotten_bit_in_a_large_segment_is_named_by_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(segment_store, "SMALL_BYTES", 256)
    store, roots = indexed(tmp_path)
    path = max((tmp_path / "segments").iterdir(), key=lambda path: path.stat().st_size)
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[-200] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as rotten bits leave it
    problems = [Index(tmp_path, store).verify(root) for root, _ in roots]
    assert any(path.name in problem for found in problems for problem in found)


def test_verify_reports_no_file_that_another_process_has_removed_with_its_snapshot(
    tmp_path: Path,
) -> None:
    store, roots = indexed(tmp_path)
    index, (root, _) = Index(tmp_path, store), roots[-1]
    index.snapshot(root)
    Index(tmp_path, store).forget()
    assert not (tmp_path / "segments").exists()
    assert index.verify(root) == []


def test_verify_reports_a_missing_file_of_a_snapshot_on_disk(tmp_path: Path) -> None:
    store, roots = indexed(tmp_path)
    index, (root, _) = Index(tmp_path, store), roots[-1]
    name = next(index.snapshot(root).state.segments()).name
    (tmp_path / "segments" / name).unlink()
    assert index.verify(root) == [f"index file {name}: it is missing or empty"]


def test_files_of_others_in_the_directory_do_no_harm(tmp_path: Path):
    store, roots = indexed(tmp_path)
    (tmp_path / "snapshots" / "notes.txt").write_text("mine")
    (tmp_path / "segments" / "notes.txt").write_text("mine")
    root, graph = roots[-1]
    check(Index(tmp_path, store).snapshot(root), graph, store)


def test_a_directory_that_cannot_be_written_costs_no_answer(tmp_path: Path):
    blocked = tmp_path / "index"
    blocked.write_text("a file where the directory should be")
    store, roots = indexed(blocked)
    root, graph = roots[-1]
    check(Index(blocked, store).snapshot(root), graph, store)
    assert blocked.is_file()


def test_a_read_only_index_uses_what_is_there_and_writes_nothing(tmp_path: Path):
    store, roots = indexed(tmp_path)
    graph = mutate(roots[-1][1], random.Random(1), store, span=25, edits=10)
    root = store_root(graph, store)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    index = Index(tmp_path, store, is_read_only=True)
    check(index.snapshot(root), graph, store)
    check(index.snapshot(roots[0][0]), roots[0][1], store)
    index.forget()
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}


def test_two_indexes_of_one_directory_take_nothing_from_each_other(tmp_path: Path):
    draw, store, graph = random.Random(4), MemoryStore(), Graph()
    first, second = Index(tmp_path, store), Index(tmp_path, store)
    for step in range(40):
        graph = mutate(graph, draw, store, span=25, edits=3)
        root = store_root(graph, store)
        index = draw.choice([first, second])
        snapshot = index.snapshot(root)
        if step % 8 == 0:
            check(snapshot, graph, store)
            check(Index(tmp_path, store, is_read_only=True).snapshot(root), graph, store)
        if step in (15, 30):
            (first if index is second else second).forget()
            after = mutate(graph, draw, store, span=25, edits=1)
            index.snapshot(store_root(after, store))
            assert index._registry is not None
            remembered = index._registry.manifests()[0]
            assert remembered.names() <= set(index._registry.segment_store.names())


def test_a_root_that_was_damaged_before_its_snapshot_is_written_leaves_others_alone(
    tmp_path: Path,
) -> None:
    class Damaging(MemoryStore):
        wrong: RootCid | None = None

        def get(self, cid: Cid) -> bytes:
            if cid == self.wrong:
                raise CorruptError(f"block {cid}: damaged")
            return super().get(cid)

    draw, store, graphs, roots = random.Random(3), Damaging(), [Graph()], []
    for _ in range(3):
        graphs.append(mutate(graphs[-1], draw, store, span=25, edits=40))
        roots.append(store_root(graphs[-1], store))
    index = Index(tmp_path, store)
    index.snapshot(roots[0])
    index.prepare(roots[1], near=roots[:1])
    store.wrong = roots[1]
    check(index.snapshot(roots[2]), graphs[3], store)
    assert roots[1] not in index.remembered()


def test_a_large_segment_whose_file_another_process_removes_at_once_is_written_later(
    tmp_path: Path,
) -> None:
    class Swept(segment_store.FolderSegmentStore):
        is_swept = True

        def _write(self, file: SegmentFile) -> None:
            super()._write(file)
            if self.is_swept:
                (self.directory / file.name).unlink()

    store = Swept(tmp_path)
    found = store.put({"ids": np.arange(1 << 19, dtype="<u8")})
    assert store.is_unwritten(found)
    store.is_swept = False
    store.write(found)
    opened = segment_store.FolderSegmentStore(tmp_path).open(found.name)
    assert np.array_equal(opened["ids"], found["ids"])
