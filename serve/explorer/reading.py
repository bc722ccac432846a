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

_left: ContextVar[Event | None] = ContextVar("left", default=None)
"""Set once nobody waits for what this thread computes."""


class StoppedError(BaseException):
    """Nobody waits for the result. Like a keyboard interrupt, it is no fault that code handles."""


@contextmanager
def reading(left: Event) -> Iterator[None]:
    """What is computed in this block writes no receipt, and stops once `left` is set."""
    token = _left.set(left)
    try:
        with unrecorded():
            yield
    finally:
        _left.reset(token)


def stop_if_left(work: str, done: int, total: int | None) -> None:
    """Raises `StoppedError` if the browser has left; a progress function."""
    left = _left.get()
    if left is not None and left.is_set() and not work.startswith("indexing"):
        raise StoppedError
