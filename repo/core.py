"""An open repository below its public API: the store and the files next to it.

`Repository` is the API; nothing here or below imports it. Opening reads a small file and one cell,
everything that grows is read on demand, and readers never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ibidem.objects.cid import CommitCid, OperationCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.edge import Edge
from ibidem.objects.errors import (
    ErasedError,
    ErrorKind,
    NotFoundError,
)
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.repo import revspec
from ibidem.repo.arguments import checked_time
from ibidem.repo.erasure.guard import ErasureGuard, sweep_index
from ibidem.repo.graph import Graph
from ibidem.repo.operation_log import OperationLog
from ibidem.repo.receipts.log import ReceiptLog
from ibidem.repo.refs import HEADS, TAGS
from ibidem.repo.state import ERASING_CELL, State
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.embed.cache import VectorCache
    from ibidem.embed.protocol import Embedder
    from ibidem.index.index import Index
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.blocks import Source
    from ibidem.objects.node import Node
    from ibidem.objects.view import View
    from ibidem.repo.events import Log
    from ibidem.repo.signing.key import SigningKey
    from ibidem.repo.signing.keyring import Keyring
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.store.protocol import Store

Clock = Callable[[], int]
T = TypeVar("T")
SCANNED_MAX = 256
"""Up to this many edges are read one by one; opening an index of them would cost more."""
FOLLOWED_BLOCKS_MAX = 1_024
"""A commit of more blocks is indexed only when a question is asked: indexing it at once would make
the commit noticeably slower.
"""


class Core(Closing):
    """A store with its log, guard, keys and index; a context manager that closes it."""

    def __init__(self, store: Store, folder: Path | None, clock: Clock) -> None:
        self.store = store
        self.folder = folder
        """The `.ibidem` folder; None in memory."""
        self.receipts = ReceiptLog(None if folder is None else folder / "receipts")
        self.operation_log = OperationLog(store, clock)
        self.guard = ErasureGuard(self.operation_log, self._forget_logs)
        """Knows what was erased; the store consults it."""
        store.guard = self.guard
        self.embedders: dict[str, Embedder] = {}
        """By the name of the model: embed the questions of `retrieve(model=...)`."""
        self.embedder_for: Callable[[str], Embedder] | None = None
        """Makes the embedder of a model that has none in `embedders`."""
        self.note_logs: dict[str, dict[CommitCid, Log]] = {}
        """Cached events, by space and notes head."""
        self.signing_key: SigningKey | None = None
        """Signs the commits made through this object; see `keys.sign_with`."""
        self._vector_cache: VectorCache | None = None
        self._keyring: Keyring | None = None
        self._index: tuple[View, Index] | None = None
        """With the newest view for which it was requested, whose erasures it excludes."""
        self._head: tuple[OperationCid, CommitCid | None] | None = None
        self._graph: tuple[CommitCid, TreeCid, Graph] | None = None
        """The graph of the last requested commit, and the erasures that it excludes."""
        self._is_queried = False
        """Whether a snapshot was requested since the last commit through this object."""
        self._base: tuple[Root, RootCid] | None = None
        """The root whose edges a transaction last requested, and its CID."""
        self.erasing_finisher: Callable[[Core], bool] | None = None
        """Completes an erasure that another process was killed in, as opening does; returns False
        if it could not. None leaves such an erasure alone.
        """
        self._unfinished: TreeCid | None = None
        """The erasures that could not be completed here, which is not tried again."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.folder or 'in memory'}>"

    def close(self) -> None:
        """Closes the files; closing twice is allowed."""
        self.receipts.close()
        self.store.close()

    # -- current state -------------------------------------------------------------------------

    @property
    def view(self) -> View:
        """The current view, with every ref."""
        return self.operation_log.state().view

    @property
    def current_branch(self) -> str:
        """The current branch."""
        return self.operation_log.state().view.head.removeprefix(HEADS)

    @property
    def head(self) -> CommitCid | None:
        """The commit of the current branch; None before the first."""
        return self.resolve(revspec.HEAD, missing_ok=True)

    def resolve(self, rev: object, *, missing_ok: bool = False) -> CommitCid | None:
        """Returns the commit that a revision names; `repo.revspec` has the grammar.

        Args:
            rev: text, a CommitCid, or a datetime with an offset.
            missing_ok: returns None for a branch without commits; otherwise that is an error.

        Raises:
            NotFoundError: kind `revision-not-found`, or `ambiguous`.
        """
        found = self.operation_log.retry_if_collected(lambda state: self._resolved(state, rev))
        if found is None and not missing_ok:
            raise NotFoundError(
                f"revision {rev!r}: the branch has no commits yet",
                kind=ErrorKind.REVISION_NOT_FOUND,
                hint="add something and commit it",
            )
        return found

    def _resolved(self, state: State, rev: object) -> CommitCid | None:
        """Returns the commit that a revision names; that of the head is cached while the state is
        unchanged.
        """
        if rev != revspec.HEAD:
            return revspec.resolve(self.operation_log, state, rev)
        last = self._head
        if last is None or last[0] != state.cid:
            last = self._head = state.cid, revspec.resolve(self.operation_log, state, rev)
        return last[1]

    def commit_cid_of(self, rev: object) -> CommitCid:
        """Returns the commit that a revision names, as `resolve` does; a branch must have one."""
        found = self.resolve(rev)
        assert found is not None, "BUG: resolve returned None"
        return found

    def graph(
        self,
        rev: object = revspec.HEAD,
        *,
        viewer: Viewer | None = None,
        state: State | None = None,
    ) -> Graph:
        """Returns the graph at a revision, or of a root given by its RootCid, read-only.

        Args:
            rev: the revision, or the RootCid.
            viewer: the caller; required for reading if the root has a trust policy.
            state: the state in which the revision is resolved; by default the newest.
        """
        found = self.operation_log.retry_if_collected(
            lambda state: self._graph_in(self.without_interrupted(state), rev), state=state
        )
        return found if viewer is None else found.seen_by(viewer)

    def _graph_in(self, state: State, rev: object) -> Graph:
        if isinstance(rev, RootCid):
            return Graph(self, rev, None, state=state)
        found = self._resolved(state, rev)
        if found is None:
            return Graph(self, state.origin, None, state=state)
        last, erasures = self._graph, state.view.erasures
        if last is None or last[:2] != (found, erasures):
            commit = Commit.decode(self.store.get(found))
            last = self._graph = found, erasures, Graph(self, commit.root, commit, state=state)
        return last[2]

    def of_head(self, ask: Callable[[Graph], T]) -> T:
        """Returns the result of a function of the graph at the head.

        It is called again with the new head if the head moved and blocks of the old one were erased
        or collected meanwhile.
        """
        head = self.graph()
        try:
            return ask(head)
        except NotFoundError:
            if self.graph().root_cid == head.root_cid:
                raise
        return self.of_head(ask)

    def branches(self) -> dict[str, CommitCid]:
        """Returns the branches that have commits, by name."""
        return self.operation_log.targets(HEADS)

    def tags(self) -> dict[str, CommitCid]:
        """Returns the tags, by name."""
        return self.operation_log.targets(TAGS)

    def commit_at(self, rev: object = revspec.HEAD) -> Commit:
        """Returns the commit that a revision names."""
        return Commit.decode(self.store.get(self.commit_cid_of(rev)))

    def now(self, time: int | datetime | None = None) -> int:
        """Returns a time in microseconds since 1970 UTC: the one given, else the clock's."""
        return self.operation_log.time(checked_time(time))

    # -- files next to the store ---------------------------------------------------------------

    @property
    def vector_cache(self) -> VectorCache:
        """The cached vectors of texts that were embedded here before."""
        if self._vector_cache is None:
            from ibidem.embed.cache import VectorCache

            folder = None if self.folder is None else self.folder / "embeddings"
            self._vector_cache = VectorCache(folder)
        return self._vector_cache

    @property
    def keyring(self) -> Keyring:
        """The keys of this copy: private ones, and those that it trusts."""
        if self._keyring is None:
            from ibidem.repo.signing.keyring import Keyring

            self._keyring = Keyring(None if self.folder is None else self.folder / "keys")
        return self._keyring

    def key_for(self, sign: str | bool | None) -> SigningKey | None:
        """Returns the private key selected by a `sign` argument; for None, that of
        `keys.sign_with`.
        """
        return self.signing_key if sign is None else self.keyring.chosen(sign)

    @property
    def index(self) -> Index:
        """The current index of this repository."""
        return self._index_after(self.view)

    def _index_after(self, view: View) -> Index:
        """Returns the index for a view, or for a newer one requested before."""
        if self._index is None or self._index[0].seq < view.seq:
            if self._index is not None and self._index[0].erasures == view.erasures:
                self._index = view, self._index[1]
                return self._index[1]
            # An index built before an erasure contains erased text: no process keeps using it.
            from ibidem.index.index import Index

            self.drop_index()
            folder = self._index_folder(view)
            if view.erasures != EMPTY_TREE and self.folder is not None:
                with suppress(OSError):  # the erasing process removes it and reports errors
                    sweep_index(self.folder / "index", folder)
            self._index = view, Index(folder, self.store)
        return self._index[1]

    def drop_index(self) -> None:
        """Drops all derived data held in memory; files stay, and none is added."""
        if self._index is not None:
            self._index[1].wait()
        self._graph = None
        self._index = None

    @property
    def index_folder(self) -> Path | None:
        """The folder of the index files, a different one after each erasure; None in memory."""
        return self._index_folder(self.view)

    def _index_folder(self, view: View) -> Path | None:
        if self.folder is None:
            return None
        folder = self.folder / "index"
        after = f"after-{str(view.erasures)[-16:]}"
        return folder if view.erasures == EMPTY_TREE else folder / after

    def snapshot(
        self, root_cid: RootCid, commit: Commit | None, *, state: State | None = None
    ) -> Snapshot:
        """Returns the index snapshot of a root.

        Args:
            root_cid: the root.
            commit: one that has the root; the snapshots of its parents are similar.
            state: the state that the call works on; by default the newest.
        """
        self._is_queried = True
        near = self._parents(commit)
        return self._indexing(lambda index: index.snapshot(root_cid, near=near), state=state)

    def index_after_commit(self, block_count: int) -> None:
        """Updates the index to the head after a small commit, if a question was asked since the
        last one. So questions between commits need not wait, and a process that only commits does
        not index.

        Args:
            block_count: of the commit.
        """
        if self._is_queried and block_count <= FOLLOWED_BLOCKS_MAX:
            self._is_queried = False
            # The commit is complete even if this fails; the next question reports the error.
            with suppress(Exception):
                state = self.operation_log.state()
                head = self.graph(state=state)
                near = self._parents(head.commit)
                self._indexing(lambda index: index.prepare(head.root_cid, near=near), state=state)

    def reindex(self, *, compact: bool = False) -> None:
        """Rebuilds the index of the head from scratch; no data is affected.

        Args:
            compact: keeps the existing index, merges its small segments and drops its dead rows.
        """
        self._graph = None
        if compact:
            self.of_head(lambda head: self._indexing(lambda index: index.compact(head.root_cid)))
        else:
            self.index.forget()
            self.of_head(lambda head: self._indexing(lambda index: index.build(head.root_cid)))

    def _indexing(self, work: Callable[[Index], T], *, state: State | None = None) -> T:
        state = state or self.operation_log.state()
        index = self._index_after(state.view)
        # The head's snapshot stays cached, however many old revisions are queried.
        index.pin([self.graph(state=state).root_cid])
        write_count = index.write_count
        try:
            return work(index)
        finally:
            if index.write_count != write_count:
                # Sweeps away what was just written where an erasure came first, whose own sweep
                # may have been before. Where the erasure comes after this, so does its sweep.
                _ = self.index

    def _parents(self, commit: Commit | None) -> list[RootCid]:
        """Returns the roots of a commit's parents."""
        parents = () if commit is None else commit.parents
        return [Commit.decode(self.store.get(parent)).root for parent in parents]

    def without_interrupted(self, state: State) -> State:
        """Returns the state, or a newer one after completing an erasure that an interrupted process
        left, as opening does: for a process that was already open. Otherwise nothing is read.
        """
        finish = self.erasing_finisher
        if ERASING_CELL not in state.cells or finish is None:
            return state
        if state.view.erasures == self._unfinished:
            return state
        self._unfinished = None if finish(self) else state.view.erasures
        return self.operation_log.state()

    def _forget_logs(self) -> None:
        """Drops the notes cached before an erasure: they may quote erased text."""
        for logs in self.note_logs.values():
            logs.clear()

    # -- nodes and edges -----------------------------------------------------------------------

    def content_of(self, node: Node) -> bytes | None:
        """Returns the whole content of a node, None if it has none."""
        content = node.content
        if not isinstance(content, tuple):
            return content
        return b"".join(self.store.get_many(content))

    def incident(self, root_cid: RootCid | None, root: Root, id: NodeId) -> Iterable[EdgeId]:  # noqa: A002
        """Returns the ids of the edges that start or end at a node of a root."""
        if root.edges == EMPTY_TREE:
            return ()
        if root_cid is None:
            # A transaction requests the edges of its base, node after node.
            if self._base is None or self._base[0] is not root:
                self._base = root, root.cid
            root_cid = self._base[1]
        return self._incident(root_cid, root, (id,))

    def incident_to(self, root_cid: RootCid, nodes: Sequence[bytes]) -> list[bytes]:
        """Returns the ids of the edges of a root here that start or end at some nodes, by id."""
        root = Root.decode(self.store.get(root_cid))
        if root.edges == EMPTY_TREE:
            return []
        ids = [NodeId(raw) for raw in nodes]
        return [edge.raw for edge in self._incident(root_cid, root, ids)]

    def _incident(self, root_cid: RootCid, root: Root, ids: Sequence[NodeId]) -> list[EdgeId]:
        """Returns the ids of the edges at some nodes, ascending: from the edges themselves if the
        root has few, else from the index.
        """
        if len(Tree(self.store, root.edges)) > SCANNED_MAX:
            # A root from before an erasure has no index; its remaining edges can still be read.
            with suppress(ErasedError):
                found = self.graph(root_cid).with_snapshot(lambda snapshot: _ends_at(snapshot, ids))
                return [EdgeId(raw) for raw in sorted(found)]
        return _scanned(self.store, root, set(ids))


def _scanned(source: Source, root: Root, wanted: set[NodeId]) -> list[EdgeId]:
    found = []
    for key, cid in Tree(source, root.edges).items():
        try:
            edge = Edge.decode(source.get(cid))
        except ErasedError:
            continue
        if edge.src in wanted or edge.dst in wanted:
            found.append(EdgeId(key))
    return found


def _ends_at(snapshot: Snapshot, ids: Sequence[NodeId]) -> set[bytes]:
    found: set[bytes] = set()
    for id_ in ids:
        ordinal = snapshot.ordinal(id_)
        if ordinal is not None:
            for side in (snapshot.outgoing(ordinal), snapshot.incoming(ordinal)):
                found.update(row.tobytes() for row in side.edge_ids)
    return found
