"""The repository: where store, index and retrieval are put together, and the face that users see.

Opening reads a small file and one cell; whatever grows is read when it is asked for. Readers never
wait. Time comes from `clock`, randomness from `os.urandom`, and both are used here and above only.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.ids import NodeId
from ibidem.repo import moves, refs, revision
from ibidem.repo.arguments import checked_time, random_id, signature
from ibidem.repo.operations import ORIGIN_CELL, Operations
from ibidem.repo.receipts import Receipts
from ibidem.repo.refs import HEADS, TAGS

if TYPE_CHECKING:
    from ibidem.embed.cache import VectorCache
    from ibidem.embed.protocol import Embedder
    from ibidem.index.index import Index
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.config import Config
    from ibidem.objects.ids import EdgeId
    from ibidem.objects.node import Node
    from ibidem.objects.operation import Operation
    from ibidem.objects.root import Root
    from ibidem.repo.at import Revision
    from ibidem.repo.bisect import Bisection
    from ibidem.repo.compare import Comparison
    from ibidem.repo.embedding import EmbedReport
    from ibidem.repo.history import Change
    from ibidem.repo.retrieving import Retriever
    from ibidem.repo.statistics import RepositoryStats
    from ibidem.repo.transaction import Transaction
    from ibidem.retrieve.receipt import Receipt
    from ibidem.retrieve.result import Result
    from ibidem.store.protocol import Store

MEMORY = "memory:"
FOLDER = ".ibidem"
LAYOUT_VERSION = 1
_FORMAT_FILE = "format"

Clock = Callable[[], int]


def system_clock() -> int:
    """Returns the time, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


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
        StorageError: the disk refuses.
    """
    if path == MEMORY:
        from ibidem.repo.founding import founded
        from ibidem.store.memory import MemoryStore

        return Repository(founded(MemoryStore(), config, author, clock), None, clock)
    from ibidem.repo.founding import founded
    from ibidem.store.lmdb import LmdbStore, built_whole

    folder = Path(path) / FOLDER
    if folder.exists():
        raise InvalidInputError(f"path: {folder} exists, expected a folder without a repository")
    with built_whole(folder) as building:
        with LmdbStore.create(building / "blocks") as store:
            founded(store, config, author, clock)
        with (building / _FORMAT_FILE).open("x") as file:
            file.write(json.dumps({"version": LAYOUT_VERSION}) + "\n")
            file.flush()
            os.fsync(file.fileno())
    return open(path, clock=clock)


def open(path: str | os.PathLike[str], *, clock: Clock = system_clock) -> Repository:  # noqa: A001
    """Opens the repository in the folder `path`.

    Raises:
        NotFoundError: kind `repository-not-found`.
        FormatError: a newer program made it.
        CorruptError: a file of it is damaged.
    """
    from ibidem.store.environment import medium_error
    from ibidem.store.lmdb import LmdbStore

    folder = Path(path) / FOLDER
    try:
        found = json.loads((folder / _FORMAT_FILE).read_bytes())["version"]
    except PermissionError as error:
        raise medium_error(folder, error) from error
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptError(
            f"format: {folder / _FORMAT_FILE} does not say a version",
            hint=f'restore it from a copy; this release writes {{"version": {LAYOUT_VERSION}}}',
        ) from error
    except OSError as error:
        raise NotFoundError(
            f"path: {path} has no repository in it",
            kind=ErrorKind.REPOSITORY_NOT_FOUND,
            hint="create one with 'repo init'",
        ) from error
    if found != LAYOUT_VERSION:
        raise FormatError(
            f"format: got version {found!r}, expected {LAYOUT_VERSION}", hint="use a newer release"
        )
    return Repository(LmdbStore.open(folder / "blocks"), folder, clock)


class Repository:
    """An open repository; a context manager that closes it."""

    def __init__(self, store: Store, folder: Path | None, clock: Clock = system_clock) -> None:
        self.store = store
        self.folder = folder
        """The `.ibidem` folder; None in memory."""
        self.receipts = Receipts(None if folder is None else folder / "receipts")
        self._operations = Operations(store, clock)
        self.embedders: dict[str, Embedder] = {}
        """By the name of the model: what `retrieve(model=...)` embeds questions with."""
        self._vector_cache: VectorCache | None = None
        self._index: Index | None = None
        self._revision: tuple[CommitCid, Revision] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the files; closing twice is allowed."""
        self.store.close()

    # -- where things stand --------------------------------------------------------------------

    @property
    def current_branch(self) -> str:
        """The current branch."""
        return self._operations.state().view.head.removeprefix(HEADS)

    @property
    def head(self) -> CommitCid | None:
        """The commit of the current branch; None before the first."""
        return self.resolve(revision.HEAD, missing_ok=True)

    def resolve(self, rev: object, *, missing_ok: bool = False) -> CommitCid | None:
        """Returns the commit that a revision names; `repo.revision` has the grammar.

        Args:
            rev: text, a CommitCid, or a datetime with an offset.
            missing_ok: None for a branch without commits; otherwise that is an error.

        Raises:
            NotFoundError: kind `revision-not-found`, or `ambiguous`.
        """
        found = revision.resolve(self._operations, rev)
        if found is None and not missing_ok:
            raise NotFoundError(
                f"revision {rev!r}: the branch has no commits yet",
                kind=ErrorKind.REVISION_NOT_FOUND,
                hint="add something and commit it",
            )
        return found

    def at(self, rev: object = revision.HEAD) -> Revision:
        """Returns the graph at a revision, or of a root given by its RootCid, read-only."""
        from ibidem.repo.at import Revision

        if isinstance(rev, RootCid):
            return Revision(self, rev, None)
        found = self.resolve(rev, missing_ok=True)
        if found is None:
            return Revision(self, RootCid(self.store.cell(ORIGIN_CELL) or b""), None)
        last = self._revision
        if last is None or last[0] != found:
            commit = Commit.decode(self.store.get(found))
            last = self._revision = (found, Revision(self, commit.root, commit))
        return last[1]

    def commit_at(self, rev: object = revision.HEAD) -> Commit:
        """Returns the commit that a revision names."""
        found = self.resolve(rev)
        assert found is not None, "BUG: resolve returned None"
        return Commit.decode(self.store.get(found))

    def log(self, rev: object = revision.HEAD) -> Iterator[Commit]:
        """Yields the commits behind a revision, newest first; none on a branch without commits."""
        from ibidem.repo import history

        return history.commits(self.store, self.resolve(rev, missing_ok=True))

    def diff(self, before: object, after: object = revision.HEAD) -> Iterator[Change]:
        """Yields what differs between two revisions, by family and id."""
        from ibidem.repo import history

        return history.changes(self.store, self.at(before).root, self.at(after).root)

    def stats(self, rev: object = revision.HEAD) -> RepositoryStats:
        """Returns what the repository and one of its revisions hold, in numbers."""
        from ibidem.repo import statistics

        return statistics.repository_stats(self, rev)

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
    ) -> Transaction:
        """Begins a transaction on a branch, the current one by default; leaving `with` commits.

        Args:
            time: microseconds since 1970 UTC, or a datetime with an offset; by default the clock's.
        """
        signed = signature(author, message, time, agent, task)
        from ibidem.repo.publish import BranchPublisher

        return self._transaction(BranchPublisher(self._operations, self._branch(branch), signed))

    def staging(self) -> Transaction:
        """Begins a transaction whose changes go on the stage, to be committed later."""
        from ibidem.repo.stage import StagePublisher

        return self._transaction(StagePublisher(self._operations, self._branch(None)))

    def commit_stage(
        self,
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Commit | None:
        """Commits what is staged on the current branch; None where nothing is.

        Raises:
            ConflictError: the branch has changed the same things since they were staged.
        """
        from ibidem.repo import stage

        signed = signature(author, message, time, agent, task)
        return stage.commit(self._operations, self._branch(None), signed)

    def staged_changes(self) -> Iterator[Change]:
        """Yields what is staged and not committed."""
        from ibidem.repo import history, stage

        staged = stage.read(self._operations, self._branch(None))
        return history.changes(self.store, staged.begun.root, staged.root)

    def clear_stage(self) -> None:
        """Drops what is staged."""
        from ibidem.repo import stage

        stage.clear(self._operations)

    # -- refs ----------------------------------------------------------------------------------

    def branches(self) -> dict[str, CommitCid]:
        """Returns the branches that have commits, by name."""
        return refs.listed(self.store, self._operations.state().view, HEADS)

    def tags(self) -> dict[str, CommitCid]:
        """Returns the tags, by name."""
        return refs.listed(self.store, self._operations.state().view, TAGS)

    def branch(
        self,
        name: str,
        *,
        at: object = revision.HEAD,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Creates a branch at a revision and returns its commit."""
        return self._create(HEADS, name, at, author, time)

    def tag(
        self,
        name: str,
        *,
        at: object = revision.HEAD,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Creates a tag at a revision and returns its commit."""
        return self._create(TAGS, name, at, author, time)

    def delete_branch(
        self, name: str, *, author: str = "", time: int | datetime | None = None
    ) -> None:
        """Deletes a branch, not the current one; its commits stay."""
        moves.delete(self._operations, HEADS, name, author=author, time=checked_time(time))

    def delete_tag(
        self, name: str, *, author: str = "", time: int | datetime | None = None
    ) -> None:
        """Deletes a tag; its commit stays."""
        moves.delete(self._operations, TAGS, name, author=author, time=checked_time(time))

    def switch(self, name: str, *, author: str = "", time: int | datetime | None = None) -> None:
        """Makes another branch the current one; what is staged goes along."""
        moves.switch(self._operations, name, author=author, time=checked_time(time))

    def operations(self) -> Iterator[Operation]:
        """Yields the local log, newest first: every change of the refs."""
        return (state.operation for state in self._operations.history())

    def undo(self, *, author: str = "", time: int | datetime | None = None) -> Operation:
        """Puts the refs back to before the newest change that is not undone yet."""
        return self._operations.undo(author=author, time=checked_time(time)).operation

    def redo(self, *, author: str = "", time: int | datetime | None = None) -> Operation:
        """Takes back the newest undo that no other change has followed."""
        return self._operations.redo(author=author, time=checked_time(time)).operation

    # -- asking --------------------------------------------------------------------------------

    def retrieve(self, text: str | None = None, **options: Any) -> Result:
        """Returns the ranked answer at the head; `retrieve.query.resolve` lists the options.

        With `model=` or `embedder=`, the text is embedded and ranks by closeness too.
        """
        return self.at().retrieve(text, **options)

    def retriever(self, rev: object = revision.HEAD) -> Retriever:
        """Returns a question to put together step by step."""
        from ibidem.repo.retrieving import Retriever

        return Retriever(self.at(rev).retrieve)

    def query(self, **options: Any) -> list[Node]:
        """Returns every node at the head with a label and properties, by id."""
        return self.at().query(**options)

    def replay(self, receipt: Receipt | Cid | str, **options: Any) -> Result:
        """Asks again what a receipt says was asked; raises `ReplayError` unless the bytes agree.

        `estimator=` gives the one that counted, where its recorded name does not find it.
        """
        from ibidem.repo import retrieving

        return retrieving.replay(self, receipt, **options)

    def compare(
        self,
        text: str | None = None,
        *,
        before: object,
        after: object = revision.HEAD,
        **options: Any,
    ) -> Comparison:
        """Returns how the answer to one question differs between two revisions, and why."""
        from ibidem.repo.compare import compare_revisions

        return compare_revisions(self, before, after, lambda at: at.retrieve(text, **options))

    def bisect(
        self,
        text: str | None = None,
        *,
        expect: NodeId,
        rank_max: int | None = None,
        good: object = None,
        bad: object = revision.HEAD,
        **options: Any,
    ) -> Bisection:
        """Returns the first commit whose answer lacks a node, or has it below a rank.

        Args:
            text: what is asked; `options` as for `retrieve`.
            expect: the node. rank_max: the last rank that will do, None for any.
            good: a revision whose answer has it; None for wherever the node came to be.
            bad: the last revision to consider.
        """
        from ibidem.repo.bisect import bisect_node

        def ask(at: Revision) -> Result:
            return at.retrieve(text, **options)

        return bisect_node(self, ask, expect, rank_max=rank_max, good=good, bad=bad)

    def reindex(self, *, compact: bool = False) -> None:
        """Builds the index of the head from nothing; no data is affected.

        Args:
            compact: keeps what the index has, merges its small segments and drops its dead rows.
        """
        self._revision = None
        if compact:
            self.index.compact(self.at().root_cid)
            return
        self.index.forget()
        self.index.build(self.at().root_cid)

    def index_counts(self) -> tuple[int, int]:
        """Returns how many nodes the index answers for at the head, and how many there are."""
        found = self.at()
        return len(found.snapshot().live), self.stats().node_count - self.stats().tombstone_count

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
        from ibidem.repo import embedding

        report = embedding.embed(
            self,
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

    @property
    def vector_cache(self) -> VectorCache:
        """The vectors of texts that were embedded here before."""
        if self._vector_cache is None:
            from ibidem.embed.cache import VectorCache

            folder = None if self.folder is None else self.folder / "embeddings"
            self._vector_cache = VectorCache(folder)
        return self._vector_cache

    # -- for the rooms above and beside --------------------------------------------------------

    @property
    def index(self) -> Index:
        """The index of this repository."""
        if self._index is None:
            from ibidem.index.index import Index

            self._index = Index(None if self.folder is None else self.folder / "index", self.store)
        return self._index

    def snapshot(self, root_cid: RootCid, commit: Commit | None) -> Snapshot:
        """Returns the index snapshot of a root; the roots of the commit's parents are near it."""
        # The head's snapshot stays remembered, however many old revisions are asked.
        self.index.pin([self.at().root_cid])
        parents = () if commit is None else commit.parents
        near = [Commit.decode(self.store.get(parent)).root for parent in parents]
        return self.index.snapshot(root_cid, near=near)

    def content_of(self, node: Node) -> bytes | None:
        """Returns the whole content of a node, None when it has none."""
        content = node.content
        if not isinstance(content, tuple):
            return content
        return b"".join(self.store.get_many(content))

    def incident(self, root_cid: RootCid | None, root: Root, id: NodeId) -> Iterable[EdgeId]:  # noqa: A002
        """Returns the ids of the edges that begin or end at a node of a root."""
        from ibidem.repo import incident

        return incident.incident_edges(self, root_cid or root.cid, root, id)

    def _transaction(self, publisher: Any) -> Transaction:
        from ibidem.repo.transaction import Transaction

        return Transaction(
            self.store,
            publisher,
            incident=lambda root, id: self.incident(None, root, id),  # noqa: A006
            random_id=lambda: random_id(self._operations.time(None)),
        )

    def _branch(self, name: str | None) -> str:
        return moves.branch_of(self._operations, name)

    def _create(
        self, prefix: str, name: str, at: object, author: str, time: int | datetime | None
    ) -> CommitCid:
        refs.check_name("name", name)
        target = self.resolve(at)
        assert target is not None, "BUG: resolve returned None"
        moves.create(self._operations, prefix, name, target, author=author, time=checked_time(time))
        return target
