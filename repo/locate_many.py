"""Where parts stand in their documents, for many parts in a few reads.

The parents are in the index, in memory. So the parts are read in one batch, and all that stand
above them in a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import Location, locate
from ibidem.objects.node import Node

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.repo.revision import Revision


def locate_many(revision: Revision, ids: Sequence[NodeId]) -> list[Location | None]:
    """Returns where each part stands in its document, None for one that is part of none.

    Raises:
        NotFoundError: there is no such node, or a tombstone hides it or one above it.
    """
    nodes = revision.find_nodes(ids)
    inner = [node.id for node in nodes.values() if node.ntype != "Document"]
    parents = revision.asked(lambda snapshot: _parents(snapshot, inner)) if inner else {}
    nodes |= revision.find_nodes(set(parents.values()) - nodes.keys())

    def node(id_: NodeId) -> Node:
        return nodes.get(id_) or revision.node(id_)

    def located(id_: NodeId) -> Location | None:
        try:
            return locate(id_, node, parents.get)
        except InvalidInputError:
            return None

    return [located(id_) for id_ in ids]


def _parents(snapshot: Snapshot, ids: Iterable[NodeId]) -> dict[NodeId, NodeId]:
    """Returns the parents of some nodes, and of all that stand above them."""
    found: dict[NodeId, NodeId] = {}
    for id_ in ids:
        at: NodeId | None = id_
        while at is not None and at not in found:
            above = _parent(snapshot, at)
            if above is not None:
                found[at] = above
            at = above
    return found


def _parent(snapshot: Snapshot, id_: NodeId) -> NodeId | None:
    ordinal = snapshot.ordinal(id_)
    found = None if ordinal is None else snapshot.parent(ordinal)
    if found is None:
        return None
    return NodeId(snapshot.node_ids(np.array([found[0]], np.uint32)).tobytes())
