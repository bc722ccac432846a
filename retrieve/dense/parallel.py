"""Threads that share a list of tasks, without waiting for a slow one.

The calling thread takes tasks from the front of a queue, helpers from the back. When the queue is
empty the caller waits for a helper half a millisecond at most, and then does its task again: on a
busy machine a helper may not run at all. So tasks must have no effects. Threads are started for
each call, since a pool would not survive a fork.
"""

from __future__ import annotations

import _thread
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from ibidem.retrieve.dense import tuning

Task = TypeVar("Task")
Found = TypeVar("Found")

_CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
WORKERS = min(tuning.THREADS_MAX, _CPUS or 1)
"""Threads that share, the calling one included."""


def map_shared(work: Callable[[Task], Found], tasks: Sequence[Task], workers: int) -> list[Found]:
    """Returns what `work` gives for each task, in their order.

    Args:
        workers: threads that share the tasks, the calling one included.

    Raises:
        Exception: whatever `work` raises for one of them.
    """
    found: dict[int, Found] = {}
    pending = deque(range(len(tasks)))
    finished = [_thread.allocate_lock() for _ in range(workers - 1)]
    for is_finished in finished:
        is_finished.acquire()
        # Not `threading`, which waits until its thread runs.
        _thread.start_new_thread(_help, (work, tasks, pending, found, is_finished))
    while True:
        try:
            number = pending.popleft()
        except IndexError:
            break
        found[number] = work(tasks[number])
    for is_finished in finished:
        if not is_finished.acquire(timeout=tuning.HELPER_WAIT_S):
            break
    return [found[number] if number in found else work(task) for number, task in enumerate(tasks)]


def _help(
    work: Callable[[Task], Found],
    tasks: Sequence[Task],
    pending: deque[int],
    found: dict[int, Found],
    is_finished: _thread.LockType,
) -> None:
    """Takes tasks from the back until none is left; a task that fails is left to the caller."""
    try:
        while True:
            number = pending.pop()
            found[number] = work(tasks[number])
    except Exception:
        return
    finally:
        is_finished.release()
