"""Packs: one or more hits with the text around them, the items of an answer to a query with pack
options.

Spec: packs 6, 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from ibidem.objects import codec
from ibidem.objects.cid import NodeCid, PackCid, RootCid
from ibidem.objects.ids import NodeId
from ibidem.objects.plain import fields_of
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
from ibidem.retrieve.answer.mention import Mention
from ibidem.retrieve.titles import Title

BETWEEN = "\n\n"
"""The separator between the texts of a pack's members."""
MESSAGE_SCOPE = "message"
"""The scope of a message of a conversation, which is a pack of its own in a context."""


class Member(NamedTuple):
    """A node of a pack."""

    id: NodeId
    cid: NodeCid
    ord: int | None
    """Its position among the passages of its document, from 0; None if it has none."""
    text: str
    start: int
    """The start of its text in the pack's text, in code points."""
    offset: int = 0
    """The start of its text in the text of the node, of which an excerpt shows a part."""

    @property
    def range(self) -> tuple[int, int]:
        """The range of the node's text that is shown, in code points."""
        return self.offset, self.offset + len(self.text)


class Hit(NamedTuple):
    """A ranked node that a pack represents: a member, or a section or document that it begins."""

    id: NodeId
    cid: NodeCid
    ord: int | None
    score: float
    lanes: LaneScores
    spans: tuple[tuple[int, int], ...]
    """Where its own text matches, as ranges of code points; only for members."""
    root: RootCid | None = None
    """The root that the node is of, in an answer over several; None in one over one root."""
    mentions: tuple[Mention, ...] = ()
    """The names that led to this node, most important first. Not part of `to_bytes()`."""


@record
class Pack:
    """Nodes that are shown together around one or more hits."""

    id: PackCid
    alias: str
    """A short name for people: `o:1-3` is a range of positions in the document, `s:ID` a section,
    `e:ID` nodes reached by edges, `n:ID` a node, `m:ID` a message."""
    scope: str
    """`neighbors`, `section`, `edges`, `node` or `message`."""
    document: NodeId | None
    """The document whose passages the members are."""
    source: str | None
    """The path of the document, if it has one, and the type of a node without a place; in a context
    also the thread of a message."""
    section: NodeId | None
    """The section that is shown as a whole."""
    heading_path: tuple[str, ...]
    """The headings above all its members, the outermost first; of a message in a context its place
    and who said it."""
    hits: tuple[Hit, ...]
    """Best first."""
    members: tuple[Member, ...]
    """In document order, or nearest first if edges were followed."""
    score: float
    text: str
    """The members' texts, separated by blank lines, with the headings that stand between them."""
    tokens: int
    """Of the whole rendering."""
    fallback: str | None = None
    """Why the pack was not expanded as requested: `no-section` or `no-sequence`."""
    root: RootCid | None = None
    """The root that its members are of, in an answer over several; None in one over one root."""
    focus: int | None = field(default=None, compare=False, repr=False)
    """The best match in the text of the node that is nearest to the best hit, around which an
    excerpt is shown if the pack does not fit; None if there are no excerpts. It is not part of the
    answer."""

    @property
    def title(self) -> str:
        """Where its words stand: the document and the headings, in one line, which the budget
        counts."""
        name = self.source or str(self.document or self.entry.id)
        return Title(name, self.heading_path).contained

    @property
    def rendered(self) -> str:
        """The title and the text, which the budget counts."""
        return f"{self.title}\n{self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Returns the pack as plain data."""
        return {
            **fields_of(
                self,
                *("id", "alias", "scope", "document", "source", "section", "heading_path"),
                *("score", "text", "tokens", "fallback"),
            ),
            "hits": [
                {
                    **fields_of(hit, "id", "cid", "ord", "score", "spans"),
                    "lanes": hit.lanes.to_dict(),
                    "mentions": [one.to_dict() for one in hit.mentions],
                    **_of_root(hit.root),
                }
                for hit in self.hits
            ],
            "members": [
                fields_of(one, "id", "cid", "ord", "start", *(["offset"] if one.offset else []))
                for one in self.members
            ],
            **_of_root(self.root),
        }

    @property
    def entry(self) -> Hit:
        """The best hit."""
        return self.hits[0]

    @property
    def span_count(self) -> int:
        """The number of nodes in the pack."""
        return len(self.members) - self.has_header

    @property
    def has_header(self) -> bool:
        """Whether it is an excerpt that begins with the header of a table, a member of its own."""
        return len(self.members) > 1 and self.members[0].id == self.members[1].id

    @property
    def char_count(self) -> int:
        """The length of its text in code points."""
        return len(self.text)

    @property
    def range(self) -> tuple[int, int] | None:
        """The first and the last position in the document, inclusive; None without positions."""
        positions = [member.ord for member in self.members if member.ord is not None]
        return (positions[0], positions[-1]) if positions else None

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
                **({} if self.root is None else {"root": link_of(self.root)}),
            }
        )

    def explain(self, position: int) -> Iterator[str]:
        """Yields its score and size, the results of its hits in each lane, and the names that led
        to them."""
        if self.root is not None:
            yield f"in root {self.root}:"
        note = "" if self.fallback is None else f", fallback {self.fallback}"
        yield (
            f"{position}. {self.alias} score {self.score!r} nodes {self.span_count} "
            f"tokens {self.tokens}{note}"
        )
        for hit in self.hits:
            yield f"   hit {hit.id} score {hit.score!r}"
            for name, lane in hit.lanes.items():
                yield (
                    f"      {name}: rank {lane.rank}, score {lane.score!r}, "
                    f"contributes {lane.contribution!r}"
                )
            for mention in hit.mentions:
                yield f"         {mention}"


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


def _of_root(root: RootCid | None) -> dict[str, str]:
    return {} if root is None else {"root": str(root)}


def _member(member: Member) -> bytes:
    return array_of(
        (
            bytes_of(member.id.raw),
            link_of(member.cid),
            count_of(member.ord),
            count_of(member.start),
            *((count_of(member.offset),) if member.offset else ()),
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
            *(() if hit.root is None else (link_of(hit.root),)),
        )
    )
