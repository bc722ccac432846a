"""Edges: typed, weighted connections between nodes.

An edge's id is derived from (source, type, target, key?), which never change during its life;
weight and properties can change.

Spec: format 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import EdgeCid
from ibidem.objects.fields import EDGE
from ibidem.objects.ids import EdgeId, NodeId

LINKS_TO = "links_to"
"""The type of an edge from a passage to a document that its text links to."""


@block_of(EDGE)
class Edge(Block):
    """One edge from `src` to `dst`."""

    CID: ClassVar[type[EdgeCid]] = EdgeCid

    id: EdgeId
    etype: str
    """The type, such as "cites"; not empty."""
    src: NodeId
    dst: NodeId
    weight: float = 1.0
    """Finite float64; an int is taken as a float."""
    props: Mapping[str, Any] = field(default_factory=empty)
    key: Any = None
    """Distinguishes parallel edges: a value other than None."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> EdgeCid:
        """The identity of this version of the edge: the hash of its bytes."""
        return EdgeCid.of(self.encode())


def is_derived_link(edge: Edge) -> bool:
    """Returns whether an edge says no more than the text of its passage, from which it can be made
    again.

    Spec: merge 4-g.
    """
    says_more = edge.props or edge.extra or edge.key is not None or edge.weight != 1.0
    return edge.etype == LINKS_TO and not says_more
