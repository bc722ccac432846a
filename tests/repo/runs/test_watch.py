"""Who watches a run is told each step, and cannot harm it."""

from __future__ import annotations

from typing import Any

import pytest

import ibidem


def test_a_watcher_that_raises_is_warned_about_once_and_harms_no_step():
    repo = ibidem.init("memory:")
    repo.add("the parcel arrives", author="ada")
    told: list[str] = []

    def watch(name: str, found: Any) -> None:
        told.append(found.step.action)
        if found.step.action == "retrieve":
            raise ValueError("no disk")

    with repo.runs.start("desk", watch=watch) as run:
        with pytest.warns(RuntimeWarning, match=r"'desk/1'.*step 1.*no disk") as warned:
            assert len(run.retrieve("parcel").items) == 1
        assert len(warned) == 1
        assert len(run.retrieve("arrives").items) == 1
    assert told == ["begin", "retrieve"]
    assert repo.runs.check("desk")["retrieve"] == 2


def test_a_fork_tells_its_steps_under_its_own_name():
    repo = ibidem.init("memory:")
    repo.add("the parcel arrives", author="ada")
    with repo.runs.start("desk") as run:
        run.retrieve("parcel")
    told: list[tuple[str, str]] = []
    with repo.runs.fork(
        "desk", watch=lambda name, found: told.append((name, found.step.action))
    ) as fork:
        fork.retrieve("parcel")
    assert told == [("desk-fork/1", action) for action in ("begin", "retrieve", "end")]
    assert fork.name == "desk-fork/1"
