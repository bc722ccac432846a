"""The repository as users see it: it opens, reads at a revision, and writes.

What else can be done stands in namespaces such as `repo.history`, each a small object of
`repo/api/` that is made when it is first named. Opening reads a small file and one cell; whatever
grows is read when it is asked for. Readers never wait. Time comes from `clock`, which is read here
and above only; nothing is random.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import (
    InvalidInputError,
    StorageError,
)
from ibidem.repo import branches
from ibidem.repo.arguments import checked_path, commit_info
from ibidem.repo.core import Clock, Core
from ibidem.repo.erasure.redacted_graph import without_erased
from ibidem.repo.opening import FOLDER, open_core, system_clock, write_format
from ibidem.repo.refs import HEADS, TAGS
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD
from ibidem.store.closing import Closing
from ibidem.store.files import built_whole
from ibidem.store.memory import MemoryStore

if TYPE_CHECKING:
    from ibidem.embed.protocol import Embedder
    from ibidem.objects.config import Config
    from ibidem.objects.ids import EdgeId, NodeId
    from ibidem.objects.node import Node
    from ibidem.repo.api.history import History
    from ibidem.repo.api.keys import Keys
    from ibidem.repo.api.maintenance import Maintenance
    from ibidem.repo.api.notes import NoteSpaces
    from ibidem.repo.api.receipts import Receipts
    from ibidem.repo.api.runs import Runs
    from ibidem.repo.api.stage import Stage
    from ibidem.repo.api.sync import Sync
    from ibidem.repo.merge.branch import Merged
    from ibidem.repo.merge.conflicts import OpenConflict
    from ibidem.repo.merge.rebase import Replanted
    from ibidem.repo.retrieval.embedding import EmbedReport
    from ibidem.repo.retrieval.retrieve import Retriever
    from ibidem.repo.retrieval.signature import ListingOptions, PacksOptions, RetrieveOptions
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.repo.viewer.viewer import Viewer
    from ibidem.retrieve.access.policy import TrustContext
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.context.prompt import Citation, Prompt

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
    from ibidem.repo.bootstrap import bootstrapped

    if path == MEMORY:
        return Repository(Core(bootstrapped(MemoryStore(), config, author, clock), None, clock))
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
    return Repository(open_core(path, clock=clock, finish_erasing=finish_erasing))


class Repository(Closing):
    """An open repository; a context manager that closes it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        """What this face stands on; for the layers that are built on a repository."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.folder or 'in memory'}>"

    def close(self) -> None:
        """Lets go of the files; closing twice is allowed."""
        self.core.close()

    @property
    def folder(self) -> Path | None:
        """The `.ibidem` folder; None in memory."""
        return self.core.folder

    def now(self, time: int | datetime | None = None) -> int:
        """Returns a time in microseconds since 1970 UTC: the one given, else the clock's."""
        return self.core.now(time)

    # -- namespaces ----------------------------------------------------------------------------

    @cached_property
    def history(self) -> History:
        """What happened and why: commits, differences, blame, undo."""
        from ibidem.repo.api.history import History

        return History(self.core)

    @cached_property
    def stage(self) -> Stage:
        """What is added and not committed yet."""
        from ibidem.repo.api.stage import Stage

        return Stage(self.core)

    @cached_property
    def sync(self) -> Sync:
        """Copies: files, remotes, fetch, pull and push."""
        from ibidem.repo.api.sync import Sync

        return Sync(self.core)

    @cached_property
    def receipts(self) -> Receipts:
        """Receipts of answers: to keep, to find and to replay."""
        from ibidem.repo.api.receipts import Receipts

        return Receipts(self.core)

    @cached_property
    def runs(self) -> Runs:
        """Runs of agents: to record, to open and to compare."""
        from ibidem.repo.api.runs import Runs

        return Runs(self.core)

    @cached_property
    def notes(self) -> NoteSpaces:
        """Annotations: events about nodes, beside the graph."""
        from ibidem.repo.api.notes import NoteSpaces

        return NoteSpaces(self.core)

    @cached_property
    def keys(self) -> Keys:
        """Keys and signatures."""
        from ibidem.repo.api.keys import Keys

        return Keys(self.core)

    @cached_property
    def maintenance(self) -> Maintenance:
        """Checks, repair, garbage collection, erasure and figures."""
        from ibidem.repo.api.maintenance import Maintenance

        return Maintenance(self.core)

    # -- reading and asking --------------------------------------------------------------------

    @property
    def head(self) -> CommitCid | None:
        """The commit of the current branch; None before the first."""
        return self.core.head

    @property
    def current_branch(self) -> str:
        """The current branch."""
        return self.core.current_branch

    def branches(self) -> dict[str, CommitCid]:
        """Returns the branches that have commits, by name."""
        return self.core.branches()

    def tags(self) -> dict[str, CommitCid]:
        """Returns the tags, by name."""
        return self.core.tags()

    def resolve(self, rev: object, *, missing_ok: bool = False) -> CommitCid | None:
        """Returns the commit that a revision names; `repo.revspec` has the grammar.

        Args:
            rev: text, a CommitCid, or a datetime with an offset.
            missing_ok: None for a branch without commits; otherwise that is an error.

        Raises:
            NotFoundError: kind `revision-not-found`, or `ambiguous`.
        """
        return self.core.resolve(rev, missing_ok=missing_ok)

    def commit_at(self, rev: object = HEAD) -> Commit:
        """Returns the commit that a revision names."""
        return self.core.commit_at(rev)

    def at(
        self, rev: object = HEAD, *, trust: TrustContext | None = None, allow_erased: bool = False
    ) -> Revision:
        """Returns the graph at a revision, or of a root given by its RootCid, read-only.

        Args:
            trust: the caller; where the root has a trust policy, nothing is told without.
            allow_erased: answers as if nodes that were erased since had been invisible; the
                `erasures` of the revision say which.
        """
        if not allow_erased:
            return Revision(self.core.graph(rev, trust=trust))
        partial = without_erased(self.core.graph(rev))
        return Revision(partial if trust is None else partial.seen_by(trust))

    def as_viewer(self, trust: TrustContext, *, author: str = "") -> Viewer:
        """Returns the repository as a viewer who may not see everything uses it: what
        `repo/viewer/exposure.py` lists, computed over what he sees, and an error for the rest.

        Args:
            author: of what he writes; he can give no other one.
        """
        from ibidem.repo.viewer.viewer import Viewer

        return Viewer(self.core, trust, author)

    def retrieve(self, text: str | None = None, **options: Unpack[RetrieveOptions]) -> Answer[Item]:
        """Returns the ranked answer at the head; `docs/question-options.md` has the options.

        With `model=` or `embedder=`, the text is embedded and ranks by closeness too.
        """
        return self.core.of_head(lambda head: Revision(head).retrieve(text, **options))

    def retriever(self, rev: object = HEAD) -> Retriever:
        """Returns a question to put together step by step."""
        from ibidem.repo.retrieval.retrieve import Retriever

        return Retriever(self.at(rev).retrieve)

    def packs(self, text: str | None = None, **options: Unpack[PacksOptions]) -> Answer[Pack]:
        """Returns hits at the head with what stands around them; `repo.retrieval.context` has the
        options.
        """
        return self.core.of_head(lambda head: Revision(head).packs(text, **options))

    def prompt(
        self,
        question: str,
        packs: Answer[Pack] | None = None,
        *,
        style: str = "qa",
        **options: Unpack[PacksOptions],
    ) -> Prompt:
        """Returns a prompt with numbered sources, and what its citations stand for.

        Args:
            question: what is asked.
            packs: the sources; without them, those that `packs(question, **options)` finds.
            style: `qa`, or `summarize`.
        """
        return self.core.of_head(
            lambda head: Revision(head).prompt(question, packs, style=style, **options)
        )

    def verify_citation(self, citation: Citation, *, trust: TrustContext | None = None) -> bool:
        """Tells whether a citation is true of what is kept here, as a caller sees it.

        Args:
            trust: who asks; required where the cited root has a trust policy.
        """
        from ibidem.repo.retrieval import context

        return context.verify(self.core, citation, trust=trust)

    def query(self, **options: Unpack[ListingOptions]) -> list[Node]:
        """Returns every node at the head with a label and properties, by id."""
        return self.core.of_head(lambda head: Revision(head).query(**options))

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
                default that of `keys.sign_with`.
            on_conflict: what becomes of changes to what another writer has changed meanwhile:
                `record` merges them by property and records a conflict where that cannot be;
                `raise` refuses all with `ConflictError`, for changes that depend on what was read.
        """
        signed = commit_info(author, message, time, agent, task, self.core.key_for(sign))
        from ibidem.repo.transaction.begin import begin_on

        return begin_on(self.core, branch, signed, on_conflict=on_conflict)

    def use_embedder(self, embedder: Embedder, *, model: str | None = None) -> None:
        """Lets `retrieve(text, model=...)` embed questions with it, under its name or another."""
        self.core.embedders[model if model is not None else embedder.name] = embedder

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
            self.core,
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

    # -- branches and tags ---------------------------------------------------------------------

    def branch(
        self,
        name: str,
        *,
        at: object = HEAD,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Creates a branch at a revision and returns its commit."""
        return branches.create(self.core, HEADS, name, at, author=author, time=time)

    def tag(
        self,
        name: str,
        *,
        at: object = HEAD,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Creates a tag at a revision and returns its commit."""
        return branches.create(self.core, TAGS, name, at, author=author, time=time)

    def delete_branch(
        self, name: str, *, author: str = "", time: int | datetime | None = None
    ) -> None:
        """Deletes a branch, not the current one; its commits stay."""
        branches.delete(self.core, HEADS, name, author=author, time=time)

    def delete_tag(
        self, name: str, *, author: str = "", time: int | datetime | None = None
    ) -> None:
        """Deletes a tag; its commit stays."""
        branches.delete(self.core, TAGS, name, author=author, time=time)

    def switch(self, name: str, *, author: str = "", time: int | datetime | None = None) -> None:
        """Makes another branch the current one; what is staged goes along."""
        branches.switch(self.core, name, author=author, time=time)

    # -- merging -------------------------------------------------------------------------------

    def merge(
        self,
        rev: object,
        *,
        is_dry_run: bool = False,
        author: str = "",
        message: str = "",
        branch: str | None = None,
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Merged:
        """Merges a revision into a branch, the current one by default.

        A branch that has nothing of its own moves to the revision. What both sides changed
        differently is recorded as a conflict, and the branch can be used at once.

        Args:
            rev: what to merge, such as the name of another branch.
            is_dry_run: says what would come of it and writes nothing.
            message: of the commit; by default it says what was merged.

        Raises:
            NotFoundError: there is no such revision, or branch.
        """
        from ibidem.repo.merge.branch import merge_into

        signed = commit_info(author, message, time, agent, task, self.core.signing_key)
        log = self.core.operation_log
        full_name = branches.branch_of(log, branch)
        return merge_into(
            log, full_name, self.core.commit_cid_of(rev), rev, signed, is_dry_run=is_dry_run
        )

    def rebase(
        self,
        onto: object,
        *,
        is_dry_run: bool = False,
        author: str = "",
        time: int | datetime | None = None,
    ) -> Replanted:
        """Makes the commits that only the current branch has again, on top of a revision.

        Each keeps its author, time and message; the committing operation has `author` and `time`.
        The branch moves once, when all is done. A merge among the commits is refused: say which of
        its sides is meant by merging again.

        Args:
            is_dry_run: says what would come of it and writes nothing.
        """
        from ibidem.repo.merge.rebase import rebase

        log = self.core.operation_log
        full_name = branches.branch_of(log, None)
        signed = commit_info(author, "", time, None, None, self.core.signing_key)
        return rebase(log, full_name, self.core.commit_cid_of(onto), signed, is_dry_run=is_dry_run)

    def cherry_pick(
        self,
        rev: object,
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Replanted:
        """Makes the change of one commit again on the current branch.

        Args:
            author: and message: by default those of the commit.
        """
        from ibidem.repo.merge.rebase import pick

        log = self.core.operation_log
        full_name = branches.branch_of(log, None)
        signed = commit_info(author, message, time, agent, task, self.core.signing_key)
        return pick(log, full_name, self.core.commit_cid_of(rev), signed)

    def revert(
        self,
        rev: object,
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Replanted:
        """Takes the change of one commit back, in a new commit on the current branch."""
        from ibidem.repo.merge.rebase import revert

        log = self.core.operation_log
        full_name = branches.branch_of(log, None)
        signed = commit_info(author, message, time, agent, task, self.core.signing_key)
        return revert(log, full_name, self.core.commit_cid_of(rev), signed)

    def conflicts(self, rev: object = HEAD) -> list[OpenConflict]:
        """Returns the conflicts of a revision that nobody has settled, by id."""
        from ibidem.repo.merge.conflicts import open_conflicts

        return list(open_conflicts(self.core.store, self.core.graph(rev).root))

    def resolve_conflict(
        self,
        id: NodeId | EdgeId,  # noqa: A002
        take: str = "value",
        *,
        value: Mapping[str, Any] | None = None,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Commit | None:
        """Settles a conflict at the head of the current branch.

        Args:
            id: of the node or edge.
            take: `ours` (what the branch had), `theirs` (what was merged into it), `base` (what
                both came from), or `value` (what is there now). Fields that are not in conflict
                stay as they are now.
            value: on top of that, values by field, `props.NAME` for a property; None takes one
                away.
            message: of the commit; by default it says what was settled.

        Raises:
            NotFoundError: no conflict is about `id`.
            InvalidInputError: `take` says nothing here, such as `base` where there was none.
        """
        from ibidem.repo.merge.resolve import resolve

        signed = commit_info(author, message, time, agent, task, self.core.signing_key)
        return resolve(self.core, self.core.operation_log, id, take, value, signed)
