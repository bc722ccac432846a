"""The edges at some nodes: read one by one while a root has few edges, else from the index."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErasedError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.tree import Tree

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.blocks import Source
    from ibidem.objects.cid import RootCid
    from ibidem.objects.root import Root
    from ibidem.repo.reader import Reader

SCANNED_MAX = 256
"""Up to so many edges are read one by one; an index of them would cost more to open."""


def incident_edges(
    repository: Reader, root_cid: RootCid, root: Root, ids: Sequence[NodeId]
) -> list[EdgeId]:
    """Returns the ids of the edges of a root that begin or end at one of some nodes, ascending."""
    if len(Tree(repository.store, root.edges)) > SCANNED_MAX:
        # A root from before an erasure has no index; what is left of it can still be read.
        with suppress(ErasedError):
            found = repository.at(root_cid).asked(lambda snapshot: _ends_at(snapshot, ids))
            return [EdgeId(raw) for raw in sorted(found)]
    return _scanned(repository.store, root, set(ids))


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
