"""The store on disk: LMDB, durable transactions, any number of reading processes.

A block that was acknowledged survives a crash and a power loss: every write transaction is synced
before it returns. Blocks are written in sorted order, in one cursor call for each transaction.
Readers never wait; writers queue at the writer lock of this library.

A publication of many blocks takes several transactions under one lock, and the last one swaps the
cells. A transaction writes each page that it changes to a new position, and the old page is free
for those after it: so the file grows by the pages that one batch changes, not by those that the
whole publication changes, which may be every page there is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Self

from ibidem.objects.cid import Cid
from ibidem.objects.errors import StorageError
from ibidem.store.closing import Closing
from ibidem.store.files import built_whole
from ibidem.store.lmdb.environment import LOCK_FILE, TIMEOUT_SECONDS, Environment, acquire, release
from ibidem.store.lmdb.numbering import number_transactions
from ibidem.store.lmdb.writer_queue import turn
from ibidem.store.lock import writer_lock
from ibidem.store.protocol import (
    NO_CELLS,
    PARTIAL_CELL,
    Guard,
    LayoutReport,
    StoreStats,
    Swap,
    Unguarded,
    check_blocks,
    check_cell,
    check_hash,
    closed_store,
    moved_cell,
)
from ibidem.store.queue import QueuePosition

BATCH_COUNT = 8_192
"""Number of blocks that one transaction writes at most. A batch changes at most that many leaf
pages, 64 MiB of them; a load of 50,000 nodes with vectors is flushed 13 times."""
_PAGE_COUNT = 4096
"""Number of CIDs that one transaction reads while listing: a long listing must not pin old
pages."""
_raw, _raw_of = itemgetter(0), attrgetter("raw")
_NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "afs",
        "ncpfs",
        "lustre",
        "glusterfs",
        "fuse.glusterfs",
        "fuse.sshfs",
    }
)


class _NeededError(Exception):
    """A needed block is missing."""

    def __init__(self, cid: Cid) -> None:
        self.cid = cid


class LmdbStore(Closing):
    """Blocks and cells in one LMDB environment, a folder on a local disk."""

    def __init__(
        self, environment: Environment, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self._environment: Environment | None = environment
        self._timeout_seconds = timeout_seconds
        self.guard: Guard = Unguarded()
        self.batch_count = BATCH_COUNT
        """Number of blocks that one transaction writes at most."""

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        map_bytes: int | None = None,
    ) -> Self:
        """Creates the folder `path` with an empty store in it, atomically, and opens it.

        Raises:
            InvalidInputError: `path` exists and is not an empty folder.
            StorageError: the disk fails, or is a network file system.
        """
        target = Path(path)
        _check_local(target)
        with built_whole(target) as building:
            number_transactions(building)
            release(acquire(building, create=True, map_bytes=map_bytes))
        return cls.open(target, timeout_seconds=timeout_seconds, map_bytes=map_bytes)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        map_bytes: int | None = None,
    ) -> Self:
        """Opens the store in the folder `path`.

        Raises:
            NotFoundError: kind `repository-not-found`: there is no store.
            StorageError: the disk fails, or is a network file system.
        """
        _check_local(Path(path))
        environment = acquire(Path(path), create=False, map_bytes=map_bytes)
        return cls(environment, timeout_seconds=timeout_seconds)

    def get(self, cid: Cid) -> bytes:
        """Returns the block after checking its hash, since the disk may have changed it."""
        environment = self._open_environment()
        raw = cid.raw
        block: bytes | None = environment.read(
            lambda transaction: transaction.get(raw, None, environment.blocks)
        )
        if block is None:
            raise self.guard.missing(cid)
        check_hash(cid, block)
        return block

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`, read by one transaction."""
        environment = self._open_environment()
        wanted = list(cids)

        def read(transaction: Any) -> list[bytes | None]:
            get, table = transaction.get, environment.blocks
            return [get(cid.raw, None, table) for cid in wanted]

        blocks: list[bytes] = []
        for cid, block in zip(wanted, environment.read(read), strict=True):
            if block is None:
                raise self.guard.missing(cid)
            check_hash(cid, block)
            blocks.append(block)
        return blocks

    def has(self, cid: Cid) -> bool:
        """Returns whether the block is stored."""
        environment = self._open_environment()
        found: bool = environment.read(
            lambda transaction: transaction.cursor(environment.blocks).set_key(cid.raw)
        )
        return found

    def put(self, blocks: Mapping[Cid, bytes]) -> None:
        """Stores the blocks, as `publish` does; durable on return."""
        self.publish(blocks, {})

    def cell(self, name: str) -> bytes | None:
        """Returns the value of a cell, None if there is no such cell."""
        check_cell(name)
        environment = self._open_environment()
        key = name.encode("ascii")
        value: bytes | None = environment.read(
            lambda transaction: transaction.get(key, None, environment.cells)
        )
        return value

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        """Puts the blocks and swaps every cell in one durable transaction, or changes nothing.

        More than `batch_count` blocks are put in batches; only the last is in the transaction of
        the cells. If it does not come to that, blocks of the others stay, unreferenced, and so does
        the value of `PARTIAL_CELL`, which the first one sets and the last one sets back.
        """
        environment = self._open_environment()
        is_held = type(blocks) is dict
        if is_held:
            check_blocks(blocks)
        for name, swap in cells.items():
            check_cell(name, *swap)
        if not blocks and not cells:
            return
        expected = {name: old for name, (old, _) in cells.items()}
        self.guard.refuse(blocks, cells=expected)
        order: list[Any] = (
            sorted(((cid.raw, block) for cid, block in blocks.items()), key=_raw)
            if is_held
            else sorted(blocks, key=_raw_of)
        )
        needed = [cid for cid in needs if cid not in blocks]
        partial_key = PARTIAL_CELL.encode("ascii")
        partial_before: bytes | None = None

        def write(start: int, transaction: Any) -> None:
            nonlocal partial_before
            if start == 0:  # nobody else writes until the last batch
                _check_cells(environment, transaction, expected)
                cursor = transaction.cursor(environment.blocks)
                for cid in needed:
                    if not cursor.set_key(cid.raw):
                        raise _NeededError(cid)
            batch = order[start : start + self.batch_count]
            is_last = start + len(batch) == len(order)
            if cells and start == 0 and not is_last:
                partial_before = transaction.get(partial_key, None, environment.cells)
                transaction.put(partial_key, b"%d" % transaction.id(), db=environment.cells)
            if batch:
                transaction.cursor(environment.blocks).putmulti(
                    batch if is_held else _checked(blocks, batch), dupdata=False, overwrite=False
                )
            if not is_last:
                return
            after = {name: new for name, (_, new) in cells.items()}
            if cells and start:
                after = {PARTIAL_CELL: partial_before} | after
            for name, new in after.items():
                if new is None:
                    transaction.delete(name.encode("ascii"), db=environment.cells)
                else:
                    transaction.put(name.encode("ascii"), new, db=environment.cells)

        try:
            with self._writing(environment):
                for start in range(0, len(order) or 1, self.batch_count):
                    # Another thread may have closed the store, and a write would open the file.
                    self._open_environment().write(partial(write, start))
        except _NeededError as error:
            # The guard may read the store, which is not allowed while a transaction is open.
            raise self.guard.missing(error.cid) from None

    def cells(self) -> dict[str, bytes]:
        """Returns all cells, by name ascending, read by one transaction."""
        environment = self._open_environment()

        def read(transaction: Any) -> dict[str, bytes]:
            cursor = transaction.cursor(environment.cells)
            return {key.decode("ascii", "replace"): value for key, value in cursor.iternext()}

        return environment.read(read)

    def cids(self, start: bytes = b"") -> Iterator[Cid]:
        """Yields the CIDs from `start` on, ascending; one transaction per few thousand."""
        while True:
            page = self._page(start)
            for raw in page:
                yield Cid(raw)
            if len(page) < _PAGE_COUNT:
                return
            start = page[-1] + b"\x00"

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Deletes blocks in one durable transaction, provided that the cells hold the expected
        values."""
        environment = self._open_environment()
        keys = sorted(cid.raw for cid in cids)

        def write(transaction: Any) -> int:
            _check_cells(environment, transaction, cells)
            return sum(transaction.delete(key, db=environment.blocks) for key in keys)

        with self._writing(environment):
            return environment.write(write)

    def renew(self) -> None:
        """Discards the pages that LMDB keeps in memory for its next writes.

        They still contain old bytes, which would be written to the disk in the unused parts of new
        pages.
        """
        self._open_environment().close()

    def scrub(self) -> int:
        """Overwrites every byte of the file that holds no live data with zeros; returns how many.

        Deleted data remains in the file until its pages are reused. This method overwrites it in
        place: writers wait, and readers of an older state finish their calls first.

        Raises:
            CorruptError: the pages of the file are damaged; nothing was overwritten.
            StorageError: a reader does not finish, or the disk fails.
        """
        from ibidem.store.lmdb.file import scrub

        environment = self._open_environment()
        with self._writing(environment):
            return scrub(environment, timeout_seconds=self._timeout_seconds)

    def stats(self) -> StoreStats:
        """Returns the counts and sizes of the store."""
        environment = self._open_environment()
        block_count, cell_count = environment.read(
            lambda transaction: (
                transaction.stat(environment.blocks)["entries"],
                transaction.stat(environment.cells)["entries"],
            )
        )
        return StoreStats(block_count, cell_count, environment.size_bytes())

    def check_layout(self) -> LayoutReport:
        """Checks the pages of the file; see `SupportsFileCheck`."""
        from ibidem.store.lmdb.file import layout_report

        return layout_report(self._open_environment().path)

    def unscrubbed_bytes(self) -> int:
        """Returns how many bytes of deleted records the file still holds; 0 if it cannot be
        read."""
        from ibidem.store.lmdb.file import unscrubbed_bytes

        try:
            return unscrubbed_bytes(self._open_environment().path)
        except OSError:
            return 0

    def close(self) -> None:
        """Releases the environment; the last store of the process to do so closes the file."""
        environment, self._environment = self._environment, None
        if environment is not None:
            release(environment)

    def _open_environment(self) -> Environment:
        if self._environment is None:
            raise closed_store()
        return self._environment

    @contextmanager
    def queued(self) -> Iterator[QueuePosition]:
        """Holds the turn to publish, which saves frequently colliding writers from losing races."""
        with turn(self._open_environment().path) as is_free:
            yield QueuePosition(self, is_free=is_free)

    def _writing(self, environment: Environment) -> AbstractContextManager[None]:
        return writer_lock(environment.path / LOCK_FILE, timeout_seconds=self._timeout_seconds)

    def _page(self, start: bytes) -> list[bytes]:
        environment = self._open_environment()

        def read(transaction: Any) -> list[bytes]:
            cursor = transaction.cursor(environment.blocks)
            if not cursor.set_range(start):
                return []
            keys: list[bytes] = []
            for key in cursor.iternext(keys=True, values=False):
                keys.append(key)
                if len(keys) == _PAGE_COUNT:
                    break
            return keys

        return environment.read(read)


def _checked(blocks: Mapping[Cid, bytes], order: list[Cid]) -> Iterator[tuple[bytes, bytes]]:
    """Yields blocks, which together may exceed memory: each is read once, checked and written."""
    for cid in order:
        block = blocks[cid]
        check_blocks({cid: block})
        yield cid.raw, block


def _check_cells(
    environment: Environment, transaction: Any, expected: Mapping[str, bytes | None]
) -> None:
    for name, value in expected.items():
        if transaction.get(name.encode("ascii"), None, environment.cells) != value:
            raise moved_cell(name)


def mount_table() -> list[str]:
    """Returns the lines of the system's mount table; empty if there is no such table."""
    try:
        return Path("/proc/mounts").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []


def _check_local(path: Path) -> None:
    """Raises `StorageError` for network file systems, where neither the locks nor the map are
    safe."""
    within = f"{path.absolute()}/"
    best, kind = "", ""
    for line in mount_table():
        fields = line.split(" ", 3)
        if len(fields) < 3:
            continue
        mount = fields[1]
        if "\\" in mount:
            mount = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), mount)
        if len(mount) >= len(best) and within.startswith(f"{mount.rstrip('/')}/"):
            best, kind = mount, fields[2]
    if kind in _NETWORK_FILE_SYSTEMS:
        raise StorageError(
            f"path: {path} is on a network file system ({kind}), expected a local disk",
            hint="keep the repository on a local disk; exchange it by clone and push",
        )
