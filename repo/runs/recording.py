"""A recorded run: its steps, its summary, and its replay.

Spec: replay 3.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from ibidem.objects.cid import StepCid
from ibidem.objects.errors import CorruptError, FormatError, IbidemError, NotFoundError
from ibidem.objects.printable import one_line
from ibidem.objects.record import record
from ibidem.objects.step import Step
from ibidem.objects.view import RUNS
from ibidem.repo import refs
from ibidem.repo.arguments import checked_path, checked_time
from ibidem.repo.runs import payload, step_format
from ibidem.repo.runs.chain import full_name
from ibidem.repo.runs.replay import Replay
from ibidem.repo.runs.shape import ReadStep, read_step
from ibidem.repo.sync.export import write_refs
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.objects.view import View
    from ibidem.repo.core import Core
    from ibidem.repo.runs.replay import Replay
    from ibidem.repo.state import State
    from ibidem.store.protocol import Store


@record
class RunSummary:
    """The summary of a recorded run."""

    name: str
    tip: StepCid
    step_count: int
    agent: str
    task: str
    author: str
    begun: int | None
    """Microseconds since 1970 UTC; None for a run that cannot be read, or whose first step was not.
    """
    ended: int | None
    """None if the process ended before the run did."""
    failure: str | None
    """The error that ended the run, or the reason why it cannot be read, or not to its beginning.
    """
    is_readable: bool = True
    """Whether it has a valid first and last step."""


class Recording:
    """A recorded run in a repository that has its steps."""

    def __init__(self, repository: Core, name: str, *, tip: StepCid | None = None) -> None:
        """Finds a run.

        Args:
            name: the name of the run; without a number, the newest one of that name.
            tip: its last step, if the caller has looked up the full name.

        Raises:
            NotFoundError: there is no such run.
        """
        self.repository = repository
        if tip is None:
            name, tip = repository.operation_log.retry_if_collected(
                lambda state: _found(repository.store, state.view, name)
            )
        self.name = name
        self.tip: StepCid = tip

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order; the first one is the beginning of the run.

        Raises:
            CorruptError: the chain is broken.
        """
        found: list[Step] = []
        cid: StepCid | None = self.tip
        while cid is not None:
            step = Step.decode(self.repository.store.get(cid))
            self._check_order(step, found[-1] if found else None)
            found.append(step)
            cid = step.previous
        return tuple(reversed(found))

    def _check_order(self, step: Step, following: Step | None) -> None:
        if following is not None and step.index != following.index - 1:
            raise CorruptError(
                f"run {self.name!r}: step {step.index} comes before {following.index}"
            )

    def read(self) -> Iterator[ReadStep]:
        """Yields the steps with their values, in order; raises as `read_step`."""
        for step in self.steps:
            yield self.read_step(step)

    def read_step(self, step: Step) -> ReadStep:
        """Returns one step with its values.

        Raises:
            CorruptError: a value does not have the shape that its action requires.
        """
        try:
            return read_step(self.repository.store, step)
        except CorruptError as error:
            raise CorruptError(f"run {self.name!r}: {error}", kind=error.kind) from error

    def lines(self) -> list[str]:
        """Returns one line of text for each step; for an unreadable one, the reason."""
        return [self._line(step) for step in self.steps]

    def _line(self, step: Step) -> str:
        try:
            return step_format.step_line(self.repository.store, self.read_step(step))
        except (CorruptError, FormatError) as error:
            return one_line(f"cannot be read: {error}")

    def newest(
        self, limit: int, *, last: StepCid | str | None = None
    ) -> list[tuple[StepCid, Step]]:
        """Returns the newest steps with their CIDs, in order; the earlier ones are not read.

        Args:
            limit: number of steps.
            last: the newest one that is wanted; by default the last one.
        """
        checks.count("limit", limit)
        found: list[tuple[StepCid, Step]] = []
        start = StepCid.parse(last) if isinstance(last, str) else last
        cid: StepCid | None = start or self.tip
        while cid is not None and len(found) < limit:
            step = Step.decode(self.repository.store.get(cid))
            self._check_order(step, found[-1][1] if found else None)
            found.append((cid, step))
            cid = step.previous
        return found[::-1]

    def summary(self, *, whole: bool = True) -> RunSummary:
        """Returns the summary of the run.

        Args:
            whole: reads all steps for the first one; otherwise agent, task and author are empty.
        """
        last = Step.decode(self.repository.store.get(self.tip))
        first, failure = last, None
        try:
            first = self.steps[0] if whole else last
        except IbidemError as error:
            # A step was erased or lost, so the earlier ones cannot be reached.
            failure = str(error)
        begun = self.read_step(first).request if first.action == "begin" else {}
        ended = self.read_step(last).answer if last.action == "end" else None
        if payload.is_failed(ended):
            failure = payload.summary(ended)
        return RunSummary(
            name=self.name,
            tip=self.tip,
            step_count=last.index + 1,
            agent=begun.get("agent") or "",
            task=begun.get("task") or "",
            author=begun.get("author") or "",
            begun=first.time if whole else None,
            ended=last.time if last.action == "end" else None,
            failure=failure,
        )

    def replay(self) -> Replay:
        """Returns the run as a repository for agent code, from its beginning."""
        return Replay(self.repository, self.name, self.steps, self.read_step)

    def export(self, file: str | os.PathLike[str]) -> int:
        """Writes the run with everything that its replay needs to a file, atomically, and returns
        the size in bytes.

        The file is a bundle (a CAR) with one ref; any repository can import it.
        """
        path = checked_path("file", file)
        return write_refs(self.repository, {RUNS + self.name: self.tip}, path)


