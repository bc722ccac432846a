"""The graph of one root, read-only: nodes, edges, vectors, and its index snapshot.

Questions that rank are asked of it in `repo/retrieval`; `repo/revision.py` is its public face.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.config import TRUST_SETTING, Config
from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError, StorageError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.location import Location, source_text
from ibidem.objects.node import Node
from ibidem.objects.root import VECTOR_FAMILIES, Root
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import Tree
from ibidem.objects.vector import NodeVector
from ibidem.repo.argument_checks import check_id
from ibidem.repo.history import log
from ibidem.repo.id_prefix import resolve_prefix
from ibidem.repo.transaction.changeset import EDGES, NODES, TOMBSTONES, Family, tree_of

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.erasure import Erasure
    from ibidem.repo.core import Core
    from ibidem.repo.state import State
    from ibidem.retrieve.access.policy import TrustContext

T = TypeVar("T")
V = TypeVar("V", bound=NodeVector)
_FAMILY_OF = {family.kind: family.name for family in VECTOR_FAMILIES}


class Graph:
    """The graph of one root, read-only. `commit` is None before the first commit.

    Where the root has a trust policy, nothing of the graph is told before `seen_by` says to whom.
    """

    is_restricted = False
    """Whether there may be more than is shown here."""
    trust: TrustContext | None = None
    """Who asks; None where nobody has said."""
    erasures: tuple[Erasure, ...] = ()
    """What is left out because it was erased since; see `repo/erasure/redacted_graph.py`."""

    def __init__(
        self, core: Core, root_cid: RootCid, commit: Commit | None, *, state: State | None = None
    ) -> None:
        """Reads the root.

        Args:
            state: what it was found in, which its snapshot is asked in; by default the newest.
        """
        self.root_cid = root_cid
        self.commit = commit
        self.root = Root.decode(core.store.get(root_cid))
        self.core = core
        self._state = state
        self._store = core.store
        self._trees: dict[Family, Tree] = {}
        self._snapshot: Snapshot | None = None

    def __repr__(self) -> str:
        commit = "no commit" if self.commit is None else f"commit {self.commit.cid}"
        return f"<{type(self).__name__} {commit}, root {self.root_cid}>"

    @cached_property
    def config(self) -> Config:
        """What answers over this root depend on."""
        return Config.from_map(self.root.config)

    @cached_property
    def commit_cid(self) -> CommitCid | None:
        """The commit; None where there is none."""
        return None if self.commit is None else self.commit.cid

    def seen_by(self, trust: TrustContext | None) -> Graph:
        """Returns the graph as a caller sees it; this one where there is no trust policy.

        Raises:
            InvalidInputError: kind `trust-required`: there is a policy, and no context.
        """
        from ibidem.repo.access import restricted

        return restricted(self, trust)

    def node(self, id: NodeId, *, include_tombstoned: bool = False) -> Node:  # noqa: A002
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

    def find_nodes(self, ids: Iterable[NodeId]) -> dict[NodeId, Node]:
        """Returns those of some nodes that are there and not hidden, read in one batch."""
        self._check_open()
        wanted = [check_id("id", id_, NodeId) for id_ in dict.fromkeys(ids)]
        keys = [id_.raw for id_ in wanted]
        entries = zip(
            wanted,
            self._tree(NODES).get_many(keys),
            self._tree(TOMBSTONES).get_many(keys),
            strict=True,
        )
        cids = {id_: cid for id_, cid, hidden in entries if cid is not None and hidden is None}
        blocks = self._store.get_many(cids.values()) if cids else []
        return dict(zip(cids, map(Node.decode, blocks), strict=True))

    def node_id(self, prefix: str) -> NodeId:
        """Returns the id of the one node whose id begins so; an id as a whole as it stands.

        Args:
            prefix: 4 to 32 hexadecimal digits.

        Raises:
            InvalidInputError: it is something else.
            NotFoundError: no node begins so; kind `ambiguous`: several do.
        """

        def ids_from(first: bytes) -> Iterator[NodeId]:
            self._check_open()
            ids = (NodeId(key) for key, _ in self._tree(NODES).range(first))
            return filter(self.is_visible, ids)

        return resolve_prefix(prefix, NodeId.parse, ids_from)

    def edge_id(self, prefix: str) -> EdgeId:
        """Returns the id of the one edge whose id begins so; as `node_id`."""

        def ids_from(first: bytes) -> Iterator[EdgeId]:
            self._check_open()
            ids = (EdgeId(key) for key, _ in self._tree(EDGES).range(first))
            return filter(self._is_edge_visible, ids)

        return resolve_prefix(prefix, EdgeId.parse, ids_from, noun="edge")

    def edge(self, id: EdgeId) -> Edge:  # noqa: A002
        """Returns an edge; raises `NotFoundError` when there is none."""
        self._check_open()
        cid = self._tree(EDGES).get(check_id("id", id, EdgeId).raw)
        if cid is None:
            raise NotFoundError(f"edge {id} is not in the graph at this revision")
        return Edge.decode(self._store.get(cid))

    def nodes(self, *, include_tombstoned: bool = False) -> Iterator[Node]:
        """Yields the nodes by id, without those that a tombstone hides."""
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

    def edges_of(self, id: NodeId) -> list[Edge]:  # noqa: A002
        """Returns the edges that begin or end at a node, by id; `NotFoundError` without one."""
        self.node(id, include_tombstoned=True)
        incident = self.core.incident(self.root_cid, self.root, id)
        return [self.edge(edge) for edge in sorted(set(incident))]

    def vector(self, cls: type[V], id: NodeId, name: str) -> V | None:  # noqa: A002
        """Returns the vector of a node under a model or vocabulary, None when it has none.

        Args:
            cls: of the family's values.
        """
        self._check_open()
        cid = self._tree((_FAMILY_OF[cls.KIND], name)).get(check_id("id", id, NodeId).raw)
        return None if cid is None else cls.decode(self._store.get(cid))

    def tombstone(self, id: NodeId) -> str | None:  # noqa: A002
        """Returns why a node is hidden, None when it is not."""
        self._check_open()
        cid = self._tree(TOMBSTONES).get(check_id("id", id, NodeId).raw)
        return None if cid is None else Tombstone.decode(self._store.get(cid)).reason

    def content(self, id: NodeId) -> bytes:  # noqa: A002
        """Returns the whole content of a node; empty when it has none."""
        return self.core.content_of(self.node(id)) or b""

    def document(self, id: NodeId) -> str:  # noqa: A002
        """Returns the whole source of a document, a section or a passage, byte for byte."""
        return source_text(id, self.node)

    def locate(self, id: NodeId) -> Location | None:  # noqa: A002
        """Returns where a passage or section stands in its document, None without one."""
        return self.locate_many([id])[0]

    def locate_many(self, ids: Sequence[NodeId]) -> list[Location | None]:
        """Returns where each of some parts stands in its document, None for one without."""
        from ibidem.repo.locate_many import locate_many

        return locate_many(self, ids)

    def log(self) -> Iterator[Commit]:
        """Yields the commit of this revision and those behind it, newest first."""
        return log.commits(self._store, self.commit_cid)

    def snapshot(self) -> Snapshot:
        """Returns the index snapshot of this root, made or advanced when it is not there."""
        if self._snapshot is None:
            self._snapshot = self.core.snapshot(self.root_cid, self.commit, state=self._state)
        return self._snapshot

    def asked(self, question: Callable[[Snapshot], T]) -> T:
        """Returns what a question makes of the snapshot.

        Where it fails because files of the index are damaged, they are made anew and it is asked
        again: an index never costs an answer.
        """
        try:
            return question(self.snapshot())
        except (InvalidInputError, StorageError):
            raise
        except Exception:
            # What is no damage is raised as it was.
            if self._snapshot is None or not self.core.index.recover(self._snapshot):
                raise
        self._snapshot = None
        return question(self.snapshot())

    def _check_open(self) -> None:
        """Refuses to tell of the graph where a trust policy asks who wants to know."""
        if TRUST_SETTING in self.root.config:
            from ibidem.retrieve.access.policy import checked_trust, policy_of

            checked_trust(policy_of(self.config), None)

    def is_visible(self, id: NodeId) -> bool:  # noqa: A002
        """Tells whether there is a node that whoever asks may know of, forgotten or not."""
        self._check_open()
        return self._tree(NODES).get(check_id("id", id, NodeId).raw) is not None

    def _is_edge_visible(self, id: EdgeId) -> bool:  # noqa: A002
        """Tells whether whoever asks may know of an edge in the tree."""
        return True

    def _tree(self, family: Family) -> Tree:
        tree = self._trees.get(family)
        if tree is None:
            tree = self._trees[family] = Tree(self._store, tree_of(self.root, family))
        return tree
