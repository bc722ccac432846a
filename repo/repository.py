"""The repository as users see it: it reads at a revision, and writes. Everything else is in
namespaces such as `repo.history`, small objects from `repo/api/` that are created on first use.
Opening reads one small file and one cell; everything that grows is read on demand. Readers never
wait. Time comes from `clock`, which is read only here and above; nothing is random.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.progress import Progress
from ibidem.repo import branches
from ibidem.repo.argument_checks import check_id
from ibidem.repo.core import Core
from ibidem.repo.layers import Ingesting, Layers, Recalling
from ibidem.repo.questions import Questions
from ibidem.repo.refs import HEADS, OWN, TAGS, Targets
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD
from ibidem.retrieve.access.policy import ALL
from ibidem.retrieve.query import checks
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.objects.ids import EdgeId, NodeId
    from ibidem.repo.api.history import History
    from ibidem.repo.api.keys import Keys
    from ibidem.repo.api.maintenance import Maintenance
    from ibidem.repo.api.notes import NoteSpaces
    from ibidem.repo.api.receipts import Receipts
    from ibidem.repo.api.runs import Runs
    from ibidem.repo.api.stage import Stage
    from ibidem.repo.api.sync import Sync
    from ibidem.repo.embed_nodes import EmbedReport
    from ibidem.repo.encode_nodes import SparseReport
    from ibidem.repo.merge.branch import Merged
    from ibidem.repo.merge.conflicts import OpenConflict
    from ibidem.repo.merge.rebase import AppliedCommits
    from ibidem.repo.retrieval.retriever import Retriever
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.repo.viewer.repository import ViewerRepository
    from ibidem.repo.workers.messages import Carrier
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.context.prompt import Citation


class Repository(Layers, Recalling, Ingesting, Questions, Closing):
    """An open repository; a context manager that closes it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        """The core below this API, for layers built on a repository."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.core.shown}>"

    if not TYPE_CHECKING:  # a type checker knows the names

        def __getattr__(self, name: str) -> Any:
            """Raises an error that says which part of a repository has the name."""
            if name.startswith("_"):
                raise AttributeError(name, name=name, obj=self)
            found = " or ".join(_elsewhere(name))
            hint = f", but there is {found}" if found else ""
            raise AttributeError(f"a repository has no {name!r}{hint}", name=name, obj=self)

    def close(self) -> None:
        """Closes all files; closing twice is allowed."""
        self.core.close()

    @property
    def folder(self) -> Path | None:
        """The files of this machine, for a repository in a folder its `.ibidem`; None in
        memory."""
        return self.core.folder

    def show_progress(self, progress: Progress) -> None:
        """Reports the advance of long work, such as indexing, embedding, checks and copies.

        Args:
            progress: called with a name of the work, the amount done, and the total or None.
        """
        self.core.progress = progress

    def act_as(self, agent: str | None, task: str | None = None) -> None:
        """Names who uses this object, and what for: commits and notes get both unless their call
        names others, and receipts of questions have them beside the answer. None for nobody.

        Raises:
            InvalidInputError: one is not a text, or too long.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     _ = tx.add_node("Fact", summary="the parcel arrives on Monday")
            >>> repo.act_as("clerk", "track parcels")
            >>> receipt = repo.retrieve("parcel").receipt
            >>> receipt.agent, receipt.task
            ('clerk', 'track parcels')
        """
        for name, value in (("agent", agent), ("task", task)):
            if value is not None:
                checks.name(name, value)
        self.core.agent, self.core.task = agent, task

    def now(self, time: int | datetime | None = None) -> int:
        """Returns a time in microseconds since 1970 UTC: the one given, else the clock's."""
        return self.core.now(time)

    # -- namespaces ----------------------------------------------------------------------------

    @cached_property
    def history(self) -> History:
        """Commits, differences, blame, bisection, undo."""
        from ibidem.repo.api.history import History

        return History(self.core)

    @cached_property
    def stage(self) -> Stage:
        """Changes added but not committed yet."""
        from ibidem.repo.api.stage import Stage

        return Stage(self.core)

    @cached_property
    def sync(self) -> Sync:
        """Copies: files, remotes, fetch, pull and push."""
        from ibidem.repo.api.sync import Sync

        return Sync(self.core)

    @cached_property
    def receipts(self) -> Receipts:
        """Receipts of answers: keeping, finding and replaying them."""
        from ibidem.repo.api.receipts import Receipts

        return Receipts(self.core)

    @cached_property
    def runs(self) -> Runs:
        """Agent runs: recording, opening and comparing them."""
        from ibidem.repo.api.runs import Runs

        return Runs(self.core)

    @cached_property
    def notes(self) -> NoteSpaces:
        """Annotations: events about nodes, stored outside the graph."""
        from ibidem.repo.api.notes import NoteSpaces

        return NoteSpaces(self.core)

    @cached_property
    def keys(self) -> Keys:
        """Keys and signatures."""
        from ibidem.repo.api.keys import Keys

        return Keys(self.core)

    @cached_property
    def maintenance(self) -> Maintenance:
        """Checks, repair, garbage collection, erasure and statistics."""
        from ibidem.repo.api.maintenance import Maintenance

        return Maintenance(self.core)

    # -- reading and searching --------------------------------------------------------------------

    @property
    def head(self) -> CommitCid | None:
        """The commit of the current branch; None before the first."""
        return self.core.head

    @property
    def current_branch(self) -> str:
        """The current branch."""
        return self.core.current_branch

    def branches(self) -> Targets:
        """Returns the branches that have commits, by name; `damaged` of the result has the errors
        of refs that cannot be read, which are not among them."""
        return self.core.branches()

    def tags(self) -> Targets:
        """Returns the tags, by name, with `damaged` as that of branches."""
        return self.core.tags()

    def refs(self) -> Targets:
        """Returns the refs under `refs/`, by name without that prefix, with `damaged` as that of
        branches."""
        return self.core.refs()

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
        self, rev: object = HEAD, *, viewer: Viewer | None = None, allow_erased: bool = False
    ) -> Revision:
        """Returns the graph at a revision, or of a root given by its RootCid, read-only.

        Args:
            viewer: the caller; required for reading if the root has a trust policy.
            allow_erased: leaves out nodes erased since; `erasures` of the revision lists them.
        """
        if not allow_erased:
            return Revision(self.core.graph(rev, viewer=viewer))
        from ibidem.repo.erasure.redacted_graph import without_erased

        partial = without_erased(self.core.graph(rev))
        return Revision(partial if viewer is None else partial.seen_by(viewer))

    def as_viewer(self, viewer: Viewer, *, author: str = "") -> ViewerRepository:
        """Returns the repository as a viewer who may not see everything uses it: what
        `repo/viewer/exposure.py` lists, computed over what he sees, and an error for the rest.

        Args:
            author: of what he writes; he can give no other one.
        """
        from ibidem.repo.viewer.repository import ViewerRepository

        return ViewerRepository(self.core, viewer, author)

    def _answer(self, method: str, **options: Any) -> Any:
        return self.core.of_head(lambda head: Revision(head)._answer(method, **options))

    def retriever(self, at: object = HEAD) -> Retriever:
        """Returns a builder for a query."""
        from ibidem.repo.retrieval.retriever import Retriever

        return Retriever(self.at(at).retrieve)

    def verify_citation(self, citation: Citation, *, viewer: Viewer | None = None) -> bool:
        """Returns whether a citation matches the stored text, as visible to a caller.

        Args:
            viewer: the caller; required if the cited root has a trust policy.
        """
        from ibidem.repo.retrieval import context

        return context.verify(self.core, citation, viewer=viewer)

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

        If the branch has moved meanwhile, the changes are merged with the newer commits.

        Args:
            time: microseconds since 1970 UTC, or a datetime with an offset; by default the clock's.
            sign: the name of the private key that signs the commit, or True for the only one; by
                default that of `keys.sign_with`.
            on_conflict: what to do if another writer has changed the same thing meanwhile: `record`
                merges by property and records a conflict where both differ; `raise` rejects
                everything with `ConflictError`, for changes that depend on values read before;
                `unmoved` rejects everything if the branch has moved at all.
        """
        signed = self.core.signed(author, message, time, agent=agent, task=task, sign=sign)
        from ibidem.repo.transaction.begin import begin, branch_publisher

        publisher = branch_publisher(self.core, branch, signed, on_conflict=on_conflict)
        return begin(self.core, publisher, signed, state=publisher.state, source=publisher.source)

    def use_embedder(self, embedder: Embedder, *, model: str | None = None) -> None:
        """Registers an embedder for `retrieve(text, model=...)`, under its own name or another."""
        from ibidem.embed.protocol import checked_embedder

        name = checked_embedder(embedder).name
        self.core.embedders[name if model is None else model] = embedder

    def use_workers(
        self,
        workers: Iterable[str] | Mapping[str, Carrier],
        *,
        token: str = "",
        copies: int = 2,
        timeout_seconds: float = 30.0,
    ) -> None:
        """Shares the questions to published revisions out over other processes with the same
        repository: each ranks some segments of the index. Answers have the same bytes.

        Args:
            workers: addresses of servers (`repo serve`); or by name, functions that bring a
                message to the `work` of a repository, and back what it returns. Empty ends it.
            token: of the servers; its viewer has to see everything.
            copies: how many workers may rank a segment: if the first does not answer, the next is
                asked; if none does, the question fails (`RemoteError`).
            timeout_seconds: how long one is waited for.
        """
        from ibidem.repo.workers.driver import workers_at

        self.core.workers = workers_at(
            workers, token=token, copies=copies, timeout_seconds=timeout_seconds
        )

    def work(self, message: bytes) -> bytes:
        """Returns the answer to a message of a repository that uses this one as a worker; an error
        is an answer too."""
        from ibidem.repo.workers.worker import answered

        return answered(self.core, message)

    def embed(
        self,
        embedder: Embedder,
        *,
        model: str | None = None,
        label: str | None = None,
        batch_nodes: int = 256,
        dry_run: bool = False,
        author: str = "",
        message: str = "",
    ) -> EmbedReport:
        """Computes the missing and outdated vectors of nodes on the current branch, in one commit.
        Vectors of texts embedded before come from the cache, so a run that was interrupted
        continues. The root's configuration names the fields that make up a node's text.

        Args:
            model: the name of the vectors, by default the embedder's; its first use records the
                embedder's digest.
            label: only nodes of this type.
            batch_nodes: nodes embedded at a time; an interruption loses at most that many.
            dry_run: only counts.
            message: of the commit; by default a summary.

        Raises:
            InvalidInputError: kind `model-mismatch`: vectors of that name come from another
                embedder; kind `dimension-mismatch`.
        """
        from ibidem.repo.embed_nodes import embed

        report = embed(
            self.core.graph(viewer=ALL),
            self,
            embedder,
            model=model,
            label=label,
            batch_nodes=batch_nodes,
            dry_run=dry_run,
            author=author,
            message=message,
        )
        self.use_embedder(embedder, model=report.model)
        return report

    def embed_sparse(
        self,
        encoder: SparseEncoder,
        *,
        label: str | None = None,
        batch_nodes: int = 256,
        dry_run: bool = False,
        author: str = "",
        message: str = "",
    ) -> SparseReport:
        """Computes the missing and outdated sparse vectors of nodes on the current branch, in one
        commit, under the vocabulary that the encoder names. The root's configuration names the
        fields that make up a node's text.

        Args:
            label: only nodes of this type.
            batch_nodes: nodes encoded at a time.
            dry_run: only counts.
            message: of the commit; by default a summary.

        Raises:
            StorageError: the encoder's service does not answer; nothing is changed.
            CorruptError: its answer has the wrong form.
        """
        from ibidem.repo.encode_nodes import embed_sparse

        return embed_sparse(
            self.core.graph(viewer=ALL),
            self,
            encoder,
            label=label,
            batch_nodes=batch_nodes,
            dry_run=dry_run,
            author=author,
            message=message,
        )

    # -- branches and tags ---------------------------------------------------------------------

    def branch(
        self,
        name: str,
        *,
        at: object = HEAD,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Creates a branch at a revision and returns its commit: that of the revision, or, if nodes
        of it were erased since, a new one on top of it that leaves them out."""
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

    def set_ref(
        self,
        name: str,
        *,
        at: object = HEAD,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Creates the ref `refs/NAME`, or moves it, to a revision, and returns its commit.

        Unlike a tag it may move, and unlike a branch it moves only where it is set.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> fact = repo.add("tea is at five")
            >>> commit = repo.set_ref("deploy/prod")
            >>> repo.at("refs/deploy/prod").commit_cid == commit == repo.refs()["deploy/prod"]
            True
        """
        return branches.set_ref(self.core, name, at, author=author, time=time)

    def delete_ref(
        self, name: str, *, author: str = "", time: int | datetime | None = None
    ) -> None:
        """Deletes the ref `refs/NAME`; its commit stays."""
        branches.delete(self.core, OWN, name, author=author, time=time)

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
        """Makes another branch the current one; staged changes are kept."""
        branches.switch(self.core, name, author=author, time=time)

    # -- merging -------------------------------------------------------------------------------

    def merge(
        self,
        rev: object,
        *,
        dry_run: bool = False,
        author: str = "",
        message: str = "",
        branch: str | None = None,
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Merged:
        """Merges a revision into a branch, the current one by default.

        A branch without commits of its own is fast-forwarded. If both sides changed the same thing
        differently, a conflict is recorded, and the branch remains usable.

        Args:
            rev: the revision to merge, such as the name of another branch.
            dry_run: returns the result and writes nothing.
            message: of the commit; by default it names the merged revision.

        Raises:
            NotFoundError: there is no such revision or branch.
        """
        from ibidem.repo.merge.branch import merge_into

        signed = self.core.signed(author, message, time, agent=agent, task=task)
        log = self.core.operation_log
        full_name = branches.branch_of(log, branch)
        return merge_into(
            log, full_name, self.core.commit_cid_of(rev), rev, signed, dry_run=dry_run
        )

    def rebase(
        self,
        onto: object,
        *,
        dry_run: bool = False,
        author: str = "",
        time: int | datetime | None = None,
    ) -> AppliedCommits:
        """Reapplies the commits that only the current branch has on top of a revision. Each keeps
        its author, time and message; `author` and `time` are those of the operation. The branch
        moves once, at the end. Merge commits cannot be rebased and raise an error; merge again
        instead.

        Args:
            dry_run: returns the result and writes nothing.
        """
        from ibidem.repo.merge.rebase import rebase

        log = self.core.operation_log
        full_name = branches.branch_of(log, None)
        signed = self.core.signed(author, "", time)
        return rebase(log, full_name, self.core.commit_cid_of(onto), signed, dry_run=dry_run)

    def cherry_pick(
        self,
        rev: object,
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> AppliedCommits:
        """Applies the change of one commit to the current branch.

        Args:
            author: by default that of the commit, as is `message`.
        """
        from ibidem.repo.merge.rebase import pick

        log = self.core.operation_log
        full_name = branches.branch_of(log, None)
        signed = self.core.signed(author, message, time, agent=agent, task=task)
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
    ) -> AppliedCommits:
        """Reverts the change of one commit with a new commit on the current branch."""
        from ibidem.repo.merge.rebase import revert

        log = self.core.operation_log
        full_name = branches.branch_of(log, None)
        signed = self.core.signed(author, message, time, agent=agent, task=task)
        return revert(log, full_name, self.core.commit_cid_of(rev), signed)

    def conflicts(self, at: object = HEAD, *, limit: int | None = None) -> list[OpenConflict]:
        """Returns the unresolved conflicts of a revision, by id.

        Args:
            at: the revision.
            limit: maximal number of conflicts, None for all.
        """
        from ibidem.repo.merge.conflicts import open_conflicts

        stop = None if limit is None else checks.count("limit", limit)
        return list(islice(open_conflicts(self.core.store, self.core.graph(at).root), stop))

    def conflict_values(
        self,
        id: NodeId | EdgeId | str,  # noqa: A002
        at: object = HEAD,
    ) -> dict[str, tuple[Any, ...]]:
        """Returns the values that the sides of a conflict gave to each field, each value once;
        None where a side has none. They are in no order of the sides, and without erased ones.
        `Transaction.values_of` has the whole nodes of the sides instead.

        Raises:
            NotFoundError: `id` has no conflict.
        """
        from ibidem.repo.merge.conflicts import values_of

        return values_of(self.core.store, self.core.graph(at).root, str(id))

    def resolve_conflict(
        self,
        id: NodeId | EdgeId | str,  # noqa: A002
        take: str = "value",
        *,
        value: Mapping[str, Any] | None = None,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Commit | None:
        """Resolves a conflict at the head of the current branch.

        Args:
            id: of the node or edge.
            take: `ours` (the values of the branch), `theirs` (the values merged into it), `base`
                (those of the common ancestor), or `value` (the current ones). Other fields stay
                unchanged.
            value: values by field to set after that, `props.NAME` for a property; None removes one.
            message: of the commit; by default it names the conflict.

        Raises:
            NotFoundError: `id` has no conflict.
            InvalidInputError: `take` is not applicable, such as `base` if there was none.
        """
        from ibidem.repo.merge.resolve import resolve

        signed = self.core.signed(author, message, time, agent=agent, task=task)
        return resolve(self.core, self._conflict_id(id), take, value, signed)

    def _conflict_id(self, id: NodeId | EdgeId | str) -> NodeId | EdgeId:  # noqa: A002
        """Returns the id of a conflict; a text may name a node or an edge."""

        if isinstance(id, NodeId | EdgeId):
            return id
        found = next((one.id for one in self.conflicts() if str(one.id) == id), None)
        return check_id("id", id, NodeId) if found is None else found


def _elsewhere(name: str) -> list[str]:
    """Returns how a name that a repository does not have is written with a part that has it."""
    from ibidem.repo.api.history import History
    from ibidem.repo.api.keys import Keys
    from ibidem.repo.api.maintenance import Maintenance
    from ibidem.repo.api.receipts import Receipts
    from ibidem.repo.api.runs import Runs
    from ibidem.repo.api.stage import Stage
    from ibidem.repo.api.sync import Sync
    from ibidem.repo.transaction.transaction import Transaction

    parts: dict[str, type[Any]] = {
        "repo.history": History,
        "repo.maintenance": Maintenance,
        "repo.receipts": Receipts,
        "repo.runs": Runs,
        "repo.stage": Stage,
        "repo.sync": Sync,
        "repo.keys": Keys,
        "repo.at()": Revision,
        "(in a transaction) tx": Transaction,
    }
    return [f"{part}.{name}" for part, cls in parts.items() if hasattr(cls, name)]
