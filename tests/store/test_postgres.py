"""The store in PostgreSQL passes the suite; and what only a database can get wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store import faulty_writers

from ibidem.objects.cid import BlobCid
from ibidem.objects.errors import ConflictError, InvalidInputError, NotFoundError
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


def opened(address: str, folder: Path) -> PostgresStore:
    folder.mkdir()
    store = POSTGRES.open(address, folder)
    assert isinstance(store, PostgresStore)
    return store
