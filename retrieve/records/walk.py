"""The walk from roots along their relations, within limits of hops, nodes and edges.

Breadth first; the edges of a node in the order of `context/edge_walk.py`. Every node on the way
must be one that may be returned: nodes that are filtered out are not walked through either.

Spec: memory 4.4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Protocol

import numpy as np
from pyroaring import BitMap

from ibidem.objects.cid import RootCid
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.record import record
from ibidem.retrieve.context.edge_walk import WalkEdge, edges_in_order
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.records.item import Relation
from ibidem.retrieve.records.option import RecordOptions


@record(frozen=False)
class Walked:
    """The result of a walk."""

    hops: dict[int, int] = field(default_factory=dict)
    """By ordinal, in the order met, the number of hops from a root."""
    edges: list[Relation] = field(default_factory=list)
    nodes_skipped: int = 0
    edges_skipped: int = 0


class Readable(Protocol):
    """Eligible nodes, read when they are needed."""

    def may_return(self, ordinal: int) -> bool:
        """Returns whether a node has enough salience to be returned."""
        ...

    def is_record(self, ordinal: int) -> bool:
        """Returns whether a node is a record; it is read."""
        ...


def walk(
    snapshot: Snapshot,
    roots: Sequence[int],
    eligible: BitMap,
    records: Readable,
    options: RecordOptions,
    *,
    as_of: int | None,
    root_of: Callable[[int], RootCid | None],
) -> Walked:
    """Returns the nodes within reach of the roots, and the edges between them.

    Args:
        snapshot: as the caller sees it.
        roots: ordinals, best first; those beyond the limit of nodes are skipped.
        eligible: nodes outside it are neither returned nor walked through.
        records: the eligible nodes; what is no record is neither returned nor walked through.
        options: limits and direction.
        as_of: only edges that hold at this microsecond are followed; None for all.
        root_of: returns the root of a node among several, None if one is asked.
    """
    found = Walked(nodes_skipped=max(0, len(roots) - options.limit))
    found.hops = dict.fromkeys(roots[: options.limit], 0)
    skipped: set[int] = set()
    visited: set[tuple[RootCid | None, NodeId, str, NodeId]] = set()
    waiting = deque(found.hops)
    while waiting:
        at = waiting.popleft()
        hop, own, root = found.hops[at], id_of(snapshot, at), root_of(at)
        for row in edges_in_order(snapshot, eligible, at, options.direction, at=as_of):
            edge, other = _relation(own, row, root), row.other
            key = (root, edge.src, edge.etype, edge.dst)
            if key in visited or not (other in found.hops or hop < options.hops):
                continue
            if other not in found.hops:
                if other in skipped or not records.may_return(other):
                    continue
                if len(found.hops) >= options.limit:
                    skipped.add(other)
                    continue
                if not records.is_record(other):
                    continue
                found.hops[other] = hop + 1
                waiting.append(other)
            visited.add(key)
            if len(found.edges) < options.edge_limit:
                found.edges.append(edge)
            else:
                found.edges_skipped += 1
    found.nodes_skipped += len(skipped)
    return found


def id_of(snapshot: Snapshot, ordinal: int) -> NodeId:
    """Returns the id of a node."""
    return NodeId(snapshot.node_ids(np.array([ordinal], np.uint32)).tobytes())


def _relation(own: NodeId, row: WalkEdge, root: RootCid | None) -> Relation:
    near = NodeId(row.near)
    ends = (near, own) if row.is_incoming else (own, near)
    return Relation(EdgeId(row.id), row.etype, *ends, row.weight, root)
