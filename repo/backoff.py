"""How writers that meet keep out of each other's way.

Who publishes takes a turn where the store has turns, so that the race is not lost over and over.
Who loses one all the same waits before trying again, for a time drawn at random from a range that
doubles with every loss, so that writers that met once do not meet again in step. Both decide when
something is written, never what.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from random import SystemRandom
from typing import Protocol, TypeVar, runtime_checkable

from ibidem.objects.errors import ConflictError, ErrorKind, NotFoundError
from ibidem.repo.operations import HEAD_CELL, RETRIES_MAX, is_overtaken, lost_every_race
from ibidem.store.protocol import Store

FIRST_SECONDS = 0.0005
LONGEST_SECONDS = 0.05
_RANDOM = SystemRandom()
Done = TypeVar("Done")


@runtime_checkable
class SupportsTurns(Protocol):
    """A store whose writers can queue."""

    def turn(self) -> AbstractContextManager[bool]:
        """Holds the turn to publish; yields whether it could be had."""
        ...


def until_published(
    store: Store, attempt: Callable[[], Done], *, is_lost: Callable[[], bool] | None = None
) -> Done:
    """Returns what `attempt` returns, called again after each lost race.

    Args:
        store: where `attempt` publishes.
        attempt: reads the newest state, and publishes on it; it raises `ConflictError` of kind
            `head-moved` where another writer came first.
        is_lost: tells after a lost race that no retry can help.

    Raises:
        ConflictError: kind `head-moved`: no retry helped.
    """
    with _turn(store):
        for losses in range(1, RETRIES_MAX + 1):
            head = store.cell(HEAD_CELL)
            try:
                return attempt()
            except NotFoundError as error:
                if not is_overtaken(store, head, error):
                    raise
            except ConflictError as error:
                if error.kind is not ErrorKind.HEAD_MOVED or (is_lost is not None and is_lost()):
                    raise
            pause(losses)
    raise lost_every_race()


def pause(losses: int) -> None:
    """Waits, after so many races lost in a row, from 1 on."""
    longest = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(losses, 16))
    time.sleep(_RANDOM.uniform(0.0, longest))


def _turn(store: object) -> AbstractContextManager[bool]:
    return store.turn() if isinstance(store, SupportsTurns) else nullcontext(False)
