"""The store that is split over PostgreSQL and a bucket passes the suite, and loses nothing between
the two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.store import faulty_writers

import ibidem
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from ibidem.store.backends import local_folder
from ibidem.store.log.objects import Bucket
from ibidem.store.postgres import packs
from ibidem.store.postgres.backend import POSTGRES
from ibidem.store.postgres.split import SplitStore
from ibidem.store.protocol import Store
from ibidem.store.testing import StoreSuite, blocks_of

LARGE = packs.INLINE_BYTES_MAX // 2


@pytest.fixture
def address(postgres_schema: str, s3_prefix: str) -> str:
    return f"{postgres_schema}&blocks={s3_prefix}"


@pytest.fixture
def split(address: str, tmp_path: Path) -> Iterator[SplitStore]:
    (tmp_path / "here").mkdir()
    with POSTGRES.create(address, tmp_path / "here"):
        pass
    with POSTGRES.open(address, tmp_path / "here") as store:
        assert isinstance(store, SplitStore)
        yield store


class TestSplitStore(StoreSuite):
    @pytest.fixture
    def store(self, split: SplitStore) -> Store:
        return split


class TestPackedBlocks(StoreSuite):
    """The same with every block in a pack."""

    @pytest.fixture
    def store(self, split: SplitStore, monkeypatch: pytest.MonkeyPatch) -> Store:
        from ibidem.store.postgres import split as module

        limits = (module, "INLINE_BYTES_MAX", -1), (packs, "PACK_BYTES", 50_000)
        for owner, name, value in limits:
            monkeypatch.setattr(owner, name, value)
        return split


def large(*names: str) -> dict[Cid, bytes]:
    return blocks_of(*(name.encode() * (LARGE // len(name) + 1) for name in names))


def objects(store: SplitStore) -> list[str]:
    return list(store.bucket.listed(packs.PREFIX))


def other(address: str, folder: Path) -> SplitStore:
    folder.mkdir(exist_ok=True)
    found = POSTGRES.open(address, folder)
    assert isinstance(found, SplitStore)
    return found


def test_small_changes_stay_in_their_rows_and_large_ones_are_packed(
    split: SplitStore, address: str, tmp_path: Path
) -> None:
    split.publish(blocks_of(b"small"), {"head": (None, b"1")})
    assert objects(split) == []
    blocks = large("one", "two", "three")
    split.publish(blocks, {"head": (b"1", b"2")})
    assert len(objects(split)) == 1
    with other(address, tmp_path / "there") as there:
        assert there.get_many(blocks) == list(blocks.values())
        assert there.get(BlobCid.of(b"small")) == b"small"
        assert there.stats().block_count == 4


def test_the_place_is_known_and_no_other_is_taken(
    split: SplitStore, address: str, postgres_schema: str, tmp_path: Path
) -> None:
    with other(postgres_schema, tmp_path / "there") as there:
        assert there.get_many([]) == []
    with pytest.raises(InvalidInputError, match=r"blocks: got .*elsewhere, expected none, or"):
        POSTGRES.open(f"{postgres_schema}&blocks=s3://bucket/elsewhere", tmp_path)
    assert local_folder(address) == local_folder(postgres_schema)
    with (
        pytest.raises(InvalidInputError, match="blocks: got 'gs://x', expected s3://"),
        POSTGRES.create(f"{postgres_schema}x&blocks=gs://x", tmp_path),
    ):
        pass


def _put_all(store: Store, *changes: dict[Cid, bytes]) -> None:
    for blocks in changes:
        store.put(blocks)


def test_a_creation_that_fails_leaves_nothing(
    address: str, postgres_schema: str, tmp_path: Path
) -> None:
    broken = {BlobCid.of(b"right"): b"wrong"}
    with pytest.raises(CorruptError), POSTGRES.create(address, tmp_path) as store:
        _put_all(store, large("one", "two", "three"), broken)
    with pytest.raises(NotFoundError):
        POSTGRES.open(postgres_schema, tmp_path)
    with POSTGRES.create(address, tmp_path) as store:
        assert isinstance(store, SplitStore)
        assert objects(store) == []


def test_a_bucket_that_is_taken_is_refused(split: SplitStore, address: str, tmp_path: Path) -> None:
    split.put(large("one", "two", "three"))
    second = address.replace("schema=s", "schema=t")
    with (
        pytest.raises(InvalidInputError, match="holds objects"),
        POSTGRES.create(second, tmp_path),
    ):
        pass


class Killed(BaseException):
    """Stands for the end of the process: nothing below catches it."""


@pytest.mark.parametrize("step", ["register", "put", "publish"])
def test_a_writer_may_end_at_any_step(
    split: SplitStore,
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    earlier = large("a", "b", "c")
    split.publish(earlier, {"head": (None, b"1")})

    def killed(*arguments: Any, **options: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patched:
        if step == "register":
            patched.setattr(split.database, "change", killed)
        elif step == "put":
            patched.setattr(split.bucket, "put", killed)
        else:
            patched.setattr(split.database, "_tried", killed)
        with pytest.raises(Killed):
            split.publish(large("d", "e", "f"), {"head": (b"1", b"2")})
    with other(address, tmp_path / "there") as there:
        assert there.cell("head") == b"1"
        assert there.get_many(earlier) == list(earlier.values())
        there.scrub()
        assert len(objects(there)) == 1
        assert there.get_many(earlier) == list(earlier.values())
        assert len(list(there.cids())) == 3


def test_a_pack_that_is_collected_before_it_is_named_is_put_again(
    split: SplitStore, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = large("a", "b", "c")
    put = split.database.put_packs
    collected = []
    with other(address, tmp_path / "there") as there:

        def slow(given: Any, **options: Any) -> Any:
            found = put(given, **options)
            if not collected:
                collected.append(there.scrub())
            return found

        monkeypatch.setattr(split.database, "put_packs", slow)
        split.publish(blocks, {"head": (None, b"1")})
        assert collected[0] > 0
        assert there.get_many(blocks) == list(blocks.values())
        assert len(objects(there)) == 1


def test_a_race_that_was_lost_puts_no_pack_again(
    split: SplitStore, address: str, tmp_path: Path
) -> None:
    blocks, more = large("a", "b", "c"), large("d", "e", "f")
    with other(address, tmp_path / "there") as there:
        for before, after in ((None, b"1"), (b"1", b"2")):
            there.publish({}, {"head": (before, after)})
            with pytest.raises(ConflictError):
                split.publish(blocks, {"head": (before, b"lost")})
        split.publish(blocks | more, {"head": (b"2", b"3")})
        assert len(objects(split)) == 2  # one for each of the two that were wanted
        there.publish({}, {"head": (b"3", b"4")})
        with pytest.raises(ConflictError):
            split.publish(large("g", "h", "i"), {"head": (b"3", b"lost")})
        there.scrub()  # the pack that no row names
        assert len(objects(split)) == 2
        split.publish(large("g", "h", "i"), {"head": (b"4", b"5")})
        whole = blocks | more | large("g", "h", "i")
        assert there.get_many(whole) == list(whole.values())


def test_a_writer_that_gives_up_leaves_the_queue(
    split: SplitStore, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*arguments: Any) -> Any:
        raise StorageError("object storage: it is away")

    split._writer._lost()  # so it competes
    monkeypatch.setattr(split.bucket, "put", never)
    with pytest.raises(StorageError, match="is away"):
        split.put(large("a", "b", "c"))
    with other(address, tmp_path / "there") as there:
        assert not there.database.wait_in_queue()


def test_what_is_deleted_goes_from_the_bucket_and_the_rest_stays(
    split: SplitStore, address: str, tmp_path: Path
) -> None:
    blocks = large("secret", "two", "three")
    gone, *rest = blocks
    split.publish(blocks, {"head": (None, b"1")})
    (name,) = objects(split)
    assert split.delete([gone], cells={"head": b"1"}) == 1
    assert objects(split) == [name]  # little of it is dead
    with other(address, tmp_path / "there") as there:
        assert there.get_many(rest) == [blocks[cid] for cid in rest]
        assert split.scrub() > 0
        (newer,) = objects(split)
        assert newer != name
        data = split.bucket.get(newer)
        assert data is not None
        assert b"secret" not in data
        there.cache.discard()
        there.forget_copies(rest)
        assert there.get_many(rest) == [blocks[cid] for cid in rest]
        with pytest.raises(NotFoundError):
            there.get(gone)
        assert split.delete(rest) == 2
        assert split.scrub() >= 0
        assert objects(split) == []


def test_a_deletion_looks_at_its_own_packs_and_is_one_if_the_bucket_fails(
    split: SplitStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [large(f"{name}1", f"{name}2", f"{name}3") for name in "abcd"]
    for blocks in changes:
        split.put(blocks)

    def never(*arguments: Any) -> Any:
        raise StorageError("object storage: it is away")

    asked: list[Any] = []
    used = split._used
    monkeypatch.setattr(split, "_used", lambda packs=None: asked.append(packs) or used(packs))
    monkeypatch.setattr(split.bucket, "listed", never)
    assert split.delete(list(changes[0])[:2]) == 2
    assert [len(packs) for packs in asked] == [1]
    with monkeypatch.context() as patched:
        patched.setattr(split.bucket, "put", never)
        patched.setattr(split.bucket, "delete", never)
        assert split.delete(list(changes[1])[:2]) == 2
        with pytest.raises(StorageError, match="is away"):
            split.scrub()
    monkeypatch.undo()
    rest = [list(changes[0])[2], list(changes[1])[2], *changes[2], *changes[3]]
    whole = {cid: block for blocks in changes for cid, block in blocks.items()}
    assert split.get_many(rest) == [whole[cid] for cid in rest]
    split.scrub()
    assert split.get_many(rest) == [whole[cid] for cid in rest]
    assert sum(row.size for row in split.bucket.listed("").values()) == sum(
        len(whole[cid]) for cid in rest
    )


def test_collecting_waits_for_no_change_that_is_about_to_name_packs(
    split: SplitStore, address: str, tmp_path: Path
) -> None:
    spans = split.database.put_packs(large("a", "b", "c")) | split.database.put_packs(large("d"))
    packs = sorted({span.pack for span in spans.values()}, reverse=True)
    retire = "retire packs", "select retire(%s)", 0.0
    with other(address, tmp_path / "there") as there:
        with split.database._connect() as connection, connection.transaction():
            for pack in packs:
                connection.execute("select from pack where name = %s for key share", [pack])
            assert there.database.change(*retire) == []
        assert sorted(there.database.change(*retire), reverse=True) == [(pack,) for pack in packs]


def test_a_reader_finds_a_block_that_is_moved_meanwhile(
    split: SplitStore, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ibidem.store.postgres import split as module

    blocks = large("a", "b", "c")
    first, *rest = blocks
    split.publish(blocks, {})
    split.delete([first])
    read = module.read_spans
    with other(address, tmp_path / "there") as there:

        def moved(bucket: Bucket, places: Any) -> Any:
            monkeypatch.setattr(module, "read_spans", read)
            split.scrub()
            return read(bucket, places)

        monkeypatch.setattr(module, "read_spans", moved)
        assert there.get_many(rest) == [blocks[cid] for cid in rest]


def test_an_object_that_is_missing_is_named(
    split: SplitStore, address: str, tmp_path: Path
) -> None:
    blocks = large("a", "b", "c")
    split.publish(blocks, {})
    (name,) = objects(split)
    split.bucket.delete([name])
    with other(address, tmp_path / "there") as there, pytest.raises(CorruptError, match=name):
        there.get_many(blocks)


def test_a_bucket_that_keeps_old_versions_is_named_and_refuses_to_scrub(
    split: SplitStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = large("a", "b", "c")
    split.publish(blocks, {})
    monkeypatch.setattr(Bucket, "keeps_versions", lambda bucket: True)
    assert any("old versions" in note for note in split.notes())
    split.scrub()
    split.delete(list(blocks)[:2])
    with pytest.raises(StorageError, match="keeps old versions"):
        split.scrub()
    assert len(objects(split)) == 1


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled(address: str, tmp_path: Path) -> None:
    found = faulty_writers.run(address, tmp_path, count=120, writers=3, seed=1)
    assert found["acknowledged"] >= 120
    assert (found["lost"], found["doubled"], found["holding"], found["unnamed"]) == (0, 0, 0, 0)


def test_a_repository_is_used_as_any_other(address: str, tmp_path: Path) -> None:
    with ibidem.init(address) as repo:
        with repo.transaction() as tx:
            for number in range(400):
                tx.add_node("Fact", summary=f"fact {number} " + "of the mill " * 40, key=number)
            secret = tx.add_node("Fact", summary="the code is 4711 " * 50, key="secret")
        answer = repo.retrieve("mill code").to_bytes()
    with ibidem.open(address) as repo:
        assert repo.retrieve("mill code").to_bytes() == answer
        assert isinstance(repo.core.store, SplitStore)
        assert len(objects(repo.core.store)) >= 1
        assert repo.maintenance.fsck().faults == ()
        repo.maintenance.erase(secret, reason="asked for")
        everything = [repo.core.store.bucket.get(name) or b"" for name in objects(repo.core.store)]
        assert not any(b"4711" in one for one in everything)
        assert repo.maintenance.fsck().faults == ()
        repo.maintenance.gc(keep_operations=1)
        assert repo.retrieve("mill").items