def summaries(
    repository: Core, *, start: int = 0, limit: int | None = None, whole: bool = True
) -> list[RunSummary]:
    """Returns the summaries of recorded runs, by name and number; an unreadable run is included,
    with the reason.

    Args:
        repository: where they are.
        start: runs to skip.
        limit: maximal number of runs, None for all.
        whole: as for `Recording.summary`.
    """
    checks.count("start", start)
    if limit is not None:
        checks.count("limit", limit)

    def read(state: State) -> list[RunSummary]:
        tips = refs.listed(repository.store, state.view, RUNS)
        names = sorted(tips, key=_order)[start:][:limit]
        recordings = [Recording(repository, name, tip=tips[name]) for name in names]
        return [_summary(one, state, whole=whole) for one in recordings]

    return repository.operation_log.retry_if_collected(read)


def _summary(recording: Recording, state: State, *, whole: bool) -> RunSummary:
    """Returns the summary of a run that was found in a given state."""
    try:
        return recording.summary(whole=whole)
    except IbidemError as error:
        log = recording.repository.operation_log
        if isinstance(error, NotFoundError) and log.is_overtaken(state, error):
            raise
        return RunSummary(
            recording.name, recording.tip, 0, "", "", "", None, None, str(error), is_readable=False
        )


def drop(repository: Core, name: str, *, author: str, time: int | datetime | None) -> StepCid:
    """Drops a recorded run and returns its last step; raises `NotFoundError` if there is none."""
    found = Recording(repository, name)

    def make(state: State, buffer: WriteBatch) -> View:
        moved = refs.changed(state.view, {RUNS + found.name: None}, buffer)
        return replace(state.view, refs=moved)

    repository.operation_log.change(
        make, author=author, time=checked_time(time), description=f"drop run {found.name}"
    )
    return found.tip


def _found(store: Store, view: View, name: str) -> tuple[str, StepCid]:
    """Returns the full name of a run, and its last step."""
    whole = full_name(store, view, name)
    ref = refs.read(store, view, RUNS + whole)
    assert ref is not None, "BUG: the run was just found"
    return whole, ref.target


def _order(name: str) -> tuple[str, int]:
    base, _, number = name.rpartition("/")
    return (base, int(number)) if number.isdecimal() else (name, 0)
