"""The LMDB store passes the suite; and what only a store on disk can get wrong."""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
import threading
from collections import UserDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lmdb
import pytest

from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from ibidem.store.lmdb import store as lmdb_store
from ibidem.store.lmdb.environment import DATA_FILE, MAP_BYTES, Environment, storage_error
from ibidem.store.lmdb.file import check_layout
from ibidem.store.lmdb.numbering import FIRST_TRANSACTION, PAGE_BYTES
from ibidem.store.lmdb.store import LmdbStore
from ibidem.store.protocol import PARTIAL_CELL
from ibidem.store.testing import StoreSuite, blocks_of, run_python, run_together


class TestLmdbStore(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[LmdbStore]:
        with LmdbStore.create(tmp_path / "blocks") as store:
            yield store


def test_a_new_file_has_numbers_to_split_lists_of_free_pages_over(
    tmp_path: Path,
) -> None:
    """With few, each commit after a bulk load writes the lists anew: 100 ms at a million nodes."""
    for made in (tmp_path / "one", tmp_path / "another"):  # the latter is made as a copy
        with LmdbStore.create(made) as store:
            assert store.cells() == {}
            assert list(store.cids()) == []
        with lmdb.open(str(made), readonly=True, lock=False) as handle:
            assert handle.info()["last_txnid"] > FIRST_TRANSACTION
        assert (made / DATA_FILE).stat().st_size < 100_000
        assert (made / DATA_FILE).stat().st_mode == (tmp_path / "one" / DATA_FILE).stat().st_mode


def test_a_file_with_pages_of_another_size_is_read_and_written(tmp_path: Path) -> None:
    """As LMDB makes them by itself: with the pages of the system."""
    path = tmp_path / "blocks"
    path.mkdir()
    with lmdb.open(str(path), max_dbs=4) as handle:
        for name in (b"blocks", b"cells"):
            handle.open_db(name)
        assert handle.stat()["psize"] == mmap.PAGESIZE
    with LmdbStore.open(path) as store:
        store.publish(blocks_of(b"a", bytes(3000)), {"head": (None, b"1")})
        assert store.check_layout().faults == ()
    with LmdbStore.create(tmp_path / "new") as store:
        store.publish(blocks_of(b"a", bytes(3000)), {"head": (None, b"1")})
        assert store.check_layout().faults == ()
    with lmdb.open(str(tmp_path / "new"), readonly=True, lock=False) as handle:
        assert handle.stat()["psize"] == PAGE_BYTES


def test_blocks_take_little_more_than_their_bytes(tmp_path: Path) -> None:
    """Of nodes with vectors: pages of the system's size would be half empty."""
    bodies = [number.to_bytes(4, "big") * (400 - 215 * (number % 2)) for number in range(2_000)]
    with LmdbStore.create(tmp_path / "blocks") as store:
        store.publish(blocks_of(*bodies), {})
        assert store.stats().size_bytes < 1.5 * sum(map(len, bodies))


def test_what_was_published_is_there_after_reopening(tmp_path: Path) -> None:
    with LmdbStore.create(tmp_path / "blocks") as store:
        store.publish(blocks_of(b"a"), {"head": (None, b"1")})
    with LmdbStore.open(tmp_path / "blocks") as store:
        assert store.cell("head") == b"1"
        assert store.get(BlobCid.of(b"a")) == b"a"


def test_two_stores_of_one_folder_share_one_environment(tmp_path: Path) -> None:
    with LmdbStore.create(tmp_path / "blocks") as first:
        (tmp_path / "link").symlink_to(tmp_path / "blocks")
        second = LmdbStore.open(tmp_path / "link")
        first.put(blocks_of(b"a"))
        assert second.get(BlobCid.of(b"a")) == b"a"
        second.close()
        assert first.get(BlobCid.of(b"a")) == b"a"


@pytest.mark.parametrize("kind", ["absent", "empty folder", "file"])
def test_a_path_without_a_store_is_not_found_and_stays_as_it_was(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "blocks"
    if kind == "empty folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("text")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(NotFoundError) as caught:
        LmdbStore.open(path)
    assert caught.value.kind is ErrorKind.REPOSITORY_NOT_FOUND
    assert sorted(tmp_path.rglob("*")) == before


def test_creating_over_something_is_refused_and_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    LmdbStore.create(path).close()
    with pytest.raises(InvalidInputError):
        LmdbStore.create(path)
    with LmdbStore.open(path):
        assert [entry.name for entry in tmp_path.iterdir()] == ["blocks"]


def test_a_data_file_of_another_kind_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    path.mkdir()
    (path / "data.mdb").write_bytes(b"text" * 4096)
    with pytest.raises(CorruptError):
        LmdbStore.open(path)


def test_the_map_grows_under_live_readers(tmp_path: Path) -> None:
    with LmdbStore.create(tmp_path / "blocks", map_bytes=1 << 20) as store:
        store.put(blocks_of(b"first"))
        done = threading.Event()

        def read() -> None:
            while not done.wait(0.0005):
                assert store.get(BlobCid.of(b"first")) == b"first"

        def write() -> None:
            try:
                for number in range(24):
                    store.put(blocks_of(number.to_bytes(4, "big") + bytes((1 << 20) - 4)))
            finally:
                done.set()

        run_together(read, read, write)
        assert store.stats().block_count == 25
        assert store.stats().size_bytes > 23 << 20


def test_another_process_grows_the_map_and_we_follow(tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    with LmdbStore.create(path, map_bytes=1 << 20) as store:
        program = (
            "import sys\n"
            "from ibidem.store.lmdb.store import LmdbStore\n"
            "from ibidem.store.testing import blocks_of\n"
            "large = [bytes([one]) * (1 << 20) for one in range(5)]\n"
            "with LmdbStore.open(sys.argv[1]) as store: store.put(blocks_of(*large))"
        )
        run_python(program, str(path))
        assert store.get(BlobCid.of(bytes(1 << 20))) == bytes(1 << 20)
        store.put(blocks_of(*(bytes([one]) * (1 << 20) for one in range(5, 10))))
        assert store.stats().block_count == 10


def test_a_small_address_space_gets_a_smaller_map(tmp_path: Path) -> None:
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from ibidem.store.lmdb.store import LmdbStore\n"
        "from ibidem.store.testing import blocks_of\n"
        "with LmdbStore.create(sys.argv[1]) as store: store.put(blocks_of(b'a'))"
    )
    run_python(program, str(tmp_path / "blocks"))
    with LmdbStore.open(tmp_path / "blocks") as store:
        assert store.get(BlobCid.of(b"a")) == b"a"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_reads_and_writes_beside_its_parent(tmp_path: Path) -> None:
    with LmdbStore.create(tmp_path / "blocks") as store:
        store.put(blocks_of(b"parent"))
        stop = threading.Event()

        def read() -> None:
            while not stop.wait(0.0005):
                store.get(BlobCid.of(b"parent"))

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for number in range(10):
                child = os.fork()
                if child == 0:
                    status = 1
                    try:
                        store.get(BlobCid.of(b"parent"))
                        store.put(blocks_of(b"child %d" % number))
                        status = 0
                    finally:
                        os._exit(status)
                assert os.waitpid(child, 0)[1] == 0
                assert store.get(BlobCid.of(b"child %d" % number)) == b"child %d" % number
                store.put(blocks_of(b"after %d" % number))
        finally:
            stop.set()
            reader.join()


def test_a_full_disk_is_a_storage_error_and_changes_nothing(tmp_path: Path) -> None:
    # A limit on the size of files stands in for the disk: the same write fails, with EFBIG.
    program = """
import errno, os, resource, signal, sys
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import StorageError
from ibidem.store.lmdb.store import LmdbStore
from ibidem.store.testing import blocks_of
LARGE = [bytes([one]) * (1 << 20) for one in range(4)]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with LmdbStore.create(sys.argv[1]) as store:
    store.publish(blocks_of(b'kept'), {'head': (None, b'1')})
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    for number in range(3):
        try:
            store.publish(blocks_of(*LARGE), {'head': (b'1', b'2')})
        except StorageError as error:
            assert error.errno in (errno.EFBIG, errno.EIO), error.errno
        else:
            raise SystemExit('the write was acknowledged')
        assert store.cell('head') == b'1'
        assert store.get(BlobCid.of(b'kept')) == b'kept'
        assert not any(store.has(BlobCid.of(block)) for block in LARGE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    store.publish(blocks_of(*LARGE), {'head': (b'1', b'2')})
    assert store.cell('head') == b'2'
"""
    run_python(program, str(tmp_path / "blocks"))


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to mount a small disk"
)
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=False
    )
    if mounted.returncode:
        pytest.skip("this system does not let root mount")
    try:
        with LmdbStore.create(small / "blocks") as store:
            store.publish(blocks_of(b"kept"), {"head": (None, b"1")})
            large = blocks_of(bytes(1 << 20), bytes((1 << 20) - 1))
            with pytest.raises(StorageError, match="No space left on device") as caught:
                store.publish(large, {"head": (b"1", b"2")})
            assert caught.value.errno == errno.ENOSPC
            assert store.cell("head") == b"1"
            assert store.get(BlobCid.of(b"kept")) == b"kept"
            store.publish(blocks_of(b"small"), {"head": (b"1", b"2")})
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_mapping_that_is_read_block_by_block_is_checked_and_read_once(tmp_path: Path) -> None:
    read: list[Cid] = []

    class Counting(UserDict[Cid, bytes]):
        def __getitem__(self, cid: Cid) -> bytes:
            read.append(cid)
            return super().__getitem__(cid)

    good = blocks_of(*(b"%d" % number for number in range(50)))
    wrong = {**good, BlobCid.of(b"one"): b"other"}
    with LmdbStore.create(tmp_path / "blocks") as store:
        with pytest.raises(CorruptError) as caught:
            store.publish(Counting(wrong), {"head": (None, b"1")})
        assert caught.value.kind is ErrorKind.HASH_MISMATCH
        assert (store.stats().block_count, store.cells()) == (0, {})
        read.clear()
        store.publish(Counting(good), {"head": (None, b"1")})
        assert sorted(read) == sorted(good)
        assert (store.stats().block_count, list(store.cells())) == (50, ["head"])


