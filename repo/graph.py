"""The graph of one root, read-only: nodes, edges, vectors, and its index snapshot.

`repo/retrieval` runs ranked queries on it; `repo/revision.py` is its public API.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.config import TRUST_SETTING, Config
from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError, StorageError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.location import Location, source_text
from ibidem.objects.node import Node
from ibidem.objects.printable import one_line
from ibidem.objects.root import EDGES, NODES, TOMBSTONES, VECTOR_FAMILIES, Root, TreeName
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import Tree
from ibidem.objects.vector import NodeVector
from ibidem.repo.argument_checks import check_id, check_ids
from ibidem.repo.id_prefix import resolve_prefix
from ibidem.retrieve.access.policy import checked_viewer, policy_of
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.erasure import Erasure
    from ibidem.repo.core import Core
    from ibidem.repo.state import State
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.locator import Located
    from ibidem.retrieve.node_source import NodeSource
    from ibidem.retrieve.query.union import RootSet
    from ibidem.retrieve.tokens import TokenEstimator

T = TypeVar("T")
R = TypeVar("R")
V = TypeVar("V", bound=NodeVector)
EDGES_AT_ONCE = 256
"""Edges that are read together."""
VECTORS_AT_ONCE = 256
"""Vectors, likewise."""
_FAMILY_OF = {family.kind: family.name for family in VECTOR_FAMILIES}


class Graph:
    """The graph of one root, read-only. `commit` is None before the first commit.

    If the root has a trust policy, nothing can be read before `seen_by` names the caller.
    """

    is_restricted = False
    """Whether the root may contain more than is visible here."""
    viewer: Viewer | None = None
    """The caller; None if not given."""
    union: RootSet | None = None
    """All the roots that are read; None for one root."""
    erasures: tuple[Erasure, ...] = ()
    """Erasures whose entries are left out; see `repo/erasure/redacted_graph.py`."""

    def __init__(
        self,
        core: Core,
        root_cid: RootCid,
        commit: Commit | None,
        *,
        state: State | None = None,
        generation: int | None = None,
        is_question: bool = True,
    ) -> None:
        """Reads the root.

        Args:
            core: the repository.
            root_cid: of the root.
            commit: a commit with that root; None if there is none.
            state: the state in which it was found and in which its snapshot is opened; by default
                the newest.
            generation: of the receipt log, read before the state; by default the current one.
            is_question: False for what a transaction looks up in its base, which does not make the
                index follow the head.
        """
        self.root_cid = root_cid
        self.commit = commit
        self.root = Root.decode(core.store.get(root_cid))
        self.core = core
        self.generation = core.receipts.generation() if generation is None else generation
        """Of the receipt log: receipts of answers over this graph are appended only in it."""
        self.state = state
        """That in which it was found; None if it was not found by a revision."""
        self._is_question = is_question
        self._store = core.store
        self._trees: dict[TreeName, Tree] = {}
        self._snapshot: Snapshot | None = None

    def __repr__(self) -> str:
        commit = "no commit" if self.commit is None else f"commit {self.commit.cid}"
        return f"<{type(self).__name__} {commit}, root {self.root_cid}>"

    @cached_property
    def config(self) -> Config:
        """The configuration on which answers over this root depend."""
        return Config.from_map(self.root.config)

    @cached_property
    def commit_cid(self) -> CommitCid | None:
        """The commit; None if there is none."""
        return None if self.commit is None else self.commit.cid

    def seen_by(self, viewer: Viewer | None) -> Graph:
        """Returns the graph as a caller sees it; the same graph if there is no trust policy.

        Raises:
            InvalidInputError: kind `viewer-required`: there is a policy, and no caller was given.
        """
        caller = checked_viewer(policy_of(self.config), viewer)
        if caller is None:
            return self
        from ibidem.repo.access import RestrictedGraph, UnrestrictedGraph  # loads the index

        return (UnrestrictedGraph if caller.everything else RestrictedGraph)(self, caller)

    def node(self, id: NodeId | str, *, include_tombstoned: bool = False) -> Node:  # noqa: A002
        """Returns a node.

        Raises:
            NotFoundError: there is no such node; kind `forgotten`: a tombstone hides it.
        """
        self._check_open()
        cid = self._tree(NODES).get(check_id("id", id, NodeId).raw)
        if cid is None:
            raise NotFoundError(f"node {id} is not in the graph at this revision")
        if not include_tombstoned and (reason := self.tombstone(id)) is not None:
            raise NotFoundError(
                f"node {id} was forgotten: {reason or 'no reason given'}", kind=ErrorKind.FORGOTTEN
            )
        return Node.decode(self._store.get(cid))

    def find_nodes(
        self, ids: Iterable[NodeId | str], *, include_tombstoned: bool = False
    ) -> dict[NodeId, Node]:
        """Returns those of the nodes that exist and are not hidden, read in one batch."""
        self._check_open()
        wanted = list(dict.fromkeys(check_ids("ids", ids)))
        keys = [id_.raw for id_ in wanted]
        entries = zip(
            wanted,
            self._tree(NODES).get_many(keys),
            self._tree(TOMBSTONES).get_many(keys),
            strict=True,
        )
        cids = {
            id_: cid
            for id_, cid, hidden in entries
            if cid is not None and (hidden is None or include_tombstoned)
        }
        blocks = self._store.get_many(cids.values()) if cids else []
        return dict(zip(cids, map(Node.decode, blocks), strict=True))

    def node_id(self, prefix: str) -> NodeId:
        """Returns the id of the only node with this prefix; a whole id is returned unchanged.

        Args:
            prefix: 4 to 32 hexadecimal digits.

        Raises:
            InvalidInputError: it is something else.
            NotFoundError: no node has this prefix; kind `ambiguous`: several have.
        """

        def ids_from(first: bytes) -> Iterator[NodeId]:
            self._check_open()
            ids = (NodeId(key) for key, _ in self._tree(NODES).range(first))
            return filter(self.is_visible, ids)

        return resolve_prefix(prefix, NodeId.parse, ids_from)

    def edge_id(self, prefix: str) -> EdgeId:
        """Returns the id of the only edge with this prefix; as `node_id`."""

        def ids_from(first: bytes) -> Iterator[EdgeId]:
            self._check_open()
            ids = (EdgeId(key) for key, _ in self._tree(EDGES).range(first))
            return filter(self._is_edge_visible, ids)

        return resolve_prefix(prefix, EdgeId.parse, ids_from, noun="edge")

    def edge(self, id: EdgeId | str) -> Edge:  # noqa: A002
        """Returns an edge; raises `NotFoundError` if there is none."""
        self._check_open()
        cid = self._tree(EDGES).get(check_id("id", id, EdgeId).raw)
        if cid is None:
            raise NotFoundError(f"edge {id} is not in the graph at this revision")
        return Edge.decode(self._store.get(cid))

    def nodes(self, *, include_tombstoned: bool = False) -> Iterator[Node]:
        """Yields the nodes in order of id, by default without hidden ones."""
        self._check_open()
        hidden = set() if include_tombstoned else set(self._tree(TOMBSTONES).keys())
        for key, cid in self._tree(NODES).items():
            if key not in hidden:
                yield Node.decode(self._store.get(cid))

    def edges(self) -> Iterator[Edge]:
        """Yields the edges by id."""
        self._check_open()
        for _, cid in self._tree(EDGES).items():  # noqa: PERF102  a tree is no dict
            yield Edge.decode(self._store.get(cid))

    def edges_of(
        self,
        id: NodeId | str,  # noqa: A002
        *,
        limit: int | None = None,
        after: EdgeId | str | None = None,
    ) -> list[Edge]:
        """Returns the incoming and outgoing edges of a node, by id, and reads no others.

        Args:
            limit: the number of edges; by default all.
            after: the id of the last edge of the previous page, which may be of any revision.

        Raises:
            NotFoundError: there is no such node.
        """
        id = check_id("id", id, NodeId)  # noqa: A001
        last = None if after is None else check_id("after", after, EdgeId)
        count = None if limit is None else _checked_limit(limit)
        self.node(id, include_tombstoned=True)
        batch = EDGES_AT_ONCE if count is None else min(count, EDGES_AT_ONCE)
        return list(islice(self._edges_at(id, last, batch), count))

    def _edges_at(self, id: NodeId, after: EdgeId | None, batch: int) -> Iterator[Edge]:  # noqa: A002
        """Yields the edges of a node after an id, read in batches."""
        ids = self.core.edge_lookup.incident(self.root_cid, self.root, id, after=after)
        tree = self._tree(EDGES)
        while some := list(islice(ids, batch)):
            cids = tree.get_many([edge.raw for edge in some])
            assert None not in cids, "BUG: the index has an edge that the root does not have"
            yield from map(Edge.decode, self._store.get_many([cid for cid in cids if cid]))

    def vector(self, cls: type[V], id: NodeId | str, name: str) -> V | None:  # noqa: A002
        """Returns the vector of a node for a model or vocabulary, None if it has none.

        Args:
            cls: the type of the vector.
        """
        self._check_open()
        cid = self._tree((_FAMILY_OF[cls.KIND], name)).get(check_id("id", id, NodeId).raw)
        return None if cid is None else cls.decode(self._store.get(cid))

    def vectors(self, cls: type[V]) -> Iterator[tuple[str, NodeId, V]]:
        """Yields the vectors of one type with their model or vocabulary and their node, by both.

        Args:
            cls: the type of the vectors.
        """
        self._check_open()
        for family, name in self.root.trees():
            if family != _FAMILY_OF[cls.KIND]:
                continue
            entries = self._tree((family, name)).items()
            while some := list(islice(entries, VECTORS_AT_ONCE)):
                blocks = self._store.get_many([cid for _, cid in some])
                for (key, _), block in zip(some, blocks, strict=True):
                    yield name, NodeId(key), cls.decode(block)

    def tombstone(self, id: NodeId | str) -> str | None:  # noqa: A002
        """Returns the tombstone of a node, None if it is not hidden."""
        self._check_open()
        cid = self._tree(TOMBSTONES).get(check_id("id", id, NodeId).raw)
        return None if cid is None else Tombstone.decode(self._store.get(cid)).reason

    def content(self, id: NodeId | str, *, include_tombstoned: bool = False) -> bytes:  # noqa: A002
        """Returns the whole content of a node; empty if it has none."""
        return self.core.content_of(self.node(id, include_tombstoned=include_tombstoned)) or b""

    def document(self, id: NodeId | str) -> str:  # noqa: A002
        """Returns the whole source of a document, a section or a passage, byte for byte.

        Raises:
            NotFoundError: there is none, or a part of it is missing; kind `forgotten`: a tombstone
                hides it or a part of it.
        """
        id = check_id("id", id, NodeId)  # noqa: A001

        def node(part: NodeId) -> Node:
            try:
                return self.node(part)
            except NotFoundError as error:
                if error.kind is not ErrorKind.FORGOTTEN:
                    raise
                source = self.node(id, include_tombstoned=True).props.get("source", str(id))
                raise NotFoundError(
                    f"{one_line(str(source))}: {error}",
                    kind=error.kind,
                    hint=f"'repo node untombstone {part}' and 'repo commit' show it again",
                ) from error

        return source_text(id, node)

    def locate(self, id: NodeId | str) -> Location | None:  # noqa: A002
        """Returns the location of a passage or section in its document, None without a document."""
        return self.locate_many([id])[0]

    def locate_many(
        self, ids: Sequence[NodeId | str], *, include_tombstoned: bool = False
    ) -> list[Location | None]:
        """Returns the locations of parts in their documents, None for parts without one."""
        from ibidem.repo.locate_many import locate_many

        return locate_many(self, check_ids("ids", ids), include_tombstoned=include_tombstoned)

    @property
    def parts(self) -> Sequence[Graph]:
        """The graphs that a question reads: this one, or those of a union."""
        return (self,)

    def located(self, result: Answer[Any]) -> Located:
        """Returns the location of each item's best node, and for a question for a value the
        documents that these are parts of, as the caller of the query sees them."""
        from ibidem.repo.locate_many import located
        from ibidem.retrieve.answer.answer import best_ids, may_state

        return located(
            self.seen_by(result.query.viewer),
            best_ids(result),
            include_tombstoned=result.query.include_tombstoned,
            with_documents=may_state(result),
        )

    def log(self) -> Iterator[Commit]:
        """Yields the commit of this revision and its ancestors, newest first."""
        from ibidem.repo.history import log

        return log.commits(self._store, self.commit_cid)

    def snapshot(self) -> Snapshot:
        """Returns the index snapshot of this root, built or advanced if necessary."""
        if self._snapshot is None:
            index = self.core.search_index
            self._snapshot = index.snapshot(
                self.root_cid, self.commit, state=self.state, is_question=self._is_question
            )
        return self._snapshot

    def node_source(self, estimator: TokenEstimator) -> NodeSource:
        """Returns how a question reads nodes."""
        from ibidem.retrieve.node_source import NodeSource  # only questions need it

        store = self.core.store
        return NodeSource(
            lambda cid: Node.decode(store.get(cid)),
            self.core.content_of,
            estimator,
            lambda cids: list(map(Node.decode, store.get_many(cids))),
        )

    def with_snapshot(self, question: Callable[[Snapshot], T]) -> T:
        """Returns the result of a function of the snapshot. If it fails because index files are
        damaged, they are rebuilt and it runs again, so that a broken index never prevents an
        answer.
        """
        try:
            return question(self.snapshot())
        except (InvalidInputError, StorageError):
            raise
        except Exception:
            # Other errors are raised unchanged.
            if self._snapshot is None or not self.core.search_index.current.recover(self._snapshot):
                raise
        self._snapshot = None
        return question(self.snapshot())

    def stream_with_snapshot(
        self, question: Callable[[Snapshot], Generator[T, None, R]]
    ) -> Generator[T, None, R]:
        """Yields what a function of the snapshot yields, and returns its result. After damage it
        runs again, as in `with_snapshot`, and what was yielded before is left out."""
        count, was_rebuilt = 0, False
        while True:
            steps = question(self.snapshot())
            try:
                for _ in range(count):
                    next(steps)
                while True:
                    one = next(steps)
                    count += 1
                    yield one
            except StopIteration as end:
                result: R = end.value
                return result
            except (InvalidInputError, StorageError):
                raise
            except Exception:
                held, recover = self._snapshot, self.core.search_index.current.recover
                if was_rebuilt or held is None or not recover(held):
                    raise
            was_rebuilt, self._snapshot = True, None

    def _check_open(self) -> None:
        """Raises `InvalidInputError` if there is a trust policy and no caller was given."""
        if TRUST_SETTING in self.root.config:
            checked_viewer(policy_of(self.config), None)

    def is_visible(self, id: NodeId | str) -> bool:  # noqa: A002
        """Returns whether a node exists that the caller may see, with or without a tombstone."""
        self._check_open()
        return self._tree(NODES).get(check_id("id", id, NodeId).raw) is not None

    def _is_edge_visible(self, id: EdgeId) -> bool:  # noqa: A002
        """Returns whether the caller may see an edge in the tree."""
        return True

    def _tree(self, tree_name: TreeName) -> Tree:
        tree = self._trees.get(tree_name)
        if tree is None:
            tree = self._trees[tree_name] = Tree(self._store, self.root.tree(*tree_name))
        return tree


def _checked_limit(limit: int) -> int:
    return checks.count("limit", limit)
