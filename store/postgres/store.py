"""The store in PostgreSQL: blocks and cells are rows, and one transaction makes a change visible.

A writer locks the rows of the cells that it swaps, in the order of their names, so that writers
queue and none of them deadlocks. A block that a change refers to is locked against deletion until
the change is visible. READ COMMITTED is enough with these locks, and what is acknowledged is as
durable as the server's `synchronous_commit` says.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ConflictError, ErrorKind, IbidemError, StorageError
from ibidem.objects.forking import ForkLock
from ibidem.store.closing import Closing
from ibidem.store.protocol import (
    NO_CELLS,
    Guard,
    StoreStats,
    Swap,
    Unguarded,
    check_blocks,
    check_cell,
    check_hash,
    closed_store,
    moved_cell,
)

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

_PAGE_COUNT = 4096
_COPY_COUNT = 256
"""More blocks than this are sent by COPY."""
_SHARE = 0.2
_TABLES = """
create table block (cid bytea primary key, body bytea not null);
alter table block alter column body set storage external;
create table cell (name text collate "C" primary key, value bytea not null);
create table format (version integer not null);
"""


class PostgresStore(Closing):
    """Blocks and cells in a schema of a database. Threads share one connection."""

    def __init__(self, connect: Callable[[], Connection[Any]]) -> None:
        """Opens the store.

        Args:
            connect: returns a connection in autocommit mode, so that a reading is one round trip,
                whose search path is the schema; called again in a forked process, and after the
                server closed the connection.
        """
        self.guard: Guard = Unguarded()
        self._connect = connect
        self._connection: Connection[Any] | None = None
        self._process = 0
        self._lock = ForkLock()
        self._is_closed = False
        self.round_trip_seconds = 0.0
        """The average time that a write took lately."""

    def create_schema(self, schema: str) -> bool:
        """Creates a schema with the tables; returns False if it exists."""
        with self._transaction("create the schema") as cursor:
            cursor.execute("select 1 from pg_namespace where nspname = %s", (schema,))
            if cursor.fetchone():
                return False
            cursor.execute(f"create schema {schema}")  # a checked name
            cursor.execute(_TABLES)
        return True

    def complete(self, version: int) -> None:
        """Records the version of the layout: from now on the store can be opened."""
        with self._transaction("complete the schema") as cursor:
            cursor.execute("insert into format values (%s)", (version,))

    def drop_schema(self, schema: str) -> None:
        """Drops a schema that could not be completed."""
        with self._transaction("drop the schema") as cursor:
            cursor.execute(f"drop schema {schema} cascade")  # a checked name

    def get(self, cid: Cid) -> bytes:
        """Returns the block after checking its hash."""
        return self.get_many([cid])[0]

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`, read by one statement."""
        wanted = list(cids)
        self._check_open()
        if not wanted:
            return []
        rows = self._rows(
            "select cid, body from block where cid = any(%s)", [cid.raw for cid in set(wanted)]
        )
        found = {bytes(raw): bytes(body) for raw, body in rows}
        for cid in dict.fromkeys(wanted):
            block = found.get(cid.raw)
            if block is None:
                raise self.guard.missing(cid)
            check_hash(cid, block)
        return [found[cid.raw] for cid in wanted]

    def has(self, cid: Cid) -> bool:
        """Returns whether the block is stored."""
        return bool(self._rows("select 1 from block where cid = %s", cid.raw))

    def put(self, blocks: Mapping[Cid, bytes]) -> None:
        """Stores the blocks, all or none; durable on return."""
        self.publish(blocks, {})

    def cell(self, name: str) -> bytes | None:
        """Returns the value of a cell, None if there is no such cell."""
        check_cell(name)
        rows = self._rows("select value from cell where name = %s", name)
        return bytes(rows[0][0]) if rows else None

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        """Puts the blocks and swaps every cell in one transaction, or changes nothing."""
        self._check_open()
        is_held = type(blocks) is dict
        if is_held:
            check_blocks(blocks)
        for name, swap in cells.items():
            check_cell(name, *swap)
        if not blocks and not cells:
            return
        self.guard.refuse(blocks, cells={name: old for name, (old, _) in cells.items()})
        needed = sorted({cid.raw for cid in needs if cid not in blocks})
        started = time.monotonic()
        try:
            self._publish(blocks, cells, needed, is_checked=is_held)
        except _NeededError as error:  # the guard may read the store
            raise self.guard.missing(error.cid) from None
        took = time.monotonic() - started
        before = self.round_trip_seconds
        self.round_trip_seconds = before + _SHARE * (took - before) if before else took

    def _publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        needed: list[bytes],
        *,
        is_checked: bool,
    ) -> None:
        with self._transaction("publish") as cursor:
            for name, (old, new) in sorted(cells.items()):
                if not _swap(cursor, name, old, new):
                    raise moved_cell(name)
            if needed:
                # Key locks: a deletion of one of them waits for the end of this transaction.
                cursor.execute(
                    "select cid from block where cid = any(%s) order by cid for key share",
                    (needed,),
                )
                missing = set(needed) - {bytes(raw) for (raw,) in cursor}
                if missing:
                    raise _NeededError(Cid(min(missing)))
            _insert(cursor, blocks, is_checked=is_checked)

    def cells(self) -> dict[str, bytes]:
        """Returns all cells, by name ascending, read by one statement."""
        return {
            name: bytes(value)
            for name, value in self._rows("select name, value from cell order by name")
        }

    def cids(self, start: bytes = b"") -> Iterator[Cid]:
        """Yields the CIDs from `start` on, ascending; one statement per few thousand."""
        while True:
            page = self._rows(
                "select cid from block where cid >= %s order by cid limit %s", start, _PAGE_COUNT
            )
            for (raw,) in page:
                yield Cid(bytes(raw))
            if len(page) < _PAGE_COUNT:
                return
            start = bytes(page[-1][0]) + b"\0"

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Deletes blocks in one transaction, provided that the cells hold the expected values."""
        chosen = sorted({cid.raw for cid in cids})
        with self._transaction("delete") as cursor:
            for name, value in sorted(cells.items()):
                if not _swap(cursor, name, value, value):
                    raise moved_cell(name)
            # In the order in which publishers lock them.
            cursor.execute(
                "select cid from block where cid = any(%s) order by cid for update", (chosen,)
            )
            cursor.execute("delete from block where cid = any(%s)", (chosen,))
            return cursor.rowcount

    def renew(self) -> None:
        """Does nothing: no buffer here is written again."""
        self._check_open()

    def scrub(self) -> int:
        """Rewrites the table without deleted rows; returns by how many bytes it got smaller.

        The write-ahead log, its archive and backups still hold the bytes until they expire.
        """
        before = self.stats().size_bytes
        self._check_open()
        with self._lock:
            try:
                self._opened().execute("vacuum full block")
            except _errors() as error:
                raise _failure("rewrite the table", error) from error
        return max(0, before - self.stats().size_bytes)

    def stats(self) -> StoreStats:
        """Returns the counts and sizes of the store."""
        ((blocks, cells, size),) = self._rows(
            "select (select count(*) from block), (select count(*) from cell), "
            "pg_total_relation_size('block') + pg_total_relation_size('cell')"
        )
        return StoreStats(blocks, cells, size)

    def version(self) -> int | None:
        """Returns the version of the layout, None if the schema has no store in it."""
        if self._rows("select to_regclass('format')")[0][0] is None:
            return None
        rows = self._rows("select version from format")
        return int(rows[0][0]) if rows else None

    def close(self) -> None:
        """Closes the connection; closing twice is allowed."""
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _check_open(self) -> None:
        if self._is_closed:
            raise closed_store()

    def _opened(self) -> Connection[Any]:
        self._check_open()
        if self._process != os.getpid() or self._connection is None or self._connection.closed:
            self._connection = self._connect()
            self._process = os.getpid()
        return self._connection

    def _rows(self, statement: str, *arguments: object) -> list[Any]:
        """Returns the rows of a statement that reads; it is repeated once if the connection was
        lost."""
        self._check_open()
        with self._lock:
            for is_last in (False, True):
                try:
                    return self._opened().execute(statement, arguments).fetchall()
                except _errors() as error:
                    lost = self._connection
                    if is_last or (lost is not None and not lost.closed):
                        raise _failure("read", error) from error
        raise AssertionError("BUG: neither rows nor an error")

    @contextmanager
    def _transaction(self, what: str) -> Iterator[Cursor[Any]]:
        self._check_open()
        with self._lock:
            try:
                connection = self._opened()
                with connection.transaction(), connection.cursor() as cursor:
                    yield cursor
            except _errors() as error:
                raise _failure(what, error) from error


class _NeededError(Exception):
    """A needed block is missing."""

    def __init__(self, cid: Cid) -> None:
        self.cid = cid


def _swap(cursor: Cursor[Any], name: str, old: bytes | None, new: bytes | None) -> bool:
    """Swaps a cell and locks it until the end of the transaction; returns whether it held the
    expected value."""
    if old is None:
        cursor.execute(
            "insert into cell values (%s, %s) on conflict do nothing", (name, new or b"")
        )
        is_done = cursor.rowcount == 1
        if is_done and new is None:
            cursor.execute("delete from cell where name = %s", (name,))
        return is_done
    if new is None:
        cursor.execute("delete from cell where name = %s and value = %s", (name, old))
    else:
        cursor.execute(
            "update cell set value = %s where name = %s and value = %s", (new, name, old)
        )
    return cursor.rowcount == 1


def _insert(cursor: Cursor[Any], blocks: Mapping[Cid, bytes], *, is_checked: bool) -> None:
    """Inserts blocks in the order of their CIDs, which together may exceed memory."""
    order = sorted(blocks, key=lambda cid: cid.raw)
    if len(order) > _COPY_COUNT:
        cursor.execute("create temporary table incoming (cid bytea, body bytea) on commit drop")
        with cursor.copy("copy incoming from stdin (format binary)") as copy:
            copy.set_types(["bytea", "bytea"])
            for cid in order:
                copy.write_row((cid.raw, _checked(blocks, cid, is_checked)))
        cursor.execute(
            "insert into block select cid, body from incoming order by cid on conflict do nothing"
        )
        return
    rows = [(cid.raw, _checked(blocks, cid, is_checked)) for cid in order]
    if rows:
        cursor.execute(
            "insert into block select * from unnest(%s::bytea[], %s::bytea[]) "
            "on conflict do nothing",
            ([raw for raw, _ in rows], [body for _, body in rows]),
        )


def _checked(blocks: Mapping[Cid, bytes], cid: Cid, is_checked: bool) -> bytes:
    block = blocks[cid]
    if not is_checked:
        check_blocks({cid: block})
    return block


def _errors() -> tuple[type[Exception], ...]:
    from psycopg import Error

    return (Error,)


def _failure(what: str, error: Exception) -> IbidemError:
    from psycopg import errors

    reason = " ".join(str(error).split())
    if isinstance(error, errors.DeadlockDetected | errors.SerializationFailure):
        return ConflictError(
            f"PostgreSQL: another writer was first: {reason}", kind=ErrorKind.HEAD_MOVED
        )
    return StorageError(
        f"PostgreSQL: cannot {what}: {reason}",
        hint="check the address and the server; if the connection was lost during a change, read "
        "the newest state to see whether it was made",
    )
