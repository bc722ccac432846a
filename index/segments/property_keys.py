"""Property keys: one byte string for (name, value) whose byte order is the order of the values.

With such keys a single sorted dictionary answers equality (one key), ranges (a run of keys) and
existence (one key per name). Equality is by canonical value: `True`, `1` and `1.0` have three keys.
Ranges compare numbers exactly, integers with floats; 1 and 1.0 lie side by side.

    key   = canonical CBOR of the name | tag | body
    tag 0 the property exists, whatever its value; no body
    tag 1 null   2 boolean   3 number   4 text (UTF-8)   5 bytes   6 link

A number's body is the largest float64 not above it, in sortable form (8 bytes), the difference to
the exact integer (2 bytes; below 2048 up to 2^64), and its type. Every list member that is a scalar
counts; maps and nested lists have no key of their own.
"""

from __future__ import annotations

import math
import struct
import sys
from functools import lru_cache

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import InvalidInputError

EXISTS, NULL, BOOLEAN, NUMBER, TEXT, BYTES, LINK, END = (bytes([tag]) for tag in range(8))
_SIGN = 1 << 63
_ALL = (1 << 64) - 1
_INTEGER, _FLOAT = b"\x00", b"\x01"
_AFTER = b"\x02"
_REST_MAX = 0xFFFF
_EXACT_MAX = 1 << 53
"""Integers below this are exact as float64."""
_NO_REST = bytes(2)
_DOUBLE, _NUMBER = struct.Struct(">d"), struct.Struct(">Q")
_FLOAT_MAX = sys.float_info.max


def name_key(name: str) -> bytes:
    """Returns the part of a key that names the property; no name's part is a prefix of another's.

    Raises:
        InvalidInputError: `name` is not text.
    """
    if type(name) is not str:
        raise InvalidInputError(f"property name: got {name!r:.80}, expected text")
    return _encoded(name)


@lru_cache(4_096)
def _encoded(name: str) -> bytes:
    return codec.encode(name)


def text_key(text: str) -> bytes:
    """Returns UTF-8; lone surrogates, which no stored text has, become bytes that match nothing."""
    return text.encode("utf-8", "surrogatepass")


def scalar_key(value: object) -> bytes | None:
    """Returns tag and body of a scalar, None for a list or a map."""
    match value:
        case str():
            return TEXT + text_key(value)
        case bool():
            return BOOLEAN + bytes([value])
        case int():
            return NUMBER + number_order(value) + _INTEGER
        case float():
            return NUMBER + number_order(value) + _FLOAT
        case None:
            return NULL
        case bytes():
            return BYTES + value
        case Cid():
            return LINK + value.raw
    return None


def number_order(value: float) -> bytes:
    """Returns 10 bytes that sort exactly like the number, over 65-bit integers and finite floats.

    >>> number_order(2**53 + 1) > number_order(float(2**53)), number_order(-1) < number_order(-0.5)
    (True, True)
    >>> number_order(3) == number_order(3.0)
    True
    """
    if type(value) is int and 0 <= value < _EXACT_MAX:
        found: int = _NUMBER.unpack(_DOUBLE.pack(value))[0] | _SIGN
        return found.to_bytes(8, "big") + _NO_REST
    rest = 0
    if isinstance(value, int):
        floor = _float_below(value)
        rest = min(value - int(floor), _REST_MAX) if math.isfinite(floor) else 0
    else:
        floor = value
    bits: int = _NUMBER.unpack(_DOUBLE.pack(floor + 0.0))[0]
    bits = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    return bits.to_bytes(8, "big") + rest.to_bytes(2, "big")


def range_keys(
    name: str, low: object, high: object, *, low_open: bool, high_open: bool
) -> tuple[bytes, bytes]:
    """Returns the half-open run of keys [start, stop) of the values between two bounds.

    A bound is a number or a text; None leaves that side open. Numbers are compared with numbers
    only, text with text only, by code point.

    Raises:
        InvalidInputError: both bounds are None, or they are of different or other types.
    """
    tags = {tag for tag in (_bound_tag(low), _bound_tag(high)) if tag}
    if len(tags) != 1 or not tags <= {TEXT, NUMBER}:
        raise InvalidInputError(
            f"range of {name!r}: got {low!r:.40} to {high!r:.40}, "
            "expected two numbers or two texts, at most one of them None"
        )
    tag = tags.pop()
    prefix = name_key(name)
    start, stop = prefix + tag, prefix + bytes([tag[0] + 1])
    if low is not None:
        start += _bound(low) + (_past(tag) if low_open else b"")
    if high is not None:
        stop = prefix + tag + _bound(high) + (b"" if high_open else _past(tag))
    return start, max(start, stop)


def _float_below(value: int) -> float:
    try:
        floor = float(value)
    except OverflowError:
        return _FLOAT_MAX if value > 0 else -math.inf
    return math.nextafter(floor, -math.inf) if int(floor) > value else floor


def _past(tag: bytes) -> bytes:
    """Returns a suffix that makes a bound greater than equal values and smaller than the next
    one."""
    return _AFTER if tag == NUMBER else b"\x00"


def _bound_tag(bound: object) -> bytes | None:
    if bound is None:
        return None
    if isinstance(bound, str):
        return TEXT
    if isinstance(bound, int | float) and not isinstance(bound, bool):
        return NUMBER
    return b"\xff"


def _bound(bound: object) -> bytes:
    if isinstance(bound, str):
        return text_key(bound)
    assert isinstance(bound, int | float), "BUG: the bound was checked"
    if bound != bound:
        raise InvalidInputError("range: got NaN, expected numbers")
    return number_order(bound)
