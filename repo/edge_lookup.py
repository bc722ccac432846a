"""The edges that start or end at a node, of a root: read from the edges themselves if the root has
few, else from its index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErasedError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.blocks import Source
    from ibidem.objects.cid import RootCid

SCANNED_MAX = 256
"""Up to this many edges are read one by one; opening an index of them would cost more."""
Ids = set[bytes]


class EdgeLookup:
    """Finds the edges of nodes in the roots of one repository."""

    def __init__(
        self, source: Source, ask: Callable[[RootCid, Callable[[Snapshot], Ids]], Ids]
    ) -> None:
        """Reads nothing.

        Args:
            source: has the roots.
            ask: returns the result of a function of the index snapshot of a root.
        """
        self._source = source
        self._ask = ask
        self._base: tuple[Root, RootCid] | None = None
        """The root whose edges a transaction last requested, and its CID."""

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
        root = Root.decode(self._source.get(root_cid))
        if root.edges == EMPTY_TREE:
            return []
        ids = [NodeId(raw) for raw in nodes]
        return [edge.raw for edge in self._incident(root_cid, root, ids)]

    def _incident(self, root_cid: RootCid, root: Root, ids: Sequence[NodeId]) -> list[EdgeId]:
        """Returns the ids of the edges at some nodes, ascending."""
        if len(Tree(self._source, root.edges)) > SCANNED_MAX:
            # A root from before an erasure has no index; its remaining edges can still be read.
            with suppress(ErasedError):
                found = self._ask(root_cid, lambda snapshot: _ends_at(snapshot, ids))
                return [EdgeId(raw) for raw in sorted(found)]
        return _scanned(self._source, root, set(ids))


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


def _ends_at(snapshot: Snapshot, ids: Sequence[NodeId]) -> Ids:
    found: Ids = set()
    for id_ in ids:
        ordinal = snapshot.ordinal(id_)
        if ordinal is not None:
            for side in (snapshot.outgoing(ordinal), snapshot.incoming(ordinal)):
                found.update(row.tobytes() for row in side.edge_ids)
    return found
