"""An answer that a server computed: what any answer has, from its JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import NodeCid, PackCid, ReceiptCid, ResultCid, RootCid
from ibidem.objects.errors import IbidemError, RemoteError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import Location
from ibidem.objects.record import record
from ibidem.repo.served.members import serves
from ibidem.retrieve.answer.answer import Answer, AnswerKind, printed
from ibidem.retrieve.answer.drops import DropReason
from ibidem.retrieve.answer.item import Item
from ibidem.retrieve.answer.lane_score import LaneScore, LaneScores
from ibidem.retrieve.answer.mention import Mention
from ibidem.retrieve.answer.protocol import json_text
from ibidem.retrieve.answer.tuple_sequence import TupleSequence
from ibidem.retrieve.context.pack import Hit, Pack
from ibidem.retrieve.context.prompt import Citation, Prompt
from ibidem.retrieve.titles import Title

if TYPE_CHECKING:
    from ibidem.objects.node import Node

Reader = Callable[[RootCid, NodeId, NodeCid], "Node"]
"""Reads a node of a root from the server."""


@record
class ServedWarning:
    """What a caller should know although the answer is correct; `AnswerWarning` has the codes."""

    code: str
    option: str
    subject: str | None
    count: int | None
    message: str

    def to_dict(self) -> Mapping[str, Any]:
        """Returns the warning as plain data."""
        names = ("code", "option", "subject", "count", "message")
        return {name: getattr(self, name) for name in names}


@serves(Item)
@record
class ServedItem:
    """A node in an answer of a server."""

    id: NodeId
    cid: NodeCid
    ntype: str
    score: float
    tokens: int
    rendered: str
    lanes: LaneScores
    location: Location | None
    """Where it stands in its document; None for a node that is part of no document."""
    fields: Mapping[str, Any]
    """Everything that the server says of it."""
    root: RootCid | None
    """The root that it is of, in an answer over several; None in one over one root."""
    _read: Callable[[], Node] = field(compare=False, repr=False)

    @property
    def node(self) -> Node:
        """The node, which the server is asked for when it is first read."""
        return self._read()

    @property
    def hits(self) -> tuple[ServedItem]:
        """The node itself."""
        return (self,)

    @property
    def title(self) -> str:
        """Empty: a node is its text."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Returns the item as plain data."""
        return {name: value for name, value in self.fields.items() if name != "location"}


@serves(Pack)
@record
class ServedPack:
    """Nodes that are shown together, in an answer of a server."""

    id: PackCid
    alias: str
    scope: str
    document: NodeId | None
    source: str | None
    section: NodeId | None
    heading_path: tuple[str, ...]
    hits: tuple[Hit, ...]
    score: float
    text: str
    tokens: int
    fallback: str | None
    root: RootCid | None
    fields: Mapping[str, Any]
    """Everything that the server says of it."""

    @property
    def entry(self) -> Hit:
        """The best hit."""
        return self.hits[0]

    @property
    def title(self) -> str:
        """Where its words stand: the document and the headings, in one line."""
        name = self.source or str(self.document or self.entry.id)
        return Title(name, self.heading_path).contained

    @property
    def rendered(self) -> str:
        """The title and the text, which the budget counts."""
        return f"{self.title}\n{self.text}"

    @property
    def char_count(self) -> int:
        """The length of its text in code points."""
        return len(self.text)

    def to_dict(self) -> dict[str, Any]:
        """Returns the pack as plain data."""
        return dict(self.fields)


