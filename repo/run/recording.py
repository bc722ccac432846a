"""A recorded run: its steps, what became of it, and its replay.

Spec: replay 3.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from ibidem.objects.cid import StepCid
from ibidem.objects.errors import CorruptError, FormatError, IbidemError
from ibidem.objects.record import record
from ibidem.objects.step import Step
from ibidem.objects.view import RUNS
from ibidem.repo import refs
from ibidem.repo.arguments import checked_path, checked_time
from ibidem.repo.run import outcome, words
from ibidem.repo.run.chain import full_name
from ibidem.repo.run.values import unpack

if TYPE_CHECKING:
    from ibidem.objects.blocks import Buffer
    from ibidem.objects.view import View
    from ibidem.repo.operations import Operations, State
    from ibidem.repo.reader import Reader
    from ibidem.repo.run.player import Replay


@record
class RunSummary:
    """What a recorded run was, in short."""

    name: str
    tip: StepCid
    step_count: int
    agent: str
    task: str
    author: str
    begun: int
    """Microseconds since 1970 UTC."""
    ended: int | None
    """None for a run whose process ended before it did."""
    failure: str | None
    """The error that ended it, or why it can not be read to its beginning."""


class Recording:
    """A recorded run, of a repository that holds its steps."""

    def __init__(self, repository: Reader, name: str, *, tip: StepCid | None = None) -> None:
        """Finds a run.

        Args:
            name: without a number, the newest of that name.
            tip: its last step, where the caller has found it under its whole name.

        Raises:
            NotFoundError: there is no such run.
        """
        self.repository = repository
        if tip is None:
            name, tip = repository._operations.steady(lambda: _found(repository, name))
        self.name = name
        self.tip: StepCid = tip

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in the order they came; the first one is the beginning of the run.

        Raises:
            CorruptError: the chain is broken.
        """
        found: list[Step] = []
        cid: StepCid | None = self.tip
        while cid is not None:
            step = Step.decode(self.repository.store.get(cid))
            if found and step.index != found[-1].index - 1:
                raise CorruptError(
                    f"run {self.name!r}: step {step.index} comes before {found[-1].index}"
                )
            found.append(step)
            cid = step.previous
        return tuple(reversed(found))

    def lines(self) -> list[str]:
        """Returns what was done in each step, in words."""
        return [words.step_line(self.repository.store, step) for step in self.steps]

    def summary(self) -> RunSummary:
        """Returns what the run was, in short."""
        store = self.repository.store
        last = Step.decode(store.get(self.tip))
        first, failure = last, None
        try:
            first = self.steps[0]
        except IbidemError as error:
            # A step was erased or lost, and with it the way to those before.
            failure = str(error)
        begun = (unpack(store, first.request) or {}) if first.action == "begin" else {}
        ended = unpack(store, last.answer) if last.action == "end" else None
        if outcome.is_failed(ended):
            failure = outcome.summary(ended)
        return RunSummary(
            name=self.name,
            tip=self.tip,
            step_count=last.index + 1,
            agent=begun.get("agent") or "",
            task=begun.get("task") or "",
            author=begun.get("author") or "",
            begun=first.time,
            ended=last.time if last.action == "end" else None,
            failure=failure,
        )

    def replay(self) -> Replay:
        """Returns the run as a repository for agent code, from its beginning."""
        from ibidem.repo.run.player import Replay

        return Replay(self)

    def export(self, file: str | os.PathLike[str]) -> int:
        """Writes the run into a file with everything that its replay needs, and returns the size
        in bytes; the file is there whole or not at all.

        It is one CAR, a bundle with one ref, which importing takes into any repository.
        """
        from ibidem.repo.run.transfer import write_refs

        path = checked_path("file", file)
        return write_refs(self.repository, {RUNS + self.name: self.tip}, path)


def summaries(repository: Reader) -> list[RunSummary]:
    """Returns the recorded runs in short, by name and number."""

    def read() -> list[RunSummary]:
        tips = refs.listed(repository.store, repository.view, RUNS)
        names = sorted(tips, key=_order)
        return [_summary(Recording(repository, name, tip=tips[name])) for name in names]

    return repository._operations.steady(read)


def _summary(recording: Recording) -> RunSummary:
    """Returns what a run was; of one that is not well-formed, that, so that the others are seen."""
    try:
        return recording.summary()
    except (CorruptError, FormatError) as error:
        return RunSummary(recording.name, recording.tip, 0, "", "", "", 0, None, str(error))


def drop(
    repository: Reader,
    operations: Operations,
    name: str,
    *,
    author: str,
    time: int | datetime | None,
) -> StepCid:
    """Drops a recorded run, and returns its last step; `NotFoundError` when there is none."""
    found = Recording(repository, name)

    def make(state: State, buffer: Buffer) -> View:
        moved = refs.changed(state.view, {RUNS + found.name: None}, buffer)
        return replace(state.view, refs=moved)

    operations.change(
        make, author=author, time=checked_time(time), description=f"drop run {found.name}"
    )
    return found.tip


def _found(repository: Reader, name: str) -> tuple[str, StepCid]:
    """Returns the whole name of a run and its last step."""
    view = repository.view
    whole = full_name(repository.store, view, name)
    ref = refs.read(repository.store, view, RUNS + whole)
    assert ref is not None, "BUG: the run was just found"
    return whole, ref.target


def _order(name: str) -> tuple[str, int]:
    base, _, number = name.rpartition("/")
    return (base, int(number)) if number.isdecimal() else (name, 0)
