"""Writes changes as entries of the log; those of threads that wait meanwhile share one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ConflictError, ErrorKind
from ibidem.objects.record import record
from ibidem.store.group_commit import Change, GroupCommit
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

_PACKS_AT_ONCE = 4
_EMPTY = Entry(b"", {}, (), (), (), {})


@record(frozen=False)
class LogChange(Change):
    """A change as the log has it."""

    drops: Sequence[Cid] = ()
    relocates: bool = False
    cleaned: tuple[bytes, ...] = ()
    collected: tuple[bytes, ...] = ()
    inline: dict[Cid, bytes] = field(default_factory=dict)
    packs: dict[PackRef, dict[Cid, Span]] = field(default_factory=dict)
    """Packs that were put for this change, and where their blocks are."""

    def added(self) -> set[Cid]:
        """Returns the blocks that the change brings."""
        return {*self.inline, *(cid for spans in self.packs.values() for cid in spans)}


class Writer(GroupCommit[LogChange]):
    """Writes the changes of the threads of one process."""

    def __init__(self, log: Log, store: Store) -> None:
        super().__init__(store, "object storage")
        self._log = log

    @property
    def state(self) -> LogState:
        """The newest state that was read."""
        return self._log.state()

    @property
    def round_trip_seconds(self) -> float:
        """The average time that creating an object took lately."""
        return self._log.bucket.round_trip_seconds

    def prepare(self, change: LogChange, state: LogState) -> None:
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
                if len(packs) == _PACKS_AT_ONCE:  # the most that are held in memory
                    bucket.map(put, packs)
                    packs.clear()
        if batch and (packs or change.packs or size > INLINE_BYTES_MAX):
            flush()
        bucket.map(put, packs)
        change.inline = dict(batch)

    def _size(self, change: LogChange) -> int | None:
        if change.drops or change.relocates:
            return None
        return sum(map(len, change.inline.values()))

    @property
    def _size_max(self) -> int:
        return INLINE_BYTES_MAX

    def _write(self, batch: Sequence[LogChange]) -> None:
        """Writes one entry for all changes of a batch that the newest state admits; every change
        gets its result: 1 and the number of dropped blocks, or an error."""
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
                    self._lost()
                    state, is_newest = self._log.state(), True
                    continue
                self._won()
            for change in admitted:
                change.result = 1 + len(entry.dropped)
            return

    def _admitted(
        self, batch: Sequence[LogChange], state: LogState, *, is_newest: bool
    ) -> tuple[list[LogChange], Entry | None]:
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
        change: LogChange,
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


def _overtaken(what: str) -> ConflictError:
    return ConflictError(f"object storage: {what}", kind=ErrorKind.HEAD_MOVED)
