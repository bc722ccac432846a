"""The operation log: every change of the refs is an operation, and one cell names the newest.

A state is an operation with its view. It is replaced by compare-and-swap of the cell `head`,
together with all blocks that the new state needs, in one durable step; a writer that loses a race
reads the new state and retries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from ibidem.objects.blocks import LayeredBlocks, WriteBatch
from ibidem.objects.cid import (
    Cid,
    EdgeCid,
    NodeCid,
    OperationCid,
    SparseCid,
    TreeCid,
    VectorCid,
    ViewCid,
)
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErrorKind,
    IbidemError,
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
from ibidem.repo.retry import not_queued, pause, queued
from ibidem.repo.state import HEAD_CELL, HORIZON_CELL, LogEntry, State

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.signing.key import SigningKey
    from ibidem.store.protocol import Store, Swap
    from ibidem.store.queue import QueuePosition

T = TypeVar("T")

OPERATIONS_KEPT = 10_000
"""How many of the newest operations `gc` keeps by default: months of undo for a person, and 4 MB of
operations and views (350 bytes each, measured)."""
RETRIES_MAX = 1000
"""Lost races in a row before giving up; each loss means that another writer succeeded."""

_UNDONE = "undoes"
_REDONE = "redoes"
ERASES = "erases"
"""The field of an operation that erased something; it cannot be undone."""
LINK_FIELDS = (_UNDONE, _REDONE, ERASES)
"""Fields of operations that this program adds; each is a link."""
_NAMING = ("ref", "commit", "receipt", "step")
"""Kinds of blocks that name existing ones."""
_NAMELESS = frozenset((NodeCid, EdgeCid, VectorCid, SparseCid, TreeCid))
"""CIDs of other kinds, which most new blocks have; these blocks are not searched."""
_VERBS = {_UNDONE: "undo", _REDONE: "redo"}


@record
class Restored:
    """The result of an undo or a redo."""

    operation: Operation
    kept: tuple[NodeId, ...] = ()
    """Nodes whose tombstones stayed, although the restored state has none on them; by id. Only
    `untombstone` removes them.
    """


class OperationLog:
    """Reads and replaces the state of one store."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self.store = store
        self._clock = clock
        self._last: LogEntry | None = None

    def state(self, read: Callable[[], Mapping[str, bytes]] | None = None) -> State:
        """Reads the newest state, all cells in one step.

        Args:
            read: returns the cells; by default those that are visible now.

        Raises:
            CorruptError: the cell `head` is missing or does not name an operation.
        """
        for _ in range(RETRIES_MAX):
            cells = (read or self.store.cells)()
            head = cells.get(HEAD_CELL)
            if head is None:
                raise CorruptError("head: the cell is missing, expected the CID of an operation")
            try:
                last = self.entry(head)
            except NotFoundError as error:
                if not self._is_given_up(head, error):
                    raise
            else:
                return State(last.cid, last.operation, last.view, cells)
        raise lost_every_race()

    def entry(self, head: bytes) -> LogEntry:
        """Returns the operation that a value of the cell `head` names; the newest is cached."""
        last = self._last
        if last is None or last.cid.raw != head:
            last = self._last = self.at(OperationCid(head))
        return last

    def at(self, cid: OperationCid) -> LogEntry:
        """Returns an operation with its view."""
        # Everything depends on these two, so their hashes are verified, which takes microseconds.
        operation = Operation.decode(self.store.get(cid))
        return LogEntry(cid, operation, View.decode(self.store.get(operation.view)))

    def before(self, entry: LogEntry) -> LogEntry:
        """Returns the operation before one that is not the first."""
        return self.at(entry.operation.parents[0])

    def retry_if_collected(self, read: Callable[[State], T], *, state: State | None = None) -> T:
        """Returns the result of `read` on a state; calls it again with a newer one if that state
        was garbage collected meanwhile.

        `gc` deletes blocks that only older operations needed; a reader that it overtakes between
        reading a state and the blocks of that state has to read the newer state.

        Args:
            read: reads from a state.
            state: the first state to try; by default the newest.
        """
        for _ in range(RETRIES_MAX):
            state = state or self.state()
            try:
                return read(state)
            except NotFoundError as error:
                if not self.is_overtaken(state, error):
                    raise
            state = None
        raise lost_every_race()

    def is_overtaken(self, state: State, error: NotFoundError) -> bool:
        """Returns whether a block may be missing because `gc` dropped a state that needed it."""
        return self._is_given_up(state.cid.raw, error)

    def _is_given_up(self, head: bytes, error: NotFoundError) -> bool:
        return error.kind is ErrorKind.BLOCK_NOT_FOUND and self.store.cell(HEAD_CELL) != head

    def history(self, state: State) -> Iterator[LogEntry]:
        """Yields the operations from that of a state back to the oldest kept one."""
        entry: LogEntry = state
        while True:
            yield entry
            if state.is_oldest(entry):
                return
            try:
                entry = self.before(entry)
            except NotFoundError:
                # `gc` may have moved the horizon to here since.
                if self.store.cell(HORIZON_CELL) != entry.cid.raw:
                    raise
                return

    def ref(self, full_name: str) -> Ref | None:
        """Returns the current ref of that full name, None if there is none."""
        return self.retry_if_collected(lambda state: refs.read(self.store, state.view, full_name))

    def targets(self, prefix: str) -> refs.Targets:
        """Returns the short names under a prefix with their current targets, by name, of the refs
        that can be read."""

        def read(state: State) -> refs.Targets:
            found = refs.readable(self.store, state.view, prefix)
            for error in found.damaged:
                if isinstance(error, NotFoundError) and self.is_overtaken(state, error):
                    raise error
            return found

        return self.retry_if_collected(read)

    def time(self, given: int | None) -> int:
        """Returns the time of a change: the one given, else the clock's, in microseconds UTC."""
        time = self._clock() if given is None else given
        require_time("operation", time)
        return time

    def publish(
        self,
        state: State,
        view: View,
        buffer: WriteBatch,
        *,
        author: str,
        time: int,
        description: str,
        cells: Mapping[str, Swap] | None = None,
        extra: Mapping[str, Cid] | None = None,
        more: Mapping[Cid, bytes] | None = None,
        needs: Iterable[Cid] = (),
    ) -> State:
        """Makes `view` the successor of `state`, with the buffer's blocks, in one durable step;
        returns the state that this made.

        Args:
            more: additional blocks, read one by one.
            needs: commits or roots that may be unreferenced, of which new blocks use values. They
                must still be stored: then no collection has begun to delete these values.

        Raises:
            ConflictError: kind `head-moved`: another operation came first, or a cell has changed.
            NotFoundError: kind `block-not-found`: one of `needs`, or a block that a new one names,
                is not stored.
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
            blocks = LayeredBlocks(blocks, more)
        swaps = {HEAD_CELL: (state.cid.raw, cid.raw), **(cells or {})}
        self.store.publish(
            blocks,
            swaps,
            needs=[*_named(buffer.new), *needs],
        )
        self._last = LogEntry(cid, operation, view)
        values = {**state.cells, **{name: new for name, (_, new) in swaps.items()}}
        after = {name: value for name, value in values.items() if value is not None}
        return State(cid, operation, view, after)

    def change(
        self,
        make: Callable[[State, WriteBatch], View | None],
        *,
        author: str,
        time: int | None,
        description: str,
        more: Mapping[Cid, bytes] | None = None,
    ) -> LogEntry:
        """Publishes the view that `make` returns; calls it again after a lost race. If it returns
        None, nothing is published.
        """
        refused: list[ConflictError] = []

        def attempt(state: State) -> LogEntry:
            buffer = WriteBatch(self.store)
            try:
                view = make(state, buffer)
            except ConflictError as error:
                refused.append(error)
                raise
            if view is None:
                return state
            return self.publish(
                state,
                view,
                buffer,
                author=author,
                time=self.time(time),
                description=description,
                more=more,
            )

        return self.retry(attempt, is_lost=lambda _: bool(refused))

    def retry(
        self,
        attempt: Callable[[State], T],
        *,
        state: State | None = None,
        is_lost: Callable[[State], bool] = lambda _: False,
        is_queued: bool = True,
    ) -> T:
        """Returns the result of `attempt`, called again with a newer state after each lost race.

        Args:
            attempt: publishes on a state; raises `ConflictError` of kind `head-moved` if another
                writer was first.
            state: the first state to try, if no other writer has the turn; by default the newest.
            is_lost: whether no retry can succeed, given the state after a lost race.
            is_queued: whether other writers wait meanwhile; False if an attempt reads the whole
                store.

        Raises:
            ConflictError: kind `head-moved`: no retry succeeded.
        """
        with queued(self.store) if is_queued else not_queued(self.store) as position:
            if state is None:
                state = self.state(position.cells)
            elif not position.is_free:  # the writer that had the turn moved the head
                state = self._newer(position)
            for losses in range(1, RETRIES_MAX + 1):
                try:
                    found = attempt(state)
                except (ConflictError, NotFoundError) as error:
                    if error.kind is ErrorKind.HEAD_MOVED:
                        if not position.pause(losses):
                            pause(losses, self.store)
                        state = self._newer(position)
                        if not is_lost(state):
                            continue
                    elif isinstance(error, NotFoundError) and self.is_overtaken(state, error):
                        pause(losses, self.store)
                        state = self.state(position.cells)
                        continue
                    if position.settled():
                        raise
                except IbidemError:
                    if position.settled():
                        raise
                else:
                    if position.settled():
                        return found
                state = self.state(position.cells)
        raise lost_every_race()

    def _newer(self, position: QueuePosition) -> State:
        """Reads the state that a writer should begin on after others published."""
        return self.state(lambda: position.cells(is_after_loss=True))

    def undo(
        self, *, author: str = "", time: int | None = None, key: SigningKey | None = None
    ) -> Restored:
        """Restores the refs from before the newest change that is not undone yet.

        A branch with tombstones that the restored state lacks moves to a commit that has them; see
        `repo.merge.tombstones`.

        Args:
            author: of the operation.
            time: of the operation; by default the clock's.
            key: signs such a commit.

        Raises:
            InvalidInputError: there is nothing to undo.
        """
        return self._restore(_undo_target, _UNDONE, author=author, time=time, key=key)

    def undoable(self, depth: int | None = None) -> Iterator[Operation]:
        """Yields the operations that as many calls of `undo` would revert, newest first; each is
        searched for only once it is asked for.

        Args:
            depth: operations that are searched for each of them, None for all.
        """
        state = self.state()
        entry: LogEntry = state
        while True:
            try:
                target, entry = _undo_target(self, state, entry, depth)
            except (InvalidInputError, NotFoundError):
                return
            yield target.operation

    def redo(self, *, author: str = "", time: int | None = None) -> Restored:
        """Restores the refs from before the newest undo that is not followed by another change.

        Raises:
            InvalidInputError: there is nothing to redo.
        """
        return self._restore(_redo_target, _REDONE, author=author, time=time, key=None)

    def _chosen(
        self,
        choose: Callable[[OperationLog, State], tuple[LogEntry, LogEntry]],
        state: State,
        mark: str,
    ) -> tuple[LogEntry, LogEntry]:
        try:
            return choose(self, state)
        except NotFoundError as error:
            if HORIZON_CELL not in state.cells:
                raise
            raise InvalidInputError(
                f"{_VERBS[mark]}: the operation it needs was given up by 'repo gc'"
            ) from error

    def _restore(
        self,
        choose: Callable[[OperationLog, State], tuple[LogEntry, LogEntry]],
        mark: str,
        *,
        author: str,
        time: int | None,
        key: SigningKey | None,
    ) -> Restored:
        def attempt(state: State) -> Restored:
            reverted, restored = self._chosen(choose, state, mark)
            description = f"{_VERBS[mark]} {reverted.operation.description}"
            now = self.time(time)
            buffer = WriteBatch(self.store)
            kept = refs.with_records_of(state.view.refs, restored.view.refs, buffer)
            view = replace(state.view, refs=kept, head=restored.view.head)
            nodes: tuple[NodeId, ...] = ()
            if mark == _UNDONE:
                signature = CommitInfo(author, description, time, key=key)
                view, nodes = self._with_tombstones(state, view, signature, now, buffer)
            made = self.publish(
                state,
                view,
                buffer,
                author=author,
                time=now,
                description=description,
                extra={mark: reverted.cid},
            )
            return Restored(made.operation, nodes)

        return self.retry(attempt)

    def _with_tombstones(
        self, before: State, after: View, signature: CommitInfo, time: int, buffer: WriteBatch
    ) -> tuple[View, tuple[NodeId, ...]]:
        """Returns a view with the tombstones of the previous one on every branch that both have,
        and the nodes that would have lost theirs.
        """
        from ibidem.repo.merge.tombstones import branches_with_tombstones

        unborn = (after.head, before.origin)
        commits, nodes = branches_with_tombstones(
            before.view.refs, after.refs, unborn, signature, time, buffer
        )
        return replace(after, refs=refs.changed(after, commits, buffer)), nodes


def _named(new: Mapping[Cid, bytes]) -> list[Cid]:
    """Returns the existing blocks that new refs, commits, receipts and steps of runs name.

    Their presence is checked in the transaction that publishes: one of them may be named by a CID
    that a user typed, or be of a state that was given up since it was read, and be garbage that is
    about to be deleted.
    """
    named = []
    for own, block in new.items():
        if type(own) in _NAMELESS or own.is_raw:
            continue
        fields = fields_of_kind(block, *_NAMING)
        if fields is not None:
            named += [cid for cid in links_in(fields) if cid not in new]
    return named


def lost_every_race() -> ConflictError:
    """Returns the error for a writer that lost `RETRIES_MAX` races in a row."""
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


def _undo_target(
    operations: OperationLog,
    state: State,
    start: LogEntry | None = None,
    depth: int | None = None,
) -> tuple[LogEntry, LogEntry]:
    """Returns the operation to undo and the one to restore; undos and redos cancel out.

    Args:
        operations: the log.
        state: the newest.
        start: where the search begins, if not there.
        depth: see `_last_change`.
    """
    entry: LogEntry = start or state
    while True:
        entry = _last_change(operations, state, entry, depth)
        if _UNDONE in entry.operation.extra:
            entry = operations.before(_at(operations, entry, _UNDONE))
        elif _REDONE in entry.operation.extra:
            undo = _at(operations, entry, _REDONE)
            entry = _at(operations, undo, _UNDONE)
            break
        else:
            break
    if state.is_oldest(entry):
        is_first = not entry.operation.parents
        why = (
            "this is the first operation"
            if is_first
            else "what was before is given up by 'repo gc'"
        )
        raise InvalidInputError(f"undo: nothing is left to undo, {why}")
    if ERASES in entry.operation.extra:
        raise InvalidInputError("undo: what was erased cannot be brought back")
    return entry, operations.before(entry)


def _redo_target(operations: OperationLog, state: State) -> tuple[LogEntry, LogEntry]:
    """Returns the undo to revert and the operation to restore, the one before it.

    That is the operation that it undid, with the tombstones that earlier undos have kept.
    """
    entry = _last_change(operations, state, state)
    while _REDONE in entry.operation.extra:
        undo = _at(operations, entry, _REDONE)
        entry = _last_change(operations, state, operations.before(undo))
    if _UNDONE not in entry.operation.extra:
        raise InvalidInputError("redo: nothing was undone since the last change")
    return entry, operations.before(entry)


def _at(operations: OperationLog, entry: LogEntry, name: str) -> LogEntry:
    """Returns the operation that a field names; raises `CorruptError` if it names none."""
    cid = linked(entry.operation, name)
    if cid is None:
        raise CorruptError(f"operation {entry.cid}: got no field {name!r}, expected a link")
    return operations.at(OperationCid(cid.raw))


def _says(view: View) -> tuple[object, ...]:
    return view.refs, view.head, view.erasures


def _last_change(
    operations: OperationLog, state: State, entry: LogEntry, depth: int | None = None
) -> LogEntry:
    """Returns the newest operation, starting from one, that changed more than runs and receipts.
    Operations that changed nothing, as when `gc` drops older ones, are skipped too.

    Raises:
        NotFoundError: none of the first `depth` did.
    """
    searched = count()
    while not state.is_oldest(entry):
        if depth is not None and next(searched) >= depth:
            raise NotFoundError(f"none of {depth} operations changed a branch or tag")
        before = operations.before(entry)
        is_nothing = not entry.operation.extra and _says(before.view) == _says(entry.view)
        is_change = entry.view.head != before.view.head or not refs.is_only_records(
            operations.store, before.view.refs, entry.view.refs
        )
        if is_change and not is_nothing:
            break
        entry = before
    return entry
