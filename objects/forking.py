"""What keeps a forked child able to do all that its parent did.

`fork` copies the calling thread and no other. In the child a lock that another thread held stays
held for ever, and a pool waits for threads that are not there. Three rules follow:

* No pool of threads, of ours or of a library: a thread ends with the work that it was started for,
  and native code that would keep threads is asked for one.
* A lock of threads that outlives a call is a `ForkLock`. What it protects is changed so that it can
  be used after any step, since in a child the thread that held the lock may have stopped there.
* What else belongs to one process (open lock files, LMDB environments, a pause of the collector) is
  let go by a function given to `on_fork`.

Locks that last no longer than a call need none of this: their owner is on a stack that the child
does not have, or on its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from weakref import WeakSet


def on_fork(
    *,
    in_child: Callable[[], object],
    before: Callable[[], object] | None = None,
    in_parent: Callable[[], object] | None = None,
) -> None:
    """Has functions called around each fork of this process, where the system can fork."""
    if hasattr(os, "register_at_fork"):
        given = {"before": before, "after_in_parent": in_parent, "after_in_child": in_child}
        os.register_at_fork(**{name: call for name, call in given.items() if call is not None})


class ForkLock:
    """A reentrant lock of threads; in a new child no other thread holds it."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def acquire(self, *, blocking: bool = True) -> bool:
        """Takes the lock and returns whether it could be had."""
        return self._lock.acquire(blocking=blocking)

    def release(self) -> None:
        """Gives the lock back."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Takes the lock from a thread that does not exist in this process; one that does keeps
        it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


def _renew_locks() -> None:
    for lock in list(_locks):
        lock.renew()


_locks: WeakSet[ForkLock] = WeakSet()
on_fork(in_child=_renew_locks)
