"""The local log: every change of the refs is an operation, and one cell names the last of them.

A state is an operation with its view. It moves by compare-and-swap of the cell `head`, together
with all blocks that it needs, in one durable step; who loses a race reads the new state and tries
again.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, OperationCid, RootCid, ViewCid
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.fields import require_time
from ibidem.objects.links import fields_of_kind, links_in
from ibidem.objects.operation import Operation
from ibidem.objects.record import record
from ibidem.objects.view import Ref, View
from ibidem.repo import refs
from ibidem.repo.arguments import CommitInfo

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.signing.key import SigningKey
    from ibidem.store.protocol import Store, Swap

T = TypeVar("T")

HEAD_CELL = "head"
HORIZON_CELL = "horizon"
"""Names the oldest operation that is kept, where `gc` gave up older ones."""
ORIGIN_CELL = "origin"
"""Names the root of a repository without commits: empty trees and the configuration."""
OPERATIONS_KEPT = 10_000
"""How many of the newest operations `gc` keeps by default: months of undo for a person, and 4 MB of
operations and views (350 bytes each, measured)."""
ERASING_CELL = "erasing"
"""There while an erasure is published and not everything of it is destroyed yet."""
ERASING = b"1"
"""The value of that cell."""
RETRIES_MAX = 1000
"""Lost races in a row before giving up; each loss means that another writer got on."""

_UNDONE = "undoes"
_REDONE = "redoes"
ERASES = "erases"
"""The field of an operation that erased something: nobody undoes it."""
LINK_FIELDS = (_UNDONE, _REDONE, ERASES)
"""Fields of operations that this program adds; each is a link."""
_VERBS = {_UNDONE: "undo", _REDONE: "redo"}


@record
class LogHead:
    """The repository at one moment: the last operation and its view."""

    cid: OperationCid
    operation: Operation
    view: View


@record
class Restored:
    """What an undo or a redo did."""

    operation: Operation
    kept: tuple[NodeId, ...] = ()
    """Nodes whose tombstones stayed, though the restored state has none on them; by id. Only
    `untombstone` takes them away."""


class OperationLog:
    """Reads and moves the state of one store."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self.store = store
        self._clock = clock
        self._last: LogHead | None = None

    def state(self) -> LogHead:
        """Returns the newest state.

        Raises:
            CorruptError: the cell is missing or does not name an operation.
        """
        value = self.store.cell(HEAD_CELL)
        last = self._last
        if last is not None and last.cid.raw == value:
            return last
        self._last = self.retry_if_collected(self._newest)
        return self._last

    def retry_if_collected(self, read: Callable[[], T]) -> T:
        """Returns what `read` finds, called again where the state it read was given up meanwhile.

        `gc` deletes what only older operations held; who is overtaken between reading a state and
        what that refers to has to read the newer one.
        """
        for _ in range(RETRIES_MAX):
            head = self.store.cell(HEAD_CELL)
            try:
                return read()
            except NotFoundError as error:
                if not is_overtaken(self.store, head, error):
                    raise
        raise lost_every_race()

    def _newest(self) -> LogHead:
        value = self.store.cell(HEAD_CELL)
        if value is None:
            raise CorruptError("head: the cell is missing, expected the CID of an operation")
        return self.at(OperationCid(value))

    def at(self, cid: OperationCid) -> LogHead:
        """Returns the state that an operation made."""
        # Everything hangs on these two, so they are hashed again, which takes microseconds.
        operation = Operation.decode(self.store.get(cid))
        return LogHead(cid, operation, View.decode(self.store.get(operation.view)))

    def before(self, state: LogHead) -> LogHead:
        """Returns the state that an operation, not the first one, was made on."""
        return self.at(state.operation.parents[0])

    def history(self) -> Iterator[LogHead]:
        """Yields the states from the newest back to the first."""
        state = self.state()
        while True:
            yield state
            if self.is_oldest(state):
                return
            state = self.at(state.operation.parents[0])

    def is_oldest(self, state: LogHead) -> bool:
        """Tells whether nothing before an operation is kept: it is the first, or `gc` gave up what
        was before it."""
        return not state.operation.parents or state.cid.raw == self.store.cell(HORIZON_CELL)

    def ref(self, full_name: str) -> Ref | None:
        """Returns the ref of that full name as it stands now, None when there is none."""
        return self.retry_if_collected(lambda: refs.read(self.store, self.state().view, full_name))

    def targets(self, prefix: str) -> dict[str, Any]:
        """Returns the short names under a prefix with their targets as they stand now, by name."""
        return self.retry_if_collected(lambda: refs.listed(self.store, self.state().view, prefix))

    def time(self, given: int | None) -> int:
        """Returns the time of a change: the one given, else the clock's, in microseconds UTC."""
        time = self._clock() if given is None else given
        require_time("operation", time)
        return time

    def publish(
        self,
        state: LogHead,
        view: View,
        buffer: WriteBatch,
        *,
        author: str,
        time: int,
        description: str,
        cells: Mapping[str, Swap] | None = None,
        extra: Mapping[str, Cid] | None = None,
        more: Mapping[Cid, bytes] | None = None,
    ) -> LogHead:
        """Makes `view` the successor of `state`, with the buffer's blocks, in one durable step.

        Args:
            more: blocks that go along, read one by one.

        Raises:
            ConflictError: kind `head-moved`: another operation came first, or a cell has moved.
        """
        view = replace(view, seq=state.view.seq + 1, previous=state.operation.view)
        view_block = view.encode()
        view_cid = ViewCid.of(view_block)
        operation = Operation(
            view_cid,
            (state.cid,),
            author=author,
            time=time,
            description=description,
            extra=extra or {},
        )
        block = operation.encode()
        cid = OperationCid.of(block)
        blocks: Mapping[Cid, bytes] = {**buffer.new, view_cid: view_block, cid: block}
        if more:
            blocks = ChainMap(dict(blocks), cast("MutableMapping[Cid, bytes]", more))
        self.store.publish(
            blocks,
            {HEAD_CELL: (state.cid.raw, cid.raw), **(cells or {})},
            needs=_named(buffer.new),
        )
        self._last = LogHead(cid, operation, view)
        return self._last

    def change(
        self,
        make: Callable[[LogHead, WriteBatch], View | None],
        *,
        author: str,
        time: int | None,
        description: str,
        more: Mapping[Cid, bytes] | None = None,
    ) -> LogHead:
        """Publishes the view that `make` returns, called again after a lost race; None: nothing."""
        for _ in range(RETRIES_MAX):
            head = self.store.cell(HEAD_CELL)
            buffer = WriteBatch(self.store)
            try:
                state = self.state()
                view = make(state, buffer)
            except NotFoundError as error:
                if not is_overtaken(self.store, head, error):
                    raise
                continue
            if view is None:
                return state
            try:
                return self.publish(
                    state,
                    view,
                    buffer,
                    author=author,
                    time=self.time(time),
                    description=description,
                    more=more,
                )
            except ConflictError as error:
                if error.kind is not ErrorKind.HEAD_MOVED:
                    raise
        raise lost_every_race()

    def undo(
        self, *, author: str = "", time: int | None = None, key: SigningKey | None = None
    ) -> Restored:
        """Restores the refs from before the newest change that was not undone yet.

        A branch with tombstones that the restored state lacks goes to a commit that has them; see
        `repo.merge.tombstones`.

        Args:
            key: signs such a commit.

        Raises:
            InvalidInputError: there is nothing to undo.
        """
        return self._restore(_undo_target, _UNDONE, author=author, time=time, key=key)

    def redo(self, *, author: str = "", time: int | None = None) -> Restored:
        """Restores the refs from before the newest undo that no other change has followed.

        Raises:
            InvalidInputError: there is nothing to redo.
        """
        return self._restore(_redo_target, _REDONE, author=author, time=time, key=None)

    def _chosen(
        self,
        choose: Callable[[OperationLog, LogHead], tuple[LogHead, LogHead]],
        state: LogHead,
        mark: str,
    ) -> tuple[LogHead, LogHead]:
        try:
            return choose(self, state)
        except NotFoundError as error:
            if self.store.cell(HORIZON_CELL) is None:
                raise
            raise InvalidInputError(
                f"{_VERBS[mark]}: the operation it needs was given up by 'repo gc'"
            ) from error

    def _restore(
        self,
        choose: Callable[[OperationLog, LogHead], tuple[LogHead, LogHead]],
        mark: str,
        *,
        author: str,
        time: int | None,
        key: SigningKey | None,
    ) -> Restored:
        for _ in range(RETRIES_MAX):
            state = self.state()
            reverted, restored = self._chosen(choose, state, mark)
            description = f"{_VERBS[mark]} {reverted.operation.description}"
            now = self.time(time)
            buffer = WriteBatch(self.store)
            kept = refs.with_records_of(state.view.refs, restored.view.refs, buffer)
            view = replace(state.view, refs=kept, head=restored.view.head)
            nodes: tuple[NodeId, ...] = ()
            if mark == _UNDONE:
                signature = CommitInfo(author, description, time, key=key)
                view, nodes = self._with_tombstones(state.view, view, signature, now, buffer)
            try:
                state = self.publish(
                    state,
                    view,
                    buffer,
                    author=author,
                    time=now,
                    description=description,
                    extra={mark: reverted.cid},
                )
            except ConflictError as error:
                if error.kind is not ErrorKind.HEAD_MOVED:
                    raise
            else:
                return Restored(state.operation, nodes)
        raise lost_every_race()

    def _with_tombstones(
        self, before: View, after: View, signature: CommitInfo, time: int, buffer: WriteBatch
    ) -> tuple[View, tuple[NodeId, ...]]:
        """Returns a view with the tombstones of the one before it on every branch that both have,
        and the nodes that would have lost theirs."""
        from ibidem.repo.merge.tombstones import branches_with_tombstones

        unborn = (after.head, RootCid(self.store.cell(ORIGIN_CELL) or b""))
        commits, nodes = branches_with_tombstones(
            before.refs, after.refs, unborn, signature, time, buffer
        )
        return replace(after, refs=refs.changed(after, commits, buffer)), nodes


