"""Computes a part of a page: it leaves no receipt, and stops when the browser has left.

Long work of the library reports its advance, and there it is stopped. The index is built to its end
even then, since every page needs it, and so is the answer to one question.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

from ibidem.repo.receipts.log import unrecorded

_stopped: ContextVar[Event | None] = ContextVar("stopped", default=None)
"""Set once nobody waits for what this thread computes."""


class StoppedError(BaseException):
    """Nobody waits for the result. Like a keyboard interrupt, it is no fault that code handles."""


@contextmanager
def reading(stopped: Event) -> Iterator[None]:
    """What is computed in this block writes no receipt, and stops once `stopped` is set."""
    token = _stopped.set(stopped)
    try:
        with unrecorded():
            yield
    finally:
        _stopped.reset(token)


def check_stopped(work: str, done: int, total: int | None) -> None:
    """Raises `StoppedError` if the browser has left; a progress function."""
    stopped = _stopped.get()
    if stopped is not None and stopped.is_set() and not work.startswith("indexing"):
        raise StoppedError
