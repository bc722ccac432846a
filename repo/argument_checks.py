"""Argument checks shared by several calls; every error names the field and the value."""

from __future__ import annotations

from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId


def check_id(field: str, value: Any, cls: type[NodeId] | type[EdgeId]) -> Any:
    """Returns the value if it is exactly a `cls`; raises `InvalidInputError` otherwise."""
    if type(value) is not cls:
        name = cls.__name__
        hint = f"{name}.parse of ibidem.objects.ids reads its digits"
        raise InvalidInputError(
            f"{field}: got {value!r:.80}, expected a {name}",
            hint=hint if isinstance(value, str) else None,
        )
    return value


def check_text(field: str, value: str) -> str:
    """Returns the value if it is non-empty text; raises `InvalidInputError` otherwise."""
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{field}: got {value!r:.80}, expected text that is not empty")
    return value


def check_content(content: object) -> bytes:
    """Returns content as bytes: text in UTF-8, None as empty."""
    if content is None:
        return b""
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError("content: got lone surrogates, expected valid text") from error
    if not isinstance(content, bytes):
        raise InvalidInputError(f"content: got {type(content).__name__}, expected bytes or text")
    return content


def check_digest(of: object) -> bytes:
    """Returns the 32-byte digest of a text; 32 zero bytes mean that it is computed at commit."""
    if of is None:
        return bytes(32)
    if not isinstance(of, bytes) or len(of) != 32:
        raise InvalidInputError(f"of: got {of!r:.80}, expected 32 bytes, the digest of the text")
    return of
