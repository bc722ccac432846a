"""The items of an answer about records: the records, and the graph of their relations.

Spec: memory 4.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from ibidem.objects.cid import NodeCid, RootCid
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Node
from ibidem.objects.plain import fields_of, plain
from ibidem.objects.record import record
from ibidem.retrieve.answer.cbor_writer import (
    bytes_of,
    count_of,
    link_of,
    map_of,
    real_of,
    text_of,
)
from ibidem.retrieve.answer.lane_score import LaneScores
from ibidem.retrieve.records.selector import Selection


@record
class RecordItem:
    """A returned record."""

    node: Node
    cid: NodeCid
    hop: int
    """Steps from the nearest root; 0 for roots."""
    salience: float
    score: float
    """For roots, the sum of the lanes' shares; 0.0 for records that were only reached."""
    rendered: str
    tokens: int
    lanes: LaneScores = field(default_factory=LaneScores)
    """For roots, the results of each lane that has it."""
    root: RootCid | None = None
    """The root that the node is of, in an answer over several; None in one over one root."""

    @property
    def id(self) -> NodeId:
        """The node's id."""
        return self.node.id

    @property
    def is_root(self) -> bool:
        """Whether it was ranked, rather than only reached."""
        return self.hop == 0

    @property
    def hits(self) -> tuple[RecordItem]:
        """The record itself."""
        return (self,)

    @property
    def title(self) -> str:
        """Empty: a record is its text."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as plain data."""
        return {
            **fields_of(self, "id", "cid", "hop", "salience", "score", "rendered", "tokens"),
            "ntype": self.node.ntype,
            "lanes": self.lanes.to_dict(),
            **({} if self.root is None else {"root": str(self.root)}),
        }

    def encode(self) -> bytes:
        """Returns the canonical bytes."""
        return map_of(
            {
                "id": bytes_of(self.id.raw),
                "cid": link_of(self.cid),
                "hop": count_of(self.hop),
                "salience": real_of(self.salience),
                "score": real_of(self.score),
                "rendered": text_of(self.rendered),
                "tokens": count_of(self.tokens),
                "lanes": self.lanes.encode(),
                **({} if self.root is None else {"root": link_of(self.root)}),
            }
        )

    def explain(self, position: int) -> Iterator[str]:
        """Yields its score, and its rank and score in each lane."""
        if self.root is not None:
            yield f"in root {self.root}:"
        yield (
            f"{position}. {self.id} hop {self.hop} salience {self.salience!r} "
            f"score {self.score!r} tokens {self.tokens}"
        )
        for name, lane in self.lanes.items():
            yield (
                f"   {name}: rank {lane.rank}, score {lane.score!r}, "
                f"contributes {lane.contribution!r}"
            )


@record
class Relation:
    """An edge between two returned records."""

    id: EdgeId
    etype: str
    src: NodeId
    dst: NodeId
    weight: float
    root: RootCid | None = None
    """The root of both, in an answer over several; None in one over one root."""

    def form(self) -> list[Any]:
        """Returns the canonical form."""
        row = [self.id.raw, self.etype, self.src.raw, self.dst.raw, self.weight]
        return row if self.root is None else [*row, self.root]

    def to_dict(self) -> dict[str, Any]:
        """Returns the edge as plain data."""
        return {
            **fields_of(self, "id", "etype", "src", "dst", "weight"),
            **({} if self.root is None else {"root": str(self.root)}),
        }


@record
class Withheld:
    """Neighbours of a returned record that are hidden from the caller, as far as it may know."""

    near: NodeId
    outgoing: bool
    """Whether the edge leaves `near`."""
    ntype: str
    level: int
    count: int
    root: RootCid | None = None
    """The root of `near`, in an answer over several; None in one over one root."""

    def form(self) -> list[Any]:
        """Returns the canonical form."""
        row = [self.near.raw, self.outgoing, self.ntype, self.level, self.count]
        return row if self.root is None else [*row, self.root]

    def to_dict(self) -> dict[str, Any]:
        """Returns the neighbours as plain data."""
        return {
            **fields_of(self, "near", "outgoing", "ntype", "level", "count"),
            **({} if self.root is None else {"root": str(self.root)}),
        }


@record
class RecordGraph:
    """The relations between the items of an answer, and which items to use."""

    edges: tuple[Relation, ...]
    """In the order in which the walk found them."""
    root_ids: tuple[NodeId, ...]
    """Best first."""
    selection: Selection
    edges_skipped: int
    """Edges between returned records that a limit excluded."""
    withheld: tuple[Withheld, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the relations as plain data."""
        return {
            "edges": [one.to_dict() for one in self.edges],
            "root_ids": plain(self.root_ids),
            "selection": fields_of(self.selection, "selected", "top", "gap", "needs_more"),
            "edges_skipped": self.edges_skipped,
            "withheld": [one.to_dict() for one in self.withheld],
        }

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {
            "edges": [edge.form() for edge in self.edges],
            "edges_skipped": self.edges_skipped,
            "root_ids": [node.raw for node in self.root_ids],
            "selection": self.selection.form(),
            "withheld": [one.form() for one in self.withheld],
        }
