"""The edges of a node as text: its outgoing and incoming edges to visible nodes.

They are two blocks after the node's own lines, in the format of the retrieval module from which
this project developed. Edges to nodes that are not visible are neither shown nor counted.

Spec: retrieval 8.1.1.
"""

from __future__ import annotations

import numpy as np

from ibidem.retrieve.answer.render import contain
from ibidem.retrieve.filter import NodeSet
from ibidem.retrieve.protocol import NodeEdges


def neighbour_lines(view: NodeSet, ordinal: int, count_max: int, at: int | None) -> str:
    """Returns the blocks of a node's edges; empty if it has none.

    Args:
        view: the visible nodes.
        ordinal: the node.
        count_max: the number of edges shown in each direction; the others are only counted.
        at: only edges that hold at this microsecond; None for all.

    Spec: retrieval 8.1.1.
    """
    snapshot = view.snapshot
    return _block("Outgoing", "->", view, snapshot.outgoing(ordinal, at=at), count_max) + _block(
        "Incoming", "<-", view, snapshot.incoming(ordinal, at=at), count_max
    )


def _block(title: str, arrow: str, view: NodeSet, edges: NodeEdges, count_max: int) -> str:
    visible = [i for i, other in enumerate(edges.neighbours.tolist()) if other in view.members]
    if not visible:
        return ""
    ids = view.snapshot.node_ids(np.asarray(edges.neighbours)[visible]).tobytes()
    rows = sorted(
        (edges.etypes[i], ids[16 * position : 16 * position + 16], edges.edge_ids[i].tobytes())
        for position, i in enumerate(visible)
    )
    lines = [f"{title}:\n"]
    for etype, other, _ in rows[:count_max]:
        label = contain(etype).replace("\n", "\n  ")
        lines.append(f"  {label} {arrow} {other.hex()}\n")
    if len(rows) > count_max:
        lines.append(f"  ... (+{len(rows) - count_max} more)\n")
    return "".join(lines)
