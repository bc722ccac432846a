"""Packs, the answer that holds them, and that answer as text.

A pack is one or more hits with what stands around them. The explanation takes every number from the
answer and computes none.

Spec: packs 6, 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from ibidem.objects import codec
from ibidem.objects.cid import NodeCid, PackCid, ResultCid, RootCid
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.retrieve.answer.cbor_writer import (
    NULL,
    array_of,
    bytes_of,
    count_of,
    link_of,
    map_of,
    real_of,
    text_of,
)
from ibidem.retrieve.answer.drops import Drops
from ibidem.retrieve.answer.result import LaneScore, answer_form, lanes_written
from ibidem.retrieve.answer.tuple_sequence import TupleSequence
from ibidem.retrieve.answer.warning import Warning  # noqa: A004
from ibidem.retrieve.lane import LaneStatus
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.rerank import RerankRecord, RerankStatus

if TYPE_CHECKING:
    from ibidem.retrieve.answer.receipt import Receipt


BETWEEN = "\n\n"
"""What joins the texts of a pack's members."""


class Member(NamedTuple):
    """A node of a pack."""

    id: NodeId
    cid: NodeCid
    ord: int | None
    """Its place among the passages of its document, from 0; None where there is none."""
    text: str
    start: int
    """Where its text begins in that of the pack, in code points."""


class Hit(NamedTuple):
    """A ranked node that a pack answers for: a member, or the section or document it begins."""

    id: NodeId
    cid: NodeCid
    ord: int | None
    score: float
    lanes: Mapping[str, LaneScore]
    spans: tuple[tuple[int, int], ...]
    """Where its own text matches, in code points; only for members."""


@record
class Pack:
    """Nodes that belong together around one or more hits."""

    id: PackCid
    alias: str
    """For people: `o:1-3` places of the document, `s:ID` a section, `e:ID` by edges, `n:ID` a node.
    """
    scope: str
    """`neighbors`, `section`, `edges` or `node`."""
    document: NodeId | None
    """The document that the members are passages of."""
    source: str | None
    """The path of the document, where it has one."""
    section: NodeId | None
    """The section that is shown whole."""
    heading_path: tuple[str, ...]
    """Headings that the best hit stands under, the outermost first."""
    hits: tuple[Hit, ...]
    """Best first."""
    members: tuple[Member, ...]
    """In document order, or nearest first by edges."""
    score: float
    text: str
    """The members' texts, a blank line between them."""
    tokens: int
    fallback: str | None = None
    """Why it is not expanded as it was asked for: `no-section` or `no-sequence`."""

    @property
    def entry(self) -> Hit:
        """The best hit."""
        return self.hits[0]

    @property
    def span_count(self) -> int:
        """How many nodes it shows."""
        return len(self.members)

    @property
    def char_count(self) -> int:
        """Code points of its text."""
        return len(self.text)

    @property
    def range(self) -> tuple[int, int] | None:
        """The first and the last place in the document, both inside; None without places."""
        places = [member.ord for member in self.members if member.ord is not None]
        return (places[0], places[-1]) if places else None


def pack_cid(
    policy: Mapping[str, Any], document: NodeId | None, members: Sequence[NodeCid]
) -> PackCid:
    """Returns the identity of a pack.

    Spec: packs 6.
    """
    return PackCid.of(
        map_of(
            {
                "kind": text_of("pack"),
                "v": codec.encode(1),
                "policy": codec.encode(dict(policy)),
                "document": NULL if document is None else bytes_of(document.raw),
                "members": array_of(map(link_of, members)),
            }
        )
    )


