"""Checks a recorded run without its agent, and compares two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import ReplayError
from ibidem.objects.record import record
from ibidem.repo.receipts import replay
from ibidem.repo.runs import step_format
from ibidem.repo.runs.shape import ReadStep
from ibidem.retrieve.answer.receipt import Receipt

if TYPE_CHECKING:
    from ibidem.repo.runs.recording import Recording


@record
class StepDifference:
    """A step that differs between two runs; None for a run that has ended before it."""

    index: int
    before: str | None
    after: str | None
    is_request_changed: bool
    """Whether the requests differ; otherwise the same request got different answers."""


def check(recording: Recording) -> Counter[str]:
    """Replays every recorded retrieval, reads every root, and counts the steps by action.

    Raises:
        ReplayError: an answer differs or cannot be computed; the message names the step.
    """
    repository = recording.repository
    for found in recording.read():
        step = found.step
        if step.receipt is not None:
            receipt = Receipt.decode(repository.store.get(step.receipt))
            _named(recording, found, partial(replay.replay, repository, receipt))
        elif step.root is not None:
            _named(recording, found, partial(repository.store.get, step.root))
    return Counter(step.action for step in recording.steps)


def differences(before: Recording, after: Recording) -> list[StepDifference]:
    """Returns the steps that differ between two runs, by index; ignores times and commit CIDs."""
    found = []
    for index, (one, other) in enumerate(zip_longest(before.read(), after.read())):
        requests = (_request(before, one), _request(after, other))
        is_request_changed = requests[0] != requests[1]
        if is_request_changed or _answered(before, one) != _answered(after, other):
            found.append(
                StepDifference(index, _line(before, one), _line(after, other), is_request_changed)
            )
    return found


def _named(recording: Recording, found: ReadStep, do: Callable[[], Any]) -> None:
    try:
        replay.explained(do)
    except ReplayError as error:
        line = step_format.step_line(recording.repository.store, found)
        raise ReplayError(
            f"run {recording.name!r}, step {found.step.index}, {line}: {error}",
            kind=error.kind,
            hint=error.hint,
        ) from error


def _request(recording: Recording, found: ReadStep | None) -> Any:
    if found is None:
        return None
    step, request = found.step, found.request
    if step.receipt is not None:
        block = recording.repository.store.get(step.receipt)
        request = (request, Receipt.decode(block).query.encode())
    name = "" if step.action == "begin" else step.name
    return (step.action, name, repr(request))


def _answered(recording: Recording, found: ReadStep | None) -> Any:
    if found is None:
        return None
    step = found.step
    if step.receipt is not None:
        return Receipt.decode(recording.repository.store.get(step.receipt)).result
    message = None
    if found.commit is not None and step.action == "commit":
        message = found.commit.message
    answer = None if step.action == "random" else found.answer
    return (repr(answer), step.root, message)


def _line(recording: Recording, found: ReadStep | None) -> str | None:
    return None if found is None else step_format.step_line(recording.repository.store, found)
