"""The stage: changes that are added and not committed yet, kept across processes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.repo.arguments import commit_info
from ibidem.repo.branches import branch_of
from ibidem.repo.history import log
from ibidem.repo.transaction import stage

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.repo.core import Core
    from ibidem.repo.transaction.transaction import Transaction


class Stage:
    """What goes into the next commit of the stage."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def transaction(self) -> Transaction:
        """Begins a transaction whose changes go on the stage, to be committed later."""
        from ibidem.repo.transaction.begin import begin

        operations = self._core.operation_log
        publisher = stage.StagePublisher(operations, branch_of(operations, None))
        return begin(self._core, publisher, commit_info("", "", None, None, None))

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
        operations = self._core.operation_log
        return stage.commit(operations, branch_of(operations, None), signed)

    def changes(self) -> Iterator[log.Change]:
        """Yields what is staged and not committed."""
        operations = self._core.operation_log
        staged = stage.read(operations, branch_of(operations, None))
        return log.changes(self._core.store, staged.begun.root, staged.root)

    def clear(self) -> None:
        """Drops what is staged."""
        stage.clear(self._core.operation_log)
