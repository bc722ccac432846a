"""How writers that meet keep out of each other's way.

Who publishes takes a turn where the store has turns, so that the race is not lost over and over.
Who loses one all the same waits before trying again, for a time drawn at random from a range that
doubles with every loss, so that writers that met once do not meet again in step. Both decide when
something is written, never what.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from random import SystemRandom
from typing import Protocol, runtime_checkable

FIRST_SECONDS = 0.0005
LONGEST_SECONDS = 0.05
_RANDOM = SystemRandom()


@runtime_checkable
class SupportsTurns(Protocol):
    """A store whose writers can queue."""

    def turn(self) -> AbstractContextManager[bool]:
        """Holds the turn to publish; yields whether it could be had."""
        ...


def turn(store: object) -> AbstractContextManager[bool]:
    """Holds the turn to publish, where the store has turns."""
    return store.turn() if isinstance(store, SupportsTurns) else nullcontext(False)


def pause(losses: int) -> None:
    """Waits, after so many races lost in a row, from 1 on."""
    longest = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(losses, 16))
    time.sleep(_RANDOM.uniform(0.0, longest))
