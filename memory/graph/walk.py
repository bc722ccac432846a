"""The walk from roots to what they are tied to, within limits of hops, nodes and edges.

First in, first out; the edges of a node by type, then by the other end, then by id. Every node on
the way must be one that may be returned: what is filtered out is not passed through either.

Spec: memory 4.4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ibidem.memory.graph.answer import GraphEdge
from ibidem.memory.graph.request import Request
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.retrieve.protocol import Snapshot


@dataclass(slots=True)
class Walked:
    """What a walk found."""

    hops: dict[int, int] = field(default_factory=dict)
    """By ordinal, in the order met, how far from a root."""
    edges: list[GraphEdge] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=lambda: {"node_limit": 0, "edge_limit": 0})


def walk(
    snapshot: Snapshot,
    roots: Sequence[int],
    may_pass: Callable[[int], bool],
    request: Request,
) -> Walked:
    """Returns the nodes within reach of the roots, and the edges between them.

    Args:
        snapshot: as the caller sees it.
        roots: ordinals, best first; those beyond the limit of nodes are left out.
        may_pass: whether a node may be returned.
        request: limits and direction.
    """
    found = Walked()
    found.skipped["node_limit"] = max(0, len(roots) - request.node_limit)
    found.hops = dict.fromkeys(roots[: request.node_limit], 0)
    left_out: set[int] = set()
    seen: set[tuple[NodeId, str, NodeId]] = set()
    waiting = deque(found.hops)
    while waiting:
        at = waiting.popleft()
        hop = found.hops[at]
        for edge, other in _edges(snapshot, at, request.direction):
            key = (edge.src, edge.etype, edge.dst)
            if key in seen or not (other in found.hops or hop < request.hops):
                continue
            if other not in found.hops:
                if other in left_out or not may_pass(other):
                    continue
                if len(found.hops) >= request.node_limit:
                    left_out.add(other)
                    continue
                found.hops[other] = hop + 1
                waiting.append(other)
            seen.add(key)
            if len(found.edges) < request.edge_limit:
                found.edges.append(edge)
            else:
                found.skipped["edge_limit"] += 1
    found.skipped["node_limit"] += len(left_out)
    return found


def _edges(snapshot: Snapshot, at: int, direction: str) -> list[tuple[GraphEdge, int]]:
    """Returns the edges of a node with the ordinals of the other ends, in the order of the walk."""
    own = NodeId(snapshot.node_ids(np.array([at], np.uint32)).tobytes())
    rows: list[tuple[str, bytes, bytes, bool, float, int]] = []
    for is_out in (True, False):
        if direction == ("incoming" if is_out else "outgoing"):
            continue
        edges = snapshot.outgoing(at) if is_out else snapshot.incoming(at)
        others = np.asarray(edges.neighbours)
        ids = snapshot.node_ids(others).tobytes()
        for index, other in enumerate(others.tolist()):
            row = edges.edge_ids[index].tobytes()
            weight = float(edges.weights[index])
            near = ids[16 * index : 16 * index + 16]
            rows.append((edges.etypes[index], near, row, not is_out, weight, other))
    found = []
    for etype, near, row, is_in, weight, other in sorted(rows):
        ends = (NodeId(near), own) if is_in else (own, NodeId(near))
        found.append((GraphEdge(EdgeId(row), etype, *ends, weight), other))
    return found
