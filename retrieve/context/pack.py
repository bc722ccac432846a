"""Packs: one or more hits with what stands around them, the items of an answer to a question that
has options of packs.

Spec: packs 6, 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ibidem.objects import codec
from ibidem.objects.cid import NodeCid, PackCid
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
from ibidem.retrieve.answer.lane_score import LaneScores

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
    lanes: LaneScores
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
    def rendered(self) -> str:
        """The text, by the name that all items of answers have for it."""
        return self.text

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

    def encode(self) -> bytes:
        """Returns the canonical bytes.

        Spec: packs 7.
        """
        return map_of(
            {
                "id": link_of(self.id),
                "alias": text_of(self.alias),
                "scope": text_of(self.scope),
                "document": NULL if self.document is None else bytes_of(self.document.raw),
                "source": NULL if self.source is None else text_of(self.source),
                "section": NULL if self.section is None else bytes_of(self.section.raw),
                "heading_path": array_of(map(text_of, self.heading_path)),
                "hits": array_of(map(_hit, self.hits)),
                "members": array_of(map(_member, self.members)),
                "score": real_of(self.score),
                "text": text_of(self.text),
                "tokens": count_of(self.tokens),
                "fallback": NULL if self.fallback is None else text_of(self.fallback),
            }
        )

    def explain(self, place: int) -> Iterator[str]:
        """Yields its score and size, and what each lane said about its hits."""
        note = "" if self.fallback is None else f", fallback {self.fallback}"
        yield (
            f"{place}. {self.alias} score {self.score!r} nodes {self.span_count} "
            f"tokens {self.tokens}{note}"
        )
        for hit in self.hits:
            yield f"   hit {hit.id} score {hit.score!r}"
            for name, lane in hit.lanes.items():
                yield (
                    f"      {name}: rank {lane.rank}, score {lane.score!r}, "
                    f"contributes {lane.contribution!r}"
                )


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
            hit.lanes.encode(),
            array_of(array_of(map(count_of, span)) for span in hit.spans),
        )
    )
