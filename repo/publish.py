"""Publishing edits: a commit on a branch by compare-and-swap, merged when somebody else was first.

All blocks of a commit and the move of the head are one durable write. A lost race costs a reading
of what the winner changed: our edits are merged with it three ways and become a commit on top of
the winner's. What both changed differently is recorded as a conflict; nothing is lost, and nobody
is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ConflictError
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.repo import refs
from ibidem.repo.arguments import Signature
from ibidem.repo.backoff import until_published
from ibidem.repo.edits import Edits
from ibidem.repo.landing import RECORD, Landed, Landing
from ibidem.repo.operations import ORIGIN_CELL, Operations, State

if TYPE_CHECKING:
    from ibidem.store.protocol import Swap


@record
class Tip:
    """Where a branch stands: its commit, None before the first one, and the root."""

    commit: CommitCid | None
    root_cid: RootCid
    root: Root


def tip(operations: Operations, state: State, full_name: str) -> Tip:
    """Returns where a branch stands in a state."""
    ref = refs.read(operations.store, state.view, full_name)
    if ref is None:
        target, root_cid = None, RootCid(operations.store.cell(ORIGIN_CELL) or b"")
    else:
        target = ref.target
        root_cid = Commit.decode(operations.store.get(target)).root
    root = Root.decode(operations.store.get(root_cid))
    return Tip(target, root_cid, root)


def commit_of(
    signature: Signature, root: RootCid, parents: tuple[CommitCid, ...], time: int
) -> Commit:
    """Returns the commit of a root, as its author says."""
    commit = Commit(
        root,
        parents,
        author=signature.author,
        time=time,
        message=signature.message,
        agent=signature.agent,
        task=signature.task,
    )
    return commit if signature.key is None else signature.key.sign(commit)


def move(
    operations: Operations,
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
        operations: Operations,
        full_name: str,
        signature: Signature,
        *,
        begun: Tip | None = None,
        cells: Mapping[str, Swap] | None = None,
        on_conflict: str = RECORD,
    ) -> None:
        self._operations = operations
        self._full_name = full_name
        self._signature = signature
        self._begun = begun or operations.steady(
            lambda: tip(operations, operations.state(), full_name)
        )
        self._cells = cells
        self._on_conflict = on_conflict

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self._begun.root

    def publish(self, edits: Edits, blocks: Mapping[Cid, bytes]) -> Commit | None:
        """Publishes a commit with the edits, or None when they change nothing.

        Raises:
            InvalidInputError: kind `dangling-reference`.
            ConflictError: the branch was deleted; or what `Landing.on` refuses.
        """
        landing = Landing(self._operations.store, self._begun.root_cid, edits, blocks)
        return until_published(
            self._operations.store, lambda: self._attempt(landing), is_lost=self._is_cell_lost
        )

    def _attempt(self, landing: Landing) -> Commit | None:
        state = self._operations.state()
        now = tip(self._operations, state, self._full_name)
        if now.commit is None and self._begun.commit is not None:
            raise ConflictError(
                f"{self._full_name}: the branch was deleted since the transaction began",
                hint="look at 'repo branch', and make the change on one that exists",
            )
        landed = landing.on(now.root_cid, on_conflict=self._on_conflict)
        return self._publish_on(state, now, landed)

    def _publish_on(self, state: State, now: Tip, landed: Landed) -> Commit | None:
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
