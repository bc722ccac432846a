"""An open repository below its public API: the store and the files next to it.

`Repository` is the API; nothing here or below imports it. Opening reads a small file and one cell,
everything that grows is read on demand, and readers never wait.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ibidem.objects.cid import CommitCid, OperationCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ErrorKind, NotFoundError
from ibidem.objects.progress import Progress, silent
from ibidem.repo import revspec
from ibidem.repo.arguments import CommitInfo, checked_time, commit_info
from ibidem.repo.edge_lookup import EdgeLookup
from ibidem.repo.erasure.guard import ErasureGuard
from ibidem.repo.graph import Graph
from ibidem.repo.local_settings import LocalSettings, LogQuestions
from ibidem.repo.operation_log import OperationLog
from ibidem.repo.receipts.log import ReceiptLog
from ibidem.repo.refs import HEADS, OWN, TAGS, Targets
from ibidem.repo.retrieval.answer_cache import AnswerCache
from ibidem.repo.search_index import SearchIndex
from ibidem.repo.state import ERASING_CELL, State
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.embed.cache import VectorCache
    from ibidem.embed.protocol import Embedder
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.node import Node
    from ibidem.objects.view import View
    from ibidem.repo.events import Log
    from ibidem.repo.signing.key import SigningKey
    from ibidem.repo.signing.keyring import Keyring
    from ibidem.repo.workers.driver import Workers
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.store.backends import Location
    from ibidem.store.protocol import Store

Clock = Callable[[], int]
T = TypeVar("T")


class Core(Closing):
    """A store with its log, guard, keys and index; a context manager that closes it."""

    def __init__(
        self, store: Store, folder: Path | None, clock: Clock, location: Location | None = None
    ) -> None:
        self.store = store
        self.folder = folder
        """The files of this machine, for a repository in a folder its `.ibidem`; None in
        memory."""
        self.location = location
        """Where it was opened; None for one in memory, or under construction."""
        self.local = LocalSettings(folder)
        """The settings of this copy."""
        self.receipts = ReceiptLog(
            None if folder is None else folder / "receipts",
            is_on=lambda: self.local.log_questions is not LogQuestions.NEVER,
        )
        self.operation_log = OperationLog(store, clock)
        self.guard = ErasureGuard(self.operation_log, self._forget_logs)
        """Knows what was erased; the store consults it."""
        store.guard = self.guard
        self.embedders: dict[str, Embedder] = {}
        """By the name of the model: embed the questions of `retrieve(model=...)`."""
        self.embedder_for: Callable[[str], Embedder] | None = None
        """Makes the embedder of a model that has none in `embedders`."""
        self.workers: Workers | None = None
        """Processes that rank for this one; None if it ranks alone."""
        self.note_logs: dict[str, dict[CommitCid, Log]] = {}
        """Cached events, by space and notes head."""
        self.signing_key: SigningKey | None = None
        """Signs the commits made through this object; see `keys.sign_with`."""
        self.agent: str | None = None
        """The agent that commits name whose call names none, and likewise the task."""
        self.task: str | None = None
        self.progress: Progress = silent
        """Told of the advance of long work."""
        self._vector_cache: VectorCache | None = None
        self._keyring: Keyring | None = None
        self._head: tuple[OperationCid, CommitCid | None] | None = None
        self._graph: tuple[tuple[CommitCid, TreeCid, int, bool], Graph] | None = None
        """The graph of the last requested commit, the erasures that it excludes, and whether they
        are being carried out."""
        self.search_index = SearchIndex(
            store,
            folder,
            self.operation_log,
            self._head_in,
            self._report,
            lambda: self.keyring,
            self.local,
        )
        """The index of this repository, which follows its head."""
        self.answer_cache = AnswerCache()
        """The last packs of this process."""
        self.edge_lookup = EdgeLookup(store, self._ask)
        """Finds the edges of a node."""
        self.erasing_finisher: Callable[[Core], bool] | None = None
        """Completes an erasure that another process was killed in, as opening does; returns False
        if it could not. None leaves such an erasure alone.
        """
        self._unfinished: TreeCid | None = None
        """The erasures that could not be completed here, which is not tried again."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shown}>"

    @property
    def shown(self) -> str:
        """The address for messages."""
        location = self.location
        return (
            str(self.folder or "in memory")
            if location is None or location.is_folder
            else location.shown
        )

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
        generation = self.receipts.generation()
        found = self.operation_log.retry_if_collected(
            lambda state: self._graph_in(self.without_interrupted(state), rev, generation),
            state=state,
        )
        return found if viewer is None else found.seen_by(viewer)

    def base(self, root_cid: RootCid, state: State | None) -> Graph:
        """Returns the graph that a transaction began on, which reads its index in the same state.

        Args:
            state: in which the transaction began; None for the newest.
        """
        return self.operation_log.retry_if_collected(
            lambda state: Graph(self, root_cid, None, state=state, is_question=False), state=state
        )

    def _graph_in(self, state: State, rev: object, generation: int) -> Graph:
        if isinstance(rev, RootCid):
            return Graph(self, rev, None, state=state, generation=generation)
        found = self._resolved(state, rev)
        if found is None:
            return Graph(self, state.origin, None, state=state, generation=generation)
        last = self._graph
        key = found, state.view.erasures, generation, ERASING_CELL in state.cells
        if last is None or last[0] != key:
            commit = Commit.decode(self.store.get(found))
            graph = Graph(self, commit.root, commit, state=state, generation=generation)
            last = self._graph = key, graph
        return last[1]

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

    def _head_in(self, state: State | None) -> tuple[RootCid, Commit | None]:
        """Returns the root at the head, and its commit."""
        head = self.graph(state=state)
        return head.root_cid, head.commit

    def _report(self, work: str, done: int, total: int | None) -> None:
        self.progress(work, done, total)

    def _ask(self, root_cid: RootCid, question: Callable[[Snapshot], T]) -> T:
        return self.graph(root_cid).with_snapshot(question)

    def drop_derived(self) -> None:
        """Drops all derived data held in memory; files stay, and none is added."""
        self._graph = None
        self.answer_cache.clear()
        self.search_index.drop()

    def reindex(self, *, compact: bool = False) -> None:
        """Rebuilds the index of the head from scratch; no data is affected.

        Args:
            compact: keeps the existing index, merges its small segments and drops its dead rows.
        """
        self._graph = None
        if not compact:
            self.search_index.current.forget()
        self.of_head(lambda head: self.search_index.rebuild(head.root_cid, compact=compact))

    def share_index(self, key: SigningKey) -> int:
        """Gives the index of the head to other machines; returns how many bytes were put."""
        return self.of_head(lambda head: self.search_index.share(head.root_cid, key))

    def branches(self) -> Targets:
        """Returns the branches that have commits and can be read, by name."""
        return self.operation_log.targets(HEADS)

    def tags(self) -> Targets:
        """Returns the tags that can be read, by name."""
        return self.operation_log.targets(TAGS)

    def refs(self) -> Targets:
        """Returns the refs under `refs/` that can be read, by name without that prefix."""
        return self.operation_log.targets(OWN)

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

    def signed(
        self,
        author: str,
        message: str,
        time: int | datetime | None,
        *,
        agent: str | None = None,
        task: str | None = None,
        sign: str | bool | None = None,
    ) -> CommitInfo:
        """Returns checked commit information with the defaults of this object; raises
        `InvalidInputError` for a wrong type."""
        agent, task = agent or self.agent, task or self.task
        return commit_info(author, message, time, agent, task, self.key_for(sign))

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
        """Drops the notes and answers cached before an erasure: they may quote erased text."""
        self.answer_cache.clear()
        for logs in self.note_logs.values():
            logs.clear()

    def content_of(self, node: Node) -> bytes | None:
        """Returns the whole content of a node, None if it has none."""
        content = node.content
        if not isinstance(content, tuple):
            return content
        return b"".join(self.store.get_many(content))
