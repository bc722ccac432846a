"""Publishes a change set: a commit on a branch by compare-and-swap, reconciled if the branch has
moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ConflictError, ErrorKind
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE
from ibidem.objects.tree.cache import TreeCache
from ibidem.repo import refs
from ibidem.repo.arguments import CommitInfo, commit_of
from ibidem.repo.erasure.guard import NOTHING_ERASED, Erased, read_erased
from ibidem.repo.event_commit import with_events
from ibidem.repo.events import NOTES
from ibidem.repo.operation_log import OperationLog
from ibidem.repo.state import STAGE_CELL, State
from ibidem.repo.transaction.changeset import ChangeSet, Published
from ibidem.repo.transaction.reconcile import RECORD, UNMOVED, Reconciled, Reconciliation

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.events import Event
    from ibidem.store.protocol import Swap

_READ_BYTES_MAX = 4 << 20
"""Bytes of tree blocks that a transaction keeps: the paths to several hundred entries, of which it
reads each to check an edit, to apply it, and to move the ref. If one is deleted meanwhile, the head
has moved, and nothing is published on the state that had it."""


@record
class Tip:
    """The state of a branch: its commit, None before the first one, and its root."""

    commit: CommitCid | None
    root_cid: RootCid
    root: Root


def tip(source: Source, state: State, full_name: str) -> Tip:
    """Returns the tip of a branch in a state of the refs."""
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
    commits: Mapping[str, Commit],
    buffer: WriteBatch,
    *,
    description: str,
    author: str,
    time: int,
    cells: Mapping[str, Swap] | None = None,
    more: Mapping[Cid, bytes] | None = None,
    needs: Iterable[Cid] = (),
) -> State:
    """Sets refs to new commits, by full name, and stores the buffer's blocks, in one durable step;
    returns the state that this made.

    Args:
        more: as in `OperationLog.publish`, and so is `needs`.

    Raises:
        ConflictError: kind `head-moved`: another operation came first, or a cell has moved.
    """
    for commit in commits.values():
        buffer.put(commit.cid, commit.encode())
    targets = {full_name: commit.cid for full_name, commit in commits.items()}
    return operations.publish(
        state,
        replace(state.view, refs=refs.changed(state.view, targets, buffer)),
        buffer,
        author=author,
        time=time,
        description=description,
        cells=cells,
        more=more,
        needs=needs,
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
        """Prepares to publish on a branch.

        Args:
            state: the state to publish on, unless another writer is first.
            begun: the base of the edits; by default the tip of the branch in `state`.
            cells: cells to swap in the same step as the commit.
        """
        self.state = state
        self._operations = operations
        self.source = TreeCache(operations.store, bytes_max=_READ_BYTES_MAX)
        """The store, with the paths of trees that the transaction has read."""
        self._full_name = full_name
        self._signature = signature
        self._tip = tip(self.source, state, full_name)
        self._erasures = state.view.erasures if begun is None else EMPTY_TREE
        """The erasures of which the base has nothing."""
        self.begun = begun or self._tip
        self._base_commit = self.begun.commit
        self._cells = cells or {}
        self._on_conflict = on_conflict

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self.begun.root

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        """Publishes a commit with the edits, unless they change nothing, and one on each space of
        notes that gets events, all in one operation.

        Raises:
            InvalidInputError: kind `dangling-reference`.
            ConflictError: the branch was deleted; or as `Reconciliation.on`.
        """
        self._signature = self._signature.with_trailers(edits.trailers)
        reconciliation = Reconciliation(self.source, self.begun.root_cid, edits, blocks)
        return self._operations.retry(
            lambda state: self._attempt(state, reconciliation, edits),
            state=self.state,
            is_lost=self._is_lost,
        )

    def _attempt(self, state: State, reconciliation: Reconciliation, edits: ChangeSet) -> Published:
        now = self._tip
        if state.cid != self.state.cid:
            now = tip(self.source, state, self._full_name)
        if edits.check_head is not None:
            edits.check_head(now.commit)
        if now.commit is None and self._base_commit is not None:
            raise ConflictError(
                f"{self._full_name}: the branch has no commit any more, and the change was made on "
                "one",
                hint=self._hint_gone(),
            )
        if self._has_moved(now):
            raise ConflictError(
                f"{self._full_name}: the branch has moved since the transaction began",
                kind=ErrorKind.HEAD_MOVED,
                hint="read the newer state, and make the change on it",
            )
        reconciled = reconciliation.on(
            now.root_cid,
            on_conflict=self._on_conflict,
            erased=lambda: self._erased(state),
        )
        return self._publish_on(state, now, reconciled, edits.events)

    def _publish_on(
        self, state: State, now: Tip, reconciled: Reconciled, events: Mapping[str, list[Event]]
    ) -> Published:
        is_changed = reconciled.root_cid != now.root_cid
        if not is_changed and not events:
            if self._cells:
                self._operations.store.publish({}, self._cells)
            return Published()
        buffer = WriteBatch(self.source)
        time = self._operations.time(self._signature.time)
        commits: dict[str, Commit] = {}
        if is_changed:
            buffer.new.update(reconciled.blocks)
            parents = () if now.commit is None else (now.commit,)
            commits[self._full_name] = commit_of(
                self._signature, reconciled.root_cid, parents, time
            )
        for space, added in sorted(events.items()):
            before = tip(self.source, state, NOTES + space)
            commits[NOTES + space] = with_events(
                before.commit, before.root, added, self._signature, time, buffer
            )
        made = move(
            self._operations,
            state,
            commits,
            buffer,
            description=f"commit on {', '.join(commits)}",
            author=self._signature.author,
            time=time,
            cells=self._cells,
            more=reconciled.more,
            needs=reconciled.needs,
        )
        notes = {space: commits[NOTES + space].cid for space in events}
        return Published(commits.get(self._full_name), notes, made)

    def _erased(self, state: State) -> Erased:
        """Returns everything that is erased in a state; nothing if the base has none of it."""
        erasures = state.view.erasures
        if erasures == self._erasures:
            return NOTHING_ERASED
        return read_erased(self._operations.store, erasures)

    def _hint_gone(self) -> str:
        """Returns how to bring the branch back, whether it was deleted or its commits undone."""
        name = self._full_name.removeprefix(refs.HEADS)
        hint = (
            f"'repo branch {name} --at {self._base_commit}' creates it again where the change was "
            "made; 'repo redo' does if its commits were undone"
        )
        if STAGE_CELL in self._cells:
            return f"{hint}; 'repo undo --staged' drops what is staged"
        return hint

    def _has_moved(self, now: Tip) -> bool:
        return self._on_conflict == UNMOVED and now.commit != self._base_commit

    def _is_lost(self, state: State) -> bool:
        """Returns whether retrying is useless: a cell to be swapped with the commit has moved, or
        the branch has, which must not.
        """
        if self._has_moved(tip(self._operations.store, state, self._full_name)):
            return True
        return any(state.cells.get(name) != old for name, (old, _) in self._cells.items())
