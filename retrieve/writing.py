"""Answers as DAG-CBOR of any length, put together from values that are encoded already.

The codec writes blocks, and a block is limited in size; an answer is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def map_of(parts: Mapping[str, bytes]) -> bytes:
    """Returns a map of encoded values, keys in canonical order."""
    keys = sorted(parts, key=lambda key: (len(key), key))
    body = [piece for key in keys for piece in (text_of(key), parts[key])]
    return b"".join([_head(5, len(keys)), *body])


def array_of(parts: Iterable[bytes]) -> bytes:
    """Returns an array of encoded values."""
    items = list(parts)
    return b"".join([_head(4, len(items)), *items])


def text_of(text: str) -> bytes:
    """Returns an encoded text."""
    data = text.encode("utf-8")
    return _head(3, len(data)) + data


def _head(major: int, count: int) -> bytes:
    """Returns the first bytes of a CBOR item in their shortest form."""
    if count < 24:
        return bytes([major << 5 | count])
    for extra, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if count < 1 << 8 * size:
            return bytes([major << 5 | extra]) + count.to_bytes(size, "big")
    raise AssertionError("BUG: nothing is that long")