def test_many_blocks_are_put_in_batches_and_the_cells_with_the_last(tmp_path: Path) -> None:
    blocks = blocks_of(*(b"%d" % number for number in range(100)))
    cids = sorted(blocks, key=lambda cid: cid.raw)

    class Watching(UserDict[Cid, bytes]):
        def __getitem__(self, cid: Cid) -> bytes:
            place = cids.index(cid)
            if place % 30 == 0:
                counted.append((other.stats().block_count, other.cell("head")))
            if place == wrong:
                raise OSError(errno.EIO, "the medium failed")
            return super().__getitem__(cid)

    counted: list[tuple[int, bytes | None]] = []
    path, wrong = tmp_path / "blocks", 70
    with LmdbStore.create(path) as store, LmdbStore.open(path) as other:
        store.batch_count = 30
        with pytest.raises(OSError, match="medium"):
            store.publish(Watching(blocks), {"head": (None, b"1")})
        assert counted == [(0, None), (30, None), (60, None)]
        assert (store.stats().block_count, store.cell("head")) == (60, None)
        partial = store.cell(PARTIAL_CELL)
        with pytest.raises(OSError, match="medium"):
            store.publish(Watching(blocks), {"head": (None, b"1")})
        assert None is not partial != store.cell(PARTIAL_CELL) is not None
        partial = store.cell(PARTIAL_CELL)
        counted.clear()
        wrong = -1
        store.publish(Watching(blocks), {"head": (None, b"1")})
        assert counted == [(60, None)] * 3 + [(90, None)]
        assert store.get_many(cids) == [blocks[cid] for cid in cids]
        assert store.cells() == {"head": b"1", PARTIAL_CELL: partial}


