"""Edges: typed, weighted connections between nodes.

An edge's id is derived from where it stands, (source, type, target, key?), and these never change
in its life; weight and properties do.

Spec: format 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import EMPTY, Block, Map, empty, frozen, frozen_extra, require, typed_id
from ibidem.objects.cid import EdgeCid
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.record import record

_KNOWN = frozenset(("id", "etype", "src", "dst", "weight", "props", "key"))
_LEFT_OUT: Any = object()


@record(eq=False)
class Edge(Block):
    """One edge from `src` to `dst`."""

    KIND: ClassVar[str] = "edge"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("props",))
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
    """Tells parallel edges apart: a value other than None."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(type(self.id) is EdgeId, "edge", "id", self.id, "an EdgeId")
        require(
            type(self.etype) is str and self.etype,
            "edge",
            "etype",
            self.etype,
            "text that is not empty",
        )
        require(type(self.src) is NodeId, "edge", "src", self.src, "a NodeId")
        require(type(self.dst) is NodeId, "edge", "dst", self.dst, "a NodeId")
        put = object.__setattr__
        if type(self.weight) is int and abs(self.weight) <= 1 << 53:
            put(self, "weight", float(self.weight))
        require(
            type(self.weight) is float and math.isfinite(self.weight),
            "edge",
            "weight",
            self.weight,
            "a finite number",
        )
        put(self, "props", frozen("edge", "props", self.props))
        put(self, "extra", frozen_extra(Edge, _KNOWN, self.extra))

    @property
    def cid(self) -> EdgeCid:
        """The identity of this version of the edge: the hash of its bytes."""
        return EdgeCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "id": self.id.raw, "dst": self.dst.raw}
        if self.key is not None:
            fields["key"] = self.key
        fields["src"] = self.src.raw
        fields["kind"] = "edge"
        fields["etype"] = self.etype
        if self.props:
            fields["props"] = dict(self.props)
        if self.weight != 1.0:
            fields["weight"] = self.weight
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        weight = take("weight", _LEFT_OUT)
        if weight is None or (type(weight) is float and weight == 1.0):
            raise CorruptError(
                f"edge.weight: got {weight}, expected the field to be left out at its default",
                kind=ErrorKind.NON_CANONICAL,
            )
        if weight is not _LEFT_OUT and type(weight) is not float:
            raise CorruptError(f"edge.weight: got {weight!r:.80}, expected a float")
        if "key" in fields and fields["key"] is None:
            raise CorruptError(
                "edge.key: got None, expected the field to be left out",
                kind=ErrorKind.NON_CANONICAL,
            )
        return cls(
            id=typed_id("edge", "id", take("id"), EdgeId),
            etype=take("etype"),
            src=typed_id("edge", "src", take("src"), NodeId),
            dst=typed_id("edge", "dst", take("dst"), NodeId),
            weight=1.0 if weight is _LEFT_OUT else weight,
            props=take("props", EMPTY),
            key=take("key", None),
            extra=fields,
        )
