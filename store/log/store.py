"""The store in object storage: one create-only request makes a change visible.

The log is the truth. Entry n is created once, by the writer that read everything up to n - 1, so a
publish that is acknowledged follows from the state that it was checked against. Whoever does not
know whether his request arrived reads the entry: the nonce in it tells. Checkpoints and tables only
shorten the reading; they may lag or be lost.

What is deleted is first dropped by an entry, then removed from the objects: a pack without other
blocks is deleted, another one is copied without them, and an entry is replaced by itself without
its blocks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from types import MappingProxyType

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    StorageError,
)
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.store.closing import Closing
from ibidem.store.log.cache import BlockCache
from ibidem.store.log.entry import (
    INLINE_BYTES_MAX,
    NONCE_BYTES,
    PACK_BYTES,
    Entry,
    Span,
    checkpoint_name,
    decode_entry,
    encode_entry,
    encode_pack,
    entry_name,
    is_entry,
    number_in,
    object_name,
    redacted,
    spans_in,
)
from ibidem.store.log.objects import Bucket, Created
from ibidem.store.log.table import Table, checked_table, folded, merged_rows
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

CHECKPOINT_ENTRIES = 64
CHECKPOINTS_MAX = 2
TIMEOUT_SECONDS = 30.0
"""How long a writer tries to find out whether its entry arrived."""
_READ_TRIES = 8
_DROPS_MAX = 20_000
"""Blocks that one entry drops, at most."""
_DEAD_SHARE = 0.5
"""A deletion copies the rest of a pack if more than this part of it was dropped."""
_FIRST_PAUSE_SECONDS = 0.002
_VERSION_PROBE = "probe/version"


@record
class _Known:
    """One state of the log. Replaced as a whole, so that no reader pairs parts of two states."""

    number: int
    """Of the newest entry that was read; -1 before the first."""
    cells: Mapping[str, bytes]
    recent: dict[bytes, Span | None]
    """Where blocks of the entries since the tables are. Grows until the next tables."""
    tables: tuple[Table, ...]
    dirty: frozenset[bytes]
    """Objects that still hold dropped blocks."""

    def span(self, cid: Cid) -> Span | None:
        """Returns where a block is, None if it is not stored."""
        raw = cid.raw
        if raw in self.recent:
            return self.recent[raw]
        for table in self.tables:
            row = table.find(raw)
            if row is not None:
                return row[1]
        return None


@record(frozen=False)
class _Request:
    """A change that waits to be written, alone or with others."""

    expected: Mapping[str, bytes | None]
    cells: Mapping[str, bytes | None] = field(default_factory=dict)
    blocks: Mapping[Cid, bytes] = field(default_factory=dict)
    needs: Sequence[Cid] = ()
    drops: Sequence[Cid] = ()
    relocates: bool = False
    cleaned: tuple[bytes, ...] = ()
    inline: dict[Cid, bytes] = field(default_factory=dict)
    packs: dict[bytes, tuple[int, dict[Cid, Span]]] = field(default_factory=dict)
    """Packs that were put for this change: size, and where their blocks are."""
    result: int | Exception | None = None

    def added(self) -> set[Cid]:
        """Returns the blocks that the change brings."""
        return {*self.inline, *(cid for _, spans in self.packs.values() for cid in spans)}


class LogStore(Closing):
    """Blocks and cells below one prefix of a bucket. Any number of processes write and read."""

    def __init__(
        self,
        bucket: Bucket,
        *,
        cache: BlockCache | None = None,
        staleness_seconds: float = 0.0,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Opens the store; reads nothing yet.

        Args:
            cache: of this machine; by default one in memory.
            staleness_seconds: readers may answer from a state that was the newest this long ago;
                0 asks before each reading of cells. Writers always write on the newest.
            timeout_seconds: how long a writer tries to find out whether its entry arrived.
        """
        self.guard: Guard = Unguarded()
        self.bucket = bucket
        self.cache = BlockCache(None) if cache is None else cache
        self._staleness_seconds = staleness_seconds
        self._timeout_seconds = timeout_seconds
        self._known: _Known | None = None
        self._looked = 0.0
        self._lock = ForkLock()
        """Held while the log is read."""
        self._writing = ForkLock()
        """Held by the thread that writes for all that wait."""
        self._publishing = ForkLock()
        self._waiting: list[_Request] = []
        self._saved_tables: frozenset[str] = frozenset()
        """Tables that are in the bucket, as far as known here."""
        self._is_closed = False

    @property
    def round_trip_seconds(self) -> float:
        """The average time that a write took lately."""
        return self.bucket.round_trip_seconds

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
                span = known.span(cid)
                if span is None:
                    known = self._refreshed()
                    span = known.span(cid)
                    if span is None:
                        raise self.guard.missing(cid)
                spans[cid] = span
            found |= self.cache.get_many(cid for cid in spans if cid not in found)
            problems = self._read(spans, found)
            if not problems:
                return [found[cid] for cid in wanted]
            known = self._refreshed()
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
                return self.bucket.get_ranges(name, ranges) or _missing_object(name)
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
            sum(self.bucket.sizes("").values()),
        )

    # -- writing -----------------------------------------------------------------------------------

    def claim(self) -> None:
        """Writes the first entry, which is empty; only one of several creators succeeds.

        Raises:
            InvalidInputError: there is a log already.
        """
        nonce = os.urandom(NONCE_BYTES)
        data = encode_entry(Entry(nonce, {}, (), (), (), {}))
        if not self._append(0, data, nonce):
            raise InvalidInputError("object storage: another process creates a repository there")

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
        request = _Request(
            expected,
            {name: new for name, (_, new) in cells.items()},
            blocks,
            [cid for cid in needs if cid not in blocks],
        )
        self._prepare(request, self._state())
        self._submit(request)

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Drops blocks by an entry of the log, provided that the cells hold the expected values,
        then removes the objects that hold little else."""
        self._check_open()
        chosen = sorted(set(cids), key=lambda cid: cid.raw)
        self.cache.forget(chosen)
        count = 0
        for at in range(0, len(chosen) or 1, _DROPS_MAX):
            request = _Request(dict(cells), drops=chosen[at : at + _DROPS_MAX])
            count += self._submit(request)
        if count:
            self._clean(_DEAD_SHARE)
        return count

    def renew(self) -> None:
        """Does nothing: no buffer here is written again."""
        self._check_open()

    def scrub(self) -> int:
        """Removes every dropped block from the objects; returns how many bytes they had.

        Raises:
            StorageError: the bucket keeps old versions of objects, which still hold the bytes; or
                the service fails.
        """
        self._check_open()
        self._refreshed()
        if not self._state().dirty:
            return 0
        version = self.bucket.put(_VERSION_PROBE, b"")
        self.bucket.delete([_VERSION_PROBE])
        if version is not None:
            raise StorageError(
                "object storage: the bucket keeps old versions of objects, so that nothing is "
                "destroyed by deleting it",
                hint="suspend versioning, delete the old versions, then run 'repo erase --finish'",
            )
        return self._clean(0.0)

    def forget_copies(self, cids: Iterable[Cid]) -> None:
        """Destroys the copies of blocks that this machine keeps; see `SupportsLocalCopies`."""
        self.cache.forget(cids)

    @contextmanager
    def queued(self) -> Iterator[bool]:
        """Lets the threads that share this store publish one after the other; yields whether none
        did."""
        is_free = self._publishing.acquire(blocking=False)
        if not is_free:
            self._publishing.acquire()
        try:
            yield is_free
        finally:
            self._publishing.release()

    def close(self) -> None:
        """Writes the local cache; closing twice is allowed."""
        if not self._is_closed:
            self._is_closed = True
            self.cache.close()

    # -- one publish -------------------------------------------------------------------------------

    def _prepare(self, request: _Request, known: _Known) -> None:
        """Reads the blocks that are not stored yet; large ones go into packs, which nobody sees
        until an entry names them."""
        have = request.added()
        batch: list[tuple[Cid, bytes]] = list(request.inline.items())
        size, packs = sum(len(block) for _, block in batch), []

        def flush() -> None:
            nonlocal size
            data = encode_pack(batch)
            packs.append(data)
            batch.clear()
            size = 0

        def store(data: bytes) -> None:
            ref = blake3(data).digest()
            self.bucket.put(object_name(ref), data)
            request.packs[ref] = len(data), spans_in(data, ref)

        is_checked = type(request.blocks) is dict
        for cid in sorted(request.blocks, key=lambda cid: cid.raw):
            if cid in have or known.span(cid) is not None:
                continue
            block = request.blocks[cid]
            if not is_checked:
                check_blocks({cid: block})
            batch.append((cid, block))
            size += len(block)
            if size >= PACK_BYTES:
                flush()
                if len(packs) == 4:  # at most so many are held in memory
                    self.bucket.map(store, packs)
                    packs.clear()
        if batch and (packs or request.packs or size > INLINE_BYTES_MAX):
            flush()
        self.bucket.map(store, packs)
        request.inline = dict(batch)

    def _submit(self, request: _Request) -> int:
        """Writes a change, together with those of other threads that wait meanwhile."""
        with self._lock:
            self._waiting.append(request)
        with self._writing:
            while request.result is None:
                with self._lock:
                    batch = self._next_batch()
                try:
                    self._write(batch)
                except BaseException as error:
                    failure = error if isinstance(error, Exception) else _interrupted()
                    for one in batch:
                        one.result = one.result or failure
                    if failure is not error:
                        raise
        if isinstance(request.result, Exception):
            raise request.result
        return request.result - 1

    def _next_batch(self) -> list[_Request]:
        """Takes the changes that may share an entry: one that drops or moves blocks is alone."""
        first = self._waiting.pop(0)
        batch = [first]
        size = sum(map(len, first.inline.values()))
        while not (first.drops or first.relocates) and self._waiting:
            following = self._waiting[0]
            size += sum(map(len, following.inline.values()))
            if following.drops or following.relocates or size > INLINE_BYTES_MAX:
                break
            batch.append(self._waiting.pop(0))
        return batch

    def _write(self, batch: list[_Request]) -> None:
        """Writes one entry for all changes of a batch that the newest state admits; every change
        gets its result: 1 and the number of dropped blocks, or an error."""
        losses = 0
        known, is_newest = self._state(), False
        while True:
            admitted, entry = self._admitted(batch, known, is_newest=is_newest)
            if entry is None:
                known, is_newest = self._refreshed(), True
                continue
            if not admitted:
                return
            number = known.number + 1
            is_empty = not (
                entry.cells or entry.packs or entry.blocks or entry.dropped or entry.cleaned
            )
            if is_empty:
                if not is_newest:
                    known, is_newest = self._refreshed(), True
                    continue
            else:
                data = encode_entry(entry)
                if not self._append(number, data, entry.nonce):
                    losses += 1
                    self._pause(losses)
                    known, is_newest = self._refreshed(), True
                    continue
                # What the bucket has is applied, never what was meant to be written.
                with self._lock:
                    if self._state().number == number - 1:
                        spans = {
                            cid: span
                            for request in admitted
                            for _, packed in request.packs.values()
                            for cid, span in packed.items()
                        }
                        self._apply(number, data, spans, is_own=True)
            for request in admitted:
                request.result = 1 + len(entry.dropped)
            return

    def _admitted(
        self, batch: list[_Request], known: _Known, *, is_newest: bool
    ) -> tuple[list[_Request], Entry | None]:
        """Returns the changes that a state admits, and their entry; no entry if the newest state
        has to be read before one of them is refused."""
        cells: dict[str, bytes | None] = {}
        blocks: dict[Cid, bytes] = {}
        packs: dict[bytes, int] = {}
        dropped: tuple[Cid, ...] = ()
        cleaned: tuple[bytes, ...] = ()
        brought: set[Cid] = set()
        admitted = []
        for request in batch:
            if request.result is not None:
                continue
            problem = self._problem(request, known, cells, brought)
            if problem is not None:
                if not is_newest:
                    return [], None
                request.result = problem
                continue
            added = request.added()
            if any(known.span(cid) is None for cid in request.blocks if cid not in added):
                self._prepare(request, known)  # deleted since they were found to be stored
            changes = {
                name: new
                for name, new in request.cells.items()
                if cells.get(name, known.cells.get(name)) != new
            }
            cells |= changes
            blocks |= request.inline
            packs |= {ref: size for ref, (size, _) in request.packs.items()}
            brought |= request.added()
            if request.drops:
                dropped = tuple(cid for cid in request.drops if known.span(cid) is not None)
            cleaned += request.cleaned
            admitted.append(request)
        nonce = os.urandom(NONCE_BYTES)
        return admitted, Entry(nonce, cells, tuple(packs.items()), dropped, cleaned, blocks)

    def _problem(
        self,
        request: _Request,
        known: _Known,
        cells: Mapping[str, bytes | None],
        brought: set[Cid],
    ) -> Exception | None:
        for name, old in request.expected.items():
            if (cells[name] if name in cells else known.cells.get(name)) != old:
                return moved_cell(name)
        for cid in request.needs:
            if cid not in brought and known.span(cid) is None:
                return self.guard.missing(cid)
        if request.relocates:
            for _, spans in request.packs.values():
                if any(known.span(cid) is None for cid in spans):
                    return ConflictError(
                        "blocks that were being moved were deleted", kind=ErrorKind.HEAD_MOVED
                    )
        return None

    def _append(self, number: int, data: bytes, nonce: bytes) -> bool:
        """Creates an entry; returns whether the entry of that number is this one.

        A request without an answer is repeated until the entry exists, whoever wrote it: then
        nothing that is still under way can change it.
        """
        name = entry_name(number)
        stop = time.monotonic() + self._timeout_seconds
        is_open = False
        tries = 0
        problem: StorageError | None
        while True:
            try:
                if self.bucket.create(name, data) is Created.YES:
                    return True
                is_open = True
                found = self.bucket.get(name)
            except StorageError as error:
                if not is_open:
                    raise
                found, problem = None, error
            else:
                problem = None
            if found is not None:
                return decode_entry(found, number)[0].nonce == nonce
            if time.monotonic() > stop:
                raise StorageError(
                    "object storage: no answer in time; it is not known whether the change was "
                    "made",
                    hint="read the newest state, then repeat what is missing in it",
                ) from problem
            tries += 1
            self._pause(tries)

    def _pause(self, losses: int) -> None:
        """Waits for a random part of some round trips, more of them after more lost races."""
        longest = max(self.round_trip_seconds, _FIRST_PAUSE_SECONDS) * min(losses, 16) / 2
        time.sleep(longest * int.from_bytes(os.urandom(2), "big") / 65_536)

    # -- the log -----------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._is_closed:
            raise closed_store()

    def _state(self) -> _Known:
        """Returns the newest state that was read; the first call reads it."""
        self._check_open()
        known = self._known
        return self._refreshed() if known is None else known

    def _current(self) -> _Known:
        """Returns a state that is not older than the permitted staleness."""
        self._check_open()
        if self._known is None or time.monotonic() - self._looked >= self._staleness_seconds:
            return self._refreshed()
        return self._known

    def _refreshed(self) -> _Known:
        """Reads the entries that came since, and returns the newest state."""
        self._check_open()
        with self._lock:
            started = time.monotonic()
            is_first = self._known is None
            if self._known is None:
                self._known = self._checkpoint_state()
            count, read = 1, 0
            while True:
                following = range(self._known.number + 1, self._known.number + 1 + count)
                entries = self.bucket.get_all([entry_name(number) for number in following])
                for number, data in zip(following, entries, strict=True):
                    if data is None:
                        self._looked = started
                        if is_first and read >= 2 * CHECKPOINT_ENTRIES:
                            self._save_checkpoint()
                        return self._known
                    self._apply(number, data, {})
                    read += 1
                count = min(2 * count, 64)

    def _apply(
        self, number: int, data: bytes, spans: Mapping[Cid, Span], *, is_own: bool = False
    ) -> None:
        """Adds an entry to the known state; the caller holds the lock.

        Args:
            spans: of the packs of the entry, where known.
        """
        known = self._known
        assert known is not None, "BUG: an entry before the first state"
        assert known.number == number - 1, "BUG: a gap in the log"
        entry, inline = decode_entry(data, number)
        self.cache.add({cid: block for cid, block in entry.blocks.items() if _is_whole(cid, block)})
        recent = known.recent
        placed = dict(inline)
        if spans:
            placed |= spans
        elif entry.packs:
            for found in self.bucket.map(self._pack_spans, [ref for ref, _ in entry.packs]):
                placed |= found
        dirty = set(known.dirty)
        for cid in entry.dropped:
            span = known.span(cid)
            if span is not None:
                dirty.add(span[0])
        for cid, span in placed.items():
            older = known.span(cid)
            if older is not None and older != span:
                dirty.add(older[0])  # a second copy, which nothing names any more
        recent.update((cid.raw, span) for cid, span in placed.items())
        recent.update((cid.raw, None) for cid in entry.dropped)
        if entry.dropped:
            with suppress(IbidemError):  # what fails is destroyed at the next opening
                self.cache.forget(entry.dropped)
        cells = dict(known.cells)
        for name, value in entry.cells.items():
            if value is None:
                cells.pop(name, None)
            else:
                cells[name] = value
        tables = known.tables
        is_checkpoint = number % CHECKPOINT_ENTRIES == CHECKPOINT_ENTRIES - 1
        if is_checkpoint:
            tables, recent = folded(recent, tables), {}
        self._known = _Known(
            number,
            MappingProxyType(cells),
            recent,
            tables,
            frozenset(dirty - set(entry.cleaned)),
        )
        if is_checkpoint and is_own:
            self._save_checkpoint()

    def _pack_spans(self, ref: bytes) -> dict[Cid, Span]:
        """Returns where the blocks of a pack are; nowhere, if a later entry moved or dropped all
        of them."""
        data = self.bucket.get(object_name(ref))
        return {} if data is None else spans_in(data, ref)

    # -- checkpoints -------------------------------------------------------------------------------

    def _checkpoint_state(self) -> _Known:
        """Returns the state of the newest checkpoint that can be read, else that before entry 0."""
        for name in self.bucket.sizes("checkpoints/"):
            data = self.bucket.get(name)
            if data is None:
                continue
            with suppress(CorruptError, KeyError, TypeError):
                saved = codec.decode(data)
                tables = [self._table(table) for table in saved["tables"]]
                self._saved_tables = frozenset(saved["tables"])
                return _Known(
                    number_in(name),
                    MappingProxyType(saved["cells"]),
                    {},
                    tuple(tables),
                    frozenset(saved["dirty"]),
                )
        return _Known(-1, MappingProxyType({}), {}, (), frozenset())

    def _table(self, name: str) -> Table:
        data = self.bucket.get(name)
        if data is None:
            raise CorruptError(f"object {name}: it is missing")
        return checked_table(data, name)

    def _save_checkpoint(self) -> None:
        """Writes the known state as a checkpoint; a failure costs only time later."""
        known = self._known
        assert known is not None, "BUG: a checkpoint of nothing"
        tables = folded(known.recent, known.tables)
        with suppress(IbidemError):
            for table in tables:
                if table.name not in self._saved_tables:
                    self.bucket.put(table.name, bytes(table.data))
            self._saved_tables = frozenset(table.name for table in tables)
            saved = {
                "cells": dict(known.cells),
                "tables": [table.name for table in tables],
                "dirty": sorted(known.dirty),
            }
            self.bucket.put(checkpoint_name(known.number), codec.encode(saved))

    # -- destroying --------------------------------------------------------------------------------

    def _clean(self, dead_share: float) -> int:
        """Removes dropped blocks from the objects that hold more than this share of them; returns
        their bytes.

        First the blocks that stay are copied and an entry says where they are; then the objects go.
        A process that dies in between leaves them dirty or unnamed, never missing.
        """
        size = 0
        for ref in sorted(self._refreshed().dirty):
            try:
                size += self._clean_object(ref, dead_share)
            except ConflictError:
                continue  # something was deleted meanwhile, by whom the object is cleaned
        if size:
            self._drop_old_checkpoints()
        return size

    def _clean_object(self, ref: bytes, dead_share: float) -> int:
        name = object_name(ref)
        data = self.bucket.get(name)
        if data is None:
            self._submit(_Request({}, relocates=True, cleaned=(ref,)))
            return 0
        entry = None
        if is_entry(ref):
            entry, spans = decode_entry(data, number_in(name))
        else:
            spans = spans_in(data, ref)
        known = self._state()
        live = {cid for cid, span in spans.items() if known.span(cid) == span}
        dead_bytes = sum(span[2] for cid, span in spans.items() if cid not in live)
        total = sum(span[2] for span in spans.values())
        if live and dead_bytes <= dead_share * total:
            return 0
        request = _Request({}, relocates=True, cleaned=(ref,))
        if live:
            blocks = [(cid, data[spans[cid][1] :][: spans[cid][2]]) for cid in sorted(live)]
            check_blocks(dict(blocks))
            pack = encode_pack(blocks)
            new = blake3(pack).digest()
            self.bucket.put(object_name(new), pack)
            request.packs[new] = len(pack), spans_in(pack, new)
        self._submit(request)
        if entry is None:
            self.bucket.delete([name])
        else:
            self.bucket.put(name, encode_entry(redacted(entry)))
        return dead_bytes

    def _drop_old_checkpoints(self) -> None:
        """Deletes old checkpoints, and the tables that no other one names."""
        with self._lock:
            self._save_checkpoint()
        names = list(self.bucket.sizes("checkpoints/"))
        needed: set[str] = set()
        for data in self.bucket.get_all(names[:CHECKPOINTS_MAX]):
            if data is not None:
                needed.update(codec.decode(data)["tables"])
        self.bucket.delete(names[CHECKPOINTS_MAX:])
        self.bucket.delete(name for name in self.bucket.sizes("tables/") if name not in needed)


def _interrupted() -> StorageError:
    return StorageError(
        "object storage: the thread that wrote was interrupted; it is not known whether the change "
        "was made",
        hint="read the newest state, then repeat what is missing in it",
    )


def _missing_object(name: str) -> CorruptError:
    return CorruptError(
        f"object {name}: it is missing", hint="restore it from a copy of the bucket"
    )


def _is_whole(cid: Cid, block: bytes) -> bool:
    return blake3(block).digest() == cid.raw[4:]
