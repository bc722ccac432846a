"""The store in PostgreSQL: blocks and cells are rows, and one transaction makes a change visible.

What is acknowledged is as durable as the server's `synchronous_commit` says. This machine keeps
copies of blocks, which are void once the store has deleted some: see `schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid
from ibidem.store.cache import BlockCache
from ibidem.store.closing import Closing
from ibidem.store.group_commit import Change
from ibidem.store.postgres.database import Database
from ibidem.store.postgres.files import DatabaseFiles
from ibidem.store.postgres.writer import Writer
from ibidem.store.protocol import (
    NO_CELLS,
    Guard,
    SharedFiles,
    StoreStats,
    Swap,
    Unguarded,
    check_blocks,
    check_cell,
    closed_store,
    moved_cell,
)
from ibidem.store.queue import QueuePosition

if TYPE_CHECKING:
    from psycopg import Connection

Connect = Callable[[], "Connection[Any]"]
TIMEOUT_SECONDS = 30.0
"""How long a writer tries to find out whether its change was made."""
_PAGE_COUNT = 4096
_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")


class PostgresStore(Closing):
    """Blocks and cells in a schema of a database. Threads share one connection."""

    def __init__(
        self,
        connect: Connect,
        *,
        cache: BlockCache | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        database: Callable[[Connect, BlockCache, float], Database] = Database,
    ) -> None:
        """Opens the store; reads nothing yet.

        Args:
            connect: returns a connection in autocommit mode, so that a statement is one exchange,
                whose search path is the schema and whose isolation is READ COMMITTED; called again
                in a forked process, and after the connection was lost.
            cache: of this machine; by default one in memory.
            timeout_seconds: how long a writer tries to find out whether its change was made.
            database: returns the exchanges with the schema.
        """
        self.guard: Guard = Unguarded()
        self.cache = BlockCache(None) if cache is None else cache
        self.database = database(connect, self.cache, timeout_seconds)
        self.shared_files: SharedFiles = DatabaseFiles(self.database)
        self._writer = Writer(self.database, self)
        self.is_just_opened = False
        """Whether the next reading of cells follows the opening at once, which looked."""
        self._is_closed = False

    def get(self, cid: Cid) -> bytes:
        """Returns the block after checking its hash."""
        return self.get_many([cid])[0]

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`; those that are not on this machine are read by
        one statement."""
        wanted = list(cids)
        self._check_open()
        found = self.cache.get_many(wanted)
        absent = dict.fromkeys(cid for cid in wanted if cid not in found)
        for cid in list(absent):
            pending = self._writer.pending_block(cid)
            if pending is not None:
                found[cid] = pending
                del absent[cid]
        if absent:
            found |= self.database.fetch(absent)
        for cid in absent:
            if cid not in found:
                raise self.guard.missing(cid)
        return [found[cid] for cid in wanted]

    def has(self, cid: Cid) -> bool:
        """Returns whether the block is stored."""
        self._check_open()
        return bool(self.database.read("select 1 from block where cid = %s", cid.raw))

    def put(self, blocks: Mapping[Cid, bytes]) -> None:
        """Stores the blocks, all or none; durable on return."""
        self.publish(blocks, {})

    def cell(self, name: str) -> bytes | None:
        """Returns the value of a cell, None if there is no such cell."""
        check_cell(name)
        return self.cells().get(name)

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        """Puts the blocks and swaps every cell in one transaction, or changes nothing.

        Raises:
            StorageError: the server fails. If the message says that it is not known whether the
                change was made, the newest state has to be read.
        """
        self._check_open()
        if type(blocks) is dict:
            check_blocks(blocks)
        for name, swap in cells.items():
            check_cell(name, *swap)
        if not blocks and not cells:
            return
        expected = {name: old for name, (old, _) in cells.items()}
        self.guard.refuse(blocks, cells=expected)
        change = Change(
            expected,
            {name: new for name, (_, new) in cells.items()},
            blocks,
            [cid for cid in needs if cid not in blocks],
        )
        self._writer.submit(change)

    def cells(self) -> dict[str, bytes]:
        """Returns all cells, by name ascending, read by one statement."""
        self._check_open()
        if self.is_just_opened:
            self.is_just_opened = False
            state = self.database.state()
        else:
            state = self.database.refreshed()
        self._writer.note_read(state)
        return dict(sorted(state.cells.items()))

    def cids(self, start: bytes = b"") -> Iterator[Cid]:
        """Yields the CIDs from `start` on, ascending; one statement per few thousand."""
        while True:
            self._check_open()
            page = self.database.read(
                "select cid from block where cid >= %s order by cid limit %s", start, _PAGE_COUNT
            )
            for (raw,) in page:
                yield Cid(raw)
            if len(page) < _PAGE_COUNT:
                return
            start = page[-1][0] + b"\0"

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Deletes blocks in one transaction, provided that the cells hold the expected values."""
        self._check_open()
        count, moved = self.database.remove(cids, cells)
        if moved:
            raise moved_cell(moved)
        return count

    def renew(self) -> None:
        """Does nothing: no buffer here is written again."""
        self._check_open()

    def scrub(self) -> int:
        """Rewrites the tables without deleted rows; returns by how many bytes they got smaller.

        The write-ahead log, its archive and backups still hold the bytes until they expire.
        """
        before = self.stats().size_bytes
        for table in ("block", "file"):
            self.database.change("rewrite a table", f"vacuum full {table}")
        return max(0, before - self.stats().size_bytes)

    def stats(self) -> StoreStats:
        """Returns the counts and sizes of the store."""
        self._check_open()
        ((blocks, cells, size),) = self.database.read(
            "select (select count(*) from block), (select count(*) from cell), "
            "pg_total_relation_size('block') + pg_total_relation_size('cell') + "
            "pg_total_relation_size('file')"
        )
        return StoreStats(blocks, cells, size)

    def notes(self) -> tuple[str, ...]:
        """Returns which settings of the server let it lose what it acknowledged; see
        `SupportsNotes`."""
        rows = self.database.read(
            "select name from pg_settings where setting = 'off' and name = any(%s) order by name",
            list(_DURABLE),
        )
        return tuple(
            f"the setting {name} of the server is off, so that a crash of its machine can lose "
            "what it acknowledged"
            for (name,) in rows
        )

    def forget_copies(self, cids: Iterable[Cid]) -> None:
        """Destroys the copies of blocks that this machine keeps; see `SupportsLocalCopies`."""
        self.cache.forget(cids)

    def queued(self) -> AbstractContextManager[QueuePosition]:
        """Lets the threads that share this store publish one after the other, each on what those
        before it hand in."""
        self._check_open()
        return self._writer.queued()

    def close(self) -> None:
        """Closes the connection and writes the local copies; closing twice is allowed."""
        self._is_closed = True
        self.database.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise closed_store()
