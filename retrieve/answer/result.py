"""Results: what was found, what it cost, what was left out and why, and all of that as text.

A result is encoded canonically, so two results are equal where their bytes are. The explanation
takes every number from the result and computes none.

Spec: retrieval 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ibidem.objects import codec
from ibidem.objects.block import empty
from ibidem.objects.cid import NodeCid, ResultCid, RootCid
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.answer.cbor_writer import (
    LINK_HEAD,
    NULL,
    array_of,
    count_of,
    head_of,
    keys_of,
    link_of,
    map_of,
    ordered,
    real_of,
    reals_of,
    text_of,
)
from ibidem.retrieve.answer.drops import Drops
from ibidem.retrieve.answer.tuple_sequence import TupleSequence
from ibidem.retrieve.answer.warning import Warning  # noqa: A004
from ibidem.retrieve.lane import LaneStatus
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.rerank import RerankRecord, RerankStatus

if TYPE_CHECKING:
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.recall.direct_answer import DirectAnswer


_ID, _CID, _LANES, _SCORE, _TOKENS, _RENDERED = keys_of(
    *("id", "cid", "lanes", "score", "tokens", "rendered")
)
_ID += head_of(2, ID_BYTES)
_CID += LINK_HEAD


class LaneScore(NamedTuple):
    """What one lane said about a node."""

    rank: int
    """1 for the lane's best."""
    score: float
    """In the lane's own measure."""
    contribution: float
    """What it added to the fused score."""


@record
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


@record
class Result(TupleSequence[Item]):
    """The answer to one query over one root, a sequence of its items."""

    root: RootCid
    query: Query
    items: tuple[Item, ...]
    tokens_used: int
    candidates_seen: int
    """Nodes in the union of the lanes' tops, or all matches where nothing ranks."""
    dropped: Drops
    """In rank order, the first DROPS_LISTED_MAX."""
    dropped_counts: Mapping[str, int]
    """By reason, all of them; every reason is present."""
    warnings: tuple[Warning, ...]
    status: Mapping[str, LaneStatus | RerankStatus]
    """By lane, those that ran; `rerank` too where it was asked for."""
    rerank: RerankRecord | None = None
    """What the reranker said, which a replay takes in its place; None where none was asked for."""
    direct: DirectAnswer | None = None
    """Whether one node answers alone, where that was asked."""
    receipt: Receipt | None = field(default=None, compare=False, repr=False)
    """What replays the answer; the repository puts it here. No part of `to_bytes()`."""
    _lanes: list[bytes] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def _listed(self) -> tuple[Item, ...]:
        return self.items

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

        return explain(self)

    def shown(self) -> Iterator[tuple[NodeId, NodeCid, float, str, Mapping[str, LaneScore]]]:
        """Yields what a receipt keeps of each item: who, its score, its text, what lanes said."""
        for item in self.items:
            yield item.node.id, item.cid, item.score, item.rendered, item.lanes

    def written_lanes(self) -> list[bytes]:
        """Returns the canonical bytes of what lanes said of each item, made once: the answer and
        its receipt both hold them."""
        if not self._lanes:
            self._lanes.extend(lanes_written(item.lanes) for item in self.items)
        return self._lanes

    def to_bytes(self) -> bytes:
        """Returns the canonical bytes, DAG-CBOR of any length.

        Spec: retrieval 9.2.
        """
        return map_of(
            {
                **answer_form(self),
                **({} if self.direct is None else {"direct": codec.encode(self.direct.form())}),
                "kind": text_of("result"),
                "items": array_of(map(_item, self.items, self.written_lanes())),
            }
        )


class Answer(Protocol):
    """What every answer says, whatever it holds."""

    @property
    def root(self) -> RootCid:
        """As in `Result`."""

    @property
    def query(self) -> Query:
        """As in `Result`."""

    @property
    def tokens_used(self) -> int:
        """As in `Result`."""

    @property
    def candidates_seen(self) -> int:
        """As in `Result`."""

    @property
    def dropped(self) -> Drops:
        """As in `Result`."""

    @property
    def dropped_counts(self) -> Mapping[str, int]:
        """As in `Result`."""

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """As in `Result`."""

    @property
    def status(self) -> Mapping[str, LaneStatus | RerankStatus]:
        """As in `Result`."""

    @property
    def rerank(self) -> RerankRecord | None:
        """As in `Result`."""


