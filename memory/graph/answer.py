"""What a graph memory answers: records with the edges between them, and a receipt to ask it again.

Spec: memory 4.5, 4.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from ibidem.memory.graph.request import Request
from ibidem.memory.graph.selector import Selection
from ibidem.objects import codec
from ibidem.objects.block import empty
from ibidem.objects.cid import Cid, CommitCid, NodeCid, ReceiptCid, ResultCid, RootCid
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.rerank import RerankRecord


@record
class GraphNode:
    """A returned record."""

    node: Node
    cid: NodeCid
    hop: int
    """Steps from the nearest root; 0 for roots."""
    salience: float
    score: float | None = None
    """Of roots: the sum of `shares`."""
    ranks: Mapping[str, int] = field(default_factory=empty)
    """Of roots: the rank in each lane that has it."""
    shares: Mapping[str, float] = field(default_factory=empty)
    """Of roots: what each lane contributes."""

    @property
    def id(self) -> NodeId:
        """The node's id."""
        return self.node.id

    @property
    def is_root(self) -> bool:
        """Whether it was ranked, and not only reached."""
        return self.hop == 0

    def form(self) -> list[Any]:
        """Returns the canonical form."""
        lanes = [[name, self.ranks[name], self.shares[name]] for name in self.ranks]
        return [self.id.raw, self.cid, self.hop, self.salience, self.score, lanes]


@record
class GraphEdge:
    """An edge between two returned records."""

    id: EdgeId
    etype: str
    src: NodeId
    dst: NodeId
    weight: float

    def form(self) -> list[Any]:
        """Returns the canonical form."""
        return [self.id.raw, self.etype, self.src.raw, self.dst.raw, self.weight]


@record
class Withheld:
    """Neighbours of a returned record that the caller may not see, as far as it may know of any."""

    near: NodeId
    outgoing: bool
    """Whether the edge leaves `near`."""
    ntype: str
    level: int
    count: int

    def form(self) -> list[Any]:
        """Returns the canonical form."""
        return [self.near.raw, self.outgoing, self.ntype, self.level, self.count]


@record
class GraphAnswer:
    """The answer to one request."""

    root: RootCid
    request: Request
    nodes: tuple[GraphNode, ...]
    """Roots first, then by hop, salience descending, id."""
    edges: tuple[GraphEdge, ...]
    """In the order in which the walk met them."""
    root_ids: tuple[NodeId, ...]
    """Best first."""
    selection: Selection
    status: Mapping[str, str]
    """How each lane fared."""
    skipped: Mapping[str, int]
    """Nodes and edges that a limit kept out, by the limit's name."""
    withheld: tuple[Withheld, ...] = ()
    commit: CommitCid | None = None
    rerank: RerankRecord | None = None
    """What the reranker said, where one was asked; no part of `to_bytes()`."""

    def to_bytes(self) -> bytes:
        """Returns the canonical bytes.

        Spec: memory 4.5.
        """
        return codec.encode(
            {
                "kind": "graph-answer",
                "v": 1,
                "root": self.root,
                "request": self.request.form(),
                "nodes": [node.form() for node in self.nodes],
                "edges": [edge.form() for edge in self.edges],
                "root_ids": [node.raw for node in self.root_ids],
                "selection": self.selection.form(),
                "status": dict(self.status),
                "skipped": dict(self.skipped),
                "withheld": [one.form() for one in self.withheld],
            }
        )

    @property
    def cid(self) -> ResultCid:
        """The identity of the answer."""
        return ResultCid.of(self.to_bytes())

    @property
    def receipt(self) -> GraphReceipt:
        """What it takes to ask again and compare."""
        return GraphReceipt(self.root, self.request, self.cid, self.commit, self.rerank)


@record
class GraphReceipt:
    """What was asked of which root and notes, and which answer it got; no text of any record."""

    root: RootCid
    request: Request
    result: ResultCid
    commit: CommitCid | None = None
    rerank: RerankRecord | None = None
    """What the reranker said; a replay takes it in the model's place."""

    def encode(self) -> bytes:
        """Returns the canonical bytes."""
        fields: dict[str, Any] = {
            "kind": "graph-receipt",
            "v": 1,
            "root": self.root,
            "request": self.request.form(),
            "result": self.result,
        }
        if self.commit is not None:
            fields["commit"] = self.commit
        if self.rerank is not None:
            fields["rerank"] = self.rerank.form()
        return codec.encode(fields)

    @property
    def cid(self) -> ReceiptCid:
        """The identity of the receipt."""
        return ReceiptCid.of(self.encode())

    @classmethod
    def decode(cls, block: bytes) -> Self:
        """Returns the receipt that `encode` wrote; raises `CorruptError` for other bytes."""
        fields = codec.decode_foreign(block)
        if not isinstance(fields, dict) or fields.get("kind") != "graph-receipt":
            raise CorruptError(f"receipt: got {str(fields)[:60]}, expected a graph-receipt")
        try:
            commit, said = fields.get("commit"), fields.get("rerank")
            found = cls(
                RootCid(_link(fields["root"])),
                Request.from_form(fields["request"]),
                ResultCid(_link(fields["result"])),
                None if commit is None else CommitCid(_link(commit)),
                None if said is None else RerankRecord.from_form(said),
            )
        except (InvalidInputError, KeyError, TypeError, ValueError) as error:
            raise CorruptError(f"receipt: {error}") from error
        if found.encode() != block:
            raise CorruptError("receipt: got fields that do not write back to themselves")
        return found


def _link(value: object) -> bytes:
    if not isinstance(value, Cid):
        raise TypeError(f"got {str(value)[:40]}, expected a link")
    return value.raw