@serves(Answer)
@record
class ServedAnswer(TupleSequence[Any]):
    """An answer of a server, a sequence of its items."""

    kind: AnswerKind
    root: RootCid
    cid: ResultCid
    receipt: ReceiptCid | None
    """Its receipt, which the server replays."""
    items: tuple[Any, ...]
    """Nodes or packs."""
    tokens_used: int
    token_budget: int | None
    candidates_seen: int
    dropped_counts: Mapping[str, int]
    token_budget_min: int | None
    """If nothing fitted the budget, one that the smallest of what was tried fits."""
    warnings: tuple[ServedWarning, ...]
    fields: Mapping[str, Any]
    """The answer as plain data."""

    @property
    def _listed(self) -> tuple[Any, ...]:
        return self.items

    @property
    def packs(self) -> tuple[Any, ...]:
        """The items if they are packs; empty for an answer of nodes."""
        return self.items if self.kind is AnswerKind.PACKS else ()

    @property
    def dropped_total(self) -> int:
        """How many items were left out."""
        return sum(self.dropped_counts.values())

    @property
    def text(self) -> str:
        """The renderings of the items, separated by blank lines: what the tokens count."""
        return "\n\n".join(item.rendered for item in self.items)

    @property
    def locations(self) -> tuple[Location | None, ...]:
        """Where each node stands in its document, as the viewer of the server's token sees it; not
        of packs, whose title tells it."""
        return tuple(getattr(item, "location", None) for item in self.items)

    def titles(self) -> list[str]:
        """Returns what stands above each item for a person."""
        if self.kind is AnswerKind.PACKS:
            return [item.title for item in self.items]
        return ["" if one is None else str(one) for one in self.locations]

    def __str__(self) -> str:
        return printed(self)

    def explain(self) -> str:
        """Returns for a person how the answer came about."""
        lines = [f"root {self.root}", f"{len(self.items)} items, {self.tokens_used} tokens"]
        for rank, item in enumerate(self.items, 1):
            lines.append(f"{rank:2} {item.id} score {item.score!r}, {item.tokens} tokens")
        lines += [f"warning {one.code}: {one.message}" for one in self.warnings]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as plain data."""
        return dict(self.fields)

    def to_json(self) -> str:
        """Returns `to_dict` as JSON text on one line."""
        return json_text(self.fields)

    @classmethod
    def read(cls, found: Mapping[str, Any], reader: Reader) -> ServedAnswer:
        """Returns the answer in the JSON of a server.

        Raises:
            RemoteError: it has another form.
        """
        try:
            receipt, kind = found["receipt"], AnswerKind(found["kind"])
            root = RootCid.parse(found["root"])
            items = tuple(
                _pack(one) if kind is AnswerKind.PACKS else _item(one, root, reader)
                for one in found["items"]
            )
            return cls(
                kind,
                root,
                ResultCid.parse(found["result"]),
                None if receipt is None else ReceiptCid.parse(receipt),
                items,
                int(found["tokens_used"]),
                found["token_budget"],
                found["candidates_seen"],
                found["dropped_counts"],
                None if items else _least(found["dropped"]),
                warnings_of(found),
                found,
            )
        except (KeyError, TypeError, ValueError, AttributeError, IbidemError) as error:
            raise RemoteError("remote: its answer has another form than an answer") from error


def _least(dropped: Iterable[Mapping[str, Any]]) -> int | None:
    costs = (one["tokens"] for one in dropped if one["reason"] == DropReason.BUDGET)
    return min((cost for cost in costs if cost is not None), default=None)


def warnings_of(found: Mapping[str, Any]) -> tuple[ServedWarning, ...]:
    """Returns the warnings in the answer of a server."""
    names = ("code", "option", "subject", "count", "message")
    return tuple(ServedWarning(*(one[name] for name in names)) for one in found["warnings"])


def _item(row: Mapping[str, Any], root: RootCid, reader: Reader) -> ServedItem:
    id_, cid = NodeId.parse(row["id"]), NodeCid.parse(row["cid"])
    home = RootCid.parse(row["root"]) if "root" in row else None
    return ServedItem(
        id_,
        cid,
        row["ntype"],
        row["score"],
        row["tokens"],
        row["rendered"],
        lanes_of(row),
        location_of(row.get("location")),
        row,
        home,
        lambda: reader(home or root, id_, cid),
    )


def _pack(row: Mapping[str, Any]) -> ServedPack:
    document, section, root = row["document"], row["section"], row.get("root")
    return ServedPack(
        PackCid.parse(row["id"]),
        row["alias"],
        row["scope"],
        None if document is None else NodeId.parse(document),
        row["source"],
        None if section is None else NodeId.parse(section),
        tuple(row["heading_path"]),
        tuple(_hit(one) for one in row["hits"]),
        row["score"],
        row["text"],
        row["tokens"],
        row["fallback"],
        None if root is None else RootCid.parse(root),
        row,
    )


def _hit(row: Mapping[str, Any]) -> Hit:
    return Hit(
        NodeId.parse(row["id"]),
        NodeCid.parse(row["cid"]),
        row["ord"],
        row["score"],
        lanes_of(row),
        tuple((start, stop) for start, stop in row["spans"]),
        RootCid.parse(row["root"]) if "root" in row else None,
        tuple(map(_mention, row.get("mentions", ()))),
    )


def _mention(row: Mapping[str, Any]) -> Mention:
    source = row["source"]
    return Mention(
        row["name"],
        None if source is None else NodeId.parse(source),
        row["node_count"],
        row["is_title"],
    )


def lanes_of(row: Mapping[str, Any]) -> LaneScores:
    """Returns the lanes of what has a rank, from its JSON."""
    return LaneScores({name: LaneScore(**lane) for name, lane in row["lanes"].items()})


def location_of(row: Mapping[str, Any] | None) -> Location | None:
    """Returns a location from its JSON."""
    if row is None:
        return None
    numbers = ("byte_start", "byte_stop", "line_start", "line_stop")
    return Location(
        NodeId.parse(row["document"]),
        row["source"],
        tuple(row["heading_path"]),
        *(int(row[name]) for name in numbers),
    )


@serves(Prompt)
@record
class ServedPrompt:
    """A prompt of a server."""

    system: str
    user: str
    citations: tuple[Citation, ...]
    tokens_used: int
    fence: str | None
    receipt: ReceiptCid | None
    """The receipt of its sources, which the server replays."""
    warnings: tuple[ServedWarning, ...]
    fields: Mapping[str, Any]
    """The prompt as plain data."""

    @property
    def items(self) -> tuple[Citation, ...]:
        """The citations."""
        return self.citations

    @property
    def text(self) -> str:
        """Both texts, separated by a blank line."""
        return f"{self.system}\n\n{self.user}"

    def __str__(self) -> str:
        return self.text

    def explain(self) -> str:
        """Returns for a person where the sources are from."""
        return "\n".join(f"{one.marker} {one.source}" for one in self.citations) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Returns the prompt as plain data."""
        return dict(self.fields)

    def to_json(self) -> str:
        """Returns `to_dict` as JSON text on one line."""
        return json_text(self.fields)

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> ServedPrompt:
        """Returns the prompt in the JSON of a server.

        Raises:
            RemoteError: it has another form.
        """
        try:
            receipt = found["receipt"]
            return cls(
                found["system"],
                found["user"],
                tuple(Citation.from_dict(one) for one in found["citations"]),
                int(found["tokens_used"]),
                found["fence"],
                None if receipt is None else ReceiptCid.parse(receipt),
                warnings_of(found),
                found,
            )
        except (KeyError, TypeError, ValueError, AttributeError, IbidemError) as error:
            raise RemoteError("remote: its answer has another form than a prompt") from error
