"""Checks a recorded run without its agent, and compares two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import NotFoundError, ReplayError
from ibidem.objects.node import Node
from ibidem.objects.printable import one_line
from ibidem.objects.record import record
from ibidem.repo.history.compare import Move, Placed, compare
from ibidem.repo.receipts import replay
from ibidem.repo.runs import step_format
from ibidem.repo.runs.payload import shown
from ibidem.repo.runs.shape import ReadStep
from ibidem.retrieve.answer.receipt import Receipt, ReceiptItem

if TYPE_CHECKING:
    from ibidem.repo.runs.recording import Recording
    from ibidem.store.protocol import Store


@record
class StepDifference:
    """A step that differs between two runs; None for a run that has ended before it."""

    index: int
    before: str | None
    after: str | None
    is_request_changed: bool
    """Whether the requests differ; otherwise the same request got different answers."""
    details: tuple[str, ...] = ()
    """What differs, one line for each value; empty where one run has ended."""
    question: str | None = None
    """The text of the question, where both steps are retrievals."""
    moves: tuple[Move, ...] = ()
    """The items of both answers, by rank, where both steps are retrievals."""


@record
class StepReplay:
    """A recorded retrieval asked again at another revision."""

    index: int
    line: str
    details: tuple[str, ...]
    """What differs from the recorded answer; empty if nothing does."""


def check(recording: Recording) -> Counter[str]:
    """Replays every recorded retrieval, reads every root, and counts the steps by action.

    Raises:
        ReplayError: an answer differs or cannot be computed; the message names the step.
    """
    repository, count = recording.repository, len(recording.steps)
    for index, found in enumerate(recording.read()):
        repository.progress("replaying steps", index, count)
        step = found.step
        if step.receipt is not None:
            receipt = Receipt.decode(repository.store.get(step.receipt))
            _named(recording, found, partial(replay.replay, repository, receipt))
        elif step.root is not None:
            _named(recording, found, partial(repository.store.get, step.root))
    repository.progress("replaying steps", count, count)
    return Counter(step.action for step in recording.steps)


def differences(before: Recording, after: Recording) -> list[StepDifference]:
    """Returns the steps that differ between two runs, by index; ignores times and commit CIDs."""
    found = []
    count = max(len(before.steps), len(after.steps))
    for index, (one, other) in enumerate(zip_longest(before.read(), after.read())):
        before.repository.progress("comparing steps", index, count)
        requests = (_request(before, one), _request(after, other))
        is_request_changed = requests[0] != requests[1]
        if is_request_changed or _answered(before, one) != _answered(after, other):
            found.append(
                StepDifference(
                    index,
                    _line(before, one),
                    _line(after, other),
                    is_request_changed,
                    tuple(_details(before, one, after, other)),
                    *_answers(before, one, after, other),
                )
            )
    before.repository.progress("comparing steps", count, count)
    return found


def retrieve_at(recording: Recording, at: object) -> list[StepReplay]:
    """Returns every retrieval of a run, asked again at another revision, with the items that
    entered, left, moved or were edited; without details if there are none.

    The question is the recorded one, resolved, so only the graph differs. No model is called.
    """
    repository, store = recording.repository, recording.repository.store
    steps = []
    for found in recording.read():
        if found.step.receipt is None:
            continue
        recorded = Receipt.decode(store.get(found.step.receipt))
        try:
            now = replay.retrieve_at(repository, recorded, at)
            moved = any(_moves(store, recorded, now))
            details = list(answer_details(store, recorded, now)) if moved else []
        except ReplayError as error:
            details = [str(error)]
        line = step_format.step_line(store, found)
        steps.append(StepReplay(found.step.index, line, tuple(details)))
    return steps


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


def _details(
    before: Recording, one: ReadStep | None, after: Recording, other: ReadStep | None
) -> Iterator[str]:
    """Yields what differs between two steps, one line for each value."""
    if one is None or other is None:
        return
    if one.step.action != other.step.action:
        yield f"action: {one.step.action} -> {other.step.action}"
        return
    if one.step.name != other.step.name and one.step.action != "begin":
        yield f"name: {shown(one.step.name)} -> {shown(other.step.name)}"
    yield from _changed("request", one.request, other.request)
    own, others = one.step.receipt, other.step.receipt
    if own is not None and others is not None:
        receipts = (
            Receipt.decode(before.repository.store.get(own)),
            Receipt.decode(after.repository.store.get(others)),
        )
        yield from _changed("question", receipts[0].query.form(), receipts[1].query.form())
        yield from answer_details(before.repository.store, *receipts)
        return
    if one.step.action != "random":
        yield from _changed("answer", one.answer, other.answer)
    if one.step.root != other.step.root:
        yield f"root: {one.step.root} -> {other.step.root}"
    messages = [None if step.commit is None else step.commit.message for step in (one, other)]
    yield from _changed("message", *messages)


def _answers(
    before: Recording, one: ReadStep | None, after: Recording, other: ReadStep | None
) -> tuple[str | None, tuple[Move, ...]]:
    """Returns the newer question of two steps and the items of their answers, if both asked one."""
    if one is None or other is None or one.step.receipt is None or other.step.receipt is None:
        return None, ()
    stores = before.repository.store, after.repository.store
    cids = one.step.receipt, other.step.receipt
    receipts = [Receipt.decode(store.get(cid)) for store, cid in zip(stores, cids, strict=True)]
    old, new = (_placed(store, each) for store, each in zip(stores, receipts, strict=True))
    return receipts[1].query.text, compare(old, new)


def _placed(store: Store, receipt: Receipt) -> list[Placed]:
    """Returns the items of a receipt, with label and title where the node was not erased."""
    found = []
    for rank, item in _ranked(receipt):
        try:
            node = Node.decode(store.get(item.cid))
            label, title = node.ntype, (node.summary or "").strip().partition("\n")[0]
        except NotFoundError:
            label, title = "", str(item.id)
        found.append(
            Placed(
                id=item.id,
                rank=rank,
                cid=item.cid,
                score=item.score,
                tokens=0,
                label=label,
                title=title,
                lanes=item.lanes,
            )
        )
    return found


def _changed(name: str, before: Any, after: Any) -> Iterator[str]:
    """Yields the values in which two values differ, by their path."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys(), key=str):
            yield from _changed(f"{name}.{key}", before.get(key), after.get(key))
    elif before != after:
        yield f"{name}: {shown(before)} -> {shown(after)}"


