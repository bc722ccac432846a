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
from ibidem.repo.operation_log import (
    HEAD_CELL,
    ORIGIN_CELL,
    RETRIES_MAX,
    LogHead,
    OperationLog,
    is_overtaken,
    lost_every_race,
)
from ibidem.repo.transaction.changeset import ChangeSet
from ibidem.repo.transaction.reconcile import RECORD, Reconciled, Reconciliation
from ibidem.store.protocol import Store

if TYPE_CHECKING:
    from ibidem.store.protocol import Swap


FIRST_SECONDS = 0.0005
LONGEST_SECONDS = 0.05
_RANDOM = SystemRandom()
Done = TypeVar("Done")


@runtime_checkable
class SupportsTurns(Protocol):
    """A store whose writers can queue."""

    def turn(self) -> AbstractContextManager[bool]:
        """Holds the turn to publish; yields whether it could be had."""
        ...


def retry_publish(
    store: Store, attempt: Callable[[], Done], *, is_lost: Callable[[], bool] | None = None
) -> Done:
    """Returns what `attempt` returns, called again after each lost race.

    Args:
        store: where `attempt` publishes.
        attempt: reads the newest state, and publishes on it; it raises `ConflictError` of kind
            `head-moved` where another writer came first.
        is_lost: tells after a lost race that no retry can help.

    Raises:
        ConflictError: kind `head-moved`: no retry helped.
    """
    with _turn(store):
        for losses in range(1, RETRIES_MAX + 1):
            head = store.cell(HEAD_CELL)
            try:
                return attempt()
            except NotFoundError as error:
                if not is_overtaken(store, head, error):
                    raise
            except ConflictError as error:
                if error.kind is not ErrorKind.HEAD_MOVED or (is_lost is not None and is_lost()):
                    raise
            pause(losses)
    raise lost_every_race()


def pause(losses: int) -> None:
    """Waits, after so many races lost in a row, from 1 on."""
    longest = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(losses, 16))
    time.sleep(_RANDOM.uniform(0.0, longest))


def _turn(store: object) -> AbstractContextManager[bool]:
    return store.turn() if isinstance(store, SupportsTurns) else nullcontext(False)


@record
class Tip:
    """Where a branch stands: its commit, None before the first one, and the root."""

    commit: CommitCid | None
    root_cid: RootCid
    root: Root


def tip(operations: OperationLog, state: LogHead, full_name: str) -> Tip:
    """Returns where a branch stands in a state."""
    ref = refs.read(operations.store, state.view, full_name)
    if ref is None:
        target, root_cid = None, RootCid(operations.store.cell(ORIGIN_CELL) or b"")
    else:
        target = ref.target
        root_cid = Commit.decode(operations.store.get(target)).root
    root = Root.decode(operations.store.get(root_cid))
    return Tip(target, root_cid, root)


def move(
    operations: OperationLog,
    state: LogHead,
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
        full_name: str,
        signature: CommitInfo,
        *,
        begun: Tip | None = None,
        cells: Mapping[str, Swap] | None = None,
        on_conflict: str = RECORD,
    ) -> None:
        self._operations = operations
        self._full_name = full_name
        self._signature = signature
        self._begun = begun or operations.retry_if_collected(
            lambda: tip(operations, operations.state(), full_name)
        )
        self._cells = cells
        self._on_conflict = on_conflict

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self._begun.root

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Commit | None:
        """Publishes a commit with the edits, or None when they change nothing.

        Raises:
            InvalidInputError: kind `dangling-reference`.
            ConflictError: the branch was deleted; or what `Reconciliation.on` refuses.
        """
        reconciliation = Reconciliation(self._operations.store, self._begun.root_cid, edits, blocks)
        return retry_publish(
            self._operations.store,
            lambda: self._attempt(reconciliation),
            is_lost=self._is_cell_lost,
        )

    def _attempt(self, reconciliation: Reconciliation) -> Commit | None:
        state = self._operations.state()
        now = tip(self._operations, state, self._full_name)
        if now.commit is None and self._begun.commit is not None:
            raise ConflictError(
                f"{self._full_name}: the branch was deleted since the transaction began",
                hint="look at 'repo branch', and make the change on one that exists",
            )
        landed = reconciliation.on(now.root_cid, on_conflict=self._on_conflict)
        return self._publish_on(state, now, landed)

    def _publish_on(self, state: LogHead, now: Tip, landed: Reconciled) -> Commit | None:
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

    def _is_cell_lost(self) -> bool:
        """Tells whether a cell that goes with the commit has moved, which no retry can mend."""
        cells = self._cells or {}
        return any(self._operations.store.cell(name) != old for name, (old, _) in cells.items())
