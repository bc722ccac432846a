"""What can be asked of an open repository: where it stands, its answers and its index.

The half of `Repository` that changes no graph. Opening reads a small file and one cell; whatever
grows is read when it is asked for, and readers never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.objects.cid import Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import (
    ErrorKind,
    NotFoundError,
)
from ibidem.objects.ids import NodeId
from ibidem.objects.tree import EMPTY_TREE
from ibidem.repo import refs, revspec
from ibidem.repo.erasure.guard import ErasureGuard
from ibidem.repo.operation_log import ORIGIN_CELL, LogHead, OperationLog
from ibidem.repo.receipts.log import ReceiptLog
from ibidem.repo.refs import HEADS, TAGS
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.embed.cache import VectorCache
    from ibidem.embed.protocol import Embedder
    from ibidem.index.index import Index
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.ids import EdgeId
    from ibidem.objects.node import Node
    from ibidem.objects.root import Root
    from ibidem.objects.view import View
    from ibidem.repo.history.bisect import Bisection
    from ibidem.repo.history.compare import Comparison
    from ibidem.repo.history.log import Change
    from ibidem.repo.notes import Log
    from ibidem.repo.retrieval.retrieve import Retriever
    from ibidem.repo.revision import Revision
    from ibidem.repo.signing.key import SigningKey
    from ibidem.repo.statistics import LogStats, RepositoryStats
    from ibidem.retrieve.access.policy import TrustContext
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.sealed import SealedReceipt
    from ibidem.store.protocol import Store

Clock = Callable[[], int]
T = TypeVar("T")
FOLLOWED_BLOCKS_MAX = 1_024
"""A commit of more blocks waits for who asks to be indexed: it would take noticeably longer."""


class Reader(Closing):
    """An open repository, as far as it is only read; a context manager that closes it."""

    def __init__(self, store: Store, folder: Path | None, clock: Clock) -> None:
        self.store = store
        self.folder = folder
        """The `.ibidem` folder; None in memory."""
        self.receipts = ReceiptLog(None if folder is None else folder / "receipts")
        self._operations = OperationLog(store, clock)
        self.guard = ErasureGuard(self._operations)
        """Knows what was erased; the store asks it."""
        store.guard = self.guard
        self.embedders: dict[str, Embedder] = {}
        """By the name of the model: what `retrieve(model=...)` embeds questions with."""
        self.note_logs: dict[str, dict[CommitCid, Log]] = {}
        """Events that were read, by the space that they were read for."""
        self.signing_key: SigningKey | None = None
        """Signs the commits that are made through this object; see `sign_with`."""
        self._vector_cache: VectorCache | None = None
        self._index: tuple[TreeCid, Index] | None = None
        """With the erasures that it was made after."""
        self._head: tuple[LogHead, CommitCid | None] | None = None
        self._revision: tuple[CommitCid, Revision] | None = None
        self._is_asked = False
        """Whether a snapshot was asked for since the last commit through this object."""
        self._asked: tuple[Root, RootCid] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.folder or 'in memory'}>"

    def close(self) -> None:
        """Lets go of the files; closing twice is allowed."""
        self.receipts.close()
        self.store.close()

    # -- where things stand --------------------------------------------------------------------

    @property
    def view(self) -> View:
        """Every ref as it stands now."""
        return self._operations.state().view

    @property
    def current_branch(self) -> str:
        """The current branch."""
        return self._operations.state().view.head.removeprefix(HEADS)

    @property
    def head(self) -> CommitCid | None:
        """The commit of the current branch; None before the first."""
        return self.resolve(revspec.HEAD, missing_ok=True)

    def resolve(self, rev: object, *, missing_ok: bool = False) -> CommitCid | None:
        """Returns the commit that a revision names; `repo.revspec` has the grammar.

        Args:
            rev: text, a CommitCid, or a datetime with an offset.
            missing_ok: None for a branch without commits; otherwise that is an error.

        Raises:
            NotFoundError: kind `revision-not-found`, or `ambiguous`.
        """
        found = self._operations.retry_if_collected(lambda: self._resolved(rev))
        if found is None and not missing_ok:
            raise NotFoundError(
                f"revision {rev!r}: the branch has no commits yet",
                kind=ErrorKind.REVISION_NOT_FOUND,
                hint="add something and commit it",
            )
        return found

    def _resolved(self, rev: object) -> CommitCid | None:
        """Returns the commit that a revision names; the head's is known while its state lasts."""
        if rev != revspec.HEAD:
            return revspec.resolve(self._operations, rev)
        state = self._operations.state()
        if self._head is None or self._head[0] is not state:
            self._head = state, revspec.resolve(self._operations, rev)
        return self._head[1]

    def at(
        self,
        rev: object = revspec.HEAD,
        *,
        trust: TrustContext | None = None,
        allow_erased: bool = False,
    ) -> Revision:
        """Returns the graph at a revision, or of a root given by its RootCid, read-only.

        Args:
            trust: who asks; where the root has a trust policy, nothing is told without.
            allow_erased: answers as if nodes that were erased since had been invisible; a
                revision that has some is a `RedactedRevision` and says which in `erasures`.
        """
        if allow_erased:
            from ibidem.repo.erasure.redacted_revision import without_erased

            partial = without_erased(self, self.at(rev))
            return partial if trust is None else partial.seen_by(trust)
        if trust is not None:
            return self.at(rev).seen_by(trust)
        from ibidem.repo.revision import Revision

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

    def branches(self) -> dict[str, CommitCid]:
        """Returns the branches that have commits, by name."""
        return refs.listed_now(self._operations, HEADS)

    def tags(self) -> dict[str, CommitCid]:
        """Returns the tags, by name."""
        return refs.listed_now(self._operations, TAGS)

    def commit_at(self, rev: object = revspec.HEAD) -> Commit:
        """Returns the commit that a revision names."""
        found = self.resolve(rev)
        assert found is not None, "BUG: resolve returned None"
        return Commit.decode(self.store.get(found))

    def log(self, rev: object = revspec.HEAD) -> Iterator[Commit]:
        """Yields the commits behind a revision, newest first; none on a branch without commits."""
        from ibidem.repo.history import log

        return log.commits(self.store, self.resolve(rev, missing_ok=True))

    def diff(self, before: object, after: object = revspec.HEAD) -> Iterator[Change]:
        """Yields what differs between two revisions, by family and id."""
        from ibidem.repo.history import log

        return log.changes(self.store, self.at(before).root, self.at(after).root)

    def stats(self, rev: object = revspec.HEAD) -> RepositoryStats:
        """Returns what the repository and one of its revisions hold, in numbers."""
        from ibidem.repo import statistics

        return statistics.repository_stats(self, rev)

    def log_stats(self) -> LogStats:
        """Returns how large the logs of receipts and of operations are, and what bounds them."""
        from ibidem.repo import statistics

        return statistics.log_stats(self)

    # -- asking --------------------------------------------------------------------------------

    def retrieve(self, text: str | None = None, **options: Any) -> Answer[Item]:
        """Returns the ranked answer at the head; `retrieve.query.resolve` lists the options.

        With `model=` or `embedder=`, the text is embedded and ranks by closeness too.
        """
        return self._of_head(lambda head: head.retrieve(text, **options))

    def retriever(self, rev: object = revspec.HEAD) -> Retriever:
        """Returns a question to put together step by step."""
        from ibidem.repo.retrieval.retrieve import Retriever

        return Retriever(self.at(rev).retrieve)

    def query(self, **options: Any) -> list[Node]:
        """Returns every node at the head with a label and properties, by id."""
        return self._of_head(lambda head: head.query(**options))

    def _of_head(self, ask: Callable[[Revision], T]) -> T:
        """Returns what is said of the head; of the next one where this was erased from or given up
        before all of it was read."""
        head = self.at()
        try:
            return ask(head)
        except NotFoundError:
            if self.at().root_cid == head.root_cid:
                raise
        return self._of_head(ask)

    def replay(self, receipt: Receipt | SealedReceipt | Cid | str, **options: Any) -> Answer[Item]:
        """Asks again what a receipt says was asked; raises `ReplayError` unless the bytes agree.

        `estimator=` gives the one that counted, where its recorded name does not find it; `text=`
        and `key=` open a sealed receipt; `at=` asks another revision. See
        `repo/receipts/replay.py`.
        """
        from ibidem.repo.receipts import replay

        return replay.replay(self, receipt, **options)

    def compare(
        self,
        text: str | None = None,
        *,
        before: object,
        after: object = revspec.HEAD,
        **options: Any,
    ) -> Comparison:
        """Returns how the answer to one question differs between two revisions, and why."""
        from ibidem.repo.history.compare import compare_revisions

        return compare_revisions(self, before, after, lambda at: at.retrieve(text, **options))

    def bisect(
        self,
        text: str | None = None,
        *,
        expect: NodeId,
        rank_max: int | None = None,
        good: object = None,
        bad: object = revspec.HEAD,
        **options: Any,
    ) -> Bisection:
        """Returns the first commit whose answer lacks a node, or has it below a rank.

        Args:
            text: what is asked; `options` as for `retrieve`.
            expect: the node. rank_max: the last rank that will do, None for any.
            good: a revision whose answer has it; None for wherever the node came to be.
            bad: the last revision to consider.
        """
        from ibidem.repo.history.bisect import bisect_node

        def ask(at: Revision) -> Answer[Item]:
            return at.retrieve(text, **options)

        return bisect_node(self, ask, expect, rank_max=rank_max, good=good, bad=bad)

    def reindex(self, *, compact: bool = False) -> None:
        """Builds the index of the head from nothing; no data is affected.

        Args:
            compact: keeps what the index has, merges its small segments and drops its dead rows.
        """
        self._revision = None
        if compact:
            self._of_head(lambda head: self._indexing(lambda index: index.compact(head.root_cid)))
        else:
            self.index.forget()
            self._of_head(lambda head: self._indexing(lambda index: index.build(head.root_cid)))

    def index_counts(self) -> tuple[int, int]:
        """Returns how many nodes the index answers for at the head, and how many there are."""
        found = self.at()
        return len(found.snapshot().live), self.stats().node_count - self.stats().tombstone_count

    # -- for the rooms above and beside --------------------------------------------------------

    @property
    def vector_cache(self) -> VectorCache:
        """The vectors of texts that were embedded here before."""
        if self._vector_cache is None:
            from ibidem.embed.cache import VectorCache

            folder = None if self.folder is None else self.folder / "embeddings"
            self._vector_cache = VectorCache(folder)
        return self._vector_cache

    @property
    def index(self) -> Index:
        """The index of this repository."""
        erasures = self.view.erasures
        if self._index is None or self._index[0] != erasures:
            # What was made before an erasure quotes what was erased: no process goes on with it.
            from ibidem.index.index import Index

            self.drop_index()
            folder = self.index_folder
            if erasures != EMPTY_TREE and self.folder is not None:
                from ibidem.repo.erasure.destroy import sweep_index

                with suppress(OSError):  # who erases removes it, and takes no error for success
                    sweep_index(self.folder / "index", folder)
            self._index = (erasures, Index(folder, self.store))
        return self._index[1]

    def drop_index(self) -> None:
        """Lets go of everything derived that is held in memory; files stay, and none is added."""
        if self._index is not None:
            self._index[1].wait()
        self._revision = None
        self._index = None

    @property
    def index_folder(self) -> Path | None:
        """Where the files of the index are, another place after each erasure; None in memory."""
        if self.folder is None:
            return None
        erasures = self.view.erasures
        folder = self.folder / "index"
        return folder if erasures == EMPTY_TREE else folder / f"after-{str(erasures)[-16:]}"

    def snapshot(self, root_cid: RootCid, commit: Commit | None) -> Snapshot:
        """Returns the index snapshot of a root; the roots of the commit's parents are near it."""
        self._is_asked = True
        near = self._parents(commit)
        return self._indexing(lambda index: index.snapshot(root_cid, near=near))

    def index_after_commit(self, block_count: int) -> None:
        """Brings the index to the head after a small commit, where somebody has asked since the
        last: who asks between commits need not wait then, and who only commits never does.

        Args:
            block_count: of the commit.
        """
        if self._is_asked and block_count <= FOLLOWED_BLOCKS_MAX:
            self._is_asked = False
            # The commit is made, whatever comes of this; who asks next is told.
            with suppress(Exception):
                head = self.at()
                near = self._parents(head.commit)
                self._indexing(lambda index: index.prepare(head.root_cid, near=near))

    def _indexing(self, work: Callable[[Index], T]) -> T:
        # The head's snapshot stays remembered, however many old revisions are asked.
        self.index.pin([self.at().root_cid])
        try:
            return work(self.index)
        finally:
            # Sweeps away what was just written where an erasure came first, whose own sweep may
            # have been before. Where the erasure comes after this, so does its sweep.
            _ = self.index

    def _parents(self, commit: Commit | None) -> list[RootCid]:
        """Returns the roots of a commit's parents."""
        parents = () if commit is None else commit.parents
        return [Commit.decode(self.store.get(parent)).root for parent in parents]

    def content_of(self, node: Node) -> bytes | None:
        """Returns the whole content of a node, None when it has none."""
        content = node.content
        if not isinstance(content, tuple):
            return content
        return b"".join(self.store.get_many(content))

    def incident(self, root_cid: RootCid | None, root: Root, id: NodeId) -> Iterable[EdgeId]:  # noqa: A002
        """Returns the ids of the edges that begin or end at a node of a root."""
        from ibidem.repo import node_edges

        if root.edges == EMPTY_TREE:
            return ()
        if root_cid is None:
            # A transaction asks of its base, node after node.
            if self._asked is None or self._asked[0] is not root:
                self._asked = root, root.cid
            root_cid = self._asked[1]
        return node_edges.incident_edges(self, root_cid, root, (id,))

    def incident_to(self, root_cid: RootCid, nodes: Sequence[bytes]) -> list[bytes]:
        """Returns the ids of the edges of a root here that begin or end at some nodes, by id."""
        from ibidem.objects.root import Root
        from ibidem.repo import node_edges

        root = Root.decode(self.store.get(root_cid))
        if root.edges == EMPTY_TREE:
            return []
        ids = [NodeId(raw) for raw in nodes]
        return [edge.raw for edge in node_edges.incident_edges(self, root_cid, root, ids)]
