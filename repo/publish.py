"""Publishing edits: a commit on a branch by compare-and-swap, rebased when somebody else was first.

All blocks of a commit and the move of the head are one durable write. A lost race costs a reading
of what the winner changed: if it touched other things, our edits are laid on the winner's root; if
the same, the transaction ends with a conflict and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ibidem.objects.blocks import Buffer
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ConflictError, ErrorKind
from ibidem.objects.root import Root
from ibidem.repo import refs
from ibidem.repo.arguments import Signature
from ibidem.repo.edits import Edits, laid_on
from ibidem.repo.operations import ORIGIN_CELL, RETRIES_MAX, Operations, State, lost_every_race

if TYPE_CHECKING:
    from ibidem.store.protocol import Swap


@dataclass(frozen=True, slots=True)
class Tip:
    """Where a branch stands: its commit, None before the first one, and the root."""

    commit: CommitCid | None
    root_cid: RootCid
    root: Root


def tip(operations: Operations, state: State, full_name: str) -> Tip:
    """Returns where a branch stands in a state."""
    ref = refs.read(operations.store, state.view, full_name)
    if ref is None:
        root_cid = RootCid(operations.store.cell(ORIGIN_CELL) or b"")
    else:
        root_cid = Commit.decode(operations.store.get(ref.target)).root
    root = Root.decode(operations.store.get(root_cid))
    return Tip(None if ref is None else ref.target, root_cid, root)


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
    ) -> None:
        self._operations = operations
        self._full_name = full_name
        self._signature = signature
        self._begun = begun or tip(operations, operations.state(), full_name)
        self._cells = cells

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self._begun.root

    def publish(self, edits: Edits, blocks: Mapping[Cid, bytes]) -> Commit | None:
        """Publishes a commit with the edits, or None when they change nothing.

        Raises:
            InvalidInputError: kind `dangling-reference`.
            ConflictError: the branch moved, and what it moved to touches the same things.
        """
        for _ in range(RETRIES_MAX):
            state = self._operations.state()
            now = tip(self._operations, state, self._full_name)
            try:
                return self._publish_on(state, now, edits, blocks)
            except ConflictError as error:
                if error.kind is not ErrorKind.HEAD_MOVED or self._is_cell_lost():
                    raise
        raise lost_every_race()

    def _publish_on(
        self, state: State, now: Tip, edits: Edits, blocks: Mapping[Cid, bytes]
    ) -> Commit | None:
        buffer = Buffer(self._operations.store)
        buffer.new.update(blocks)
        root = self._root(now, edits, buffer)
        block = root.encode()
        root_cid = RootCid.of(block)
        if root_cid == now.root_cid:
            if self._cells:
                self._operations.store.publish({}, self._cells)
            return None
        buffer.put(root_cid, block)
        time = self._operations.time(self._signature.time)
        commit = self._commit(root_cid, now, time)
        commit_block = commit.encode()
        target = CommitCid.of(commit_block)
        buffer.put(target, commit_block)
        moved = refs.changed(state.view, {self._full_name: target}, buffer)
        self._operations.publish(
            state,
            replace(state.view, refs=moved),
            buffer,
            author=self._signature.author,
            time=time,
            description=f"commit on {self._full_name}",
            cells=self._cells,
        )
        return commit

    def _root(self, now: Tip, edits: Edits, buffer: Buffer) -> Root:
        is_rebase = now.commit != self._begun.commit
        begun = self._begun.root if is_rebase else None
        return laid_on(now.root, edits, buffer, begun=begun)

    def _commit(self, root_cid: RootCid, now: Tip, time: int) -> Commit:
        signature = self._signature
        return Commit(
            root_cid,
            () if now.commit is None else (now.commit,),
            author=signature.author,
            time=time,
            message=signature.message,
            agent=signature.agent,
            task=signature.task,
        )

    def _is_cell_lost(self) -> bool:
        """Tells whether a cell that goes with the commit has moved, which no retry can mend."""
        cells = self._cells or {}
        return any(self._operations.store.cell(name) != old for name, (old, _) in cells.items())
