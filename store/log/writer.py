"""Writes changes as entries of the log; those of threads that wait meanwhile share one.

A thread hands in its change, then waits for it or writes for all that wait. A thread that has the
turn may begin on cells that contain the changes before it, although they are not visible yet: its
own change then follows theirs in the same entry or a later one, and is refused if they are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ConflictError, ErrorKind, StorageError
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.store.log.entry import (
    INLINE_BYTES_MAX,
    NONCE_BYTES,
    PACK_BYTES,
    Entry,
    PackRef,
    Span,
    encode_pack,
    object_name,
    pack_ref,
    spans_in,
)
from ibidem.store.log.log import Log
from ibidem.store.log.state import LogState
from ibidem.store.protocol import Store, check_blocks, moved_cell
from ibidem.store.queue import Turn

_PACKS_AT_ONCE = 4
_EMPTY = Entry(b"", {}, (), (), (), {})


@record(frozen=False)
class Change:
    """A change that waits to be written, alone or with others."""

    expected: Mapping[str, bytes | None]
    cells: Mapping[str, bytes | None] = field(default_factory=dict)
    blocks: Mapping[Cid, bytes] = field(default_factory=dict)
    needs: Sequence[Cid] = ()
    drops: Sequence[Cid] = ()
    relocates: bool = False
    cleaned: tuple[bytes, ...] = ()
    collected: tuple[bytes, ...] = ()
    inline: dict[Cid, bytes] = field(default_factory=dict)
    packs: dict[PackRef, dict[Cid, Span]] = field(default_factory=dict)
    """Packs that were put for this change, and where their blocks are."""
    result: int | Exception | None = None

    def added(self) -> set[Cid]:
        """Returns the blocks that the change brings."""
        return {*self.inline, *(cid for spans in self.packs.values() for cid in spans)}


class Writer:
    """Writes the changes of the threads of one process."""

    def __init__(self, log: Log, store: Store) -> None:
        self._log = log
        self._store = store
        self._writing = ForkLock()
        """Held by the thread that writes for all that wait."""
        self._turns = ForkLock()
        self._changing = ForkLock()
        """Held while the lists change."""
        self._waiting: list[Change] = []
        self._unsettled: list[Change] = []
        """Those that wait and those that are being written, in order."""
        self._mine = threading.local()
        """The turn of this thread, and the state that it read last."""

    # -- turns -------------------------------------------------------------------------------------

    def note_read(self, state: LogState) -> None:
        """Records that this thread read the cells of a state."""
        self._mine.read = state

    @contextmanager
    def queued(self) -> Iterator[Turn]:
        """Holds the turn of this process, until the change is handed in or the block ends."""
        state = self._log.state
        before = getattr(self._mine, "turn", None)
        turn = _LogTurn(self._store, self._log, self)
        self._turns.acquire()
        self._mine.turn = turn
        try:
            turn.is_free = not self._unsettled and state() is getattr(self._mine, "read", None)
            yield turn
        finally:
            self._mine.turn = before
            if turn.is_held:
                self._turns.release()

    def pending_cells(self) -> dict[str, bytes] | None:
        """Returns the cells as they will be if every change that was handed in is written; None if
        there is none."""
        with self._changing:
            if not self._unsettled:
                return None
            cells = dict(self._log.state().cells)
            for change in self._unsettled:
                for name, value in change.cells.items():
                    if value is None:
                        cells.pop(name, None)
                    else:
                        cells[name] = value
            return cells

    def pending_block(self, cid: Cid) -> bytes | None:
        """Returns a block of a change that was handed in and is not visible yet."""
        for change in list(self._unsettled):
            block = change.blocks.get(cid)
            if block is not None:
                return block
        return None

    def settle(self) -> None:
        """Waits until what was handed in is written or refused."""
        for change in list(self._unsettled):
            self._await(change)

    # -- one change --------------------------------------------------------------------------------

    def prepare(self, change: Change, state: LogState) -> None:
        """Reads the blocks that are not stored yet; large ones go into packs, which nobody sees
        until an entry names them."""
        have = change.added()
        batch: list[tuple[Cid, bytes]] = list(change.inline.items())
        size, packs = sum(len(block) for _, block in batch), []
        bucket = self._log.bucket

        def flush() -> None:
            nonlocal size
            packs.append(encode_pack(batch))
            batch.clear()
            size = 0

        def put(data: bytes) -> None:
            pack = pack_ref(data)
            bucket.put(object_name(pack.ref), data)
            change.packs[pack] = spans_in(data, pack.ref)

        is_checked = type(change.blocks) is dict
        for cid in sorted(change.blocks, key=lambda cid: cid.raw):
            if cid in have or state.span(cid) is not None:
                continue
            block = change.blocks[cid]
            if not is_checked:
                check_blocks({cid: block})
            batch.append((cid, block))
            size += len(block)
            if size >= PACK_BYTES:
                flush()
                if len(packs) == _PACKS_AT_ONCE:  # so many are held in memory
                    bucket.map(put, packs)
                    packs.clear()
        if batch and (packs or change.packs or size > INLINE_BYTES_MAX):
            flush()
        bucket.map(put, packs)
        change.inline = dict(batch)

    def submit(self, change: Change) -> int:
        """Writes a change, together with those of other threads that wait meanwhile; returns how
        many blocks it dropped."""
        turn = getattr(self._mine, "turn", None)
        with self._changing:
            self._waiting.append(change)
            self._unsettled.append(change)
        if turn is not None and turn.is_held:
            turn.is_held = False
            self._turns.release()
        else:
            turn = None
        self._await(change)
        if isinstance(change.result, Exception):
            if turn is not None:
                self._turns.acquire()
                turn.is_held = True
            raise change.result
        assert change.result is not None, "BUG: a change without a result"
        return change.result - 1

    def _await(self, change: Change) -> None:
        """Writes what waits until a change has its result, or another thread gave it one."""
        while change.result is None:
            with self._writing:
                if change.result is None:
                    self._write_next()

    def _write_next(self) -> None:
        with self._changing:
            batch = self._next_batch()
        try:
            self._write(batch)
        except BaseException as error:
            failure = error if isinstance(error, Exception) else _interrupted()
            for change in batch:
                change.result = change.result or failure
            if failure is not error:
                raise
        finally:
            with self._changing:
                self._unsettled = [change for change in self._unsettled if change.result is None]

    def _next_batch(self) -> list[Change]:
        """Takes the changes that may share an entry: one that drops or moves blocks is alone."""
        if not self._waiting:
            return []
        batch = [self._waiting.pop(0)]
        size = sum(map(len, batch[0].inline.values()))
        while not (batch[0].drops or batch[0].relocates) and self._waiting:
            following = self._waiting[0]
            size += sum(map(len, following.inline.values()))
            if following.drops or following.relocates or size > INLINE_BYTES_MAX:
                break
            batch.append(self._waiting.pop(0))
        return batch

    def _write(self, batch: list[Change]) -> None:
        """Writes one entry for all changes of a batch that the newest state admits; every change
        gets its result: 1 and the number of dropped blocks, or an error."""
        losses = 0
        state, is_newest = self._log.state(), False
        while True:
            admitted, entry = self._admitted(batch, state, is_newest=is_newest)
            if entry is None:
                state, is_newest = self._log.refreshed(), True
                continue
            if not admitted:
                return
            is_empty = replace(entry, nonce=b"") == _EMPTY
            if is_empty and not is_newest:
                state, is_newest = self._log.refreshed(), True
                continue
            if not is_empty:
                spans: dict[Cid, Span] = {}
                for change in admitted:
                    for packed in change.packs.values():
                        spans |= packed
                if not self._log.append(entry, state.number + 1, spans):
                    losses += 1
                    if losses > 1:
                        self._log.pause(losses)
                    state, is_newest = self._log.state(), True
                    continue
            for change in admitted:
                change.result = 1 + len(entry.dropped)
            return

    def _admitted(
        self, batch: list[Change], state: LogState, *, is_newest: bool
    ) -> tuple[list[Change], Entry | None]:
        """Returns the changes that a state admits, and their entry; no entry if the newest state
        has to be read before one of them is refused."""
        cells: dict[str, bytes | None] = {}
        blocks: dict[Cid, bytes] = {}
        packs: dict[PackRef, None] = {}
        dropped: tuple[Cid, ...] = ()
        cleaned: tuple[bytes, ...] = ()
        collected: tuple[bytes, ...] = ()
        brought: set[Cid] = set()
        admitted = []
        for change in batch:
            if change.result is not None:
                continue
            problem = self._problem(change, state, cells, brought)
            if problem is not None:
                if not is_newest:
                    return [], None
                change.result = problem
                continue
            if any(pack.ref in self._log.collected for pack in change.packs):
                change.packs = {}
            added = change.added()
            if any(state.span(cid) is None for cid in change.blocks if cid not in added):
                # Deleted since they were found to be stored, or their packs were collected.
                self.prepare(change, state)
            cells |= {
                name: new
                for name, new in change.cells.items()
                if cells.get(name, state.cells.get(name)) != new
            }
            blocks |= {
                cid: block for cid, block in change.inline.items() if state.span(cid) is None
            }
            packs |= dict.fromkeys(change.packs)
            brought |= change.added()
            if change.drops:
                dropped = tuple(cid for cid in change.drops if state.span(cid) is not None)
            cleaned += change.cleaned
            collected += change.collected
            admitted.append(change)
        nonce = os.urandom(NONCE_BYTES)
        return admitted, Entry(nonce, cells, tuple(packs), dropped, cleaned, blocks, collected)

    def _problem(
        self,
        change: Change,
        state: LogState,
        cells: Mapping[str, bytes | None],
        brought: Iterable[Cid],
    ) -> Exception | None:
        for name, old in change.expected.items():
            if (cells[name] if name in cells else state.cells.get(name)) != old:
                return moved_cell(name)
        for cid in change.needs:
            if cid not in brought and state.span(cid) is None:
                return self._store.guard.missing(cid)
        if change.relocates and (
            any(state.span(cid) is None for spans in change.packs.values() for cid in spans)
            or any(pack.ref in self._log.collected for pack in change.packs)
        ):
            return _overtaken("blocks that were being moved were deleted")
        if change.collected and not state.refs().isdisjoint(change.collected):
            return _overtaken("a pack that was to be collected is in use")
        return None


class _LogTurn(Turn):
    """A turn of a process, in which changes that are under way can be begun on."""

    def __init__(self, store: Store, log: Log, writer: Writer) -> None:
        super().__init__(store, is_free=False)
        self._log = log
        self._writer = writer
        self._is_provisional = False
        self.is_held = True

    def cells(self, *, is_after_loss: bool = False) -> Mapping[str, bytes]:
        pending = self._writer.pending_cells()
        self._is_provisional = pending is not None
        if pending is not None:
            return pending
        return dict(self._log.state().cells) if is_after_loss else self._store.cells()

    def settled(self) -> bool:
        if not self._is_provisional:
            return True
        self._is_provisional = False
        self._writer.settle()
        return False

    def pause(self, losses: int) -> bool:
        return True


def _overtaken(what: str) -> ConflictError:
    return ConflictError(f"object storage: {what}", kind=ErrorKind.HEAD_MOVED)


def _interrupted() -> StorageError:
    return StorageError(
        "object storage: the thread that wrote was interrupted; it is not known whether the change "
        "was made",
        hint="read the newest state, then repeat what is missing in it",
    )
