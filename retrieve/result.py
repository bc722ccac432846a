"""Results: what was found, what it cost, what was left out and why.

The bytes of a result follow from the root and the resolved query alone; nothing in them depends on
how an index is laid out, on time or on a path.

Spec: retrieval 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ibidem.objects import codec
from ibidem.objects.block import empty
from ibidem.objects.cid import NodeCid, ResultCid, RootCid
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.lane import LaneStatus
from ibidem.retrieve.query import Query
from ibidem.retrieve.rerank import RerankRecord, RerankStatus
from ibidem.retrieve.warning import Warning  # noqa: A004
from ibidem.retrieve.writing import array_of, map_of, text_of

if TYPE_CHECKING:
    from ibidem.retrieve.receipt import Receipt

DROPS_LISTED_MAX = 1000
"""Dropped nodes that are listed one by one; all are counted."""


class DropReason(StrEnum):
    """Why a ranked node is not among the items; a closed list."""

    LIMIT = "limit"
    BUDGET = "budget"


class LaneScore(NamedTuple):
    """What one lane said about a node."""

    rank: int
    """1 for the lane's best."""
    score: float
    """In the lane's own measure."""
    contribution: float
    """What it added to the fused score."""


@dataclass(frozen=True, slots=True)
class Item:
    """A node that was returned."""

    node: Node
    cid: NodeCid
    score: float
    rendered: str
    tokens: int
    lanes: Mapping[str, LaneScore]
    paths: Mapping[str, tuple[NodeId, ...]] = field(default_factory=empty, compare=False)
    """By lane that walked edges, a shortest way from a seed to this node. No part of
    `to_bytes()`."""

    @property
    def id(self) -> NodeId:
        """The node's id."""
        return self.node.id


class Drop(NamedTuple):
    """A node that was ranked and left out."""

    id: NodeId
    reason: DropReason
    tokens: int | None
    """What it would have cost; None where it was not rendered."""
    score: float


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one query over one root."""

    root: RootCid
    query: Query
    items: tuple[Item, ...]
    tokens_used: int
    candidates_seen: int
    """Nodes in the union of the lanes' tops, or all matches where nothing ranks."""
    dropped: tuple[Drop, ...]
    """In rank order, the first DROPS_LISTED_MAX."""
    dropped_counts: Mapping[str, int]
    """By reason, all of them; every reason is present."""
    warnings: tuple[Warning, ...]
    status: Mapping[str, LaneStatus | RerankStatus]
    """By lane, those that ran; `rerank` too where it was asked for."""
    rerank: RerankRecord | None = None
    """What the reranker said, which a replay takes in its place; None where none was asked for."""
    receipt: Receipt | None = field(default=None, compare=False, repr=False)
    """What replays the answer; the repository puts it here. No part of `to_bytes()`."""

    @property
    def tokens_budget(self) -> int | None:
        """The budget that was asked for."""
        return self.query.token_budget

    @property
    def dropped_total(self) -> int:
        """How many ranked nodes were left out."""
        return sum(self.dropped_counts.values())

    @property
    def cid(self) -> ResultCid:
        """The identity of the answer: the hash of `to_bytes()`."""
        return ResultCid.of(self.to_bytes())

    def explain(self) -> str:
        """Returns the answer as text for a person: lanes, ranks, scores, drops and warnings."""
        from ibidem.retrieve.explain import explain

        return explain(self)

    def to_bytes(self) -> bytes:
        """Returns the canonical bytes, DAG-CBOR of any length.

        Spec: retrieval 9.2.
        """
        return map_of(
            {
                "kind": text_of("result"),
                "v": codec.encode(1),
                "root": codec.encode(self.root),
                "query": self.query.encode(),
                "items": array_of(_item(item) for item in self.items),
                "tokens_used": codec.encode(self.tokens_used),
                "tokens_budget": codec.encode(self.tokens_budget),
                "candidates_seen": codec.encode(self.candidates_seen),
                "dropped": codec.encode(
                    [
                        [drop.id.raw, str(drop.reason), drop.tokens, drop.score]
                        for drop in self.dropped
                    ]
                ),
                "dropped_counts": codec.encode(dict(self.dropped_counts)),
                "warnings": array_of(codec.encode(warning.form()) for warning in self.warnings),
                "status": codec.encode({lane: str(status) for lane, status in self.status.items()}),
                "rerank": codec.encode(None if self.rerank is None else self.rerank.form()),
            }
        )


def _item(item: Item) -> bytes:
    lanes = {name: [lane.rank, lane.score, lane.contribution] for name, lane in item.lanes.items()}
    return map_of(
        {
            "id": codec.encode(item.node.id.raw),
            "cid": codec.encode(item.cid),
            "score": codec.encode(item.score),
            "rendered": text_of(item.rendered),
            "tokens": codec.encode(item.tokens),
            "lanes": codec.encode(lanes),
        }
    )
