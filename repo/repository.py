"""The repository: where store, index and retrieval are put together, and the face that users see.

Opening reads a small file and one cell; whatever grows is read when it is asked for. Readers never
wait. Time comes from `clock`, which is read here and above only; nothing is random.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import (
    InvalidInputError,
    StorageError,
)
from ibidem.repo import branches, refs, revspec
from ibidem.repo.api.history import HistoryApi
from ibidem.repo.api.keys import KeysApi
from ibidem.repo.api.maintenance import MaintenanceApi
from ibidem.repo.api.merge import MergeApi
from ibidem.repo.api.notes import NotesApi
from ibidem.repo.api.retrieval import RetrievalApi
from ibidem.repo.api.runs import RunsApi
from ibidem.repo.api.sync import SyncApi
from ibidem.repo.arguments import CommitInfo, UniqueIds, checked_path, checked_time, commit_info
from ibidem.repo.core import Clock
from ibidem.repo.opening import FOLDER, open_core, system_clock, write_format
from ibidem.repo.refs import HEADS, TAGS
from ibidem.repo.state import STAGE_CELL

if TYPE_CHECKING:
    from ibidem.embed.protocol import Embedder
    from ibidem.objects.config import Config
    from ibidem.objects.operation import Operation
    from ibidem.repo.history.log import Change
    from ibidem.repo.operation_log import Restored
    from ibidem.repo.retrieval.embedding import EmbedReport
    from ibidem.repo.state import State
    from ibidem.repo.transaction.changeset import Publisher
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.store.protocol import Store

MEMORY = "memory:"


def init(
    path: str | os.PathLike[str] = MEMORY,
    *,
    config: Config | None = None,
    author: str = "",
    clock: Clock = system_clock,
) -> Repository:
    """Creates a repository in the folder `path`, whole or not at all, and opens it.

    Args:
        path: made where it is missing; what is in it stays. `memory:` for one that ends with the
            process.
        config: what answers depend on, recorded in every root.
        author: of the first operation.

    Raises:
        InvalidInputError: there is a repository already.
        StorageError: the disk refuses; nothing was made, unless the message says that it was.
    """
    if path == MEMORY:
        from ibidem.repo.bootstrap import bootstrapped
        from ibidem.store.memory import MemoryStore

        return Repository(bootstrapped(MemoryStore(), config, author, clock), None, clock)
    from ibidem.repo.bootstrap import bootstrapped
    from ibidem.store.files import built_whole
    from ibidem.store.lmdb.store import LmdbStore

    folder = checked_path("path", path) / FOLDER
    if os.path.lexists(folder):
        raise InvalidInputError(
            f"path: {folder} exists, expected a folder without a repository",
            hint="open what is there: ibidem.open(path), or any other command of repo",
        )
    with built_whole(folder) as building:
        with LmdbStore.create(building / "blocks") as store:
            bootstrapped(store, config, author, clock)
        write_format(building)
    try:
        return open(path, clock=clock)
    except StorageError as error:
        failure = StorageError(
            f"{error}; the repository was made and is whole",
            kind=error.kind,
            hint="open it: ibidem.open(path), or any other command of repo",
        )
        failure.errno = error.errno
        raise failure from error


def open(  # noqa: A001
    path: str | os.PathLike[str], *, clock: Clock = system_clock, finish_erasing: bool = True
) -> Repository:
    """Opens the repository in the folder `path`.

    Args:
        finish_erasing: destroys what an erasure that was cut short has left, before anything is
            read, as far as the medium lets it. Where there is none, that costs a look at one cell.

    Raises:
        NotFoundError: kind `repository-not-found`.
        FormatError: a newer program made it.
        CorruptError: a file of it is damaged.
    """
    return open_core(path, Repository, clock=clock, finish_erasing=finish_erasing)


class Repository(
    MaintenanceApi, MergeApi, NotesApi, RetrievalApi, RunsApi, HistoryApi, SyncApi, KeysApi
):
    """An open repository; a context manager that closes it."""

    def __init__(self, store: Store, folder: Path | None, clock: Clock = system_clock) -> None:
        super().__init__(store, folder, clock)

    # -- writing -------------------------------------------------------------------------------

    def transaction(
        self,
        *,
        author: str = "",
        message: str = "",
        branch: str | None = None,
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
        sign: str | bool | None = None,
        on_conflict: str = "record",
    ) -> Transaction:
        """Begins a transaction on a branch, the current one by default; leaving `with` commits.

        Where another writer was first, the changes are merged with theirs.

        Args:
            time: microseconds since 1970 UTC, or a datetime with an offset; by default the clock's.
            sign: the name of the private key that signs the commit, or True for the only one; by
                default that of `sign_with`.
            on_conflict: what becomes of changes to what another writer has changed meanwhile:
                `record` merges them by property and records a conflict where that cannot be;
                `raise` refuses all with `ConflictError`, for changes that depend on what was read.
        """
        signed = commit_info(author, message, time, agent, task, self.key_for(sign))
        from ibidem.repo.transaction.publish import BranchPublisher
        from ibidem.repo.transaction.reconcile import checked_choice

        choice = checked_choice(on_conflict)

        def begin(state: State) -> BranchPublisher:
            full_name = branches.branch_in(self.store, state, branch)
            return BranchPublisher(self.operation_log, state, full_name, signed, on_conflict=choice)

        publisher = self.operation_log.retry_if_collected(begin)
        return self._transaction(publisher, signed)

    def staging(self) -> Transaction:
        """Begins a transaction whose changes go on the stage, to be committed later."""
        from ibidem.repo.transaction.stage import StagePublisher

        publisher = self.operation_log.retry_if_collected(
            lambda state: StagePublisher(self.operation_log, state)
        )
        return self._transaction(publisher, commit_info("", "", None, None, None))

    def transaction_on_stage(self, *, author: str = "", message: str = "") -> Transaction:
        """Begins a transaction on what is staged, which is committed with its changes; where
        nothing is, one on the current branch."""
        from ibidem.repo.transaction.publish import BranchPublisher
        from ibidem.repo.transaction.stage import StageCommitPublisher

        signed = commit_info(author, message, None, None, None, self.signing_key)

        def begin(state: State) -> Transaction:
            if STAGE_CELL not in state.cells:
                publisher = BranchPublisher(self.operation_log, state, state.view.head, signed)
                return self._transaction(publisher, signed)
            committer = StageCommitPublisher(self.operation_log, state, signed)
            return self._transaction(committer, commit_info("", "", None, None, None))

        return self.operation_log.retry_if_collected(begin)

    def commit_stage(
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
        from ibidem.repo.transaction import stage

        signed = commit_info(author, message, time, agent, task, self.key_for(sign))
        return stage.commit(self.operation_log, signed)

    def staged_changes(self) -> Iterator[Change]:
        """Yields what is staged and not committed."""
        from ibidem.repo.history import log
        from ibidem.repo.transaction import stage

        staged = self.operation_log.retry_if_collected(lambda state: stage.read(self.store, state))
        return log.changes(self.store, staged.begun.root, staged.root)

    def clear_stage(self) -> None:
        """Drops what is staged."""
        from ibidem.repo.transaction import stage

        stage.clear(self.operation_log)

    # -- refs ----------------------------------------------------------------------------------

    def branch(
        self,
        name: str,
        *,
        at: object = revspec.HEAD,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Creates a branch at a revision and returns its commit."""
        return self._create(HEADS, name, at, author, time)

    def tag(
        self,
        name: str,
        *,
        at: object = revspec.HEAD,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Creates a tag at a revision and returns its commit."""
        return self._create(TAGS, name, at, author, time)

    def delete_branch(
        self, name: str, *, author: str = "", time: int | datetime | None = None
    ) -> None:
        """Deletes a branch, not the current one; its commits stay."""
        branches.delete(self.operation_log, HEADS, name, author=author, time=checked_time(time))

    def delete_tag(
        self, name: str, *, author: str = "", time: int | datetime | None = None
    ) -> None:
        """Deletes a tag; its commit stays."""
        branches.delete(self.operation_log, TAGS, name, author=author, time=checked_time(time))

    def switch(self, name: str, *, author: str = "", time: int | datetime | None = None) -> None:
        """Makes another branch the current one; what is staged goes along."""
        branches.switch(self.operation_log, name, author=author, time=checked_time(time))

    def operations(self) -> Iterator[Operation]:
        """Yields the local log, newest first: every change of the refs."""
        log = self.operation_log
        return (entry.operation for entry in log.history(log.state()))

    def undo(self, *, author: str = "", time: int | datetime | None = None) -> Restored:
        """Puts the refs back to before the newest change that is not undone yet.

        Tombstones stay: a branch that would lose one goes to a new commit with the former state and
        the tombstones. `kept` names their nodes; `untombstone` shows one again.
        """
        return self.operation_log.undo(author=author, time=checked_time(time), key=self.signing_key)

    def redo(self, *, author: str = "", time: int | datetime | None = None) -> Restored:
        """Takes back the newest undo that no other change has followed."""
        return self.operation_log.redo(author=author, time=checked_time(time))

    # -- vectors -------------------------------------------------------------------------------

    def use_embedder(self, embedder: Embedder, *, model: str | None = None) -> None:
        """Lets `retrieve(text, model=...)` embed questions with it, under its name or another."""
        self.embedders[model if model is not None else embedder.name] = embedder

    def embed(
        self,
        embedder: Embedder,
        *,
        model: str | None = None,
        label: str | None = None,
        batch_nodes: int = 256,
        is_dry_run: bool = False,
        author: str = "",
        message: str = "",
        progress: Callable[[int, int], None] | None = None,
    ) -> EmbedReport:
        """Makes the vectors that nodes of the current branch lack, or have of another text.

        Every batch is a commit, so that what is done stays done. Texts that were embedded before
        come from the cache. What a node's text is, the fields in the root's configuration say.

        Args:
            model: the name to keep them under, by default the embedder's; the first use records
                the embedder's digest with it.
            label: only nodes of this type.
            batch_nodes: in one commit.
            is_dry_run: only counts.
            message: of every commit; by default it says what was made.
            progress: called with how many are done, and of how many.

        Raises:
            InvalidInputError: kind `model-mismatch`: vectors of that name were made by another
                embedder; kind `dimension-mismatch`.
        """
        from ibidem.repo.retrieval import embedding

        report = embedding.embed(
            self,
            self.transaction,
            embedder,
            model=model,
            label=label,
            batch_nodes=batch_nodes,
            is_dry_run=is_dry_run,
            author=author,
            message=message,
            progress=progress,
        )
        self.use_embedder(embedder, model=report.model)
        return report

    def _transaction(self, publisher: Publisher, signed: CommitInfo) -> Transaction:
        from ibidem.repo.transaction.transaction import Transaction

        return Transaction(
            self.store,
            publisher,
            incident=lambda root, id: self.incident(None, root, id),  # noqa: A006
            unique_id=UniqueIds(
                publisher.base(), signed, lambda: self.operation_log.time(signed.time)
            ),
            landed=self.index_after_commit,
        )

    def _create(
        self, prefix: str, name: str, at: object, author: str, time: int | datetime | None
    ) -> CommitCid:
        refs.check_name("name", name)
        target = self.resolve(at)
        assert target is not None, "BUG: resolve returned None"
        branches.create(
            self.operation_log, prefix, name, target, author=author, time=checked_time(time)
        )
        return target
