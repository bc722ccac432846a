"""Runs of agents: recorded step by step, to be replayed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.repo.runs import bundle, recording

if TYPE_CHECKING:
    from ibidem.objects.cid import StepCid
    from ibidem.repo.core import Core
    from ibidem.repo.runs.chain import Watch
    from ibidem.repo.runs.compare import StepDifference
    from ibidem.repo.runs.fork import Fork
    from ibidem.repo.runs.recorder import Run
    from ibidem.repo.runs.recording import Recording, RunSummary
    from ibidem.repo.runs.replay import Replay


class Runs:
    """Runs of agents that are recorded here."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def start(
        self,
        name: str,
        *,
        agent: str = "",
        task: str = "",
        author: str = "",
        watch: Watch | None = None,
    ) -> Run:
        """Starts recording a run and returns a repository for agent code, which records in order
        the code's queries and commits and their results; leaving `with` ends the run.

        Args:
            name: several runs may have it; each gets a number, such as `nightly/2`.
            agent: the name of the agent.
            task: the task of the run.
            author: the author of the operations that record the run.
            watch: is told the name of the run and each step, once it is recorded; it must not use
                the run.
        """
        from ibidem.repo.runs.recorder import Run

        return Run(self._core, name, agent=agent, task=task, author=author, watch=watch)

    def open(self, name: str) -> Recording:
        """Returns a recorded run; without a number in its name, the newest of the name."""
        return recording.Recording(self._core, name)

    def replay(self, name: str) -> Replay:
        """Returns a recorded run as a repository for agent code, which is given the recorded
        answers; a context manager that checks at its end that every step came again."""
        return self.open(name).replay()

    def fork(
        self,
        name: str,
        step: int | None = None,
        *,
        at: object = None,
        go_on: bool = False,
        as_name: str = "",
        author: str = "",
        watch: Watch | None = None,
    ) -> Fork:
        """Does a recorded run again, and returns a repository for agent code, which writes nothing
        but the run that records it.

        Args:
            name: the recorded run; without a number, the newest of the name.
            step: the fork is a replay up to this step, and asks models and tools again from there
                on. Without it, they are asked only what they were not asked in the recording.
            at: a revision whose facts are read instead of the recorded ones.
            go_on: without `step`, what the agent does else than recorded is noted, and not an
                error.
            as_name: the name of the new run; by default that of the recorded one with "-fork".
            author: the author of the operations that record the run.
            watch: as of `start`.

        Raises:
            InvalidInputError: the run has no such step.
        """
        from ibidem.repo.runs.fork import Fork

        found = recording.Recording(self._core, name)
        return Fork(
            self._core,
            found,
            step=step,
            at=at,
            go_on=go_on,
            name=as_name,
            author=author,
            watch=watch,
        )

    def check(self, name: str) -> Counter[str]:
        """Replays every retrieval of a recorded run, and counts its steps by action.

        Raises:
            ReplayError: an answer differs or cannot be computed; the message names the step.
        """
        from ibidem.repo.runs.compare import check

        return check(self.open(name))

    def differences(self, before: str, after: str) -> Sequence[StepDifference]:
        """Returns the steps in which two recorded runs differ, by index; times and the CIDs of
        commits do not count.
        """
        from ibidem.repo.runs.compare import differences

        return differences(self.open(before), self.open(after))

    def list(
        self, *, start: int = 0, limit: int | None = None, whole: bool = True
    ) -> Sequence[RunSummary]:
        """Returns the summaries of the recorded runs, by name.

        Args:
            start: runs to skip.
            limit: maximal number of runs, None for all.
            whole: reads each run to its beginning; otherwise only its last step, and agent, task,
                author and beginning are empty.
        """
        return recording.summaries(self._core, start=start, limit=limit, whole=whole)

    def load(self, file: str | os.PathLike[str], *, author: str = "") -> Recording:
        """Imports a run that `Recording.export` wrote, and returns it.

        Raises:
            CorruptError: a byte of the file was changed.
            InvalidInputError: it holds no run.
        """
        return bundle.read_run(self._core, file, author=author)

    def drop(self, name: str, *, author: str = "", time: int | datetime | None = None) -> StepCid:
        """Drops a recorded run, and returns its last step."""
        return recording.drop(self._core, name, author=author, time=time)
