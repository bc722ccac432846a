"""Edges: typed, weighted connections between nodes.

An edge's id is derived from (source, type, target, key?), which never change during its life;
weight and properties can change.

Spec: format 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from struct import Struct
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import EdgeCid
from ibidem.objects.fields import EDGE
from ibidem.objects.ids import ID_BYTES, EdgeId, NodeId

LINKS_TO = "links_to"
"""The type of an edge from a passage to a document that its text links to."""
_ETYPES_MAX = 64
"""Types of which the layout of a block is remembered."""


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


def is_plain(edge: Edge) -> bool:
    """Returns whether an edge has ids and a type alone."""
    return not (edge.props or edge.extra or edge.key is not None or edge.weight != 1.0)


def read_edge(model: Edge, block: bytes) -> Edge | None:
    """Returns the edge in a block that differs from the block of `model` only in its ids, and is
    therefore equally canonical; None for any other block, and if `model` is not plain."""
    if not is_plain(model):
        return None
    frame, pieces = _frame(model.etype)
    if len(block) != frame.size:
        return None
    first, own, second, dst, third, src, last = frame.unpack(block)
    if (first, second, third, last) != pieces:
        return None
    return Edge(EdgeId(own), model.etype, NodeId(src), NodeId(dst))


@lru_cache(maxsize=_ETYPES_MAX)
def _frame(etype: str) -> tuple[Struct, tuple[bytes, ...]]:
    """Returns the layout of the block of a plain edge, and the bytes before, between and after its
    ids."""
    raw = b"\xff" * ID_BYTES  # which no UTF-8 contains
    pieces = tuple(Edge(EdgeId(raw), etype, NodeId(raw), NodeId(raw)).encode().split(raw))
    return Struct(f"{ID_BYTES}s".join(f"{len(piece)}s" for piece in pieces)), pieces


def is_derived_link(edge: Edge) -> bool:
    """Returns whether an edge says no more than the text of its passage, from which it can be made
    again.

    Spec: merge 4-g.
    """
    return edge.etype == LINKS_TO and is_plain(edge)
