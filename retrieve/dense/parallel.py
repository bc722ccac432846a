"""Work that several threads share without waiting for each other.

The calling thread takes tasks from one end, helpers from the other. A helper that is slow, since
the machine has other things to do, is not waited for long: what it has not finished when all else
is done is done once more. So tasks must not have effects, and take little more time than alone.
"""

from __future__ import annotations

import _thread
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

Task = TypeVar("Task")
Found = TypeVar("Found")

_CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
WORKERS = min(4, _CPUS or 1)
"""Threads that share."""
_PATIENCE = 0.0005
"""Seconds that a helper is waited for at the end."""


def shared(work: Callable[[Task], Found], tasks: Sequence[Task]) -> list[Found]:
    """Returns what `work` gives for each task, in their order.

    Raises:
        Exception: whatever `work` raises for one of them.
    """
    found: dict[int, Found] = {}
    left = deque(range(len(tasks)))
    ends = [_thread.allocate_lock() for _ in range(WORKERS - 1)]
    for end in ends:
        end.acquire()
        # Not `threading`, which waits until its thread runs.
        _thread.start_new_thread(_help, (work, tasks, left, found, end))
    while True:
        try:
            number = left.popleft()
        except IndexError:
            break
        found[number] = work(tasks[number])
    for end in ends:
        if not end.acquire(timeout=_PATIENCE):
            break
    return [found[number] if number in found else work(task) for number, task in enumerate(tasks)]


def _help(
    work: Callable[[Task], Found],
    tasks: Sequence[Task],
    left: deque[int],
    found: dict[int, Found],
    end: _thread.LockType,
) -> None:
    """Takes tasks from the end until none is left; one that fails is left to the caller."""
    try:
        while True:
            number = left.pop()
            found[number] = work(tasks[number])
    except Exception:
        return
    finally:
        end.release()
