"""Items of an answer: anything that was ranked, rendered and fitted into the budget.

An answer of nodes contains `Item`s, one of packs those of `retrieve/context/pack.py`, one of
records those of `retrieve/records/item.py`. Another kind of answer needs a class with the
attributes of `AnswerItem`, and a name in `answer.AnswerKind`.

Spec: retrieval 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from ibidem.objects.block import empty
from ibidem.objects.cid import NodeCid, RootCid
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.plain import fields_of
from ibidem.objects.record import record
from ibidem.retrieve.answer.cbor_writer import (
    LINK_HEAD,
    head_of,
    keys_of,
    real_of,
    text_of,
)
from ibidem.retrieve.answer.lane_path import LanePath
from ibidem.retrieve.answer.lane_score import LaneScores
from ibidem.retrieve.answer.mention import Mention

_ID, _CID, _LANES, _SCORE, _TOKENS, _RENDERED = keys_of(
    *("id", "cid", "lanes", "score", "tokens", "rendered")
)
_ID += head_of(2, ID_BYTES)
_CID += LINK_HEAD
_OF_SEVERAL = [*keys_of("id", "cid", "root", "lanes", "score", "tokens", "rendered")[:3]]
"""The first keys of an item of an answer over several roots."""
_OF_SEVERAL[0] += head_of(2, ID_BYTES)
_OF_SEVERAL[1] += LINK_HEAD
_OF_SEVERAL[2] += LINK_HEAD


class RankedNode(Protocol):
    """A node with its score."""

    @property
    def id(self) -> NodeId:
        """The node's id."""

    @property
    def cid(self) -> NodeCid:
        """The CID of the node."""

    @property
    def score(self) -> float:
        """The score that ranked it."""

    @property
    def lanes(self) -> LaneScores:
        """Its rank and score in each lane."""

    @property
    def root(self) -> RootCid | None:
        """The root that it is of, in an answer over several; None in one over one root."""


class AnswerItem(Protocol):
    """One item of an answer."""

    @property
    def hits(self) -> Sequence[RankedNode]:
        """The ranked nodes that it represents, best first, at least one."""

    @property
    def score(self) -> float:
        """The score that ranked it."""

    @property
    def rendered(self) -> str:
        """Its text, whose tokens the budget counts."""

    @property
    def tokens(self) -> int:
        """The cost of the text."""

    @property
    def title(self) -> str:
        """What stands above its text, on one line; empty for nothing."""

    @property
    def root(self) -> RootCid | None:
        """The root that it is of, in an answer over several; None in one over one root."""

    def encode(self) -> bytes:
        """Returns the canonical bytes."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the item as plain data."""

    def explain(self, position: int) -> Iterator[str]:
        """Yields its lines in the answer's explanation; `position` counts from 1."""


@record
class Item:
    """A node that was returned."""

    node: Node
    cid: NodeCid
    score: float
    rendered: str
    tokens: int
    lanes: LaneScores
    paths: Mapping[str, LanePath] = field(default_factory=empty, compare=False)
    """By lane that walked edges, a shortest path from a seed to this node. Not part of
    `to_bytes()`."""
    mentions: tuple[Mention, ...] = field(default=(), compare=False)
    """The names that led to this node, most important first. Not part of `to_bytes()`."""
    root: RootCid | None = None
    """The root that the node is of, in an answer over several; None in one over one root."""
    shown_title: str = field(default="", compare=False, repr=False)
    """Where a part in conflict stands, which has no location if only another version of its
    document has it; empty for any other node. It is not part of the answer."""

    @property
    def id(self) -> NodeId:
        """The node's id."""
        return self.node.id

    @property
    def hits(self) -> tuple[Item]:
        """The node itself."""
        return (self,)

    @property
    def title(self) -> str:
        """Empty: a node is its text."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Returns the item as plain data."""
        return {
            **fields_of(self, "id", "cid", "score", "tokens", "rendered"),
            "ntype": self.node.ntype,
            "lanes": self.lanes.to_dict(),
            "paths": {name: path.to_dict() for name, path in self.paths.items()},
            "mentions": [one.to_dict() for one in self.mentions],
            **({} if self.root is None else {"root": str(self.root)}),
        }

    def encode(self) -> bytes:
        """Returns the canonical bytes."""
        id_, cid, root = _ID, _CID, b""
        if self.root is not None:
            id_, cid, root = _OF_SEVERAL
            root += self.root.raw
        lanes, score = self.lanes.encode(), real_of(self.score)
        head = id_ + self.node.id.raw + cid + self.cid.raw + root
        cost, text = head_of(0, self.tokens), text_of(self.rendered)
        return b"".join((head, _LANES, lanes, _SCORE, score, _TOKENS, cost, _RENDERED, text))

    def explain(self, position: int) -> Iterator[str]:
        """Yields its score, and its rank and score in each lane."""
        if self.root is not None:
            yield f"in root {self.root}:"
        yield f"{position}. {self.node.id} score {self.score!r} tokens {self.tokens}"
        for name, lane in self.lanes.items():
            yield (
                f"   {name}: rank {lane.rank}, score {lane.score!r}, "
                f"contributes {lane.contribution!r}"
            )
            if name in self.paths:
                yield f"      from {self.paths[name]}"
        for mention in self.mentions:
            yield f"      {mention}"
