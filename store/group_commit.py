"""Changes that the threads of one process hand in, and that are written together.

A thread hands in its change, then waits for it or writes for all that wait. The first thread of
the queue may begin on cells that contain the changes handed in before, although they are not
visible yet: its own change then follows theirs in the same write or a later one, and is refused if
they are. A process that won a race rests before it competes again, so that no other starves.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from ibidem.objects.cid import Cid
from ibidem.objects.errors import StorageError
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.store.protocol import Store
from ibidem.store.queue import QueuePosition

_CROWD_MAX = 32
_CROWD_DECAY = 0.7


class State(Protocol):
    """What is known of a store. It is replaced as a whole when it changes."""

    @property
    def cells(self) -> Mapping[str, bytes]:
        """The cells, all as they were at one moment."""
        ...


@record(frozen=False)
class Change:
    """A change that waits to be written, alone or with others."""

    expected: Mapping[str, bytes | None]
    cells: Mapping[str, bytes | None] = field(default_factory=dict)
    blocks: Mapping[Cid, bytes] = field(default_factory=dict)
    needs: Sequence[Cid] = ()
    result: int | Exception | None = None
    """1 and the number of dropped blocks, or why nothing was changed; None while it waits."""


C = TypeVar("C", bound=Change)


class GroupCommit(ABC, Generic[C]):
    """Writes the changes of the threads of one process."""

    def __init__(self, store: Store, medium: str) -> None:
        """Has nothing to write yet.

        Args:
            medium: what error messages begin with.
        """
        self._store = store
        self._medium = medium
        self._writing = ForkLock()
        """Held by the thread that writes for all that wait."""
        self._queue = ForkLock()
        self._changing = ForkLock()
        """Held while the lists change."""
        self._waiting: list[C] = []
        self._unsettled: list[C] = []
        """Those that wait and those that are being written, in order."""
        self._losses = 0
        """Races lost since this process last won one."""
        self._crowd = 0.0
        """About how many others write at the same time, from the races lost lately."""
        self._rest_until = 0.0
        self._mine = threading.local()
        """The queue position of this thread, and the state that it read last."""

    @property
    @abstractmethod
    def state(self) -> State:
        """The newest state that was read."""

    @property
    @abstractmethod
    def round_trip_seconds(self) -> float:
        """The average time that a write took lately."""

    @abstractmethod
    def _write(self, batch: Sequence[C]) -> None:
        """Gives every change its result: writes those together that the newest state admits."""

    @abstractmethod
    def _size(self, change: C) -> int | None:
        """Returns how much a change adds to a write; None if it has to be alone."""

    @property
    @abstractmethod
    def _size_max(self) -> int:
        """How much changes that are written together may add."""

    # -- queue -------------------------------------------------------------------------------------

    def note_read(self, state: State) -> None:
        """Records that this thread read the cells of a state."""
        self._mine.read = state

    @contextmanager
    def queued(self) -> Iterator[QueuePosition]:
        """Makes this thread the first of the queue, until it hands in a change or the block
        ends."""
        before = getattr(self._mine, "position", None)
        position = _GroupPosition(self._store, self)
        self._queue.acquire()
        self._mine.position = position
        try:
            if not self._gave_way():
                position.is_free = not self._unsettled and self.state is getattr(
                    self._mine, "read", None
                )
                position.is_current = True
            yield position
        finally:
            self._mine.position = before
            if position.is_held:
                self._leave()
                self._queue.release()

    def _lost(self) -> None:
        """Counts a lost race."""
        self._losses += 1

    def _won(self) -> None:
        """Lets others go first after a race was won: for as many round trips as races were lost
        before, now or lately. So nobody starves, and more of the attempts succeed."""
        self._crowd = min(max(self._losses, self._crowd * _CROWD_DECAY), _CROWD_MAX)
        self._losses = 0
        self._rest_until = time.monotonic() + int(self._crowd) * self.round_trip_seconds

    def newest(self, *, is_current: bool) -> Mapping[str, bytes]:
        """Returns the cells to begin on.

        Args:
            is_current: whether the newest state that was read is new enough.
        """
        return dict(self.state.cells) if is_current else self._store.cells()

    def _leave(self) -> None:
        """Ends the turn of a writer that hands in nothing, or whose write failed."""

    def _gave_way(self) -> bool:
        """Waits until this process may compete again; returns whether it had to, so that the store
        has to be asked again."""
        seconds = self._rest_until - time.monotonic()
        if seconds <= 0:
            return False
        time.sleep(seconds)
        return True

    def pending_cells(self) -> dict[str, bytes] | None:
        """Returns the cells as they will be if every change that was handed in is written; None if
        there is none."""
        with self._changing:
            pending = [change for change in self._unsettled if change.result is None]
            if not pending:
                return None
            cells = dict(self.state.cells)
            for change in pending:
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

    # -- changes -----------------------------------------------------------------------------------

    def submit(self, change: C) -> int:
        """Writes a change, together with those of other threads that wait meanwhile; returns how
        many blocks it dropped."""
        position = getattr(self._mine, "position", None)
        with self._changing:
            self._waiting.append(change)
            self._unsettled.append(change)
        if position is not None and position.is_held:
            position.is_held = False
            self._queue.release()
        else:
            position = None
        self._await(change)
        if isinstance(change.result, Exception):
            if position is not None:
                self._queue.acquire()
                position.is_held = True
            raise change.result
        assert change.result is not None, "BUG: a change without a result"
        return change.result - 1

    def _await(self, change: C) -> None:
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
            failure = error if isinstance(error, Exception) else self._interrupted()
            for change in batch:
                change.result = change.result or failure
            self._leave()
            if failure is not error:
                raise
        finally:
            with self._changing:
                self._unsettled = [change for change in self._unsettled if change.result is None]

    def _next_batch(self) -> list[C]:
        """Takes the changes that may be written together."""
        batch: list[C] = []
        total = 0
        while self._waiting:
            size = self._size(self._waiting[0])
            total += size or 0
            if batch and (size is None or total > self._size_max):
                break
            batch.append(self._waiting.pop(0))
            if size is None:
                break
        return batch

    def _interrupted(self) -> StorageError:
        return StorageError(
            f"{self._medium}: the thread that wrote was interrupted; it is not known whether the "
            "change was made",
            hint="read the newest state, then repeat what is missing in it",
        )


class _GroupPosition(QueuePosition):
    """The first position among the threads of a process."""

    def __init__(self, store: Store, group: GroupCommit[C]) -> None:
        super().__init__(store, is_free=False)
        self._group = group
        self._is_provisional = False
        self.is_held = True
        self.is_current = False
        """Whether the store was asked since this writer rested."""

    def cells(self, *, is_after_loss: bool = False) -> Mapping[str, bytes]:
        pending = self._group.pending_cells()
        self._is_provisional = pending is not None
        if pending is not None:
            return pending
        is_current = is_after_loss and self.is_current
        self.is_current = True
        return self._group.newest(is_current=is_current)

    def settled(self) -> bool:
        if not self._is_provisional or not self.is_held:
            return True
        self._is_provisional = False
        self._group.settle()
        return False

    def pause(self, losses: int) -> bool:
        return True
