"""Canonical bytes of answers, put together from parts that are encoded already.

An answer has hundreds of small values of known types, and its query is written into two blocks:
checking and sorting all of it again costs more than some lanes. What these functions write is what
`codec.encode` writes for the same value; tests compare the two. Blocks are limited in size, answers
are not.

Spec: format 4, retrieval 9.2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ibidem.objects.cid import Cid
from ibidem.objects.errors import InvalidInputError

NULL = b"\xf6"
_REAL = struct.Struct(">Bd")
_REAL_HEAD = 0xFB
_MINUS_ZERO = _REAL.pack(_REAL_HEAD, -0.0)
_BYTES = tuple(bytes((value,)) for value in range(256))
_LINK_HEAD = b"\xd8\x2a\x58\x25\x00"
"""Tag 42, a byte string of 37 bytes, and the zero that stands before every link."""


def map_of(parts: Mapping[str, bytes]) -> bytes:
    """Returns a map of encoded values, keys in canonical order."""
    written = [head_of(5, len(parts))]
    for key, name in _ordered(tuple(parts)):
        written += (key, parts[name])
    return b"".join(written)


def array_of(parts: Iterable[bytes]) -> bytes:
    """Returns an array of encoded values."""
    items = list(parts)
    return head_of(4, len(items)) + b"".join(items)


def text_of(text: str) -> bytes:
    """Returns an encoded text of any length."""
    data = text.encode()
    return head_of(3, len(data)) + data


def bytes_of(value: bytes) -> bytes:
    """Returns encoded bytes."""
    return head_of(2, len(value)) + value


def count_of(value: int | None) -> bytes:
    """Returns an encoded integer of at least 0, or null."""
    return NULL if value is None else head_of(0, value)


def real_of(value: float) -> bytes:
    """Returns an encoded float64.

    Raises:
        InvalidInputError: it is infinite, NaN or -0.0, which no canonical number is.
    """
    written = _REAL.pack(_REAL_HEAD, value)
    if value - value != 0.0 or written == _MINUS_ZERO:
        raise InvalidInputError(f"float: got {value!r}, expected a finite number other than -0.0")
    return written


def link_of(cid: Cid) -> bytes:
    """Returns an encoded link."""
    return _LINK_HEAD + cid.raw


def head_of(major: int, count: int) -> bytes:
    """Returns the first bytes of a CBOR item in their shortest form."""
    if count < 24:
        return _BYTES[major << 5 | count]
    for extra, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if count < 1 << 8 * size:
            return bytes((major << 5 | extra,)) + count.to_bytes(size, "big")
    raise AssertionError("BUG: nothing is that long")


@lru_cache(maxsize=256)
def _ordered(names: tuple[str, ...]) -> tuple[tuple[bytes, str], ...]:
    """Returns encoded keys in canonical order, each with its name: of fields, lanes and reasons,
    which come in few combinations."""
    # A longer text begins with a larger byte, so bytes of keys are in order of length first.
    return tuple(sorted((text_of(name), name) for name in names))