def _named(new: Mapping[Cid, bytes]) -> list[Cid]:
    """Returns the blocks that new refs and commits name and that are not new themselves.

    They are looked for in the transaction that publishes: one of them may come from outside, as a
    CID that somebody typed, and be garbage that is about to go.
    """
    named = []
    for own, block in new.items():
        fields = None if own.is_raw else fields_of_kind(block, "ref", "commit")
        if fields is not None:
            named += [cid for cid in links_in(fields) if cid not in new]
    return named


def is_overtaken(store: Store, head: bytes | None, error: NotFoundError) -> bool:
    """Tells whether a block may be missing because the state that needed it was given up since the
    head was `head`."""
    return error.kind is ErrorKind.BLOCK_NOT_FOUND and store.cell(HEAD_CELL) != head


def lost_every_race() -> ConflictError:
    """Returns the error for a writer that others outran `RETRIES_MAX` times."""
    return ConflictError(
        f"head: other writers came first {RETRIES_MAX} times in a row",
        kind=ErrorKind.HEAD_MOVED,
        hint="try again",
    )


def linked(operation: Operation, name: str) -> Cid | None:
    """Returns the link in one of `LINK_FIELDS`, None where there is no such field.

    Raises:
        CorruptError: it is no link to a block.
    """
    value = operation.extra.get(name)
    if value is None:
        return None
    if not isinstance(value, Cid) or value.is_raw:
        raise CorruptError(f"operation.{name}: got {value!r:.80}, expected a link to a block")
    return value


