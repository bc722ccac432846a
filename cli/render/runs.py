"""Recorded runs and their differences, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ibidem.cli.render import output, shapes

if TYPE_CHECKING:
    from ibidem.repo.runs.compare import StepDifference
    from ibidem.repo.runs.recording import RunSummary


def difference_rows(found: Iterable[StepDifference]) -> list[dict[str, Any]]:
    """Returns the steps in which two runs differ, for JSON."""
    names = ("index", "before", "after", "is_request_changed", "details")
    return [shapes.fields_json(one, *names) for one in found]


def say_differences(found: Iterable[StepDifference]) -> None:
    """Prints the steps in which two runs differ."""
    for one in found:
        what = "asked" if one.is_request_changed else "was answered"
        output.say(
            f"step {one.index} {what} something else",
            f"  before: {output.one_line(one.before or 'the run is over')}",
            f"  after:  {output.one_line(one.after or 'the run is over')}",
            *(f"    {output.one_line(detail)}" for detail in one.details),
        )


def summary_json(run: RunSummary) -> dict[str, Any]:
    """Returns a run for JSON, without its steps."""
    return shapes.fields_json(
        run,
        *("name", "tip", "step_count", "agent", "task", "author", "begun", "ended", "failure"),
        "is_readable",
    )


def ending(run: RunSummary) -> str:
    """Returns how a run ended, as a line says it."""
    if not run.is_readable:
        return f"cannot be read: {output.one_line(run.failure or '')}"
    if run.failure is not None:
        return f"failed: {output.one_line(run.failure, width=80)}"
    return (
        "finished"
        if run.ended is not None
        else "not finished: still running, or its process was killed"
    )
