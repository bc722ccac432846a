"""The suite that every store passes. A backend's test file is a subclass with a `store` fixture.

class TestMemoryStore(StoreSuite):
    @pytest.fixture
    def store(self): ...
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping

import pytest

from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.constants import RAW_BYTES_MAX
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
)
from ibidem.store.protocol import CELL_NAME_BYTES_MAX, NO_CELLS, Guard, Store


def blocks_of(*bodies: bytes) -> dict[Cid, bytes]:
    """Returns raw blocks by their CIDs."""
    return {BlobCid.of(body): body for body in bodies}


class StoreSuite:
    """One test for every claim of the `Store` protocol."""

    def test_a_block_comes_back_as_it_was_put(self, store: Store) -> None:
        """Reads back one block, empty ones included."""
        blocks = blocks_of(b"", b"one", bytes(100_000))
        store.put(blocks)
        for cid, block in blocks.items():
            assert store.get(cid) == block
            assert store.get(cid) == block
            assert store.has(cid)

    def test_blocks_are_found_under_any_class_of_cid(self, store: Store) -> None:
        """Compares CIDs by their bytes."""
        cid = BlobCid.of(b"one")
        store.put({cid: b"one"})
        assert store.get(Cid(cid.raw)) == b"one"

    def test_a_missing_block_is_a_typed_error(self, store: Store) -> None:
        """The error names the missing CID."""
        cid = BlobCid.of(b"nowhere")
        for read in (lambda: store.get(cid), lambda: store.get_many([cid])):
            with pytest.raises(NotFoundError, match=str(cid)) as caught:
                read()
            assert caught.value.kind is ErrorKind.BLOCK_NOT_FOUND
        assert not store.has(cid)

    def test_get_many_keeps_the_order_of_the_cids(self, store: Store) -> None:
        """A CID that is given twice is answered twice."""
        blocks = blocks_of(b"a", b"b", b"c")
        store.put(blocks)
        cids = [*blocks, *reversed(blocks)]
        assert store.get_many(cids) == [blocks[cid] for cid in cids]
        assert store.get_many([]) == []

    def test_a_block_under_a_wrong_cid_is_refused_and_nothing_is_put(self, store: Store) -> None:
        """One invalid block makes the store reject the whole batch."""
        good, bad = BlobCid.of(b"good"), BlobCid.of(b"other")
        with pytest.raises(CorruptError) as caught:
            store.put({good: b"good", bad: b"bad"})
        assert caught.value.kind is ErrorKind.HASH_MISMATCH
        assert not store.has(good)
        assert not store.has(bad)

    def test_a_block_over_the_limit_is_refused(self, store: Store) -> None:
        """The limit belongs to the format."""
        body = bytes(RAW_BYTES_MAX + 1)
        with pytest.raises(InvalidInputError) as caught:
            store.put({BlobCid.of(body): body})
        assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED
        body = bytes(RAW_BYTES_MAX)
        store.put({BlobCid.of(body): body})

    @pytest.mark.parametrize(
        "pair", [("cid", b""), (BlobCid.of(b""), "text"), (BlobCid.of(b""), bytearray())]
    )
    def test_other_types_are_refused(self, store: Store, pair: tuple[object, object]) -> None:
        """A mutable buffer is not a block."""
        with pytest.raises(InvalidInputError):
            store.put({pair[0]: pair[1]})  # type: ignore[dict-item]

    def test_putting_again_changes_nothing(self, store: Store) -> None:
        """The count stays."""
        store.put(blocks_of(b"a"))
        before = store.stats()
        store.put(blocks_of(b"a"))
        assert store.stats().block_count == before.block_count == 1

    def test_a_cell_is_swapped_only_from_the_expected_value(self, store: Store) -> None:
        """None stands for no cell on both sides."""
        assert store.cell("head") is None
        store.publish({}, {"head": (None, b"1")})
        store.publish({}, {"head": (b"1", b"2")})
        assert store.cell("head") == b"2"
        for expected in (None, b"1", b""):
            with pytest.raises(ConflictError) as caught:
                store.publish({}, {"head": (expected, b"3")})
            assert caught.value.kind is ErrorKind.HEAD_MOVED
        store.publish({}, {"head": (b"2", None)})
        assert store.cell("head") is None
        store.publish({}, {"head": (None, None)})
        store.publish({}, {"head": (None, b"")})
        assert store.cell("head") == b""

    def test_a_refused_publish_changes_nothing(self, store: Store) -> None:
        """Neither the blocks nor the cells that would have matched."""
        store.publish({}, {"a": (None, b"1"), "b": (None, b"1")})
        blocks = blocks_of(b"new")
        with pytest.raises(ConflictError):
            store.publish(blocks, {"a": (b"1", b"2"), "b": (b"wrong", b"2")})
        assert (store.cell("a"), store.cell("b")) == (b"1", b"1")
        assert not any(store.has(cid) for cid in blocks)
        assert store.stats().cell_count == 2

    def test_all_cells_are_read_in_one_step(self, store: Store) -> None:
        """All cells are returned by name, in ascending order."""
        assert store.cells() == {}
        store.publish({}, {"b": (None, b"2"), "a": (None, b"")})
        assert list(store.cells().items()) == [("a", b""), ("b", b"2")]
        store.publish({}, {"a": (b"", None)})
        assert store.cells() == {"b": b"2"}

    @pytest.mark.parametrize("name", ["", "a\nb", "\x00", "é", "x" * (CELL_NAME_BYTES_MAX + 1), 7])
    def test_cell_names_are_checked(self, store: Store, name: str) -> None:
        """Every call that takes a name rejects an invalid one."""
        with pytest.raises(InvalidInputError):
            store.cell(name)
        with pytest.raises(InvalidInputError):
            store.publish({}, {name: (None, b"1")})

    def test_cids_lists_every_block_in_ascending_order(self, store: Store) -> None:
        """The list is longer than one page of a backend that lists in pages."""
        blocks = blocks_of(*(b"%d" % number for number in range(9_000)))
        store.put(blocks)
        assert list(store.cids()) == sorted(blocks)
        middle = sorted(blocks)[4_500]
        assert list(store.cids(start=middle.raw[:20])) == sorted(blocks)[4_500:]

    def test_delete_counts_what_was_here(self, store: Store) -> None:
        """Absent blocks are no error."""
        blocks = blocks_of(b"a", b"b", b"c")
        store.put(blocks)
        first, second, third = blocks
        assert store.delete([first, third, BlobCid.of(b"absent")]) == 2
        assert list(store.cids()) == [second]

    def test_a_block_is_deleted_only_while_the_cells_hold_what_is_expected(
        self, store: Store
    ) -> None:
        """This protects the blocks of changes that were published meanwhile."""
        blocks = blocks_of(b"a")
        store.publish(blocks, {"head": (None, b"1")})
        for expected in (None, b"2"):
            with pytest.raises(ConflictError):
                store.delete(blocks, cells={"head": expected})
        assert store.delete(blocks, cells={"head": b"1", "other": None}) == 1

    def test_a_publish_that_needs_a_block_fails_without_it(self, store: Store) -> None:
        """It succeeds with the block, whether it was put before or in the same step."""
        first, second = blocks_of(b"a", b"b").items()
        with pytest.raises(NotFoundError):
            store.publish(dict([first]), {"head": (None, b"1")}, needs=[second[0]])
        assert (store.cell("head"), store.has(first[0])) == (None, False)
        store.publish(dict([second]), {"head": (None, b"1")}, needs=[second[0]])
        store.publish(dict([first]), {"head": (b"1", b"2")}, needs=[second[0]])
        assert list(store.cells()) == ["head"]

    def test_what_a_guard_refuses_is_not_put(self, store: Store) -> None:
        """The guard also explains why a block is missing."""
        cid = BlobCid.of(b"a")
        store.guard = _Refusing()
        with pytest.raises(InvalidInputError, match="refused"):
            store.put(blocks_of(b"a", b"b"))
        with pytest.raises(InvalidInputError, match="refused"):
            store.get(cid)
        assert not store.stats().block_count

    def test_a_closed_store_refuses_every_call(self, store: Store) -> None:
        """Closing twice is allowed."""
        store.close()
        store.close()
        cid = BlobCid.of(b"a")
        for call in (
            lambda: store.get(cid),
            lambda: store.put({cid: b"a"}),
            lambda: store.cell("a"),
            lambda: store.has(cid),
            store.stats,
            lambda: list(store.cids()),
        ):
            with pytest.raises(InvalidInputError):
                call()

    def test_threads_that_race_for_a_cell_win_once_each(self, store: Store) -> None:
        """No increment is lost and none is counted twice."""

        def add(count: int) -> None:
            for _ in range(count):
                while True:
                    value = store.cell("count")
                    following = b"%d" % (int(value or b"0") + 1)
                    try:
                        store.publish(
                            blocks_of(b"value " + following), {"count": (value, following)}
                        )
                    except ConflictError:
                        continue
                    break

        run_together(*(lambda: add(25) for _ in range(4)))
        assert store.cell("count") == b"100"
        assert store.stats().block_count == 100

    def test_readers_see_whole_publications(self, store: Store) -> None:
        """The block that a cell names is always stored."""

        def write() -> None:
            value = None
            for number in range(100):
                body = b"body %d" % number
                cid = BlobCid.of(body)
                store.publish({cid: body}, {"head": (value, cid.raw)})
                value = cid.raw

        def read() -> None:
            for _ in range(400):
                value = store.cell("head")
                if value is not None:
                    store.get(Cid(value))

        run_together(write, read, read)


class _Refusing:
    """A guard that rejects every block."""

    def refuse(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> None:
        """Refuses."""
        raise InvalidInputError("refused")

    def missing(self, cid: Cid) -> Exception:
        """Returns the refusal."""
        return InvalidInputError("refused")


def run_together(*calls: object) -> None:
    """Runs each call in its own thread, and raises the first error that any of them raised."""
    errors: list[BaseException] = []

    def guarded(call: object) -> None:
        try:
            call()  # type: ignore[operator]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def run_python(program: str, *arguments: str) -> None:
    """Runs a program in a separate process, which must succeed without a warning."""
    done = subprocess.run(  # noqa: S603  the test chooses the program
        [sys.executable, "-W", "error", "-c", program, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def environment() -> dict[str, str]:
    """Returns an environment for a process that can import the same modules as this one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


