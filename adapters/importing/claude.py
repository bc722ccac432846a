"""Reads the conversations of a Claude data export: its ZIP, or the `conversations.json` in it.

The texts of a message become its text; calls of tools, their results and files are counted.
"""

from __future__ import annotations

from typing import Any

import ibidem
from ibidem import InvalidInputError
from ibidem.adapters.importing.chatgpt import conversation_parts, count_fields
from ibidem.adapters.importing.json_stream import elements
from ibidem.adapters.importing.source import (
    Items,
    MessageRecord,
    Source,
    field_of,
    microseconds,
    reading,
)

_OF_CONVERSATION = ("summary", "project", "is_starred")
"""What a conversation may have and no thread has."""
_ROLES = {"human": "user"}


def is_conversation(value: Any) -> bool:
    """Returns whether a value has the form of a conversation."""
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def read(source: Source) -> Items:
    """Yields the messages of each conversation."""
    for part in conversation_parts(source):
        for index, value in elements(source, part):
            position = f"conversation {index}"
            with reading(position):
                yield from _conversation(source, position, value)


def _conversation(source: Source, position: str, value: Any) -> Items:
    id_ = field_of(value, "uuid", str, "a text")
    messages = field_of(value, "chat_messages", list, "a list of messages")
    title = value.get("name") if isinstance(value.get("name"), str) else ""
    count_fields(source, value, _OF_CONVERSATION)
    for number, message in enumerate(messages):
        where = f"message {number}"
        if not isinstance(message, dict):
            raise InvalidInputError(f"{where}: got {message!r:.60}, expected an object")
        message_id = field_of(message, "uuid", str, "a text")
        sender = field_of(message, "sender", str, "a text")
        text = _text(source, message)
        if not text:
            source.omit("message without text")
            continue
        created = microseconds(message.get("created_at")) or microseconds(value.get("created_at"))
        yield (
            f"{position}: {where}",
            MessageRecord(
                f"claude/{id_}"[:200],
                title or "",
                ibidem.Message(
                    _ROLES.get(sender, sender),
                    text,
                    created_at=created or 0,
                    id=message_id,
                    props=source.props({"external_id": message_id}),
                ),
            ),
        )


def _text(source: Source, message: dict[str, Any]) -> str:
    """Returns the text of a message; counts what else it has."""
    texts = []
    for part in message.get("content") or []:
        if not isinstance(part, dict):
            source.omit("part of a message")
            continue
        citations = part.get("citations")
        source.omit("citation of a message", len(citations) if isinstance(citations, list) else 0)
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            source.omit(f"{str(part.get('type') or 'part').replace('_', ' ')} of a message")
    for name in ("attachments", "files"):
        listed = message.get(name)
        source.omit("file of a message", len(listed) if isinstance(listed, list) else 0)
    text = message.get("text")
    return "\n".join(filter(None, texts)) or (text if isinstance(text, str) else "")