@pytest.mark.parametrize("batch_count", [1, 3, 100])
def test_a_publication_in_batches_that_is_refused_puts_nothing(
    tmp_path: Path, batch_count: int
) -> None:
    """A cell has another value, or a needed block is missing: the first batch finds out."""
    blocks = blocks_of(*(b"%d" % number for number in range(10)))
    with LmdbStore.create(tmp_path / "blocks") as store:
        store.batch_count = batch_count
        with pytest.raises(ConflictError):
            store.publish(blocks, {"head": (b"other", b"1")})
        with pytest.raises(NotFoundError):
            store.publish(blocks, {"head": (None, b"1")}, needs=[BlobCid.of(b"missing")])
        assert (store.stats().block_count, store.cells()) == (0, {})
        store.publish(blocks, {"head": (None, b"1")}, needs=blocks)
        assert (store.stats().block_count, store.cells()) == (10, {"head": b"1"})


def test_a_killed_publication_leaves_some_blocks_and_no_cell(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from collections import UserDict
from ibidem.store.lmdb.store import LmdbStore
from ibidem.store.testing import blocks_of

class Killing(UserDict):
    left = 80
    def __getitem__(self, cid):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(cid)

with LmdbStore.create(sys.argv[1]) as store:
    store.publish(blocks_of(b'kept'), {'head': (None, b'1')})
    store.batch_count = 30
    store.publish(Killing(blocks_of(*(b'%d' % one for one in range(100)))), {'head': (b'1', b'2')})
"""
    with pytest.raises(AssertionError):
        run_python(program, str(tmp_path / "blocks"))
    blocks = blocks_of(*(b"%d" % number for number in range(100)))
    with LmdbStore.open(tmp_path / "blocks") as store:
        assert (store.stats().block_count, store.cell("head")) == (61, b"1")
        assert store.check_layout().faults == ()
        store.publish(blocks, {"head": (b"1", b"2")})
        assert (store.stats().block_count, store.cell("head")) == (101, b"2")


def test_a_publication_ends_when_the_store_is_closed_between_its_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would open the file again, which nobody then closes."""
    write = Environment.write

    def closing(environment: Environment, work: Callable[[Any], Any]) -> Any:
        result = write(environment, work)
        store.close()
        return result

    store = LmdbStore.create(tmp_path / "blocks")
    store.batch_count = 30
    monkeypatch.setattr(Environment, "write", closing)
    blocks = blocks_of(*(b"%d" % number for number in range(100)))
    with pytest.raises(InvalidInputError, match="closed"):
        store.publish(blocks, {"head": (None, b"1")})
    with LmdbStore.open(tmp_path / "blocks") as again:
        assert (again.stats().block_count, again.cell("head")) == (30, None)


def test_a_publication_in_batches_leaves_few_free_pages(tmp_path: Path) -> None:
    """It changes every page there is; in one transaction all of them would be free afterwards."""
    bodies = [number.to_bytes(4, "big") * 300 for number in range(4_000)]
    free: list[int] = []
    for batch_count in (100, 4_000):
        with LmdbStore.create(tmp_path / f"{batch_count}") as store:
            store.batch_count = batch_count
            for start in (0, 2_000):
                store.publish(blocks_of(*bodies[start : start + 2_000]), {})
        free.append(check_layout(tmp_path / f"{batch_count}").free_count)
    few, many = free
    assert 4 * few < many


def test_a_block_that_the_disk_changed_is_refused(tmp_path: Path) -> None:
    body = b"a body that is easily found again"
    with LmdbStore.create(tmp_path / "blocks") as store:
        store.put(blocks_of(body))
    data = tmp_path / "blocks" / "data.mdb"
    data.write_bytes(data.read_bytes().replace(body, body.upper()))
    with LmdbStore.open(tmp_path / "blocks") as store:
        for read in (store.get, lambda cid: store.get_many([cid])):
            with pytest.raises(CorruptError) as caught:
                read(BlobCid.of(body))
            assert caught.value.kind is ErrorKind.HASH_MISMATCH


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="cannot fill up a file")
@pytest.mark.parametrize("page_count", [0, 1, 2, 3, 5, 8, 13, 21])
def test_a_file_that_was_cut_short_is_refused_and_kills_no_process(
    tmp_path: Path, page_count: int
) -> None:
    bodies = [bytes([number]) * 3000 for number in range(40)] + [bytes(range(256)) * 100]
    with LmdbStore.create(tmp_path / "blocks") as store:
        store.publish(blocks_of(*bodies), {"head": (None, b"1")})
    os.truncate(tmp_path / "blocks" / "data.mdb", page_count * PAGE_BYTES + 100 * bool(page_count))
    program = """
import sys
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import IbidemError
from ibidem.store.lmdb.store import LmdbStore

bodies = [bytes([number]) * 3000 for number in range(40)] + [bytes(range(256)) * 100]
refused = 0
for body in bodies:
    try:
        with LmdbStore.open(sys.argv[1]) as store:
            assert store.get(BlobCid.of(body)) == body
    except IbidemError:
        refused += 1
assert refused
"""
    run_python(program, str(tmp_path / "blocks"))


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        lmdb_store, "mount_table", lambda: ["none / ext4 rw", f"host:/x {tmp_path} nfs4 rw"]
    )
    with pytest.raises(StorageError, match="nfs4"):
        LmdbStore.create(tmp_path / "blocks")
    assert list(tmp_path.iterdir()) == []


