"""Large segments are made in a thread; nothing but time tells."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from ibidem.index.families.family import FamilyWriter
from ibidem.index.families.snapshot_parts import SnapshotParts
from ibidem.index.incremental import EMPTY_ROOT, advance
from ibidem.index.index import Index
from ibidem.index.segments.store import MemorySegmentStore
from ibidem.index.tuning import TUNING, Tuning
from ibidem.objects.errors import StorageError
from ibidem.objects.root import Root


def columns(start, count):
    return {"ordinals": np.arange(start, start + count, dtype=np.uint32)}


def merge(parts):
    joined = [part.segment["ordinals"] for part in parts]
    return {"ordinals": np.sort(np.concatenate(joined))}


def rows_of(parts):
    return [part.segment["ordinals"].tolist() for part in parts]


def grown(counts, tuning):
    growth = FamilyWriter((), merge, MemorySegmentStore(), tuning)
    start = 0
    for count in counts:
        growth.add(lambda start=start, count=count: columns(start, count), count)
        start += count
    return rows_of(growth.parts)


@pytest.mark.parametrize("counts", [[40], [40, 3, 5], [3, 40, 2], [40, 41, 42], [2, 3]])
def test_parts_are_those_made_without_a_thread(counts):
    alone = grown(counts, Tuning(fresh_rows=2, tail_rows=8))
    assert grown(counts, Tuning(fresh_rows=2, tail_rows=8, beside_rows=32)) == alone


def test_new_rows_join_the_last_part_and_that_the_tail_before_it():
    tuning = Tuning(fresh_rows=2, tail_rows=5)
    sizes = [[len(rows) for rows in grown([9] + [1] * count, tuning)] for count in range(9)]
    assert sizes == [
        [9],
        [9, 1],
        [9, 2],
        [9, 2, 1],
        [9, 2, 2],
        [9, 4, 1],
        [9, 4, 2],
        [9, 4, 2, 1],
        [9, 4, 2, 2],
    ]


def test_small_additions_start_no_thread(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", lambda self: pytest.fail("started"))
    assert grown([1, 2, 3], TUNING)


def test_rows_die_in_the_segment_that_was_being_made():
    growth = FamilyWriter((), merge, MemorySegmentStore(), Tuning(beside_rows=1))
    growth.add(lambda: columns(0, 5), 5)
    growth.kill(np.array([1, 3], np.uint32))
    (part,) = growth.parts
    assert (part.live_count, part.dead_count) == (3, 2)


def test_an_error_of_the_thread_is_raised_where_the_parts_are_asked_for():
    class Refusing:
        def put(self, columns, meta=None):
            raise StorageError("disk full")

    growth = FamilyWriter((), merge, Refusing(), Tuning(beside_rows=1))
    growth.add(lambda: columns(0, 5), 5)
    with pytest.raises(StorageError):
        _ = growth.parts
    growth.end()


def test_an_index_built_with_threads_is_the_one_built_without(repository, tmp_path):
    root = repository.at().commit.root
    alone = Index(tmp_path / "alone", repository.core.store).build(root)
    tuning = Tuning(beside_rows=1)
    beside = Index(tmp_path / "beside", repository.core.store, tuning=tuning).build(root)
    assert [one.name for one in beside.state.segments()] == [
        one.name for one in alone.state.segments()
    ]
    assert not [one for one in threading.enumerate() if one.name == "ibidem-index"]


class PairedStore(MemorySegmentStore):
    """Keeps a segment from a thread once another thread has one as well."""

    def __init__(self):
        self._pair = threading.Barrier(2)

    def put(self, columns, meta=None):
        if threading.current_thread().name == "ibidem-index":
            self._pair.wait(timeout=30)
        return super().put(columns, meta)


def test_the_large_segments_of_two_families_are_made_side_by_side(repository):
    store = repository.core.store
    root = repository.at().commit.root
    after = Root.decode(store.get(root))
    tuning = Tuning(beside_rows=1)
    made = advance(SnapshotParts(), EMPTY_ROOT, after, root, store, PairedStore(), tuning)
    alone = advance(SnapshotParts(), EMPTY_ROOT, after, root, store, MemorySegmentStore())
    assert len(made.families) == 4
    for key, (part,) in made.families.items():
        (other,) = alone.families[key]
        found, expected = part.segment.columns(), other.segment.columns()
        assert found.keys() == expected.keys()
        for name, column in found.items():
            np.testing.assert_array_equal(column, expected[name])


@pytest.fixture
def repository():
    import ibidem

    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            nodes = []
            for number in range(40):
                node = tx.add_node("Fact", summary=f"text {number} of {number % 7}", key=number)
                tx.set_vector(node, model="m", vector=np.eye(8, dtype=np.float32)[number % 8])
                tx.set_sparse(node, vocab="v", indices=[number], weights=[1.0])
                if nodes:
                    tx.add_edge(node, "after", nodes[-1])
                nodes.append(node)
        yield repo
