"""The chain of a run: steps appended to the ref `runs/NAME` in batches, in order.

A run called "nightly" gets the next free number: `runs/nightly/1`, `runs/nightly/2`. Steps are
durable once published; unpublished steps are lost if the process is killed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid, RootCid, StepCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ConflictError, InvalidInputError, NotFoundError
from ibidem.objects.forking import ForkLock
from ibidem.objects.step import Step
from ibidem.objects.view import RUNS, View
from ibidem.repo import refs
from ibidem.repo.runs.payload import pack
from ibidem.repo.runs.shape import ReadStep

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.repo.operation_log import OperationLog
    from ibidem.repo.state import State
    from ibidem.store.protocol import Store

Watch = Callable[[str, ReadStep], None]
"""Is told the name of a run and a step of it, once it is recorded. It must not use the run. If it
raises, a warning says so, and it is told nothing more."""
PENDING_MAX = 64
"""Maximal number of steps published together."""


class Chain:
    """The chain of a run that is being recorded."""

    def __init__(
        self,
        operations: OperationLog,
        name: str,
        request: Mapping[str, Any] | None = None,
        *,
        author: str,
        first: ReadStep | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Begins a run with a request, or after the first step of another one.

        Args:
            first: the first step of another run, with which this one begins too.
            watch: is told each step, in order, by the thread that takes it.
        """
        if watch is not None and not callable(watch):
            raise InvalidInputError(f"watch: got {watch!r:.80}, expected a function, or None")
        self._operations = operations
        self._author = author
        self._blocks: dict[Cid, bytes] = {}
        self._pending = 0
        self._roots: set[RootCid] = set()
        """That the unpublished steps name."""
        self._watch: Watch | None = None
        self._published: StepCid | None = None
        self._last: tuple[StepCid | None, int] = (None, 0)
        """The newest step, and the number of steps."""
        self.lock = ForkLock()
        """Held while a step is created, so that steps of several threads are in order."""
        refs.check_name("run", name)
        self._base_name = name
        self.name = name
        if first is None:
            step = self.append("begin", name=name, request=request)
            first = ReadStep(step, request, None, None)
        else:
            self._last = (first.step.cid, 1)
            self._pending = 1
        self.first_request: Mapping[str, Any] = first.request
        """The request of the first step."""
        self.publish()  # gives it its number
        self._watch = watch
        self._tell(first)

    @property
    def tip(self) -> StepCid | None:
        """The newest step."""
        return self._last[0]

    @property
    def count(self) -> int:
        """The number of steps."""
        return self._last[1]

    def append(
        self,
        action: str,
        *,
        request: Any = None,
        answer: Any = None,
        blocks: Mapping[Cid, bytes] | None = None,
        start: int | None = None,
        time: int | None = None,
        **fields: Any,
    ) -> Step:
        """Appends a step, and returns it; `fields` are those of `Step`.

        Args:
            start: the `count` when the action started; None if it starts and ends in this call.
            time: microseconds since 1970 UTC; None for the clock's.

        Raises:
            InvalidInputError: the request or answer cannot be recorded; nothing is appended.
        """
        with self.lock:
            packed, parts = (None, {}) if request is None else pack(action, request)
            said, more = (None, {}) if answer is None else pack(action, answer)
            previous, count = self._last
            step = Step(
                action,
                count,
                self._operations.time(time),
                previous=previous,
                request=packed,
                answer=said,
                start=0 if start is None or start == count else start,
                **fields,
            )
            block = step.encode()
            tip = StepCid.of(block)
            self._blocks |= {**parts, **more, **(blocks or {}), tip: block}
            if step.root is not None:
                self._roots.add(step.root)
            self._pending += 1
            self._last = (tip, count + 1)
            if self._pending >= PENDING_MAX:
                self.publish()
            if self._watch is not None:
                commit = None if step.commit is None else Commit.decode(step.commit)
                self._tell(ReadStep(step, request, answer, commit))
            return step

    def _tell(self, found: ReadStep) -> None:
        """Tells the watcher a step; the step stands, whatever the watcher does."""
        if self._watch is None:
            return
        try:
            self._watch(self.name, found)
        except Exception as error:
            self._watch = None
            warnings.warn(
                f"run {self.name!r}: its watcher failed at step {found.step.index} and is told "
                f"nothing more: {error!r:.200}",
                RuntimeWarning,
                stacklevel=3,
            )

    def publish(self) -> None:
        """Makes all steps so far durable.

        Raises:
            ConflictError: the run's ref was changed by another writer, which only happens when it
                is dropped; or a root that a step names was given up and collected.
        """
        with self.lock:
            if not self._pending:
                return
            try:
                self._operations.change(
                    self._moved,
                    author=self._author,
                    time=None,
                    description=f"run {self._base_name}: {self._pending} steps",
                )
            except NotFoundError as error:
                if all(map(self._operations.store.has, self._roots)):
                    raise
                raise ConflictError(
                    f"run {self.name!r}: a revision that it read was given up meanwhile, and "
                    "collected",
                    hint="record it again",
                ) from error
            self._blocks, self._pending, self._published = {}, 0, self.tip
            self._roots.clear()

    def _moved(self, state: State, buffer: WriteBatch) -> View:
        if self._published is None:
            number = _last_number(buffer, state.view, self._base_name) + 1
            self.name = refs.check_name("run", f"{self._base_name}/{number}")
        else:
            ref = refs.read(buffer, state.view, RUNS + self.name)
            if ref is None or ref.target != self._published:
                raise ConflictError(
                    f"run {self.name!r}: it was dropped or moved while it was recorded",
                    hint="record it again",
                )
        for cid, block in self._blocks.items():
            buffer.put(cid, block)
        moved = refs.changed(state.view, {RUNS + self.name: self.tip}, buffer)
        return replace(state.view, refs=moved)


def full_name(source: Store, view: View, name: str) -> str:
    """Returns the name of a run with its number; if none is given, that of the newest.

    Raises:
        NotFoundError: there is no such run.
    """
    if not isinstance(name, str):
        raise InvalidInputError(f"run: got {name!r:.80}, expected a name such as 'nightly'")
    if refs.read(source, view, RUNS + name) is not None:
        return name
    number = _last_number(source, view, name)
    if not number:
        raise NotFoundError(f"run {name!r:.80}: there is none", hint="see 'repo run list'")
    return f"{name}/{number}"


def _last_number(source: Any, view: View, name: str) -> int:
    found = refs.listed(source, view, f"{RUNS}{name}/")
    return max((int(rest) for rest in found if rest.isdecimal()), default=0)
