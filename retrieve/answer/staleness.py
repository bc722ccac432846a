"""Staleness: whether a vector was computed from another text than its node has now.

Staleness is derived from the digest in the vector and never stored. A stale vector still ranks; the
result says how many of the returned nodes were ranked by one.

Spec: retrieval 4.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ibidem.objects.node import Node
from ibidem.objects.text import node_text, text_digest
from ibidem.retrieve.answer.lane_score import LaneScore
from ibidem.retrieve.node_source import Content
from ibidem.retrieve.protocol import Ordinals, Snapshot
from ibidem.retrieve.query.query import Query


class Ranked(Protocol):
    """A node of an answer, and its results in the lanes."""

    @property
    def node(self) -> Node:
        """The node."""

    @property
    def lanes(self) -> Mapping[str, LaneScore]:
        """The results by lane."""


def count_stale(
    snapshot: Snapshot, query: Query, ordinals: Ordinals, nodes: Sequence[Node], content: Content
) -> int:
    """Returns how many of some returned nodes have a text, and no vector or that of another text.

    Args:
        snapshot: contains the digests.
        query: names the model; without one the result is 0.
        ordinals: of the nodes, in the same order.
        nodes: those that an answer returns.
        content: reads a node's content.
    """
    if query.vector is None:
        return 0
    fields, count = snapshot.config.fields, 0
    for node, made_from in zip(
        nodes, _digests(snapshot, query.vector.model, ordinals), strict=True
    ):
        text = node_text(node, fields, content(node) if "content" in fields else None)
        count += bool(text) if made_from is None else made_from != text_digest(text)
    return count


def _digests(snapshot: Snapshot, model: str, ordinals: Ordinals) -> list[bytes | None]:
    """Returns the digest in the live vector of each node, None if it has none.

    The vectors of returned nodes are checked against their blocks here.
    """
    found: list[bytes | None] = [None] * ordinals.shape[0]
    for segment in snapshot.vectors(model):
        column = segment.ordinals
        if not column.shape[0]:
            continue
        rows = column.searchsorted(ordinals)
        is_here = column.take(rows, mode="clip") == ordinals
        if segment.live is not None:
            is_here &= segment.live.take(rows, mode="clip")
        positions = is_here.nonzero()[0].tolist()
        for position, digest in zip(
            positions, segment.made_from([int(rows[one]) for one in positions]), strict=True
        ):
            found[position] = digest
    return found
