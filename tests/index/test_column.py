"""No byte of a column is handed out before it was compared with its checksum."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xxhash import xxh3_64_digest

import ibidem
from ibidem.index.index import Index
from ibidem.index.segments import column as columns
from ibidem.index.segments import store as segment_store
from ibidem.index.segments.column import Checksums, Column
from ibidem.index.segments.segment import Segment, SegmentFile, _header, check_digest, read_segment
from ibidem.index.segments.store import FolderSegmentStore
from ibidem.objects.errors import CorruptError
from ibidem.store.memory import MemoryStore

from .graphs import Graph, mutate, store_root

READERS: dict[str, Callable[[Column, int], Any]] = {
    "whole": lambda column, row: column.whole()[row],
    "item": lambda column, row: column.item(row),
    "part": lambda column, row: column.part(row, row + 1),
    "__getitem__": lambda column, row: [
        column[row : row + 1],
        column[np.int64(row)],
        column[np.array([row, 0, row])],
    ],
}
"""Every way to the bytes of a column, for a row of it."""
FACTS = {"shape", "dtype", "nbytes", "name", "is_checked", "is_damaged", "__len__"}
"""What a column says without handing bytes out."""
INHERITED = set(dir(object)) | {"__module__", "__slots__", "__firstlineno__"}
INHERITED |= {"__static_attributes__", "__annotations__"}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "CHUNK_BYTES", 64)
    monkeypatch.setattr(columns, "SCANNED_CHUNK_BYTES", 128)
    monkeypatch.setattr(columns, "WHOLE_BYTES", 0)
    monkeypatch.setattr(segment_store, "SMALL_BYTES", 0)


def test_every_public_name_of_a_column_is_a_reader_or_a_fact():
    public = {name for name in dir(Column) if not re.match("_[^_]", name)} - INHERITED
    assert public == READERS.keys() | FACTS


def test_nothing_but_columns_and_manifests_reads_the_files_of_an_index():
    index = Path(columns.__file__).parents[1]
    reads = re.compile(r"\b(mmap\.mmap|read_bytes\(|\.open\(\"rb|\._array\b|_bytes_of\()")
    found = {
        path.relative_to(index).as_posix(): sorted(set(reads.findall(path.read_text("utf-8"))))
        for room in (index, index.parent / "retrieve")
        for path in room.rglob("*.py")
        if path.is_relative_to(index) and reads.search(path.read_text("utf-8"))
    }
    assert found == {
        "analysis/fold.py": ["read_bytes("],  # of the program, not of an index
        "derived.py": ["read_bytes("],  # compared with the hash at its end
        "manifest.py": ["read_bytes("],
        "retention.py": ["read_bytes("],  # the order of use, which is no answer
        "segments/column.py": ["._array", "_bytes_of("],
        "segments/segment.py": ["mmap.mmap"],
        "shared.py": ["read_bytes("],  # to send it, or a signed manifest
        "segments/store.py": ['.open("rb', "mmap.mmap"],
    }


def indexed(directory: Path) -> None:
    draw, store, graph = random.Random(3), MemoryStore(), Graph()
    index = Index(directory, store)
    for _ in range(2):
        graph = mutate(graph, draw, store, span=25, edits=20)
        index.snapshot(store_root(graph, store))


def damaged_chunks(folder: Path) -> Iterator[tuple[str, str, int, int]]:
    """Yields file, column, row and rows a chunk, with one byte of that chunk flipped."""
    for path in sorted(folder.iterdir()):
        sound = path.read_bytes()
        segment = FolderSegmentStore(folder).open(path.name)
        for name in segment:
            column = segment.column(name)
            if not column.nbytes:
                continue
            _, table, start = _header(path.name, sound)
            start += table["columns"][name][2]
            width = column.nbytes // len(column)
            chunk_rows = Checksums.of(name, column.whole()).chunk_rows
            for row in range(0, len(column), chunk_rows):
                rot = bytearray(sound)
                rot[start + row * width] ^= 1
                path.write_bytes(rot)
                yield path.name, name, row, chunk_rows
        path.write_bytes(sound)


def test_each_reader_refuses_each_damaged_chunk_of_each_column(tmp_path: Path):
    indexed(tmp_path)
    tried: set[str] = set()
    for file, name, row, chunk_rows in damaged_chunks(tmp_path / "segments"):
        tried.add(name)
        for reader, read in READERS.items():
            segment = FolderSegmentStore(tmp_path / "segments").open(file)
            column = segment.column(name)
            if reader == "item" and len(column.shape) > 1:
                continue
            with pytest.raises(CorruptError, match="checksum"):
                read(column, row)
            assert segment.is_damaged
            with pytest.raises(CorruptError):
                segment[name]
            other = row - chunk_rows if row else row + chunk_rows
            if reader == "__getitem__" and other < len(column):
                assert len(column[other : other + 1]) == 1
    assert {"rows", "codes", "ids", "term.keys", "term.rows", "set", "out.node"} <= tried


def test_a_column_is_what_it_was_made_of(tmp_path: Path):
    draw = np.random.default_rng(1)
    arrays = {
        "codes": draw.integers(-127, 128, (50, 24)).astype(np.int8),
        "wide": draw.standard_normal((3, 200)),
        "none": np.empty((0, 5), np.float32),
        "numbers": np.arange(77, dtype=np.uint32),
    }
    store = FolderSegmentStore(tmp_path)
    name = store.put(arrays).name
    store.verify(name)
    for _ in range(2):
        segment = FolderSegmentStore(tmp_path).open(name)
        for key, array in arrays.items():
            column = segment.column(key)
            assert (column.shape, column.dtype, len(column)) == (
                array.shape,
                array.dtype,
                len(array),
            )
            if len(array):
                at = draw.integers(0, len(array), 9)
                assert (column[at] == array[at]).all()
                assert (column[1:3] == array[1:3]).all()
                assert column[np.int64(len(array) - 1)].tobytes() == array[-1].tobytes()
            assert (column[:] == array).all()
            assert column.whole().tobytes() == array.tobytes()
            assert column.is_checked
            assert not column.whole().flags.writeable


def test_a_mask_is_no_position():
    with pytest.raises(AssertionError, match="positions"):
        Column(np.arange(3))[np.array([True, False, True])]


def test_checksums_are_the_same_everywhere():
    assert Checksums.of("numbers", np.arange(20, dtype="<u4")) == Checksums(
        16, bytes.fromhex("79c2079c74a8ee4da3cb8d84278e45aa")
    )
    assert Checksums.of("codes", np.arange(9, dtype=np.int8).reshape(3, 3)) == Checksums(
        32, bytes.fromhex("e9612598145bb9dc")
    )


def touched(segment: Segment) -> dict[str, tuple[int, int]]:
    """Returns chunks that were compared, and all chunks, of the columns that have some."""
    found = {name: segment.column(name) for name in segment}
    return {
        name: (column._marks.count(1), len(column._marks))
        for name, column in found.items()
        if hasattr(column, "_marks")
    }


def test_a_lexical_question_compares_only_what_it_reads(tmp_path: Path):
    words = [f"word{number:04d}" for number in range(600)]
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            for number, word in enumerate(words):
                node = tx.add_node("Note", summary=f"{word} {words[number - 1]} all", key=number)
                tx.set_vector(node, model="m", vector=[1.0, float(number)])
                tx.add_edge(node, "next", node)
        repo.retrieve("word0003")
    with ibidem.open(tmp_path) as repo:
        assert len(repo.retrieve("word0003", limit=2).items) == 2
        state = repo.at().snapshot().state
        (nodes,), (vectors,) = state.nodes, state.of(("vectors", "m"))
        marks = touched(nodes.segment)
        few = ("term.keys", "term.ends", "term.starts", "term.rows", "term.values", "term.impacts")
        for name in few:
            count, every = marks[name]
            assert count * 3 < every, name
        assert marks["position.bytes"][0] == 0
        assert {count for count, _ in touched(vectors.segment).values()} <= {0}


def test_a_vector_that_is_not_the_one_of_its_block_is_made_again(tmp_path: Path):
    vector = ("m", [1.0, 2.0, 3.0])
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            for number in range(9):
                node = tx.add_node("Note", key=number, summary=f"note {number}")
                tx.set_vector(node, model="m", vector=[1.0, number, -number])
        expected = repo.retrieve(vector=vector, limit=3).to_bytes()
        for name in ("rows", "of"):
            (part,) = repo.at().snapshot().state.of(("vectors", "m"))
            wrong = part.segment[name].copy()
            wrong[:] = wrong[::-1]
            part.segment._columns[name] = Column(wrong)  # as a page that changes after its check
            part.segment.cache.clear()
            assert repo.retrieve(vector=vector, limit=3).to_bytes() == expected
            assert repo.at().snapshot().state.of(("vectors", "m"))[0].segment is not part.segment


@pytest.mark.parametrize("rows", [0, 1, 1000, 16_384, 16_385, 200_000])
def test_the_file_of_a_segment_is_named_by_what_it_holds(rows: int) -> None:
    """Few bytes are hashed in one call, many column by column; few rows have one checksum."""
    given = {"a": np.arange(rows, dtype="<u4"), "b": np.arange(7, dtype="|u1")}
    file = SegmentFile.of(given, {})
    data = b"".join(file.pieces)
    check_digest(file.name, data)
    found = read_segment(file.name, data)
    assert found.name == file.name
    assert len(data) == file.size_bytes
    for name, column in given.items():
        width = Checksums.of(name, column).chunk_rows * column.itemsize
        raw = column.tobytes()
        starts = range(0, len(raw), width)
        digests = b"".join(xxh3_64_digest(raw[start : start + width]) for start in starts)
        assert Checksums.of(name, column).digests == digests
        assert np.array_equal(found.columns()[name], column)
