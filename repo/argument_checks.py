"""Argument checks shared by several calls; every error names the field and the value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId, StableId

Id = TypeVar("Id", bound=StableId)


def check_id(field: str, value: Any, cls: type[Id]) -> Id:
    """Returns an id given as one or as its text; raises `InvalidInputError` for anything else."""
    if type(value) is cls:
        return value
    if type(value) is str:
        try:
            return cls.parse(value)
        except InvalidInputError as error:
            raise InvalidInputError(f"{field}: {error}") from error
    raise InvalidInputError(
        f"{field}: got {value!r:.80}, expected a {cls.__name__} or its 32 hexadecimal digits"
    )


def check_ids(field: str, values: object) -> list[NodeId]:
    """Returns the ids of nodes, given one or several, each as an id or as its text."""
    given = [values] if isinstance(values, str) else values
    if not isinstance(given, Iterable):
        raise InvalidInputError(f"{field}: got {values!r:.80}, expected the ids of nodes")
    return [check_id(field, one, NodeId) for one in given]


def check_text(field: str, value: str) -> str:
    """Returns the value if it is non-empty text; raises `InvalidInputError` otherwise."""
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{field}: got {value!r:.80}, expected text that is not empty")
    return value


def check_names(field: str, values: object) -> list[str]:
    """Returns some texts; raises `InvalidInputError` for one text, or anything but texts."""
    if isinstance(values, Iterable) and not isinstance(values, str):
        given = list(values)
        found = [one for one in given if isinstance(one, str)]
        if len(found) == len(given):
            return found
    raise InvalidInputError(f"{field}: got {values!r:.80}, expected a list of names")


def check_mapping(field: str, value: object) -> Mapping[str, Any]:
    """Returns a mapping, None as an empty one; raises `InvalidInputError` for anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{field}: got {value!r:.80}, expected a mapping")
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
