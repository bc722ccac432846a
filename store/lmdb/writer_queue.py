"""Turns: writers that would only outrun each other publish one after the other.

A turn is good manners and nothing else: what is published is right without it, by compare-and-swap.
It spares the losers of a race their work. Two locks make the queue: who holds `next` waits for
`turn` and lets go of `next` then. So whoever has just had a turn stands behind somebody who has
not; and of those who want to be next, who has waited longer asks more often.

Whoever cannot have a turn soon goes on without it, so a holder that sleeps stops nobody. The kernel
takes locks from a process that dies.
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
"""How long a writer waits for its turn; a commit takes milliseconds."""
_OFTEN_SECONDS = 0.0001
_SELDOM_SECONDS = 0.004
_STEP_SECONDS = 0.02


@contextmanager
def turn(folder: Path, *, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[bool]:
    """Holds the turn to publish into the store in `folder`, if it can be had; yields whether nobody
    else had it, so that there was nothing to wait for."""
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
    """Holds the lock in a file; yields at which try it was had, 0 for none before the deadline."""
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
    """Returns how many tries the lock took, 0 where it could not be had before the deadline."""
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
