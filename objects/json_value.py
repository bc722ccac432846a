"""Values of the format as JSON, without loss: bytes and links in the form of DAG-JSON.

    bytes                 {"/": {"bytes": "aGk"}}        base64 without padding
    a link                {"/": "bafy…"}
    a map with only "/"   {"/": {"map": {"/": …}}}       so that it is not taken for one of these

Integers, floats, texts, lists and all other maps are themselves: Python writes the shortest text
that gives the same float, and a float always has a point or an exponent.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from ibidem.objects.cid import Cid
from ibidem.objects.errors import InvalidInputError

_MARK = "/"


def to_json(value: Any) -> Any:
    """Returns a value of the format as a value that `json.dumps` writes."""
    if isinstance(value, Mapping):
        found = {name: to_json(inner) for name, inner in value.items()}
        return {_MARK: {"map": found}} if found.keys() == {_MARK} else found
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if isinstance(value, bytes):
        return {_MARK: {"bytes": base64.b64encode(value).decode("ascii").rstrip("=")}}
    return {_MARK: str(value)} if isinstance(value, Cid) else value


def from_json(field: str, value: Any) -> Any:
    """Returns the value of the format that stands for a JSON value.

    Args:
        field: named in an error.

    Raises:
        InvalidInputError: a map with only "/" that is none of the forms above.
    """
    if isinstance(value, dict):
        if value.keys() == {_MARK}:
            return _marked(field, value[_MARK])
        return {name: from_json(f"{field}.{name}", inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [from_json(f"{field}[{index}]", inner) for index, inner in enumerate(value)]
    return value


def _marked(field: str, value: Any) -> Any:
    match value:
        case str():
            try:
                return Cid.parse(value)
            except InvalidInputError as error:
                raise InvalidInputError(f"{field}: {error}") from error
        case {"bytes": str(text), **rest} if not rest:
            try:
                return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
            except (binascii.Error, ValueError) as error:
                raise InvalidInputError(f"{field}: not base64: {error}") from error
        case {"map": dict(inner), **rest} if not rest:
            return {name: from_json(f"{field}.{name}", one) for name, one in inner.items()}
    raise InvalidInputError(
        f'{field}: got {{"/": …}}, expected a link {{"/": "b…"}} or {{"/": {{"bytes": "…"}}}}'
    )
