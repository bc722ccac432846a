"""Python's collector of reference cycles, held still while very many values are made.

It looks at every living object whenever their number has grown by a quarter. Where a load makes
some hundred thousand of them, none in a cycle, that is a tenth of the time and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

from ibidem.objects.forking import ForkLock, on_fork

_lock = ForkLock()
_holders: list[int] = []
"""The thread of each pause that goes on."""
_was_enabled = False


@contextmanager
def gc_paused() -> Iterator[None]:
    """Holds the collector still, for the whole process, until the last holder lets go.

    For work that ends soon and calls no code of the caller's: what others leave in cycles waits.
    It is afterwards as it was before.
    """
    global _was_enabled
    with _lock:
        if not _holders:
            _was_enabled = gc.isenabled()
        _holders.append(get_ident())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _holders.remove(get_ident())
            _resume()


def _resume() -> None:
    global _was_enabled
    if not _holders and _was_enabled:
        gc.enable()
        _was_enabled = False


def _drop_lost_pauses() -> None:
    """Ends, in a child of a fork, the pauses of threads that it does not have."""
    _holders[:] = [thread for thread in _holders if thread == get_ident()]
    _resume()


on_fork(in_child=_drop_lost_pauses)
