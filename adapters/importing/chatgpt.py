"""Reads the conversations of a ChatGPT data export: its ZIP, or the `conversations.json` in it.

Each conversation is a tree, because a message can be edited and an answer generated again. The
branch that was shown last, up to `current_node`, becomes a thread; what is on other branches, and
what a message has besides text, is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ibidem
from ibidem import InvalidInputError
from ibidem.adapters.importing.json_stream import elements, part_names
from ibidem.adapters.importing.source import (
    Items,
    MessageRecord,
    Source,
    field_of,
    microseconds,
    reading,
)

_OF_CONVERSATION = ("gizmo_id", "is_archived", "is_starred", "conversation_template_id")
_OF_MESSAGE = ("attachments", "citations", "content_references", "aggregate_result", "canvas")
"""What a conversation, and the metadata of a message, may have and no thread has."""
_FORM_KEYS = ("content_type", "parts", "language", "response_format_name")
_TEXT_KEYS = ("text", "result", "content", "user_instructions", "user_profile", "model_set_context")


def is_conversation(value: Any) -> bool:
    """Returns whether a value has the form of a conversation."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def conversation_parts(source: Source) -> list[str | None]:
    """Returns the parts of an export that hold conversations; None for a file that is no archive.

    The others, such as pictures and the data of the account, are counted.

    Raises:
        InvalidInputError: the archive has none.
    """
    names = part_names(source)
    if not names:
        return [None]
    found = [
        name
        for name in names
        if name.rpartition("/")[2].startswith("conversations") and name.endswith(".json")
    ]
    if not found:
        raise InvalidInputError("archive: has no conversations.json")
    files = [name for name in names if not name.endswith("/")]
    source.omit("file of the archive without conversations", len(files) - len(found))
    return list(found)


def read(source: Source) -> Items:
    """Yields the messages of each conversation."""
    for part in conversation_parts(source):
        for index, value in elements(source, part):
            position = f"conversation {index}"
            with reading(position):
                yield from _conversation(source, position, value)


def _conversation(source: Source, position: str, value: Any) -> Items:
    mapping = field_of(value, "mapping", dict, "the messages of a conversation")
    id_ = value.get("conversation_id") or value.get("id")
    if not isinstance(id_, str) or not id_:
        raise InvalidInputError(f"conversation_id: got {id_!r:.60}, expected a text")
    title = value.get("title") if isinstance(value.get("title"), str) else ""
    path = _path(mapping, value.get("current_node"))
    shown = {node["id"] for node in path}
    for key, node in mapping.items():
        if key not in shown and isinstance(node, dict) and any(_text(node.get("message"))):
            source.omit("message on a branch of a conversation that was not shown last")
    count_fields(source, value, _OF_CONVERSATION)
    for node in path:
        message = node["message"]
        text, others = _text(message)
        for kind in others:
            source.omit(f"{kind} of a message")
        role = message["author"].get("role") if isinstance(message.get("author"), dict) else None
        if not text:
            continue  # what it has besides text is counted
        if not isinstance(role, str) or not role:
            source.omit("message without a role")
            continue
        yield (
            f"{position}: message {node['id']}",
            MessageRecord(
                f"chatgpt/{id_}"[:200],
                title or "",
                ibidem.Message(
                    role,
                    text,
                    created_at=microseconds(message.get("create_time"))
                    or microseconds(value.get("create_time"))
                    or 0,
                    id=node["id"],
                    props=_props(source, message, node["id"]),
                ),
            ),
        )


def count_fields(source: Source, conversation: Mapping[str, Any], names: Sequence[str]) -> None:
    """Counts what a conversation has besides its messages."""
    for name in names:
        if conversation.get(name):
            source.omit(f"{name.replace('_', ' ')} of a conversation")


def _path(mapping: Mapping[str, Any], current: Any) -> list[dict[str, Any]]:
    """Returns the messages from the first to the current one."""
    path: list[dict[str, Any]] = []
    passed: set[str] = set()
    if current is None:  # old exports: the last one of the file
        current = next(iter(list(mapping)[-1:]), None)
    while current is not None:
        node = mapping.get(current) if isinstance(current, str) else None
        if not isinstance(node, dict):
            raise InvalidInputError(f"mapping: got no message {current!r:.60}, expected one")
        if current in passed:
            raise InvalidInputError(f"mapping: message {current!r:.60} is its own parent")
        passed.add(current)
        if isinstance(node.get("message"), dict):
            path.append({"id": current, "message": node["message"]})
        current = node.get("parent")
    return path[::-1]


def _text(message: Any) -> tuple[str, list[str]]:
    """Returns the text of a message, and the kinds of what else it has."""
    if not isinstance(message, dict):
        return "", []
    content = message.get("content")
    if not isinstance(content, dict):
        return "", []
    texts, others = [], []
    for part in content.get("parts") or []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])  # such as the transcription of speech
        elif part:
            kind = part.get("content_type") if isinstance(part, dict) else None
            others.append(str(kind or "part").replace("_", " "))
    texts += [content[key] for key in _TEXT_KEYS if isinstance(content.get(key), str)]
    for key, value in content.items():
        if value and key not in _FORM_KEYS and not (key in _TEXT_KEYS and isinstance(value, str)):
            others += [str(key).replace("_", " ")] * (len(value) if isinstance(value, list) else 1)
    metadata = message.get("metadata")
    for key in _OF_MESSAGE:
        value = metadata.get(key) if isinstance(metadata, dict) else None
        others += [key.replace("_", " ")] * (len(value) if isinstance(value, list) else bool(value))
    return "\n".join(text for text in texts if text), others


def _props(source: Source, message: dict[str, Any], id_: str) -> dict[str, Any]:
    metadata = message.get("metadata")
    found = {"external_id": id_}
    if isinstance(metadata, dict) and isinstance(metadata.get("model_slug"), str):
        found["model_slug"] = metadata["model_slug"]
    author = message.get("author")
    if isinstance(author, dict) and isinstance(author.get("name"), str):
        found["name"] = author["name"]
    return source.props(found)
