"""Answers whose items are messages: what a selection and a context of a conversation share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.memory.conversation.message import Stored
from ibidem.objects.plain import fields_of
from ibidem.objects.record import record
from ibidem.retrieve.answer.protocol import json_text, page

if TYPE_CHECKING:
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.warning import AnswerWarning


@record
class MessageAnswer:
    """Messages and their text for a model."""

    messages: tuple[Stored, ...]
    text: str
    """The messages as a model is given them."""
    tokens_used: int
    """The tokens of the text."""
    result: Answer[Item]
    """The answer of nodes that the messages come from, with its receipt."""

    @property
    def items(self) -> tuple[Stored, ...]:
        """The messages."""
        return self.messages

    @property
    def warnings(self) -> tuple[AnswerWarning, ...]:
        """The warnings of that answer."""
        return self.result.warnings

    @property
    def receipt(self) -> Receipt | None:
        """The receipt of that answer."""
        return self.result.receipt

    def __str__(self) -> str:
        blocks = [(f"{one.thread}:{one.ord} {one.role}", one.text) for one in self.messages]
        return page(self, "message", blocks)

    def explain(self) -> str:
        """Returns for a person how the messages were found."""
        return self.result.explain()

    def to_messages(self) -> list[dict[str, Any]]:
        """Returns the messages as they were given, in order and whole, for a model."""
        return [message.to_message() for message in self.messages]

    def to_json(self) -> str:
        """Returns `to_dict` as JSON text on one line."""
        return json_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as plain data."""
        return {
            "receipt": None if self.receipt is None else str(self.receipt),
            **fields_of(self, "text", "tokens_used"),
            "items": [one.to_dict() for one in self.messages],
            "warnings": [one.to_dict() for one in self.warnings],
        }
