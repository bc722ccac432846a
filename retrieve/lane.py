"""Lanes: rankers that each return their exact best `depth` nodes of a universe.

A lane is a function from (scope, query) to a `LaneTop`. It may take any shortcut but must return
the result of scoring every row.

Spec: retrieval 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet
from ibidem.retrieve.numbers import Float64s, kth_largest_at_most, rank
from ibidem.retrieve.protocol import Ordinals, Segment, Snapshot


class LaneStatus(StrEnum):
    """How a lane ended; a closed list."""

    OK = "ok"
    NO_TERMS = "no_terms"
    NO_VECTORS = "no_vectors"
    NO_SEEDS = "no_seeds"
    NO_EDGES = "no_edges"
    EMPTY = "empty"


@record
class LaneTop:
    """The best nodes of one lane, best first."""

    lane: str
    ordinals: Ordinals
    scores: Float64s
    status: LaneStatus = LaneStatus.OK
    floor: float | None = None
    """The lowest score that the lane's formula can give, or None if there is no such bound."""


def empty_top(lane: str, status: LaneStatus, *, floor: float | None = None) -> LaneTop:
    """Returns a top without nodes."""
    return LaneTop(lane, np.zeros(0, np.uint32), np.zeros(0, np.float64), status, floor)


def has_rows(view: NodeSet, segments: Sequence[Segment]) -> bool:
    """Returns whether a node of the view has a row in some segment."""
    flags = view.flags()
    for segment in segments:
        mask = flags[segment.ordinals]
        if (mask if segment.live is None else mask & segment.live).any():
            return True
    return False


def best(
    snapshot: Snapshot, ordinals: Sequence[Ordinals], scores: Sequence[Float64s], depth: int
) -> tuple[Ordinals, Float64s]:
    """Returns the best `depth` of scored rows in canonical order.

    Ids are fetched only for rows that can still be in the result, ties included.

    Args:
        snapshot: provides the ids.
        ordinals: by segment, (n,) each.
        scores: by segment, (n,) each, without -0.0.
        depth: the number of nodes to return, at least 1.
    """
    parts: list[tuple[Ordinals, Float64s]] = []
    for some, values in zip(ordinals, scores, strict=True):
        keep = np.flatnonzero(values >= kth_largest_at_most(values, depth))
        parts.append((some[keep], values[keep]))
    if not parts:
        return np.zeros(0, np.uint32), np.zeros(0, np.float64)
    nodes = np.concatenate([part[0] for part in parts])
    values = np.concatenate([part[1] for part in parts])
    if values.shape[0] > depth:
        keep = np.flatnonzero(values >= np.partition(values, -depth)[-depth])
        nodes, values = nodes[keep], values[keep]
    order = rank(values, snapshot.node_ids(nodes))[:depth]
    return nodes[order], values[order]
