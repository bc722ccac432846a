"""Fork safety: a forked child can do everything that its parent could.

`fork` copies the calling thread and no other. In the child a lock that another thread held is never
released, and a pool waits for threads that do not exist. Three rules follow:

* No thread pools, neither ours nor a library's: a thread ends with the work that it was started
  for (`objects/parallel.py`), and native code that would keep threads is limited to one.
* A thread lock that outlives a call is a `ForkLock`. The state that it protects must be usable
  after every step of a change, since in a child the thread that held the lock may have stopped at
  any of them.
* Other resources of one process (open lock files, LMDB environments, a pause of the collector) are
  released by a function that is registered with `on_fork`.

Locks that exist only during a call need none of this: their owner is on a stack that the child does
not have, or on the child's own stack.
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
    """Registers functions to be called around each fork of this process, if the system can fork."""
    if hasattr(os, "register_at_fork"):
        given = {"before": before, "after_in_parent": in_parent, "after_in_child": in_child}
        os.register_at_fork(**{name: call for name, call in given.items() if call is not None})


class ForkLock:
    """A reentrant thread lock that no other thread holds in a newly forked child."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def acquire(self, *, blocking: bool = True) -> bool:
        """Acquires the lock; returns whether it was acquired."""
        return self._lock.acquire(blocking=blocking)

    def release(self) -> None:
        """Releases the lock."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Releases the lock if its owner is a thread that does not exist in this process."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


def _renew_locks() -> None:
    for lock in list(_locks):
        lock.renew()


_locks: WeakSet[ForkLock] = WeakSet()
on_fork(in_child=_renew_locks)