def answer_details(store: Store, before: Receipt, after: Receipt) -> Iterator[str]:
    """Yields the items that entered, left, moved or were edited, and other differences."""
    if before.root != after.root:
        yield f"root: {before.root} -> {after.root}"
    yield from _moves(store, before, after)
    if before.result != after.result and before.items == after.items:
        yield "the items agree; what was left out, counted or warned about differs"


def _moves(store: Store, before: Receipt, after: Receipt) -> Iterator[str]:
    one, other = ({item.id: (at, item) for at, item in _ranked(side)} for side in (before, after))
    for node in [*one, *(node for node in other if node not in one)]:
        if node not in other:
            rank, item = one[node]
            yield f"left: rank {rank}, {_title(store, item)}"
        elif node not in one:
            rank, item = other[node]
            yield f"entered: rank {rank}, {_title(store, item)}"
        elif one[node][1].cid != other[node][1].cid:
            yield f"edited: {_title(store, one[node][1])} -> {_title(store, other[node][1])}"
        elif one[node][0] != other[node][0]:
            yield f"moved: rank {one[node][0]} -> {other[node][0]}, {_title(store, one[node][1])}"


def _ranked(receipt: Receipt) -> Iterator[tuple[int, ReceiptItem]]:
    return enumerate(receipt.items, 1)


def _title(store: Store, item: ReceiptItem) -> str:
    """Returns the first line of a node's text with its id; the id alone if it was erased."""
    try:
        text = Node.decode(store.get(item.cid)).summary or ""
    except NotFoundError:
        text = ""
    return f"{item.id} {one_line(text.partition(chr(10))[0])}".rstrip()


def _line(recording: Recording, found: ReadStep | None) -> str | None:
    return None if found is None else step_format.step_line(recording.repository.store, found)
