"""Walks along edges from a hit, hop by hop, in an order that does not depend on the index.

Spec: packs 5.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from pyroaring import BitMap

from ibidem.retrieve.context.option import EdgeWalk
from ibidem.retrieve.protocol import NodeEdges, Snapshot


class WalkEdge(NamedTuple):
    """An edge of a node, in the order in which walks take them."""

    etype: str
    near: bytes
    """The id at the other end."""
    id: bytes
    is_incoming: bool
    other: int
    """The ordinal of the other end."""
    weight: float


def walked(
    snapshot: Snapshot,
    visible: BitMap,
    start: int,
    walk: EdgeWalk,
    *,
    at: int | None,
    taken: Collection[int] = (),
    nodes_max: int | None = None,
) -> list[int]:
    """Returns a node and the nodes that edges lead to from it, nearer nodes first.

    Each node adds at most `fanout` nodes, by the type of the edge, then by id. Nodes that are taken
    or not visible are neither shown nor walked through.
    """
    found, met = [start], {start}
    frontier = [start]
    for _ in range(walk.hops):
        reached: list[int] = []
        for node in frontier:
            near = _near(snapshot, visible, node, walk, at)
            fresh = [one for one in near if one not in met and one not in taken][: walk.fanout]
            met.update(fresh)
            reached += fresh
        found += reached
        frontier = reached
        if not frontier or (nodes_max is not None and len(found) >= nodes_max):
            break
    return found if nodes_max is None else found[:nodes_max]


def _near(
    snapshot: Snapshot, visible: BitMap, node: int, walk: EdgeWalk, at: int | None
) -> list[int]:
    """Returns the neighbours of a node by the type of the edge, then by id, each once."""
    edges = edges_in_order(snapshot, visible, node, walk.direction, walk.etypes, at)
    return list(dict.fromkeys(edge.other for edge in edges))


def edges_in_order(
    snapshot: Snapshot,
    visible: BitMap,
    node: int,
    direction: str,
    etypes: tuple[str, ...] | None = None,
    at: int | None = None,
) -> list[WalkEdge]:
    """Returns the edges between a node and visible ones, by type, then the other end, then id;
    those that hold at the microsecond `at` if it is given."""
    edges: list[WalkEdge] = []
    if direction != "incoming":
        edges += _rows(snapshot, visible, snapshot.outgoing(node, at=at), etypes, is_incoming=False)
    if direction != "outgoing":
        edges += _rows(snapshot, visible, snapshot.incoming(node, at=at), etypes, is_incoming=True)
    return sorted(edges)


def _rows(
    snapshot: Snapshot,
    visible: BitMap,
    edges: NodeEdges,
    etypes: tuple[str, ...] | None,
    *,
    is_incoming: bool,
) -> list[WalkEdge]:
    others = edges.neighbours.tolist()
    kept = [
        position
        for position, other in enumerate(others)
        if other in visible and (etypes is None or edges.etypes[position] in etypes)
    ]
    ids = snapshot.node_ids(np.asarray(edges.neighbours)[kept]).tobytes()
    return [
        WalkEdge(
            edges.etypes[position],
            ids[16 * row : 16 * row + 16],
            edges.edge_ids[position].tobytes(),
            is_incoming,
            others[position],
            float(edges.weights[position]),
        )
        for row, position in enumerate(kept)
    ]