def answer_form(answer: Answer) -> dict[str, bytes]:
    """Returns the fields that all answers have, encoded.

    Spec: retrieval 9.2.
    """
    return {
        "v": count_of(1),
        "root": link_of(answer.root),
        "query": answer.query.encode(),
        "tokens_used": count_of(answer.tokens_used),
        "tokens_budget": count_of(answer.query.token_budget),
        "candidates_seen": count_of(answer.candidates_seen),
        "dropped": answer.dropped.written(),
        "dropped_counts": map_of(
            {reason: count_of(count) for reason, count in answer.dropped_counts.items()}
        ),
        "warnings": array_of(codec.encode(warning.form()) for warning in answer.warnings),
        "status": map_of({lane: text_of(status) for lane, status in answer.status.items()}),
        "rerank": NULL if answer.rerank is None else codec.encode(answer.rerank.form()),
    }


def lanes_written(lanes: Mapping[str, LaneScore]) -> bytes:
    """Returns the canonical bytes of what lanes said: by lane, [rank, score, contribution]."""
    parts = [head_of(5, len(lanes))]
    for key, name in _lane_keys(tuple(lanes)):
        rank, score, share = lanes[name]
        parts += (key, count_of(rank), reals_of(score, share))
    return b"".join(parts)


@lru_cache(maxsize=256)
def _lane_keys(names: tuple[str, ...]) -> tuple[tuple[bytes, str], ...]:
    """Returns what stands before a lane's numbers, and the lane, in canonical order."""
    return tuple((key + head_of(4, 3), name) for key, name in ordered(names))


def _item(item: Item, lanes: bytes) -> bytes:
    rendered = item.rendered.encode()
    return b"".join(
        (
            *(_ID, item.node.id.raw, _CID, item.cid.raw, _LANES, lanes),
            *(_SCORE, real_of(item.score), _TOKENS, count_of(item.tokens)),
            *(_RENDERED, head_of(3, len(rendered)), rendered),
        )
    )


_DROPS_SHOWN = 10


def explain(result: Result) -> str:
    """Returns what was asked, what each lane said, what was returned, left out, and why."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    query = result.query
    budget = "no budget" if query.token_budget is None else f"budget {query.token_budget}"
    limit = "no limit" if query.limit is None else f"limit {query.limit}"
    yield f"root {result.root}"
    yield f"fusion {query.fusion.name}, depth {query.depth}, {limit}, {budget}"
    if query.valid is not None:
        yield f"valid at {query.valid.at}, without a time: {query.valid.missing}"
    for lane, status in result.status.items():
        yield f"lane {lane}: {status}"
    if query.rerank is not None:
        yield f"rerank by {query.rerank.name!r}, depth {query.rerank.depth}"
    if query.mmr is not None:
        yield f"mmr lambda {query.mmr.share!r}, depth {query.mmr.depth}"
    if result.direct is not None:
        node = "" if result.direct.node is None else f" {result.direct.node}"
        yield f"direct answer: {result.direct.reason}{node}"
    yield f"{result.candidates_seen} candidates, {len(result.items)} items"
    yield f"{result.tokens_used} tokens"
    for place, item in enumerate(result.items, 1):
        yield f"{place}. {item.node.id} score {item.score!r} tokens {item.tokens}"
        for name, lane_score in item.lanes.items():
            yield (
                f"   {name}: rank {lane_score.rank}, score {lane_score.score!r}, "
                f"contributes {lane_score.contribution!r}"
            )
            if name in item.paths:
                yield f"      from {' to '.join(str(node) for node in item.paths[name])}"
    for reason, count in result.dropped_counts.items():
        if count:
            yield f"{count} left out by {reason}"
    for drop in result.dropped[:_DROPS_SHOWN]:
        cost = "" if drop.tokens is None else f", {drop.tokens} tokens"
        yield f"   {drop.id} score {drop.score!r}, {drop.reason}{cost}"
    for warning in result.warnings:
        subject = "" if warning.subject is None else f" ({warning.subject!r})"
        count_text = "" if warning.count is None else f": {warning.count}"
        yield f"warning {warning.code}: {warning.message}{subject}{count_text}"
