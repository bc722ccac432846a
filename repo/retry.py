"""When a writer attempts to publish: in turn if the store has a queue, and again after a pause.

Both reduce the number of lost races when writers compete. They decide when something is written,
never what.
"""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ibidem.store.queue import Turn

if TYPE_CHECKING:
    from ibidem.store.protocol import Store

FIRST_SECONDS = 0.0005
LONGEST_SECONDS = 0.05
_RANDOM_BYTES = 4


@runtime_checkable
class SupportsQueue(Protocol):
    """A store whose writers can queue."""

    def queued(self) -> AbstractContextManager[Turn]:
        """Holds the turn to publish."""
        ...


@runtime_checkable
class SupportsRoundTrip(Protocol):
    """A store behind a network."""

    @property
    def round_trip_seconds(self) -> float:
        """The average time that a write took lately."""
        ...


def queued(store: Store) -> AbstractContextManager[Turn]:
    """Holds the turn to publish into a store."""
    return store.queued() if isinstance(store, SupportsQueue) else unqueued(store)


def unqueued(store: Store) -> AbstractContextManager[Turn]:
    """Describes a writer that does not wait for others."""
    return nullcontext(Turn(store, is_free=True))


def pause(losses: int, store: object = None) -> None:
    """Waits after a number of races lost in a row, at least 1: for a random time from a range that
    doubles with every loss.

    Args:
        store: what the race was for; the range begins at a share of its round trip.
    """
    trip = store.round_trip_seconds if isinstance(store, SupportsRoundTrip) else 0.0
    first, most = max(FIRST_SECONDS, trip / 4), max(LONGEST_SECONDS, 8 * trip)
    longest = min(most, first * 2.0 ** min(losses, 16))
    # Importing `random` would slow down every process, for the few that lose a race.
    share = int.from_bytes(os.urandom(_RANDOM_BYTES), "big") / 256**_RANDOM_BYTES
    time.sleep(share * longest)
