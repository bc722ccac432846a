"""When a writer attempts to publish: in turn if the store has a queue, and again after a pause.

Both reduce the number of lost races when writers compete. They decide when something is written,
never what.
"""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

FIRST_SECONDS = 0.0005
LONGEST_SECONDS = 0.05
_RANDOM_BYTES = 4


@runtime_checkable
class SupportsTurns(Protocol):
    """A store whose writers can queue."""

    def turn(self) -> AbstractContextManager[bool]:
        """Holds the turn to publish; yields whether it was free."""
        ...


def queued(store: object) -> AbstractContextManager[bool]:
    """Holds the turn to publish into a store; yields whether it was free."""
    return store.turn() if isinstance(store, SupportsTurns) else nullcontext(True)


def pause(losses: int) -> None:
    """Waits after a number of races lost in a row, at least 1: for a random time from a range that
    doubles with every loss.
    """
    longest = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(losses, 16))
    # Importing `random` would slow down every process, for the few that lose a race.
    share = int.from_bytes(os.urandom(_RANDOM_BYTES), "big") / 256**_RANDOM_BYTES
    time.sleep(share * longest)
