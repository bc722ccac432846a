"""The store in object storage: one create-only request makes a change visible.

The log is the truth. Entry n is created once, by the writer that read everything up to n - 1, so a
publish that is acknowledged follows from the state that it was checked against. Whoever does not
know whether his request arrived reads the entry: the nonce in it tells. Checkpoints, tables and the
local copy only shorten the reading; they may lag or be lost.

Spec: log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager

from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError, IbidemError, InvalidInputError, StorageError
from ibidem.store.cache import BlockCache
from ibidem.store.closing import Closing
from ibidem.store.log.cleaning import ORPHAN_SECONDS, Cleaning
from ibidem.store.log.entry import Span, is_entry, object_name
from ibidem.store.log.local_copy import LocalCopy
from ibidem.store.log.log import Log
from ibidem.store.log.objects import OLD_VERSIONS, Bucket, erasing_versions
from ibidem.store.log.state import LogState
from ibidem.store.log.table import merged_rows
from ibidem.store.log.writer import LogChange, Writer
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
)
from ibidem.store.queue import QueuePosition

TIMEOUT_SECONDS = 30.0
"""How long a writer tries to find out whether its entry arrived."""
_READ_TRIES = 8
_DROPS_MAX = 20_000
"""Blocks that one entry drops, at most."""
_DEAD_SHARE = 0.5
"""A deletion copies the rest of a pack if more than this part of it was dropped."""


class LogStore(Closing):
    """Blocks and cells below one prefix of a bucket. Any number of processes write and read."""

    def __init__(
        self,
        bucket: Bucket,
        *,
        cache: BlockCache | None = None,
        copy: LocalCopy | None = None,
        staleness_seconds: float = 0.0,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Opens the store; reads nothing yet.

        Args:
            cache: of this machine; by default one in memory.
            copy: of what this machine read of the log before.
            staleness_seconds: readers may answer from a state that was the newest this long ago;
                0 asks before each reading of cells. Writers always write on the newest.
            timeout_seconds: how long a writer tries to find out whether its entry arrived.
        """
        self.guard: Guard = Unguarded()
        self.bucket = bucket
        self.cache = BlockCache(None) if cache is None else cache
        self.log = Log(bucket, self.cache, copy=copy, timeout_seconds=timeout_seconds)
        self._writer = Writer(self.log, self)
        self._cleaning = Cleaning(self.log, self._writer)
        self._staleness_seconds = staleness_seconds
        self._is_closed = False

    # -- reading -----------------------------------------------------------------------------------

    def get(self, cid: Cid) -> bytes:
        """Returns the block after checking its hash."""
        return self.get_many([cid])[0]

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`: one request for each object that holds some
        of them, at the same time."""
        wanted = list(cids)
        known = self._state()
        found: dict[Cid, bytes] = {}
        for _ in range(_READ_TRIES):
            spans: dict[Cid, Span] = {}
            for cid in wanted:
                if cid in found:
                    continue
                span = known.span(cid)
                if span is None:
                    pending = self._writer.pending_block(cid)
                    if pending is not None:
                        found[cid] = pending
                        continue
                    known = self.log.refreshed()
                    span = known.span(cid)
                    if span is None:
                        raise self.guard.missing(cid)
                spans[cid] = span
            found |= self.cache.get_many(cid for cid in spans if cid not in found)
            problems = self._read(spans, found)
            if not problems:
                return [found[cid] for cid in wanted]
            known = self.log.refreshed()
            for cid, error in problems.items():
                if known.span(cid) == spans[cid]:
                    raise error
        raise StorageError("object storage: blocks are moved faster than they can be read")

    def _read(self, spans: Mapping[Cid, Span], found: dict[Cid, bytes]) -> dict[Cid, IbidemError]:
        """Reads the blocks that are not found yet from their objects.

        Returns:
            The blocks that are not there, with the errors to raise unless they were moved.
        """
        by_object: dict[bytes, list[Cid]] = {}
        for cid, span in spans.items():
            if cid not in found:
                by_object.setdefault(span[0], []).append(cid)

        def read(ref: bytes) -> list[bytes] | IbidemError:
            name = object_name(ref)
            ranges = [spans[cid][1:] for cid in by_object[ref]]
            try:
                if not is_entry(ref):
                    return self.bucket.get_ranges(name, ranges) or _missing_object(name)
                # Small, and shorter after an erasure, so that parts may not exist any more.
                data = self.bucket.get(name)
                if data is None:
                    return _missing_object(name)
                return [data[start : start + size] for start, size in ranges]
            except StorageError as error:
                return error

        fresh: dict[Cid, bytes] = {}
        problems: dict[Cid, IbidemError] = {}
        for ref, blocks in zip(by_object, self.bucket.map(read, list(by_object)), strict=True):
            for position, cid in enumerate(by_object[ref]):
                if isinstance(blocks, IbidemError):
                    problems[cid] = blocks
                    continue
                try:
                    check_hash(cid, blocks[position])
                except CorruptError as error:
                    problems[cid] = error
                else:
                    fresh[cid] = blocks[position]
        self.cache.add(fresh)
        found |= fresh
        return problems

    def has(self, cid: Cid) -> bool:
        """Returns whether the block is stored, in the newest state that was read."""
        return self._state().span(cid) is not None

    def cell(self, name: str) -> bytes | None:
        """Returns the value of a cell, None if there is no such cell."""
        check_cell(name)
        return self._current().cells.get(name)

    def cells(self) -> dict[str, bytes]:
        """Returns all cells, by name ascending, read from one state of the store."""
        return dict(sorted(self._current().cells.items()))

    def cids(self, start: bytes = b"") -> Iterator[Cid]:
        """Yields the CIDs from `start` on, ascending."""
        known = self._current()
        for raw, span in merged_rows(known.recent, known.tables, start):
            if span is not None:
                yield Cid(raw)

    def stats(self) -> StoreStats:
        """Returns the counts and sizes of the store, by listing its objects."""
        known = self._current()
        return StoreStats(
            sum(span is not None for _, span in merged_rows(known.recent, known.tables)),
            len(known.cells),
            sum(row.size for row in self.bucket.listed("").values()),
        )

    # -- writing -----------------------------------------------------------------------------------

    def claim(self) -> bytes:
        """Writes the first entry, which is empty; only one of several creators succeeds. Returns
        the identity of the log.

        Raises:
            InvalidInputError: there is a log already.
        """
        identity = self.log.claim()
        if identity is None:
            raise InvalidInputError("object storage: another process creates a repository there")
        return identity

    def put(self, blocks: Mapping[Cid, bytes]) -> None:
        """Stores the blocks, all or none; durable on return."""
        self.publish(blocks, {})

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        """Puts the blocks and swaps every cell by one entry of the log, or changes nothing.

        Raises:
            StorageError: the service fails. If the message says that it is not known whether the
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
        change = LogChange(
            expected,
            {name: new for name, (_, new) in cells.items()},
            blocks,
            [cid for cid in needs if cid not in blocks],
        )
        self._writer.prepare(change, self.log.state())
        self._writer.submit(change)

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Drops blocks by an entry of the log, provided that the cells hold the expected values,
        then removes the objects that hold little else, and packs that no entry names."""
        self._check_open()
        chosen = sorted(set(cids), key=lambda cid: cid.raw)
        self.cache.forget(chosen)
        count = 0
        for at in range(0, len(chosen) or 1, _DROPS_MAX):
            count += self._writer.submit(LogChange(dict(cells), drops=chosen[at : at + _DROPS_MAX]))
        if count:
            self._cleaning.clean(_DEAD_SHARE)
            self._cleaning.collect(ORPHAN_SECONDS)
        return count

    def renew(self) -> None:
        """Does nothing: no buffer here is written again."""
        self._check_open()

    def scrub(self) -> int:
        """Removes every dropped block from the objects, and every pack that no entry names; returns
        how many bytes they had.

        Raises:
            StorageError: the bucket keeps old versions of objects, which still hold the bytes; or
                the service fails.
        """
        self._check_open()
        if not (self.log.refreshed().dirty or self._cleaning.has_orphans()):
            return 0
        if self.bucket.keeps_versions():
            raise erasing_versions()
        return self._cleaning.clean(0.0) + self._cleaning.collect(0.0)

    def notes(self) -> tuple[str, ...]:
        """Returns that the bucket keeps old versions of objects, if it does; see
        `SupportsNotes`."""
        self._check_open()
        return (OLD_VERSIONS,) if self.bucket.keeps_versions() else ()

    @property
    def shared_files(self) -> Bucket:
        """The objects below the prefix."""
        return self.bucket

    def forget_copies(self, cids: Iterable[Cid]) -> None:
        """Destroys the copies of blocks that this machine keeps; see `SupportsLocalCopies`."""
        self.cache.forget(cids)

    def queued(self) -> AbstractContextManager[QueuePosition]:
        """Lets the threads that share this store publish one after the other, each on what those
        before it hand in."""
        self._check_open()
        return self._writer.queued()

    def close(self) -> None:
        """Writes the local copies; closing twice is allowed."""
        if not self._is_closed:
            self._is_closed = True
            self.log.save_copy()
            self.cache.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise closed_store()

    def _state(self) -> LogState:
        """Returns the newest state that was read; the first call reads it."""
        self._check_open()
        return self.log.state()

    def _current(self) -> LogState:
        """Returns a state that is not older than the permitted staleness."""
        self._check_open()
        state = self.log.current(self._staleness_seconds)
        self._writer.note_read(state)
        return state


def _missing_object(name: str) -> CorruptError:
    return CorruptError(
        f"object {name}: it is missing", hint="restore it from a copy of the bucket"
    )
