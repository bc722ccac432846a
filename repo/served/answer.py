"""An answer that a server computed: what any answer has, from its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ibidem.objects.cid import Cid, ReceiptCid, ResultCid, RootCid
from ibidem.objects.errors import IbidemError, RemoteError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import Location
from ibidem.objects.record import record
from ibidem.retrieve.answer.protocol import block_lines, json_text
from ibidem.retrieve.answer.tuple_sequence import TupleSequence


@record
class ServedItem:
    """A node in an answer of a server."""

    id: NodeId
    cid: str
    ntype: str
    score: float
    tokens: int
    rendered: str
    location: Location | None
    """Where it stands in its document; None for a node that is part of no document."""
    fields: Mapping[str, Any]
    """Everything that the server says of it."""


@record
class ServedAnswer(TupleSequence[ServedItem]):
    """An answer of a server, a sequence of its items."""

    root: RootCid
    cid: ResultCid
    receipt: ReceiptCid | None
    """Its receipt, which the server replays."""
    items: tuple[ServedItem, ...]
    tokens_used: int
    warnings: tuple[Mapping[str, Any], ...]
    fields: Mapping[str, Any]
    """The answer as plain data."""

    @property
    def _listed(self) -> tuple[ServedItem, ...]:
        return self.items

    @property
    def text(self) -> str:
        """The renderings of the items, separated by blank lines: what the tokens count."""
        return "\n\n".join(item.rendered for item in self.items)

    @property
    def locations(self) -> tuple[Location | None, ...]:
        """Where each item stands in its document, as the viewer of the server's token sees it."""
        return tuple(item.location for item in self.items)

    def __str__(self) -> str:
        blocks = [
            ("" if item.location is None else str(item.location), item.rendered)
            for item in self.items
        ]
        count = len(self.items)
        lines = [f"{count} item{'' if count == 1 else 's'}, {self.tokens_used} tokens"]
        lines += [*block_lines(blocks), ""]
        lines += [f"warning: {one.get('option')}: {one.get('message')}" for one in self.warnings]
        return "\n".join(lines if self.receipt is None else [*lines, f"receipt {self.receipt}"])

    def explain(self) -> str:
        """Returns for a person how the answer came about."""
        lines = [f"root {self.root}", f"{len(self.items)} items, {self.tokens_used} tokens"]
        for rank, item in enumerate(self.items, 1):
            lines.append(f"{rank:2} {item.id} score {item.score!r}, {item.tokens} tokens")
        lines += [f"warning {one.get('code')}: {one.get('message')}" for one in self.warnings]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as plain data."""
        return dict(self.fields)

    def to_json(self) -> str:
        """Returns `to_dict` as JSON text on one line."""
        return json_text(self.fields)

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> ServedAnswer:
        """Returns the answer in the JSON of a server.

        Raises:
            RemoteError: it has another form.
        """
        try:
            receipt = found["receipt"]
            return cls(
                RootCid(Cid.parse(found["root"]).raw),
                ResultCid(Cid.parse(found["result"]).raw),
                None if receipt is None else ReceiptCid(Cid.parse(receipt).raw),
                tuple(_item(one) for one in found["items"]),
                int(found["tokens_used"]),
                tuple(found["warnings"]),
                found,
            )
        except (KeyError, TypeError, ValueError, AttributeError, IbidemError) as error:
            raise RemoteError("remote: its answer has another form than an answer") from error


def _item(row: Mapping[str, Any]) -> ServedItem:
    return ServedItem(
        NodeId.parse(row["id"]),
        row["cid"],
        row["ntype"],
        row["score"],
        row["tokens"],
        row["rendered"],
        _location(row["location"]),
        row,
    )


def _location(row: Mapping[str, Any] | None) -> Location | None:
    if row is None:
        return None
    numbers = ("byte_start", "byte_stop", "line_start", "line_stop")
    return Location(
        NodeId.parse(row["document"]),
        row["source"],
        tuple(row["heading_path"]),
        *(int(row[name]) for name in numbers),
    )


@record
class ServedContext:
    """A prompt of a server."""

    system: str
    user: str
    items: tuple[Mapping[str, Any], ...]
    """The citations."""
    tokens_used: int
    receipt: str | None
    fields: Mapping[str, Any]
    warnings: tuple[Mapping[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """Both texts, separated by a blank line."""
        return f"{self.system}\n\n{self.user}"

    def explain(self) -> str:
        """Returns for a person where the sources are from."""
        return "\n".join(f"{one.get('source')}" for one in self.items) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Returns the prompt as plain data."""
        return dict(self.fields)

    def to_json(self) -> str:
        """Returns `to_dict` as JSON text on one line."""
        return json_text(self.fields)

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> ServedContext:
        """Returns the prompt in the JSON of a server.

        Raises:
            RemoteError: it has another form.
        """
        try:
            texts = (found["system"], found["user"], tuple(found["citations"]))
            return cls(*texts, int(found["tokens_used"]), found["receipt"], found)
        except (KeyError, TypeError, ValueError) as error:
            raise RemoteError("remote: its answer has another form than a prompt") from error