class RecordingStore:
    """Counts the calls to the store that it wraps: tests assert cost by counting, never by time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.publish_count = 0
        self.block_count = 0
        self.size_bytes = 0
        self.get_count = 0
        self.read_count = 0
        """Number of reads, of one block or of many."""
        self.cell_read_count = 0
        """Number of reads, of one cell or of all."""

    @property
    def guard(self) -> Guard:
        """That of the store, which a repository sets when it opens it."""
        return self._store.guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self._store.guard = guard

    def get(self, cid: Cid) -> bytes:
        """Counts one read."""
        self.get_count += 1
        self.read_count += 1
        return self._store.get(cid)

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Counts one read."""
        self.read_count += 1
        return self._store.get_many(cids)

    def cell(self, name: str) -> bytes | None:
        """Counts one read."""
        self.cell_read_count += 1
        return self._store.cell(name)

    def cells(self) -> dict[str, bytes]:
        """Counts one read."""
        self.cell_read_count += 1
        return self._store.cells()

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, tuple[bytes | None, bytes | None]],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        """Counts one durable transaction with its blocks and bytes."""
        self.publish_count += 1
        self.block_count += len(blocks)
        self.size_bytes += sum(map(len, blocks.values()))
        self._store.publish(blocks, cells, needs=needs)

    def put(self, blocks: Mapping[Cid, bytes]) -> None:
        """Counts one durable transaction."""
        self.publish(blocks, {})

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)