def _undo_target(operations: OperationLog, state: LogHead) -> tuple[LogHead, LogHead]:
    """Returns the operation to undo and the state to restore; undos and redos cancel out."""
    while True:
        state = _last_change(operations, state)
        if _UNDONE in state.operation.extra:
            state = operations.before(_at(operations, state, _UNDONE))
        elif _REDONE in state.operation.extra:
            undo = _at(operations, state, _REDONE)
            state = _at(operations, undo, _UNDONE)
            break
        else:
            break
    if operations.is_oldest(state):
        is_first = not state.operation.parents
        why = (
            "this is the first operation"
            if is_first
            else "what was before is given up by 'repo gc'"
        )
        raise InvalidInputError(f"undo: nothing is left to undo, {why}")
    if ERASES in state.operation.extra:
        raise InvalidInputError("undo: what was erased cannot be brought back")
    return state, operations.before(state)


def _redo_target(operations: OperationLog, state: LogHead) -> tuple[LogHead, LogHead]:
    """Returns the undo to take back and the state to restore, the one from before it.

    That is what it undid, with the tombstones that undos before it have kept."""
    state = _last_change(operations, state)
    while _REDONE in state.operation.extra:
        undo = _at(operations, state, _REDONE)
        state = _last_change(operations, operations.before(undo))
    if _UNDONE not in state.operation.extra:
        raise InvalidInputError("redo: nothing was undone since the last change")
    return state, operations.before(state)


def _at(operations: OperationLog, state: LogHead, name: str) -> LogHead:
    """Returns the state that an operation's field names; raises `CorruptError` where it is none."""
    cid = linked(state.operation, name)
    if cid is None:
        raise CorruptError(f"operation {state.cid}: got no field {name!r}, expected a link")
    return operations.at(OperationCid(cid.raw))


def _says(view: View) -> tuple[object, ...]:
    return view.refs, view.head, view.erasures


def _last_change(operations: OperationLog, state: LogHead) -> LogHead:
    """Returns the newest state that is more than a record of a run or a receipt, or of nothing,
    as where `gc` gave up older operations."""
    while not operations.is_oldest(state):
        before = operations.before(state)
        is_nothing = not state.operation.extra and _says(before.view) == _says(state.view)
        is_change = state.view.head != before.view.head or not refs.is_only_records(
            operations.store, before.view.refs, state.view.refs
        )
        if is_change and not is_nothing:
            break
        state = before
    return state
