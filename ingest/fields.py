"""Checks JSON field by field: every error names the field, the value and the expectation.

`json` alone takes NaN, repeated names, lone surrogates and infinite numbers; this module rejects
all of them.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from ibidem.objects.constants import DIGEST_BYTES
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.json_value import from_json

JSON_DEPTH_MAX = 60

Reference = NodeId | str
"""A node id, or a local name."""


def load_json(line: bytes) -> object:
    """Returns the value of one line; a line that is not strict JSON is an InvalidInputError."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"json: byte {error.start} is not UTF-8") from error
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise InvalidInputError("json: nested too deep") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"json: {error.msg} at column {error.colno}") from error
    except InvalidInputError:
        raise
    except ValueError as error:  # an integer with thousands of digits
        raise InvalidInputError(f"json: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise InvalidInputError(f"json: field {_short(name)} stands twice")
            seen.add(name)
    return result


def _constant(name: str) -> NoReturn:
    raise InvalidInputError(f"json: {name} is not a number")


class Fields:
    """The fields of a record's body, taken one by one; fields that remain are rejected."""

    __slots__ = ("_body", "_form")

    def __init__(self, form: str, body: object) -> None:
        if not isinstance(body, dict):
            refuse(form, body, "an object")
        self._form = form
        self._body: dict[str, Any] = dict(body)

    def has(self, name: str) -> bool:
        """Whether the field exists and is not yet taken."""
        return name in self._body

    def is_null(self, name: str) -> bool:
        """Whether the field exists and is null."""
        return name in self._body and self._body[name] is None

    def take(self, name: str) -> Any:
        """Returns a required field."""
        if name not in self._body:
            raise InvalidInputError(f"{self._form}.{name}: missing")
        return self._body.pop(name)

    def text(self, name: str) -> str:
        """Returns text that is not empty."""
        value = self.take(name)
        if not isinstance(value, str) or not value:
            refuse(f"{self._form}.{name}", value, "text that is not empty")
        return _encodable(f"{self._form}.{name}", value)

    def optional_text(self, name: str, default: str | None = None) -> str | None:
        """Returns text, or the default if the field is missing or null."""
        value = self._body.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, str):
            refuse(f"{self._form}.{name}", value, "text")
        return _encodable(f"{self._form}.{name}", value)

    def flag(self, name: str, *, default: bool) -> bool:
        """Returns true or false."""
        value = self._body.pop(name, default)
        if not isinstance(value, bool):
            refuse(f"{self._form}.{name}", value, "true or false")
        return value

    def number(self, name: str, default: float) -> float:
        """Returns a finite number."""
        value = self._body.pop(name, default)
        return finite(f"{self._form}.{name}", value)

    def value(self, name: str) -> Any:
        """Returns any value that the format can hold, None if the field is missing."""
        if name not in self._body:
            return None
        value = self._body.pop(name)
        if value is None:
            refuse(f"{self._form}.{name}", value, "a value, or no such field")
        _check(f"{self._form}.{name}", value)
        return from_json(f"{self._form}.{name}", value)

    def props(self, name: str = "props") -> Mapping[str, Any]:
        """Returns the properties, empty if there are none."""
        value = self._body.pop(name, {})
        if not isinstance(value, dict):
            refuse(f"{self._form}.{name}", value, "an object")
        _check(f"{self._form}.{name}", value)
        props = from_json(f"{self._form}.{name}", value)
        if not isinstance(props, dict):
            refuse(f"{self._form}.{name}", value, "an object")
        return props

    def names(self, name: str) -> tuple[str, ...]:
        """Returns a list of texts."""
        found = self.list(name)
        for index, one in enumerate(found):
            if not isinstance(one, str):
                refuse(f"{self._form}.{name}[{index}]", one, "text")
        return tuple(_encodable(f"{self._form}.{name}", one) for one in found)

    def reference(self, name: str) -> Reference:
        """Returns the node id or local name that the field refers to."""
        value = self.take(name)
        field = f"{self._form}.{name}"
        if isinstance(value, dict):
            inner = Fields(field, value)
            namespace, key = inner.optional_text("namespace", ""), inner.value("key")
            inner.end()
            if key is None:
                refuse(field, value, 'an object with "key"')
            return node_id(namespace or "", key)
        if not isinstance(value, str) or not value:
            refuse(field, value, "a local name, a node id or an object with namespace and key")
        return NodeId.parse(value) if is_id(value) else _encodable(field, value)

    def id(self, name: str) -> NodeId | None:
        """Returns a node id, None if the field is missing."""
        text = self.optional_text(name)
        if text is not None and not is_id(text):
            refuse(f"{self._form}.{name}", text, "32 lower-case hexadecimal digits")
        return None if text is None else NodeId.parse(text)

    def digest(self, name: str) -> bytes | None:
        """Returns the bytes of a digest in hexadecimal text, None if the field is missing."""
        text = self.optional_text(name)
        if text is None:
            return None
        if len(text) != 2 * DIGEST_BYTES or not set(text) <= set("0123456789abcdef"):
            refuse(f"{self._form}.{name}", text, f"{2 * DIGEST_BYTES} hexadecimal digits")
        return bytes.fromhex(text)

    def base64(self, name: str) -> bytes:
        """Returns the bytes in base64 text."""
        text = self.text(name)
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidInputError(f"{self._form}.{name}: not base64: {error}") from error

    def list(self, name: str) -> list[Any]:
        """Returns a list, its members unchecked."""
        value = self.take(name)
        if not isinstance(value, list):
            refuse(f"{self._form}.{name}", value, "a list")
        return value

    def one_of(self, *names: str) -> str:
        """Returns the name of the field that exists; several or none are an error."""
        found = [name for name in names if self.has(name)]
        if len(found) != 1:
            *most, last = map(repr, names)
            raise InvalidInputError(f"{self._form}: expected either {', '.join(most)} or {last}")
        return found[0]

    def rest(self) -> dict[str, Any]:
        """Returns the fields that were not taken, and takes them."""
        found, self._body = self._body, {}
        _check(self._form, found)
        return {name: from_json(f"{self._form}.{name}", one) for name, one in found.items()}

    def end(self) -> None:
        """Rejects fields that were not taken."""
        if self._body:
            names = ", ".join(_short(name) for name in self._body)
            raise InvalidInputError(f"{self._form}: unknown field {names}")


