"""Shared work gives what one thread gives, whatever becomes of the helpers."""

from __future__ import annotations

import threading

import pytest

from ibidem.retrieve.dense.parallel import map_shared


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
