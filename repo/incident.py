"""Which edges begin or end at a node: read one by one while they are few, else from the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.edge import Edge
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.tree import Tree

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.cid import RootCid
    from ibidem.objects.root import Root
    from ibidem.repo.reader import Reader

SCANNED_MAX = 256
"""Up to so many edges are read one by one; an index of them would cost more to open."""


def incident_edges(
    repository: Reader,
    root_cid: RootCid,
    root: Root,
    id: NodeId,  # noqa: A002
) -> list[EdgeId]:
    """Returns the ids of the edges of a root that begin or end at a node, ascending."""
    edges = Tree(repository.store, root.edges)
    if len(edges) > SCANNED_MAX:
        return _indexed(repository, root_cid, id)
    found = []
    for key, cid in edges.items():
        edge = Edge.decode(repository.store.get(cid))
        if id in (edge.src, edge.dst):
            found.append(EdgeId(key))
    return found


def _indexed(repository: Reader, root_cid: RootCid, id: NodeId) -> list[EdgeId]:  # noqa: A002
    return repository.at(root_cid).asked(lambda snapshot: _ends_at(snapshot, id))


def _ends_at(snapshot: Snapshot, id: NodeId) -> list[EdgeId]:  # noqa: A002
    ordinal = snapshot.ordinal(id)
    if ordinal is None:
        return []
    raws = {
        row.tobytes()
        for side in (snapshot.outgoing(ordinal), snapshot.incoming(ordinal))
        for row in side.edge_ids
    }
    return [EdgeId(raw) for raw in sorted(raws)]