def _check(field: str, value: object) -> None:
    """Rejects values that the format cannot represent; the codec would too, without naming the
    field."""
    found = _misfit(value, JSON_DEPTH_MAX)
    if found is not None:
        place, misfit, expected = found
        refuse(field + place, misfit, expected)


def _misfit(value: object, depth: int) -> tuple[str, object, str] | None:
    """Returns the first invalid value inside: (path to it, value, expectation)."""
    if depth < 0:
        return "", "a deeper value", f"at most {JSON_DEPTH_MAX} levels"
    match value:
        case str():
            return None if _is_encodable(value) else ("", value, "text without lone surrogates")
        case bool() | None:
            return None
        case int():
            fits = -(1 << 64) <= value < 1 << 64
            return None if fits else ("", value, "an integer of at most 64 bits")
        case float():
            if not math.isfinite(value):
                return "", value, "a finite number"
            signed_zero = value == 0 and math.copysign(1.0, value) < 0
            return ("", value, "0.0 without a sign") if signed_zero else None
        case list():
            for place, inner in enumerate(value):
                if (found := _misfit(inner, depth - 1)) is not None:
                    return f"[{place}]{found[0]}", *found[1:]
        case dict():
            for name, inner in value.items():
                if not _is_encodable(name):
                    return "", name, "names without lone surrogates"
                if (found := _misfit(inner, depth - 1)) is not None:
                    return f".{name}{found[0]}", *found[1:]
    return None


def to_float(value: float) -> float:
    """Returns the number as a float, infinity for an integer out of range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def finite(field: str, value: object) -> float:
    """Returns a finite number; any other value is an error."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(field, value, "a number")
    number = to_float(value)
    if not math.isfinite(number):
        refuse(field, value, "a finite number")
    return number


def _encodable(field: str, text: str) -> str:
    if not _is_encodable(text):
        refuse(field, text, "text without lone surrogates")
    return text


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_id(text: str) -> bool:
    """Whether text is 32 lower-case hexadecimal digits, the form of an id."""
    return len(text) == 32 and all(digit in "0123456789abcdef" for digit in text)


def refuse(field: str, value: object, expected: str) -> NoReturn:
    """Raises InvalidInputError with field, value and expectation."""
    raise InvalidInputError(f"{field[:200]}: got {_short(value)}, expected {expected}")


def _short(value: object) -> str:
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge integer"
    return text if len(text) <= 80 else text[:80] + "…"
