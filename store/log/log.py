"""Reads and extends the log below a prefix: what came since the last look, and one entry more.

Entry n is created once, by a writer that read everything up to n - 1. A reader that knows entry n
asks for n + 1. A process that knows nothing begins at what this machine read last, else at the
checkpoint in the bucket, else at entry 0; none of these can make a difference but to the time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from blake3 import blake3

from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError, IbidemError, StorageError
from ibidem.objects.forking import ForkLock
from ibidem.store.cache import BlockCache
from ibidem.store.log.entry import (
    NONCE_BYTES,
    Entry,
    PackRef,
    Span,
    decode_entry,
    encode_entry,
    entry_name,
    object_name,
)
from ibidem.store.log.local_copy import LocalCopy
from ibidem.store.log.objects import Bucket, Created
from ibidem.store.log.state import (
    Checkpoint,
    LogState,
    decode_checkpoint,
    encode_checkpoint,
    first_state,
)
from ibidem.store.log.table import checked_table

FORMAT = "ibidem.json"
CHECKPOINT = "checkpoint"
CHECKPOINT_ENTRIES = 64
KIND = "ibidem log"
LAYOUT_VERSION = 1
_READ_AT_ONCE_MAX = 64
_CONTENDED_SECONDS = 2.0
"""How long after a lost race a writer expects others."""
_FIRST_PAUSE_SECONDS = 0.002


class Log:
    """The log, as far as it was read. Safe to use from several threads."""

    def __init__(
        self,
        bucket: Bucket,
        cache: BlockCache,
        *,
        copy: LocalCopy | None = None,
        timeout_seconds: float,
    ) -> None:
        """Reads nothing yet.

        Args:
            cache: gets the blocks in entries, and loses those that are dropped.
            copy: what this machine read before.
            timeout_seconds: how long a writer tries to find out whether its entry arrived.
        """
        self.bucket = bucket
        self.description: bytes | None = None
        """The object that names the format, as it was when the log was first read."""
        self._cache = cache
        self._copy = copy
        self._timeout_seconds = timeout_seconds
        self._state: LogState | None = None
        self._looked = 0.0
        """When the newest finished look at the log began."""
        self.is_just_opened = False
        """Whether the next call of `current` follows the opening at once, which looked."""
        self._looking = ForkLock()
        """Held while the log is read."""
        self._changing = ForkLock()
        """Held while the state is replaced."""
        self.collected: set[bytes] = set()
        """Packs that must not be named any more, from the entries that were read here."""
        self._contended_until = 0.0
        self._saved_number = -1
        self._saved_tables: frozenset[str] = frozenset()
        """Tables that are in the bucket, as far as known here."""

    # -- reading -----------------------------------------------------------------------------------

    def state(self) -> LogState:
        """Returns the newest state that was read; the first call reads it."""
        return self._state or self.opened()

    def opened(self) -> LogState:
        """Reads the log for the first time."""
        with self._looking:
            if self._state is None:
                with self._cache.looking():
                    self._open()
            return self.state()

    def _open(self) -> None:
        """Begins at the newest state that can be had at once, and reads what follows."""
        started = time.monotonic()
        saved = None if self._copy is None else self._copy.read()
        hint = CHECKPOINT if saved is None else entry_name(saved[1].number + 1)
        self.description, hinted = self.bucket.get_all([FORMAT, hint])
        if saved is not None and saved[0] == identity_in(self.description):
            self._state = saved[1]
            self._saved_number = saved[1].number
            is_newest = hinted is None
            if hinted is not None:
                self._add(saved[1].number + 1, hinted)
        else:
            if saved is not None:
                hinted = self.bucket.get(CHECKPOINT)
            self._state = self._loaded(hinted) or first_state()
            is_newest = False
        if not is_newest:
            self._follow(is_first=True)
        self._looked = started

    def current(self, staleness_seconds: float) -> LogState:
        """Returns a state that was the newest at most so long ago."""
        if self._state is None:
            return self.opened()
        if self.is_just_opened:
            self.is_just_opened = False
            return self.state()
        if staleness_seconds and time.monotonic() - self._looked < staleness_seconds:
            return self.state()
        return self.refreshed()

    def refreshed(self) -> LogState:
        """Reads the entries that came since, and returns the newest state. Threads that ask at the
        same time share the answer."""
        arrived = time.monotonic()
        if self._state is None:
            return self.opened()
        with self._looking:
            if self._looked < arrived:
                started = time.monotonic()
                with self._cache.looking():
                    self._follow()
                self._looked = started
            return self._state

    def _follow(self, *, is_first: bool = False) -> None:
        """Reads entries until there is none."""
        count, read = 1, 0
        while True:
            number = self.state().number
            following = range(number + 1, number + 1 + count)
            entries = self.bucket.get_all([entry_name(number) for number in following])
            for number, data in zip(following, entries, strict=True):
                if data is None:
                    if is_first and read >= 2 * CHECKPOINT_ENTRIES:
                        self.save_checkpoint()
                    return
                self._add(number, data)
                read += 1
            if is_first and read < CHECKPOINT_ENTRIES <= read + count:
                newer = self._loaded(self.bucket.get(CHECKPOINT))
                if newer is not None and newer.number > self.state().number:
                    self._state = newer
                    self._cache.discard()  # some of it may have been dropped in between
            count = min(2 * count, _READ_AT_ONCE_MAX)

    def _add(self, number: int, data: bytes, spans: Mapping[Cid, Span] | None = None) -> None:
        """Adds an entry to the state, unless another thread did.

        Args:
            spans: of the packs of the entry, where known.
        """
        entry, placed = decode_entry(data, number)
        if spans is None:
            for found in self.bucket.map(self._pack_spans, entry.packs):
                placed |= found
        else:
            placed |= spans
        self._cache.add(
            {cid: block for cid, block in entry.blocks.items() if _is_whole(cid, block)}
        )
        with self._changing:
            state = self._state
            assert state is not None, "BUG: an entry before the first state"
            if state.number >= number:
                return
            assert state.number == number - 1, "BUG: a gap in the log"
            self._state = state.after(entry, placed)
            self.collected.update(entry.collected)
        if entry.dropped:
            with suppress(IbidemError):  # what fails is destroyed at the next opening
                self._cache.forget(entry.dropped)

    def _pack_spans(self, pack: PackRef) -> dict[Cid, Span]:
        """Returns where the blocks of a pack are; nowhere, if a later entry moved or dropped all
        of them."""
        found = self.bucket.get_ranges(object_name(pack.ref), [pack.table_span])
        return {} if found is None else pack.spans(found[0])

    # -- writing -----------------------------------------------------------------------------------

    def claim(self) -> bytes | None:
        """Writes the first entry, which is empty; only one of several creators succeeds. Returns
        the identity of the new log, None for the others."""
        nonce = os.urandom(NONCE_BYTES)
        data = encode_entry(Entry(nonce, {}, (), (), (), {}))
        return nonce if self._created(0, data, nonce) is None else None

    def append(self, entry: Entry, number: int, spans: Mapping[Cid, Span]) -> bool:
        """Creates an entry; returns whether the entry of that number is this one. In both cases it
        is known afterwards.

        Args:
            spans: of the packs of the entry.
        """
        data = encode_entry(entry)
        other = self._created(number, data, entry.nonce)
        if other is not None:
            self._contended_until = time.monotonic() + _CONTENDED_SECONDS
            self._add(number, other)
            return False
        # What the bucket has is added, never what was meant to be written.
        self._add(number, data, spans)
        if number % CHECKPOINT_ENTRIES == CHECKPOINT_ENTRIES - 1:
            self.save_checkpoint()
        return True

    def _created(self, number: int, data: bytes, nonce: bytes) -> bytes | None:
        """Creates an entry; returns the other one if that number is taken.

        A request without an answer is repeated until the entry exists, whoever wrote it: then
        nothing that is still under way can change it. A writer that lost a race lately asks for
        the entry at the same time.
        """
        name = entry_name(number)
        stop = time.monotonic() + self._timeout_seconds
        is_open = False
        tries = 0
        problem: StorageError | None
        while True:
            try:
                found = None
                if time.monotonic() < self._contended_until:
                    done, found = self.bucket.create_and_get(name, data)
                else:
                    done = self.bucket.create(name, data)
                if done is Created.YES:
                    return None
                is_open = True
                if found is None:
                    found = self.bucket.get(name)
            except StorageError as error:
                if not is_open:
                    raise
                found, problem = None, error
            else:
                problem = None
            if found is not None:
                return None if decode_entry(found, number)[0].nonce == nonce else found
            if time.monotonic() >= stop:
                raise StorageError(
                    "object storage: no answer; it is not known whether the change was made",
                    hint="read the newest state, then repeat what is missing in it",
                ) from problem
            tries += 1
            self.pause(tries)

    def pause(self, tries: int) -> None:
        """Waits for a random part of some round trips, more of them after more tries."""
        longest = max(self.bucket.round_trip_seconds, _FIRST_PAUSE_SECONDS) * min(tries, 16) / 2
        time.sleep(longest * int.from_bytes(os.urandom(2), "big") / 65_536)

    # -- shortcuts ---------------------------------------------------------------------------------

    def _loaded(self, data: bytes | None) -> LogState | None:
        """Returns the state in a checkpoint of the bucket, None if it cannot be read whole."""
        if data is None:
            return None
        with suppress(CorruptError):
            found: Checkpoint = decode_checkpoint(data)
            tables = []
            for name, table in zip(
                found.table_names, self.bucket.get_all(found.table_names), strict=True
            ):
                if table is None:
                    return None
                tables.append(checked_table(table, name))
            self._saved_tables = frozenset(found.table_names)
            return replace(found.state, tables=tuple(tables))
        return None

    def save_checkpoint(self) -> None:
        """Writes the state as the checkpoint; a failure costs only time later."""
        with suppress(IbidemError):
            with self._changing:  # the rows of a state grow with the next one
                state = self.state()
                data = encode_checkpoint(state)
            for table in state.tables:
                if table.name not in self._saved_tables:
                    self.bucket.put(table.name, bytes(table.data))
            self._saved_tables = frozenset(table.name for table in state.tables)
            self.bucket.put(CHECKPOINT, data)

    def save_copy(self) -> None:
        """Writes the state down for the next process of this machine."""
        state, identity = self._state, identity_in(self.description)
        if self._copy is None or state is None or identity is None:
            return
        with self._changing:
            if state.number != self._saved_number:
                self._copy.write(identity, self.state())
                self._saved_number = self.state().number


def description_of(identity: bytes) -> bytes:
    """Returns the object that names the format of a new log."""
    fields = {"format": KIND, "version": LAYOUT_VERSION, "id": identity.hex()}
    return (json.dumps(fields) + "\n").encode()


def identity_in(description: bytes | None) -> bytes | None:
    """Returns the identity of the log that a description is about: the nonce of its first entry;
    None if it says none."""
    try:
        return bytes.fromhex(json.loads(description or b"")["id"])
    except (ValueError, TypeError, KeyError):
        return None


def _is_whole(cid: Cid, block: bytes) -> bool:
    return blake3(block).digest() == cid.raw[4:]
