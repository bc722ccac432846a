"""The store in PostgreSQL passes the suite; and what only a database can get wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store import faulty_writers

from ibidem.objects.cid import BlobCid
from ibidem.objects.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from ibidem.store.backends import local_folder
from ibidem.store.postgres.backend import POSTGRES
from ibidem.store.postgres.store import PostgresStore
from ibidem.store.protocol import Store
from ibidem.store.testing import StoreSuite, blocks_of, run_together


class TestPostgresStore(StoreSuite):
    @pytest.fixture
    def store(self, postgres_schema: str, tmp_path: Path) -> Iterator[Store]:
        with POSTGRES.create(postgres_schema, tmp_path) as store:
            pass
        with POSTGRES.open(postgres_schema, tmp_path) as store:
            yield store


def test_what_was_published_is_there_after_reopening(postgres_schema: str, tmp_path: Path) -> None:
    blocks = blocks_of(*(b"%d" % number for number in range(1_000)))
    with POSTGRES.create(postgres_schema, tmp_path) as store:
        store.publish(blocks, {"head": (None, b"1")})
        with pytest.raises(NotFoundError):
            POSTGRES.open(postgres_schema, tmp_path)
    with POSTGRES.open(postgres_schema, tmp_path) as store:
        assert store.cell("head") == b"1"
        assert store.get_many(blocks) == list(blocks.values())
    with (
        pytest.raises(InvalidInputError, match="exists"),
        POSTGRES.create(postgres_schema, tmp_path),
    ):
        pass


def test_a_creation_that_fails_leaves_no_schema(postgres_schema: str, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), POSTGRES.create(postgres_schema, tmp_path):
        raise ZeroDivisionError
    with POSTGRES.create(postgres_schema, tmp_path):
        pass


def test_connections_that_race_for_a_cell_win_once_each(
    postgres_schema: str, tmp_path: Path
) -> None:
    with POSTGRES.create(postgres_schema, tmp_path):
        pass

    def add(count: int) -> None:
        with POSTGRES.open(postgres_schema, tmp_path) as store:
            for _ in range(count):
                while True:
                    value = store.cell("count")
                    following = b"%d" % (int(value or b"0") + 1)
                    try:
                        store.publish(blocks_of(b"v" + following), {"count": (value, following)})
                    except ConflictError:
                        continue
                    break

    run_together(*(lambda: add(20) for _ in range(4)))
    with POSTGRES.open(postgres_schema, tmp_path) as store:
        assert store.cell("count") == b"80"


def test_a_needed_block_is_not_deleted_before_the_change_is_visible(
    postgres_schema: str, tmp_path: Path
) -> None:
    with POSTGRES.create(postgres_schema, tmp_path) as store:
        store.publish(blocks_of(b"needed"), {"head": (None, b"0")})
    cid = BlobCid.of(b"needed")
    lost = []

    def publish() -> None:
        with POSTGRES.open(postgres_schema, tmp_path) as store:
            for number in range(40):
                try:
                    store.publish({}, {"head": (b"%d" % number, b"%d" % (number + 1))}, needs=[cid])
                except (ConflictError, NotFoundError):
                    return

    def delete() -> None:
        with POSTGRES.open(postgres_schema, tmp_path) as store:
            value = store.cell("head")
            try:
                store.delete([cid], cells={"head": value})
            except ConflictError:
                return
            after = store.cell("head")
            if after != value:
                lost.append((value, after))

    run_together(publish, *(delete for _ in range(4)))
    assert not lost


def test_addresses_are_checked(tmp_path: Path) -> None:
    for address in ("postgresql:///x?schema=A-b", "postgresql:///x?nonsense=1"):
        with pytest.raises(InvalidInputError, match="address"):
            POSTGRES.open(address, tmp_path)
    with_password, without = (local_folder(f"postgresql://a{p}@h/d") for p in (":secret", ""))
    assert with_password == without


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled(postgres_schema: str, tmp_path: Path) -> None:
    found = faulty_writers.run(postgres_schema, tmp_path, count=120, writers=3, seed=1)
    assert found["acknowledged"] >= 120
    assert (found["lost"], found["doubled"], found["holding"]) == (0, 0, 0)


def test_who_competes_waits_for_the_change_before(postgres_schema: str, tmp_path: Path) -> None:
    with POSTGRES.create(postgres_schema, tmp_path):
        pass
    with opened(postgres_schema, tmp_path / "a") as a, opened(postgres_schema, tmp_path / "b") as b:
        a.publish(blocks_of(b"none"), {"head": (None, b"0")})
        assert not a.database.wait_in_queue()  # nobody else wanted one
        seen: list[bytes | None] = []

        def follow() -> None:
            assert b.database.wait_in_queue()
            seen.append(b.database.state().cells.get("head"))
            b.publish({}, {"head": (b"1", b"2")})

        def lead() -> None:
            waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted"
            while not a.database.read(waiting):
                assert not seen
            a.publish(blocks_of(b"one"), {"head": (b"0", b"1")})

        run_together(follow, lead)
        assert seen == [b"1"]
        assert not a.database.wait_in_queue()
        assert a.cell("head") == b"2"


@pytest.mark.slow
def test_who_is_first_without_a_change_holds_nobody_up(
    postgres_schema: str, tmp_path: Path
) -> None:
    with POSTGRES.create(postgres_schema, tmp_path):
        pass
    with opened(postgres_schema, tmp_path / "a") as a, opened(postgres_schema, tmp_path / "b") as b:
        a.database.wait_in_queue()
        started = time.monotonic()
        assert b.database.wait_in_queue()  # it does not wait for ever
        assert time.monotonic() - started >= 0.9
        b.publish({}, {"head": (None, b"1")})
        with pytest.raises(ConflictError):
            a.publish({}, {"head": (None, b"2")})
        a.database.leave_queue()
        assert not b.database.wait_in_queue()
        b.database.leave_queue()
        a.database.wait_in_queue()
        a.close()  # as a process does that is killed
        while b.database.wait_in_queue():
            assert time.monotonic() - started < 30


def test_who_is_refused_in_its_turn_lets_others_go_on(postgres_schema: str, tmp_path: Path) -> None:
    with POSTGRES.create(postgres_schema, tmp_path):
        pass
    with opened(postgres_schema, tmp_path / "a") as a, opened(postgres_schema, tmp_path / "b") as b:
        b.publish({}, {"head": (None, b"1")})
        a.database.wait_in_queue()
        with pytest.raises(ConflictError):
            a.publish({}, {"head": (None, b"2")})
        assert not b.database.wait_in_queue()


def test_a_full_disk_of_this_machine_is_an_error_and_no_endless_race(
    postgres_schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with POSTGRES.create(postgres_schema, tmp_path) as store:
        store.publish(blocks_of(b"gone", b"more"), {"head": (None, b"0")})
    with opened(postgres_schema, tmp_path / "a") as a, opened(postgres_schema, tmp_path / "b") as b:
        assert a.cells() == {"head": b"0"}
        a.get(BlobCid.of(b"gone"))
        b.delete([BlobCid.of(b"gone")])
        b.publish({}, {"head": (b"0", b"1")})

        def fails(*_: object, **__: object) -> None:
            raise StorageError("no space left on device")

        monkeypatch.setattr(a.cache, "forget", fails)
        with pytest.raises(ConflictError):
            a.publish({}, {"head": (b"0", b"2")})
        with pytest.raises(StorageError, match="no space"):
            a.cells()
        with pytest.raises(StorageError, match="no space"):
            a.get(BlobCid.of(b"gone"))
        monkeypatch.undo()
        a.publish({}, {"head": (b"1", b"2")})
        assert a.cell("head") == b"2"


def test_a_change_that_the_server_always_cuts_off_ends_in_time(
    postgres_schema: str, tmp_path: Path
) -> None:
    with POSTGRES.create(postgres_schema, tmp_path) as store:
        store.publish({}, {"head": (None, b"0")})
    with opened(postgres_schema, tmp_path / "a") as a:
        a.database._timeout_seconds = 0.2
        a.database.read(
            "create or replace function record(writer_id bytea, change bigint) returns void "
            "language sql as $$ select pg_terminate_backend(pg_backend_pid()) $$"
        )
        with pytest.raises(StorageError, match="lost before the change was made"):
            a.publish({}, {"head": (b"0", b"1")})
        assert a.cell("head") == b"0"


def test_an_idle_connection_that_was_cut_fails_nothing(
    postgres_schema: str, tmp_path: Path
) -> None:
    with POSTGRES.create(postgres_schema, tmp_path) as store:
        store.publish(blocks_of(b"one"), {"head": (None, b"0")})
    with opened(postgres_schema, tmp_path / "a") as a, opened(postgres_schema, tmp_path / "b") as b:

        def cut() -> None:
            ((process,),) = a.database.read("select pg_backend_pid()")
            b.database.read(f"select pg_terminate_backend({process})")
            while b.database.read(f"select 1 from pg_stat_activity where pid = {process}"):
                pass

        cut()
        assert a.delete([BlobCid.of(b"one")]) == 1
        cut()
        a.shared_files.put("name", b"body")
        cut()
        assert a.shared_files.get_all(["name"]) == [b"body"]


@pytest.mark.parametrize("way", ["few", "bulk"])
def test_a_block_that_is_inserted_again_is_not_deleted_meanwhile(
    way: str, postgres_schema: str, tmp_path: Path
) -> None:
    with POSTGRES.create(postgres_schema, tmp_path) as store:
        store.publish(blocks_of(b"again"), {"head": (None, b"0")})
    cid = BlobCid.of(b"again")
    with opened(postgres_schema, tmp_path / "a") as a, opened(postgres_schema, tmp_path / "b") as b:
        a.database.read("begin")
        if way == "few":
            a.database.read("select insert_blocks(%s::bytea[], '{again}')", [cid.raw])
        else:
            a.database.read("create temporary table incoming (cid bytea, body bytea)")
            a.database.read("insert into incoming values (%s, 'again')", cid.raw)
            a.database.read("select insert_incoming()")
        b.database.read("set lock_timeout = 100")
        with pytest.raises(StorageError, match="lock timeout"):
            b.delete([cid])
        a.database.read("rollback")


@pytest.mark.parametrize("way", ["few", "bulk"])
def test_a_block_that_is_deleted_before_it_is_locked_is_inserted_again(
    way: str, postgres_schema: str, tmp_path: Path
) -> None:
    """Both want the same block again and again; each finds it after its own publish."""
    with POSTGRES.create(postgres_schema, tmp_path) as store:
        store.publish(blocks_of(b"again"), {"head": (None, b"0")})
    cid, lost = BlobCid.of(b"again"), []
    others = blocks_of(*(b"%d" % number for number in range(0 if way == "few" else 300)))

    def publish() -> None:
        with POSTGRES.open(postgres_schema, tmp_path / "a") as store:
            for number in range(20):
                values = b"%d" % number, b"%d" % (number + 1)
                store.publish(others | blocks_of(b"again"), {"head": values})

    def delete() -> None:
        with POSTGRES.open(postgres_schema, tmp_path / "b") as store:
            while (value := store.cell("head")) != b"20":
                try:
                    store.delete([cid, *others], cells={"head": value})
                except ConflictError:
                    continue
                if store.cell("head") != value and not store.has(cid):
                    lost.append(value)

    run_together(publish, delete)
    assert not lost


def test_a_cell_that_has_to_be_absent_stays_so_until_the_deletion_ends(
    postgres_schema: str, tmp_path: Path
) -> None:
    with POSTGRES.create(postgres_schema, tmp_path) as store:
        store.publish(blocks_of(b"one"), {"head": (None, b"0")})
    with opened(postgres_schema, tmp_path / "a") as a, opened(postgres_schema, tmp_path / "b") as b:
        a.database.read("begin")
        a.database.remove([BlobCid.of(b"one")], {"new": None})
        b.database.read("set lock_timeout = 100")
        with pytest.raises(StorageError, match="lock timeout"):
            b.publish({}, {"new": (None, b"1")})
        a.database.read("commit")
        b.publish({}, {"new": (None, b"1")})
        with pytest.raises(ConflictError):
            a.delete([BlobCid.of(b"one")], cells={"new": None})


def opened(address: str, folder: Path) -> PostgresStore:
    folder.mkdir()
    store = POSTGRES.open(address, folder)
    assert isinstance(store, PostgresStore)
    return store
