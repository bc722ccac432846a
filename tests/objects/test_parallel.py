"""Shared work gives what one thread gives, whatever becomes of the helpers."""

from __future__ import annotations

import os
import threading
import time

import pytest

from ibidem.errors import InvalidInputError
from ibidem.objects.parallel import THREADS_MAX, map_shared, set_threads, threads


@pytest.fixture(autouse=True)
def four_threads():
    set_threads(4)
    yield
    set_threads(None)


@pytest.fixture(params=[1, 2, 4])
def workers(request):
    return request.param


@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_results_are_in_the_order_of_the_tasks(workers, count):
    assert map_shared(lambda task: task * task, range(count), workers) == [
        n * n for n in range(count)
    ]


def test_an_error_is_raised(workers):
    def work(task):
        if task == 399:
            raise ValueError(task)
        return task

    with pytest.raises(ValueError, match="399"):
        map_shared(work, range(400), workers)


def test_helpers_that_get_stuck_are_not_waited_for():
    caller, go_on, stuck = threading.get_ident(), threading.Event(), threading.Event()

    def work(task):
        if threading.get_ident() != caller:
            stuck.set()
            go_on.wait(300)
        else:
            stuck.wait(300)
        return -task

    assert map_shared(work, range(20), 3) == [-task for task in range(20)]
    assert not go_on.is_set()
    go_on.set()


def helpers(workers=None):
    """Returns how many threads besides the calling one did some of twenty tasks."""
    caller, seen = threading.get_ident(), set()

    def work(task):
        seen.add(threading.get_ident())
        time.sleep(0.005)

    map_shared(work, range(20), workers)
    return len(seen - {caller})


def wait_for_helpers():
    """Returns whether a helper does some of the tasks before long."""
    return any(helpers() for _ in range(100))


def test_as_many_threads_share_as_the_process_may_use_and_the_call_asks_for():
    assert helpers() <= 3
    assert helpers(2) <= 1
    assert helpers(1) == 0
    set_threads(1)
    assert helpers() == helpers(4) == 0


def test_calls_at_the_same_time_share_one_allowance():
    go_on, begun, free = threading.Event(), threading.Semaphore(0), []

    def wait(task):
        begun.release()
        go_on.wait(300)

    outer = threading.Thread(target=map_shared, args=(wait, range(4)))
    outer.start()
    for _ in range(4):
        assert begun.acquire(timeout=300)
    free.append(helpers())
    go_on.set()
    outer.join()
    assert free == [0]
    assert wait_for_helpers()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_its_own_helpers_and_keeps_the_number():
    go_on = threading.Event()
    set_threads(3)
    outer = threading.Thread(target=map_shared, args=(lambda _: go_on.wait(300), range(3)))
    outer.start()
    while helpers():
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        os._exit(0 if threads() == 3 and helpers() <= 2 and wait_for_helpers() else 1)
    status = os.waitpid(child, 0)[1]
    go_on.set()
    outer.join()
    assert status == 0


def test_by_default_the_processors_of_this_process_are_used():
    set_threads(None)
    usable = getattr(os, "sched_getaffinity", None)
    assert threads() == (len(usable(0)) if usable else os.cpu_count())


@pytest.mark.parametrize("count", [0, -1, THREADS_MAX + 1, 2.0, True, "2"])
def test_a_number_of_threads_out_of_range_is_refused_and_changes_nothing(count):
    with pytest.raises(InvalidInputError, match="threads: got"):
        set_threads(count)
    assert threads() == 4
