"""Turns: competing writers publish one after the other instead of racing.

A turn is only advisory: publishing is correct without it, by compare-and-swap. It saves the losers
of a race from repeating their work. Two locks form the queue: the writer that holds `next` waits
for `turn`, then releases `next`. So a writer that has just had a turn queues behind one that has
not; among those that wait for `next`, a writer that has waited longer tries more often.

A writer that does not get a turn soon continues without it, so a sleeping holder blocks no other
writer. The kernel releases the locks of a process that dies.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ibidem.store.lock import held, try_lock, unlock

TURN_FILE = "turn.lock"
NEXT_FILE = "next.lock"
PATIENCE_SECONDS = 2.0
"""How many seconds a writer waits for its turn; a commit takes milliseconds."""
_OFTEN_SECONDS = 0.0001
_SELDOM_SECONDS = 0.004
_STEP_SECONDS = 0.02


@contextmanager
def turn(folder: Path, *, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[bool]:
    """Holds the turn to publish into the store in `folder`, if it becomes available; yields whether
    no other writer had it, so that there was no wait."""
    deadline = time.monotonic() + patience_seconds
    with ExitStack() as having:
        with ExitStack() as waiting:
            tries = waiting.enter_context(_lock(folder / NEXT_FILE, deadline, _SELDOM_SECONDS))
            is_free = tries == 1
            if tries:
                tries = having.enter_context(_lock(folder / TURN_FILE, deadline, _OFTEN_SECONDS))
                is_free = is_free and tries == 1
        yield is_free


@contextmanager
def _lock(path: Path, deadline: float, seldom_seconds: float) -> Iterator[int]:
    """Holds the lock in a file; yields the number of tries, 0 if the lock was not acquired before
    the deadline."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield 0
        return
    held.add(descriptor)
    try:
        tries = _wait(descriptor, deadline, seldom_seconds)
        try:
            yield tries
        finally:
            if tries:
                unlock(descriptor)
    finally:
        held.discard(descriptor)
        os.close(descriptor)


def _wait(descriptor: int, deadline: float, seldom_seconds: float) -> int:
    """Returns how many tries the lock took, 0 if it was not acquired before the deadline."""
    started, tries = time.monotonic(), 0
    while True:
        tries += 1
        try:
            try_lock(descriptor)
        except (BlockingIOError, PermissionError):
            now = time.monotonic()
            if now >= deadline:
                return 0
            share = 1.0 + (now - started) / _STEP_SECONDS
            time.sleep(max(_OFTEN_SECONDS, seldom_seconds / share))
        except OSError:
            return 0
        else:
            return tries