@record
class PackResult(TupleSequence[Pack]):
    """The packs that answer one query over one root, a sequence of them."""

    root: RootCid
    query: Query
    packs: tuple[Pack, ...]
    tokens_used: int
    candidates_seen: int
    """Hits: nodes in the union of the lanes' tops, or all matches where nothing ranks."""
    dropped: Drops
    """Packs left out, by their best hit, in rank order; as many as are listed."""
    dropped_counts: Mapping[str, int]
    warnings: tuple[Warning, ...]
    status: Mapping[str, LaneStatus | RerankStatus]
    rerank: RerankRecord | None = None
    receipt: Receipt | None = field(default=None, compare=False, repr=False)
    """What replays the answer; the repository puts it here. No part of `to_bytes()`."""

    @property
    def _listed(self) -> tuple[Pack, ...]:
        return self.packs

    @property
    def tokens_budget(self) -> int | None:
        """The budget that was asked for."""
        return self.query.token_budget

    @property
    def dropped_total(self) -> int:
        """How many packs were left out."""
        return sum(self.dropped_counts.values())

    @property
    def cid(self) -> ResultCid:
        """The identity of the answer: the hash of `to_bytes()`."""
        return ResultCid.of(self.to_bytes())

    def shown(self) -> Iterator[tuple[NodeId, NodeCid, float, str, Mapping[str, LaneScore]]]:
        """Yields what a receipt keeps of each pack: its best hit, its score and its text."""
        for pack in self.packs:
            entry = pack.entry
            yield entry.id, entry.cid, pack.score, pack.text, entry.lanes

    def explain(self) -> str:
        """Returns the answer as text for a person."""

        return explain(self)

    def written_lanes(self) -> list[bytes]:
        """Returns the canonical bytes of what lanes said of each of `shown()`."""
        return [lanes_written(lanes) for *_, lanes in self.shown()]

    def to_bytes(self) -> bytes:
        """Returns the canonical bytes, DAG-CBOR of any length.

        Spec: packs 7.
        """
        return map_of(
            {
                **answer_form(self),
                "kind": text_of("packs"),
                "packs": array_of(_pack(pack) for pack in self.packs),
            }
        )


def _pack(pack: Pack) -> bytes:
    return map_of(
        {
            "id": link_of(pack.id),
            "alias": text_of(pack.alias),
            "scope": text_of(pack.scope),
            "document": NULL if pack.document is None else bytes_of(pack.document.raw),
            "source": NULL if pack.source is None else text_of(pack.source),
            "section": NULL if pack.section is None else bytes_of(pack.section.raw),
            "heading_path": array_of(map(text_of, pack.heading_path)),
            "hits": array_of(map(_hit, pack.hits)),
            "members": array_of(map(_member, pack.members)),
            "score": real_of(pack.score),
            "text": text_of(pack.text),
            "tokens": count_of(pack.tokens),
            "fallback": NULL if pack.fallback is None else text_of(pack.fallback),
        }
    )


def _member(member: Member) -> bytes:
    return array_of(
        (
            bytes_of(member.id.raw),
            link_of(member.cid),
            count_of(member.ord),
            count_of(member.start),
        )
    )


def _hit(hit: Hit) -> bytes:
    return array_of(
        (
            bytes_of(hit.id.raw),
            link_of(hit.cid),
            count_of(hit.ord),
            real_of(hit.score),
            lanes_written(hit.lanes),
            array_of(array_of(map(count_of, span)) for span in hit.spans),
        )
    )


def explain(result: PackResult) -> str:
    """Returns what was asked, the packs with their hits and lanes, and what was left out."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: PackResult) -> Iterator[str]:
    options = result.query.packs
    assert options is not None, "BUG: packs without their options"
    yield f"root {result.root}"
    yield f"expand {options.expand}, merge {options.merge}, rank {options.rank}"
    for lane, status in result.status.items():
        yield f"lane {lane}: {status}"
    yield f"{result.candidates_seen} hits, {len(result.packs)} packs, {result.tokens_used} tokens"
    for place, pack in enumerate(result.packs, 1):
        yield from _pack_lines(place, pack)
    for reason, count in result.dropped_counts.items():
        if count:
            yield f"{count} packs left out by {reason}"
    for warning in result.warnings:
        yield f"warning {warning.code}: {warning.message}"


def _pack_lines(place: int, pack: Pack) -> Iterator[str]:
    note = "" if pack.fallback is None else f", fallback {pack.fallback}"
    yield (
        f"{place}. {pack.alias} score {pack.score!r} nodes {pack.span_count} "
        f"tokens {pack.tokens}{note}"
    )
    for hit in pack.hits:
        yield f"   hit {hit.id} score {hit.score!r}"
        for name, lane in hit.lanes.items():
            yield (
                f"      {name}: rank {lane.rank}, score {lane.score!r}, "
                f"contributes {lane.contribution!r}"
            )
