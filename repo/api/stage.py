"""The stage: changes that are added and not committed yet, kept across processes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.repo.arguments import commit_info
from ibidem.repo.history import log
from ibidem.repo.state import STAGE_CELL
from ibidem.repo.transaction import stage

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.repo.core import Core
    from ibidem.repo.state import State
    from ibidem.repo.transaction.transaction import Transaction


class Stage:
    """What goes into the next commit of the stage."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def transaction(self) -> Transaction:
        """Begins a transaction whose changes go on the stage, to be committed later."""
        from ibidem.repo.transaction.begin import begin

        operations = self._core.operation_log
        publisher = operations.retry_if_collected(
            lambda state: stage.StagePublisher(operations, state)
        )
        return begin(self._core, publisher, commit_info("", "", None, None, None))

    def commit_with(self, *, author: str = "", message: str = "") -> Transaction:
        """Begins a transaction that commits its changes with what is staged; where nothing is,
        one on the current branch."""
        from ibidem.repo.transaction.begin import begin
        from ibidem.repo.transaction.publish import BranchPublisher

        core, operations = self._core, self._core.operation_log
        signed = commit_info(author, message, None, None, None, core.signing_key)

        def begin_in(state: State) -> Transaction:
            if STAGE_CELL not in state.cells:
                publisher = BranchPublisher(operations, state, state.view.head, signed)
                return begin(core, publisher, signed)
            committer = stage.StageCommitPublisher(operations, state, signed)
            return begin(core, committer, commit_info("", "", None, None, None))

        return operations.retry_if_collected(begin_in)

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
        """Commits what is staged on the current branch; None where nothing is.

        Raises:
            ConflictError: the stage itself moved, or the branch was deleted.
        """
        signed = commit_info(author, message, time, agent, task, self._core.key_for(sign))
        return stage.commit(self._core.operation_log, signed)

    def changes(self) -> Iterator[log.Change]:
        """Yields what is staged and not committed."""
        store, operations = self._core.store, self._core.operation_log
        staged = operations.retry_if_collected(lambda state: stage.read(store, state))
        return log.changes(store, staged.begun.root, staged.root)

    def clear(self) -> None:
        """Drops what is staged."""
        stage.clear(self._core.operation_log)