OUT_OF_FILES = """
import os, resource, sys
from pathlib import Path
from ibidem.objects.errors import StorageError
from ibidem.store.lmdb.store import LmdbStore
from ibidem.store.testing import blocks_of
seen = set()
with LmdbStore.create(Path(sys.argv[1])) as store:
    blocks = blocks_of(*(os.urandom(900) for _ in range(20)))
    store.put(blocks)
    store.scrub()
    store.delete(list(blocks))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for limit in range(3, 16):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            store.scrub()
            seen.add("done")
        except StorageError:
            seen.add("refused")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
assert seen == {"done", "refused"}, seen
"""


def test_a_process_has_the_address_space_for_a_thousand_stores() -> None:
    assert 1_000 * MAP_BYTES < 1 << 47


def test_where_memory_cannot_be_mapped_the_error_says_what_to_do() -> None:
    error = lmdb.Error("blocks: Cannot allocate memory")
    error.code = errno.ENOMEM
    assert "close some of the repositories" in str(storage_error(Path("blocks"), error).hint)


def test_overwriting_without_a_free_file_descriptor_is_a_storage_error(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    run_python(OUT_OF_FILES, str(tmp_path / "store"))


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_is_an_error_that_says_what_to_do(code: int) -> None:
    error = lmdb.Error("blocks: Read-only file system")
    error.code = code
    found = storage_error(Path("blocks"), error)
    assert isinstance(found, StorageError)
    assert found.errno == code
    assert "lock files" in str(found.hint)
