"""The stage: added but uncommitted changes, kept across processes in one cell.

The cell names the staged root and the commit it was based on. Staging moves no ref and writes no
operation; a commit publishes the difference of the two roots, merged with the branch's current
state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.repo.arguments import CommitInfo
from ibidem.repo.state import HEAD_CELL, STAGE_CELL, State
from ibidem.repo.transaction.changeset import ChangeSet, Published, between
from ibidem.repo.transaction.publish import BranchPublisher, Tip, tip
from ibidem.repo.transaction.reconcile import Reconciliation

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.commit import Commit
    from ibidem.repo.operation_log import OperationLog


@record
class Staged:
    """The contents of the cell: the staged root, and its base."""

    value: bytes | None
    """The value of the cell as read."""
    root_cid: RootCid
    root: Root
    begun: Tip

    @property
    def base_root(self) -> Root:
        """The root that the changes are made on."""
        return self.begun.root

    @property
    def base_commit(self) -> CommitCid | None:
        """The commit that the changes are made on; None before the first one."""
        return self.begun.commit

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return self.root_cid == self.begun.root_cid


def read(source: Source, state: State) -> Staged:
    """Returns the stage in a state; if it is empty, with the root of the current branch."""
    value = state.cells.get(STAGE_CELL)
    if value is None:
        at = tip(source, state, state.view.head)
        return Staged(None, at.root_cid, at.root, at)
    fields = codec.decode_foreign(value)
    if not isinstance(fields, dict) or fields.get("kind") != "stage" or fields.get("v") != 1:
        raise CorruptError("stage: the cell is not a stage", hint="clear it and stage again")
    commit = fields.get("commit")
    links = (fields.get("root"), fields.get("base"), *([] if commit is None else [commit]))
    if not all(isinstance(link, Cid) and not link.is_raw for link in links):
        raise CorruptError(
            "stage: root, base or commit is not a link", hint="clear it and stage again"
        )
    root_cid, base_cid = RootCid(fields["root"].raw), RootCid(fields["base"].raw)
    base = Tip(
        None if commit is None else CommitCid(commit.raw),
        base_cid,
        Root.decode(source.get(base_cid)),
    )
    return Staged(value, root_cid, Root.decode(source.get(root_cid)), base)


def commit(operations: OperationLog, signature: CommitInfo) -> Commit | None:
    """Commits the staged changes on the current branch and empties the stage in the same step;
    returns None if nothing is staged.

    Raises:
        ConflictError: the stage itself moved, or the branch was deleted.
    """
    state, staged = operations.retry_if_collected(
        lambda state: (state, read(operations.store, state))
    )
    if staged.is_empty:
        return None
    edits = between(operations.store, staged.base_root, staged.root)
    publisher = BranchPublisher(
        operations,
        state,
        state.view.head,
        signature,
        begun=staged.begun,
        cells={STAGE_CELL: (staged.value, None)},
    )
    return publisher.publish(edits, {}).commit


def clear(operations: OperationLog) -> None:
    """Discards the staged changes."""

    def attempt(state: State) -> None:
        operations.store.publish({}, {STAGE_CELL: (state.cells.get(STAGE_CELL), None)})

    operations.retry(attempt)


class StagePublisher:
    """Adds the edits of a transaction to the stage, without a commit."""

    def __init__(self, operations: OperationLog, state: State) -> None:
        self.state = state
        self._operations = operations
        self._begun = read(operations.store, state)

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self._begun.root

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        """Stages the edits in one durable step, without a commit.

        Raises:
            InvalidInputError: kind `dangling-reference`; or there are events, which no stage keeps.
            ConflictError: both sides gave one name to different models.
        """
        if edits.events:
            raise InvalidInputError(
                f"notes: got events for {min(edits.events)!r} to stage, expected a transaction on "
                "a branch",
                hint="write them in repo.transaction(), or with repo.notes",
            )
        store = self._operations.store
        reconciliation = Reconciliation(store, self._begun.root_cid, edits, blocks)
        self._operations.retry(
            lambda state: self._attempt(state, reconciliation),
            state=self.state,
        )
        return Published()

    def _attempt(self, state: State, reconciliation: Reconciliation) -> None:
        store, head = self._operations.store, state.cid.raw
        now = read(store, state)
        reconciled = reconciliation.on(now.root_cid)
        root_cid = reconciled.root_cid
        if root_cid == now.root_cid:
            return
        value = None if root_cid == now.begun.root_cid else _value(root_cid, now.begun)
        # The recorded head is unchanged: data erased in the meantime must not come back.
        store.publish(
            reconciled.all_blocks(),
            {STAGE_CELL: (now.value, value), HEAD_CELL: (head, head)},
            needs=reconciled.needs,
        )


class StageCommitPublisher(StagePublisher):
    """Adds the edits of a transaction to the stage and commits the stage."""

    def __init__(self, operations: OperationLog, state: State, signature: CommitInfo) -> None:
        super().__init__(operations, state)
        self._signature = signature

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        """Stages the edits, then commits the stage, as `commit` does."""
        super().publish(edits, blocks)
        return Published(commit(self._operations, self._signature))


def _value(root_cid: RootCid, begun: Tip) -> bytes:
    fields = {"kind": "stage", "v": 1, "root": root_cid, "base": begun.root_cid}
    if begun.commit is not None:
        fields["commit"] = begun.commit
    return codec.encode(fields)
