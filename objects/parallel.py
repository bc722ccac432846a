"""Threads that share a list of tasks, without waiting for a slow one.

The calling thread takes tasks from the front of a queue, helpers from the back. When the queue is
empty the caller waits for a helper half a millisecond at most, and then does its task again: on a
busy machine a helper may not run at all. So tasks must have no effects, and what they give must not
depend on who does them.

All calls of a process draw their helpers from one allowance, by default one less than the
processors that this process may use; a call that finds none left works alone. Helpers are started
for each call and end with it, since threads that wait for work would not survive a fork; a forked
child has the whole allowance, because it has none of the threads.
"""

from __future__ import annotations

import _thread
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.forking import on_fork

Task = TypeVar("Task")
Found = TypeVar("Found")

THREADS_MAX = 1_024
HELPER_WAIT_S = 0.0005
"""Seconds that a helper is waited for at the end before its work is done again."""


def set_threads(count: int | None) -> None:
    """Sets how many threads of this process may share work, the calling one included. No answer
    depends on it.

    Args:
        count: 1 to 1,024; None for the number of processors that this process may use.

    Raises:
        InvalidInputError: `count` is out of range.
    """
    if count is not None and (type(count) is not int or not 1 <= count <= THREADS_MAX):
        raise InvalidInputError(
            f"threads: got {count!r}, expected a whole number from 1 to {THREADS_MAX:,}"
        )
    global _threads, _idle
    _threads = _usable() if count is None else count
    _idle = deque([None] * (_threads - 1))


def threads() -> int:
    """Returns how many threads of this process may share work, the calling one included."""
    return _threads


def map_shared(
    work: Callable[[Task], Found], tasks: Sequence[Task], workers: int | None = None
) -> list[Found]:
    """Returns what `work` gives for each task, in their order.

    Args:
        workers: threads that share the tasks at most, the calling one included; by default as many
            as the process may use.

    Raises:
        Exception: whatever `work` raises for one of them.
    """
    found: dict[int, Found] = {}
    pending = deque(range(len(tasks)))
    idle, finished = _idle, []
    for _ in range(min(_threads if workers is None else workers, len(tasks)) - 1):
        try:
            idle.pop()
        except IndexError:
            break
        is_finished = _thread.allocate_lock()
        is_finished.acquire()
        finished.append(is_finished)
        # Not `threading`, which waits until its thread runs.
        _thread.start_new_thread(_help, (work, tasks, pending, found, is_finished, idle))
    while True:
        try:
            number = pending.popleft()
        except IndexError:
            break
        found[number] = work(tasks[number])
    for is_finished in finished:
        if not is_finished.acquire(timeout=HELPER_WAIT_S):
            break
    return [found[number] if number in found else work(task) for number, task in enumerate(tasks)]


def _help(
    work: Callable[[Task], Found],
    tasks: Sequence[Task],
    pending: deque[int],
    found: dict[int, Found],
    is_finished: _thread.LockType,
    idle: deque[None],
) -> None:
    """Takes tasks from the back until none is left; a task that fails is left to the caller."""
    try:
        while True:
            number = pending.pop()
            found[number] = work(tasks[number])
    except Exception:
        return
    finally:
        idle.append(None)
        is_finished.release()


def _usable() -> int:
    """Returns how many processors this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return min(THREADS_MAX, len(usable(0)) if usable else os.cpu_count() or 1)


_threads = 1
_idle: deque[None] = deque()
"""One entry for each helper that may be started now. Its operations are atomic, so that no lock is
needed that a fork could leave taken."""
set_threads(None)
on_fork(in_child=lambda: set_threads(_threads))
