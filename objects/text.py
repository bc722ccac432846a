"""The text of a node, which is indexed, embedded, and compared to detect stale vectors.

Spec: format 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from blake3 import blake3

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.fields import NODE
from ibidem.objects.node import Node

TEXT_FIELDS = tuple(field.name for field in NODE.fields if field.indexed)
"""The fields that can be part of a node's text, in the default order."""
_TEXTS = frozenset(TEXT_FIELDS) - {"content"}
"""Those that are text as they are."""


def node_text(node: Node, fields: Sequence[str], content: bytes | None) -> str:
    """Returns the named fields that exist, in that order, joined by a line feed.

    Args:
        node: the node whose text is returned.
        fields: names out of TEXT_FIELDS, and "props.NAME" for a text property.
        content: the node's content, read from its raw blocks if it is long; omitted from the text
            if it is None, is not valid UTF-8 or contains a NUL.

    Returns:
        The text; empty when no field exists.

    Raises:
        InvalidInputError: a name is not a text field.
    """
    parts = []
    for name in fields:
        part = getattr(node, name) if name in _TEXTS else _field_text(node, name, content)
        if part:
            parts.append(part)
    return "\n".join(parts)


def text_digest(text: str) -> bytes:
    """Returns blake3 of the text's UTF-8 bytes, 32 bytes: the `of` of a vector.

    Raises:
        InvalidInputError: the text has lone surrogates.
    """
    try:
        return blake3(text.encode()).digest()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"text: got {text[:40]!r}, expected text without lone surrogates"
        ) from error


def content_text(content: bytes | None) -> str | None:
    """Returns content as text, or None if it is not UTF-8 or contains a NUL."""
    if content is None or b"\x00" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _field_text(node: Node, name: str, content: bytes | None) -> str | None:
    if name == "content":
        return content_text(content)
    if name.startswith("props."):
        value = node.props.get(name[6:])
        return value if type(value) is str else None
    raise InvalidInputError(
        f"fields: got {name!r:.80}, expected one of {TEXT_FIELDS} or 'props.NAME'"
    )
