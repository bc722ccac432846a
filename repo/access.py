"""A graph as one caller sees it: nodes that the trust policy hides are absent, by any name.

Reads use the same view as retrieval (`retrieve/access/restricted_snapshot.py`). Missing and hidden
nodes give the same error, after the same reads.

Spec: trust 3, 4.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from ibidem.objects.commit import Commit
from ibidem.objects.edge import Edge
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Node
from ibidem.repo.argument_checks import check_id, check_ids
from ibidem.repo.graph import Graph, V
from ibidem.retrieve.access.policy import Viewer
from ibidem.retrieve.access.restricted_snapshot import loader, restrict

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot

T = TypeVar("T")
R = TypeVar("R")


class UnrestrictedGraph(Graph):
    """The whole graph of a root with a trust policy, for a caller who may see all of it."""

    def __init__(self, whole: Graph, viewer: Viewer) -> None:
        self.root_cid, self.commit, self.root = whole.root_cid, whole.commit, whole.root
        self.viewer = viewer
        self.core = whole.core
        self.generation, self.state = whole.generation, whole.state
        self._store = whole.core.store
        self._trees = {}
        self._snapshot = None
        self._whole = whole

    def seen_by(self, viewer: Viewer | None) -> Graph:
        """Returns the graph as a caller sees it, which must be the caller that it was opened for.

        Raises:
            InvalidInputError: another caller.
        """
        if viewer not in (None, self.viewer):
            raise InvalidInputError("viewer: got another caller than the revision was opened for")
        return self

    def snapshot(self) -> Snapshot:
        """Returns the part of the index snapshot that the caller sees."""
        return cast("Snapshot", restrict(self._whole.snapshot(), self.viewer, self._load))

    def with_snapshot(self, question: Callable[[Snapshot], T]) -> T:
        """Runs a function of the visible part of the snapshot, as `Graph.with_snapshot` does."""
        return self._whole.with_snapshot(
            lambda whole: question(cast("Snapshot", restrict(whole, self.viewer, self._load)))
        )

    def stream_with_snapshot(
        self, question: Callable[[Snapshot], Generator[T, None, R]]
    ) -> Generator[T, None, R]:
        """Streams from the visible part of the snapshot, as `Graph.stream_with_snapshot` does."""
        return self._whole.stream_with_snapshot(
            lambda whole: question(cast("Snapshot", restrict(whole, self.viewer, self._load)))
        )

    def _check_open(self) -> None:
        """Does nothing: the caller is known."""

    def _load(self, cid: object) -> Node:
        return Node.decode(self._store.get(cid))  # type: ignore[arg-type]


class RestrictedGraph(UnrestrictedGraph):
    """The part of a graph that a caller may see."""

    is_restricted = True

    def node(self, id: NodeId | str, *, include_tombstoned: bool = False) -> Node:  # noqa: A002
        """Returns a node, without the parts that are not visible; otherwise as `Graph.node`."""
        id = check_id("id", id, NodeId)  # noqa: A001
        found = self._found(id)
        if found is None:
            raise NotFoundError(f"node {id} is not in the graph at this revision")
        if not include_tombstoned:
            super().node(id)
        return found

    def find_nodes(
        self, ids: Iterable[NodeId | str], *, include_tombstoned: bool = False
    ) -> dict[NodeId, Node]:
        """Returns those of the nodes that are visible and not hidden by a tombstone, without the
        parts that are not visible.
        """
        wanted = check_ids("ids", ids)
        visible = super().find_nodes(
            (id_ for id_ in wanted if self._ordinal(id_) is not None),
            include_tombstoned=include_tombstoned,
        )
        found = {id_: self._found(id_) if node.children else node for id_, node in visible.items()}
        return {id_: node for id_, node in found.items() if node is not None}

    def nodes(self, *, include_tombstoned: bool = False) -> Iterator[Node]:
        """Yields the visible nodes, by id."""
        for node in super().nodes(include_tombstoned=include_tombstoned):
            if self._ordinal(node.id) is None:
                continue
            found = self._found(node.id) if node.children else node
            if found is not None:
                yield found

    def edge(self, id: EdgeId | str) -> Edge:  # noqa: A002
        """Returns an edge between visible nodes; raises `NotFoundError` for any other."""
        try:
            found = super().edge(id)
        except NotFoundError:
            found = None
        if found is None or not self._joins(found):
            raise NotFoundError(f"edge {id} is not in the graph at this revision")
        return found

    def edges(self) -> Iterator[Edge]:
        """Yields the edges between visible nodes, by id."""
        return (edge for edge in super().edges() if self._joins(edge))

    def _edges_at(self, id: NodeId, after: EdgeId | None, batch: int) -> Iterator[Edge]:  # noqa: A002
        """Yields the edges of a node to and from visible nodes."""
        return filter(self._joins, super()._edges_at(id, after, batch))

    def vector(self, cls: type[V], id: NodeId | str, name: str) -> V | None:  # noqa: A002
        """Returns the vector of a visible node, None for any other."""
        id = check_id("id", id, NodeId)  # noqa: A001
        return None if self._ordinal(id) is None else super().vector(cls, id, name)

    def vectors(self, cls: type[V]) -> Iterator[tuple[str, NodeId, V]]:
        """Yields the vectors of visible nodes."""
        return (found for found in super().vectors(cls) if self._ordinal(found[1]) is not None)

    def tombstone(self, id: NodeId | str) -> str | None:  # noqa: A002
        """Returns the tombstone of a visible node, None for any other."""
        id = check_id("id", id, NodeId)  # noqa: A001
        return None if self._ordinal(id) is None else super().tombstone(id)

    def log(self) -> Iterator[Commit]:
        """Raises an error: no policy covers the information in commits.

        Raises:
            InvalidInputError: always.
        """
        raise InvalidInputError(
            "viewer: got a caller who may not see everything, expected one who may read history",
            hint="messages and changes of commits have no level; ask with viewer=ALL",
        )

    def is_visible(self, id: NodeId | str) -> bool:  # noqa: A002
        """Returns whether a node is visible, with or without a tombstone."""
        id = check_id("id", id, NodeId)  # noqa: A001
        return self._ordinal(id) is not None

    def _is_edge_visible(self, id: EdgeId) -> bool:  # noqa: A002
        return self._joins(Graph.edge(self, id))

    def _ordinal(self, id: NodeId) -> int | None:  # noqa: A002
        return self.with_snapshot(lambda snapshot: snapshot.ordinal(check_id("id", id, NodeId)))

    def _found(self, id: NodeId) -> Node | None:  # noqa: A002
        """Returns a node as it is visible, None if it is not."""
        node = check_id("id", id, NodeId)

        def found(snapshot: Snapshot) -> Node | None:  # in one call: ordinals are of one snapshot
            ordinal = snapshot.ordinal(node)
            if ordinal is None:
                return None
            cid = snapshot.node_cids(np.array([ordinal], np.uint32))[0]
            return loader(snapshot, self._load)(cid)

        return self.with_snapshot(found)

    def _joins(self, edge: Edge) -> bool:
        return self._ordinal(edge.src) is not None and self._ordinal(edge.dst) is not None
