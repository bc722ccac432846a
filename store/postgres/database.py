"""A schema of a database, as this process knows it: one exchange for every reading and change.

Whatever is asked, the answer says under which mark copies of blocks are valid, so that no copy
outlives the deletion of its block. A change whose answer was lost is settled before anything else
happens: the server says whether it was made, and otherwise keeps it from being made later.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErrorKind,
    StorageError,
)
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.store.cache import BlockCache
from ibidem.store.postgres.schema import SCHEMA
from ibidem.store.protocol import Swap, check_blocks, check_hash, closed_store

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

BULK_COUNT = 256
"""More blocks than this are sent by COPY."""
_SHARE = 0.2
"""Weight of the newest measurement in the average round trip."""
_WRITER_BYTES = 16
_PAUSE_SECONDS = 0.05
_NO_SUCH_FUNCTION, _UNIQUE = "42883", "23505"
_LOST_RACES = ("40001", "40P01", _UNIQUE)
Row = tuple[str, int | None, str | None, bytes | None, bytes | None]


@record(eq=False)
class DatabaseState:
    """The cells at one moment, and the version of the layout."""

    cells: Mapping[str, bytes]
    version: int | None


@record
class Outcome:
    """What came of a change."""

    is_done: bool = False
    missing: Cid | None = None
    """A block that the change needs and that is not stored."""


class Database:
    """The exchanges with one schema. Threads share a connection."""

    def __init__(
        self, connect: Callable[[], Connection[Any]], cache: BlockCache, timeout_seconds: float
    ) -> None:
        """Connects when it is first needed.

        Args:
            connect: see `PostgresStore`.
            cache: gets the blocks that come along, and loses those that are deleted.
            timeout_seconds: how long a writer tries to find out whether its change was made.
        """
        self._connect = connect
        self._cache = cache
        self._timeout_seconds = timeout_seconds
        self._connection: Connection[Any] | None = None
        self._process = 0
        self._lock = ForkLock()
        self._is_closed = False
        self._state: DatabaseState | None = None
        self._looked = 0.0
        """When the newest look began."""
        self._number: int | None = None
        """The newest block that the newest look knew of."""
        self._is_first = False
        """Whether other processes that compete wait for this one."""
        self._writer_id = b""
        """Empty if this process is no known writer yet, or not any more."""
        self._count = 0
        """Changes that this writer made or gave up."""
        self.round_trip_seconds = 0.0
        """The average time that a write took lately."""

    # -- reading -----------------------------------------------------------------------------------

    def state(self) -> DatabaseState:
        """Returns the newest state that was read; the first call reads it."""
        return self._state or self.refreshed()

    def refreshed(self) -> DatabaseState:
        """Reads the newest state. Threads that ask at the same time share the answer."""
        arrived = time.monotonic()
        with self._lock:
            if self._state is None or self._looked < arrived:
                started = time.monotonic()
                with self._cache.looking():
                    rows = self.read("select * from look(%s, '{}')", self._since())
                    self._take(rows, started)
            return self.state()

    def wait_in_queue(self) -> bool:
        """Waits until it is the turn of this process among those that compete, and reads the newest
        state; returns whether it had to wait. Does nothing if it has the turn."""
        with self._lock:
            if self._is_first:
                return False
            started = time.monotonic()
            with self._cache.looking():
                rows = self.read("select * from wait_in_queue(%s)", self._since())
                _, has_waited, is_mine, _, _ = rows[0]
                self._is_first = is_mine == "true"
                self._take(rows[1:], started)
            return bool(has_waited)

    def leave_queue(self) -> None:
        """Lets the next process have its turn, without a change."""
        with self._lock:
            if self._is_first:
                self._is_first = False
                with suppress(StorageError):  # it ends with the connection
                    self.read("select pg_advisory_unlock('block'::regclass::oid::bigint)")

    def fetch(self, cids: Iterable[Cid]) -> dict[Cid, bytes]:
        """Reads those blocks that are stored.

        Raises:
            CorruptError: kind `hash-mismatch`.
        """
        with self._lock:
            rows = self.read("select * from stored(%s::bytea[])", [cid.raw for cid in cids])
            found: dict[Cid, bytes] = {}
            for kind, _, _, raw, body in rows:
                assert raw is not None, "BUG: a row without its CID or mark"
                if kind == "state":
                    self._cache.follow(raw)
                else:
                    found[Cid(raw)] = body or b""
            found = self._blocks_in(found)
            for cid, block in found.items():
                check_hash(cid, block)
            self._cache.add(found)
            return found

    def _blocks_in(self, bodies: dict[Cid, bytes]) -> dict[Cid, bytes]:
        """Returns the blocks whose rows have these bodies."""
        return bodies

    def _block_in(self, body: bytes) -> bytes | None:
        """Returns the block whose row has this body; None if it is not in the row."""
        return body

    def read(self, statement: str, *arguments: object) -> list[Any]:
        """Returns the rows of a statement that may be executed again; it is, if the connection was
        lost or the server asks for it, as one that follows another does."""
        with self._lock:
            for is_last in (False, False, True):
                connection = self._opened()
                try:
                    return _executed(connection, statement, arguments)
                except _errors() as error:
                    if is_last or not (connection.closed or _is_lost_race(error)):
                        raise failure("read", error) from error
        raise AssertionError("BUG: neither rows nor an error")

    def version(self) -> int | None:
        """Returns the version of the layout, None if the schema has no store in it."""
        try:
            return self.refreshed().version
        except StorageError as error:
            if getattr(error.__cause__, "sqlstate", None) != _NO_SUCH_FUNCTION:
                raise
        if self.read("select to_regclass('format')")[0][0] is None:
            return None
        rows = self.read("select version from format")
        return None if not rows or rows[0][0] is None else int(rows[0][0])

    def _take(self, rows: Iterable[Row], started: float) -> None:
        """Adopts the rows of a look that began at a time.

        Raises:
            StorageError: the disk of this machine fails; the cells are adopted.
        """
        cells: dict[str, bytes] = {}
        blocks: dict[Cid, bytes] = {}
        version, mark = None, b""
        for kind, number, name, raw, body in rows:
            if kind == "state":
                assert raw is not None, "BUG: a state without a mark"
                self._number, version, mark = number, None if name is None else int(name), raw
            elif kind == "cell":
                cells[name or ""] = raw or b""
            elif kind == "block":
                cid, block = Cid(raw or b""), self._block_in(body or b"")
                if block is None:
                    continue
                with suppress(CorruptError):  # is raised to whoever wants it
                    check_hash(cid, block)
                    blocks[cid] = block
        self._looked = started
        before = self._state
        if before is None or before.cells != cells or before.version != version:
            self._state = DatabaseState(cells, version)
        self._cache.follow(mark)
        self._cache.add(blocks)

    def _since(self) -> int:
        if self._number is None:
            self._number = int.from_bytes(self._cache.note() or b"", "big")
        return self._number

    # -- writing -----------------------------------------------------------------------------------

    def publish(
        self, swaps: Mapping[str, Swap], blocks: Mapping[Cid, bytes], needs: Iterable[Cid]
    ) -> Outcome:
        """Swaps cells and inserts blocks in one transaction, or changes nothing; the newest state
        is known afterwards.

        Raises:
            StorageError: the server fails, or every connection is lost for too long. If the message
                says that it is not known whether the change was made, the newest state has to be
                read.
        """
        names = sorted(swaps)
        change = (
            names,
            [swaps[name][0] for name in names],
            [swaps[name][1] for name in names],
            sorted({cid.raw for cid in needs if cid not in blocks}),
        )
        with self._lock:
            try:
                stop = None
                while True:
                    outcome = self._tried(change, blocks)
                    if outcome is not None:
                        return outcome
                    now = time.monotonic()
                    stop = stop or now + self._timeout_seconds
                    if now >= stop:
                        raise StorageError(
                            "PostgreSQL: every connection was lost before the change was made",
                            hint="check the server, then try again",
                        )
                    time.sleep(_PAUSE_SECONDS)
            except BaseException:
                # What came of it may be unknown, and so is the count of this writer.
                self._writer_id = b""
                raise

    def _tried(self, change: tuple[object, ...], blocks: Mapping[Cid, bytes]) -> Outcome | None:
        """Returns what came of a change; None if the connection was lost before it was made."""
        connection = self._opened()
        started = time.monotonic()
        try:
            if len(blocks) > BULK_COUNT:
                outcome = self._publish_bulk(connection, change, blocks)
            else:
                outcome = self._publish_once(connection, change, blocks)
        except _errors() as error:
            if _is_lost_race(error):
                self._look_again()
                return Outcome()
            if not connection.closed:
                raise failure("publish", error) from error
            if not self._was_made(error):
                return None
            self._cache.add(self._few(blocks))
            self._look_again()
            return Outcome(is_done=True)
        took = time.monotonic() - started
        before = self.round_trip_seconds
        self.round_trip_seconds = before + _SHARE * (took - before) if before else took
        return outcome

    def _publish_once(
        self, connection: Connection[Any], change: tuple[object, ...], blocks: Mapping[Cid, bytes]
    ) -> Outcome:
        started = time.monotonic()
        order = sorted(blocks, key=lambda cid: cid.raw)
        rows = _executed(
            connection,
            _PUBLISH,
            (
                *change,
                [cid.raw for cid in order],
                [_checked(blocks, cid) for cid in order],
                *(self._writer_id, self._count + 1, self._is_first, self._since()),
            ),
        )
        outcome = _outcome(rows[0])
        self._count += outcome.is_done
        self._is_first = self._is_first and not outcome.is_done
        with suppress(StorageError):  # of this machine's disk; the next look raises it
            self._take(rows[1:], started)
            if outcome.is_done:
                self._cache.add(self._few(blocks))
        return outcome

    def _publish_bulk(
        self, connection: Connection[Any], change: tuple[object, ...], blocks: Mapping[Cid, bytes]
    ) -> Outcome:
        """Publishes blocks that together may exceed memory, in the order of their CIDs."""
        from psycopg import Rollback

        outcome = Outcome()
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(_PUBLISH, (*change, [], [], None, 0, False, self._since()))
            outcome = _outcome(cursor.fetchall()[0])
            if not outcome.is_done:
                raise Rollback
            _copy(cursor, blocks)
            cursor.execute("select record(%s, %s)", (self._writer_id, self._count + 1))
        self._count += outcome.is_done
        self.leave_queue()
        self._look_again()
        return outcome

    def _few(self, bodies: Mapping[Cid, bytes]) -> Mapping[Cid, bytes]:
        """Returns the blocks in the bodies of rows if they are few enough to be kept in memory."""
        return bodies if len(bodies) <= BULK_COUNT else {}

    def _look_again(self) -> None:
        """Reads the newest state after a change, which was made or not whether or not this
        fails."""
        with suppress(StorageError):
            self.refreshed()

    def _was_made(self, cause: Exception) -> bool:
        """Returns whether the newest change was made; if not, it never will be.

        Raises:
            StorageError: the server does not say so in time.
        """
        stop = time.monotonic() + self._timeout_seconds
        while True:
            with suppress(StorageError):
                rows = self.read("select settle(%s, %s)", self._writer_id, self._count + 1)
                self._count += 1
                return bool(rows[0][0])
            if time.monotonic() >= stop:
                raise StorageError(
                    "PostgreSQL: no answer; it is not known whether the change was made",
                    hint="read the newest state, then repeat what is missing in it",
                ) from cause
            time.sleep(_PAUSE_SECONDS)

    def remove(self, cids: Iterable[Cid], cells: Mapping[str, bytes | None]) -> tuple[int, str]:
        """Deletes blocks in one transaction; returns how many were stored, and the name of a cell
        that holds another value than expected: then nothing was deleted. Blocks that were deleted
        before a connection was lost are not counted."""
        chosen = sorted(set(cids), key=lambda cid: cid.raw)
        names = sorted(cells)
        with self._lock:
            rows = self.change(
                "delete",
                "select * from remove(%s::text[], %s::bytea[], %s::bytea[])",
                *(names, [cells[name] for name in names], [cid.raw for cid in chosen]),
            )
            ((kind, count, name, before, after),) = rows
            if kind == "moved":
                return 0, name or ""
            self._cache.follow(before or b"")
            if count:
                self._cache.forget(chosen, mark=after)
            return int(count), ""

    def change(self, what: str, statement: str, *arguments: object) -> list[Any]:
        """Returns the rows of a statement that may be executed again; it is, if the connection was
        lost."""
        with self._lock:
            for is_last in (False, True):
                connection = self._opened()
                try:
                    return _executed(connection, statement, arguments)
                except _errors() as error:
                    if _is_lost_race(error):
                        raise ConflictError(
                            f"PostgreSQL: another writer was first: {_reason(error)}",
                            kind=ErrorKind.HEAD_MOVED,
                        ) from error
                    if is_last or not connection.closed:
                        raise failure(what, error) from error
        raise AssertionError("BUG: neither rows nor an error")

    # -- the schema --------------------------------------------------------------------------------

    def create_schema(self, schema: str, more: str = "") -> bool:
        """Creates a schema with its tables and functions, and what more statements create; returns
        False if it exists."""
        if self.read("select 1 from pg_namespace where nspname = %s", schema):
            return False
        with self._lock:
            connection = self._opened()
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    cursor.execute(f"create schema {schema}")  # a checked name
                    cursor.execute(SCHEMA + more)
            except _errors() as error:
                raise failure("create the schema", error) from error
        return True

    def close(self) -> None:
        """Closes the connection, and writes what this machine keeps."""
        if not self._is_closed:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            number = self._number
            self._cache.close(note=None if number is None else number.to_bytes(8, "big"))

    def _opened(self) -> Connection[Any]:
        if self._is_closed:
            raise closed_store()
        if self._process != os.getpid():
            self._connection = None
            self._writer_id = b""
            self._process = os.getpid()
        if not self._writer_id:
            self._writer_id, self._count = os.urandom(_WRITER_BYTES), 0
        if self._connection is None or self._connection.closed:
            self._is_first = False
            try:
                self._connection = self._connect()
            except _errors() as error:
                raise failure("connect", error) from error
        return self._connection


_PUBLISH = (
    "select * from publish(%s::text[], %s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[], "
    "%s::bytea[], %s, %s, %s, %s)"
)


def _executed(
    connection: Connection[Any], statement: str, arguments: tuple[object, ...]
) -> list[Any]:
    with connection.cursor(binary=True) as cursor:
        cursor.execute(statement, arguments or None)
        return cursor.fetchall() if cursor.description else []


def _outcome(row: Row) -> Outcome:
    kind, _, _, raw, _ = row
    return Outcome(kind == "done", Cid(raw or b"") if kind == "missing" else None)


def _copy(cursor: Cursor[Any], blocks: Mapping[Cid, bytes]) -> None:
    cursor.execute("create temporary table incoming (cid bytea, body bytea) on commit drop")
    with cursor.copy("copy incoming from stdin (format binary)") as copy:
        copy.set_types(["bytea", "bytea"])
        for cid in sorted(blocks, key=lambda cid: cid.raw):
            copy.write_row((cid.raw, _checked(blocks, cid)))
    cursor.execute("select insert_incoming()")


def _checked(blocks: Mapping[Cid, bytes], cid: Cid) -> bytes:
    block = blocks[cid]
    if type(blocks) is not dict:  # those were checked before
        check_blocks({cid: block})
    return block


def _errors() -> tuple[type[Exception], ...]:
    from psycopg import Error

    return (Error,)


def _is_lost_race(error: Exception) -> bool:
    return getattr(error, "sqlstate", None) in _LOST_RACES


def failure(what: str, error: Exception) -> StorageError:
    """Returns the error for one of the client library."""
    return StorageError(
        f"PostgreSQL: cannot {what}: {_reason(error)}",
        hint="check the address and the server, then try again",
    )


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())
