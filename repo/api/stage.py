"""The stage: changes added but not committed yet, persistent across processes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.repo.arguments import commit_info
from ibidem.repo.history import log
from ibidem.repo.state import STAGE_CELL
from ibidem.repo.transaction import stage
from ibidem.repo.transaction.publish import BranchPublisher

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.repo.core import Core
    from ibidem.repo.state import State
    from ibidem.repo.transaction.transaction import Transaction


class Stage:
    """The changes for the next commit."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def transaction(self, *, state: State | None = None) -> Transaction:
        """Starts a transaction whose changes are staged, to be committed later.

        Args:
            state: what it begins on; by default the newest.
        """
        from ibidem.repo.transaction.begin import begin

        operations = self._core.operation_log
        publisher = operations.retry_if_collected(
            lambda state: stage.StagePublisher(operations, state), state=state
        )
        unsigned = commit_info("", "", None, None, None)
        return begin(self._core, publisher, unsigned, state=publisher.state)

    def commit_with(
        self, *, author: str = "", message: str = "", state: State | None = None
    ) -> Transaction:
        """Starts a transaction that commits its changes with the staged ones, on the current
        branch.

        Args:
            state: what it begins on; by default the newest.
        """
        from ibidem.repo.transaction.begin import begin

        core, operations = self._core, self._core.operation_log
        signed = core.signed(author, message, None)

        def begin_in(state: State) -> Transaction:
            if STAGE_CELL not in state.cells:
                publisher = BranchPublisher(operations, state, state.view.head, signed)
                return begin(core, publisher, signed, state=state)
            committer = stage.StageCommitPublisher(operations, state, signed)
            unsigned = commit_info("", "", None, None, None)
            return begin(core, committer, unsigned, state=state)

        return operations.retry_if_collected(begin_in, state=state)

    def commit(
        self,
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
        sign: str | bool | None = None,
    ) -> Commit | None:
        """Commits the staged changes on the current branch; None if there are none.

        Raises:
            ConflictError: the stage itself moved, or the branch was deleted.
        """
        signed = self._core.signed(author, message, time, agent=agent, task=task, sign=sign)
        return stage.commit(self._core.operation_log, signed)

    def changes(self) -> Iterator[log.Change]:
        """Yields the staged changes."""
        store, operations = self._core.store, self._core.operation_log
        staged = operations.retry_if_collected(lambda state: stage.read(store, state))
        return log.changes(store, staged.begun.root, staged.root)

    def clear(self) -> None:
        """Discards the staged changes."""
        stage.clear(self._core.operation_log)
