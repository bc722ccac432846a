"""Publishing a change set: a commit on a branch by compare-and-swap, reconciled where the branch
moved.

Writers take turns where the store has turns, so that nobody loses every race. A writer that loses a
race all the same waits before it tries again, for a random time from a range that doubles with
every loss. Both decide when something is written, never what.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from random import SystemRandom
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ConflictError, ErrorKind, NotFoundError
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.repo import refs
from ibidem.repo.arguments import CommitInfo, commit_of
from ibidem.repo.operation_log import RETRIES_MAX, OperationLog, lost_every_race
from ibidem.repo.state import State
from ibidem.repo.transaction.changeset import ChangeSet
from ibidem.repo.transaction.reconcile import RECORD, Reconciled, Reconciliation

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.store.protocol import Swap


FIRST_SECONDS = 0.0005
LONGEST_SECONDS = 0.05
_RANDOM = SystemRandom()
Done = TypeVar("Done")


@runtime_checkable
class SupportsTurns(Protocol):
    """A store whose writers can queue."""

    def turn(self) -> AbstractContextManager[bool]:
        """Holds the turn to publish; yields whether nobody else had it."""
        ...


def retry_publish(
    operations: OperationLog,
    attempt: Callable[[State], Done],
    *,
    state: State | None = None,
    is_lost: Callable[[State], bool] = lambda _: False,
) -> Done:
    """Returns what `attempt` returns, called again with a newer state after each lost race.

    Args:
        operations: where `attempt` publishes.
        attempt: publishes on a state; it raises `ConflictError` of kind `head-moved` where another
            writer came first.
        state: what is tried first, where no other writer has the turn; by default the newest.
        is_lost: tells of the state after a lost race that no retry can help.

    Raises:
        ConflictError: kind `head-moved`: no retry helped.
    """
    with _turn(operations.store) as is_free:
        if state is None or not is_free:  # whoever had the turn has moved the head
            state = operations.state()
        for losses in range(1, RETRIES_MAX + 1):
            try:
                return attempt(state)
            except NotFoundError as error:
                if not operations.is_overtaken(state, error):
                    raise
                pause(losses)
                state = operations.state()
            except ConflictError as error:
                if error.kind is not ErrorKind.HEAD_MOVED:
                    raise
                pause(losses)
                state = operations.state()
                if is_lost(state):
                    raise
    raise lost_every_race()


def pause(losses: int) -> None:
    """Waits, after so many races lost in a row, from 1 on."""
    longest = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(losses, 16))
    time.sleep(_RANDOM.uniform(0.0, longest))


def _turn(store: object) -> AbstractContextManager[bool]:
    return store.turn() if isinstance(store, SupportsTurns) else nullcontext(True)


@record
class Tip:
    """Where a branch stands: its commit, None before the first one, and the root."""

    commit: CommitCid | None
    root_cid: RootCid
    root: Root


def tip(source: Source, state: State, full_name: str) -> Tip:
    """Returns where a branch stands in a state."""
    ref = refs.read(source, state.view, full_name)
    if ref is None:
        target, root_cid = None, state.origin
    else:
        target = ref.target
        root_cid = Commit.decode(source.get(target)).root
    root = Root.decode(source.get(root_cid))
    return Tip(target, root_cid, root)


def move(
    operations: OperationLog,
    state: State,
    full_name: str,
    commit: Commit,
    buffer: WriteBatch,
    *,
    description: str,
    author: str,
    time: int,
    cells: Mapping[str, Swap] | None = None,
) -> None:
    """Puts a commit at the tip of a branch, with the buffer's blocks, in one durable step.

    Raises:
        ConflictError: kind `head-moved`: another operation came first, or a cell has moved.
    """
    block = commit.encode()
    target = CommitCid.of(block)
    buffer.put(target, block)
    operations.publish(
        state,
        replace(state.view, refs=refs.changed(state.view, {full_name: target}, buffer)),
        buffer,
        author=author,
        time=time,
        description=description,
        cells=cells,
    )


class BranchPublisher:
    """Publishes the edits of a transaction as a commit on a branch."""

    def __init__(
        self,
        operations: OperationLog,
        state: State,
        full_name: str,
        signature: CommitInfo,
        *,
        begun: Tip | None = None,
        cells: Mapping[str, Swap] | None = None,
        on_conflict: str = RECORD,
    ) -> None:
        """Begins.

        Args:
            state: what is published on where nobody else comes first.
            begun: what the edits are made on; by default the tip of the branch in `state`.
            cells: swapped with the commit.
        """
        self.state = state
        self._operations = operations
        self._full_name = full_name
        self._signature = signature
        self.begun = begun or tip(operations.store, state, full_name)
        self._cells = cells or {}
        self._on_conflict = on_conflict

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self.begun.root

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Commit | None:
        """Publishes a commit with the edits, or None when they change nothing.

        Raises:
            InvalidInputError: kind `dangling-reference`.
            ConflictError: the branch was deleted; or what `Reconciliation.on` refuses.
        """
        reconciliation = Reconciliation(self._operations.store, self.begun.root_cid, edits, blocks)
        return retry_publish(
            self._operations,
            lambda state: self._attempt(state, reconciliation),
            state=self.state,
            is_lost=self._is_cell_lost,
        )

    def _attempt(self, state: State, reconciliation: Reconciliation) -> Commit | None:
        now = tip(self._operations.store, state, self._full_name)
        if now.commit is None and self.begun.commit is not None:
            raise ConflictError(
                f"{self._full_name}: the branch was deleted since the transaction began",
                hint="look at 'repo branch', and make the change on one that exists",
            )
        landed = reconciliation.on(now.root_cid, on_conflict=self._on_conflict)
        return self._publish_on(state, now, landed)

    def _publish_on(self, state: State, now: Tip, landed: Reconciled) -> Commit | None:
        if landed.root_cid == now.root_cid:
            if self._cells:
                self._operations.store.publish({}, self._cells)
            return None
        buffer = WriteBatch(self._operations.store)
        buffer.new.update(landed.blocks)
        parents = () if now.commit is None else (now.commit,)
        time = self._operations.time(self._signature.time)
        commit = commit_of(self._signature, landed.root_cid, parents, time)
        move(
            self._operations,
            state,
            self._full_name,
            commit,
            buffer,
            description=f"commit on {self._full_name}",
            author=self._signature.author,
            time=time,
            cells=self._cells,
        )
        return commit

    def _is_cell_lost(self, state: State) -> bool:
        """Tells whether a cell that goes with the commit has moved, which no retry can mend."""
        return any(state.cells.get(name) != old for name, (old, _) in self._cells.items())
