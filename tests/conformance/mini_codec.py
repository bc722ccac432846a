"""CIDs and DAG-CBOR as sections 2 and 4 of `spec/format.md` say, with the standard library
alone."""

from __future__ import annotations

import struct
from base64 import b32decode, b32encode
from dataclasses import dataclass

from .mini_blake3 import blake3

DEPTH_MAX = 64
BLOCK_BYTES_MAX = 1 << 20


class RefusedError(Exception):
    """A block that the format refuses; `kind` is the code of section 4 and 8."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind


@dataclass(frozen=True)
class Link:
    """The bytes of a CID."""

    raw: bytes


# 2 CIDs


def cid_of(block: bytes, *, raw: bool = False) -> bytes:
    return (b"\x01\x55\x1e\x20" if raw else b"\x01\x71\x1e\x20") + blake3(block)


def cid_text(cid: bytes) -> str:
    return "b" + b32encode(cid).decode().lower().rstrip("=")


def parse_cid(text: str) -> bytes:
    try:
        cid = b32decode(text[1:].upper() + "=" * (-len(text[1:]) % 8))
    except ValueError as error:
        raise RefusedError("invalid-input", "not base32") from error
    if not is_cid(cid) or cid_text(cid) != text:
        raise RefusedError("invalid-input", "not the text of a cid")
    return cid


def is_cid(cid: bytes) -> bool:
    return len(cid) == 36 and cid[:4] in (b"\x01\x71\x1e\x20", b"\x01\x55\x1e\x20")


# 4 Codec


def encode(value) -> bytes:
    match value:
        case None:
            return b"\xf6"
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case float():
            return b"\xfb" + struct.pack(">d", value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case list() | tuple():
            return _head(4, len(value)) + b"".join(map(encode, value))
        case dict():
            keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            return _head(5, len(keys)) + b"".join(encode(k) + encode(value[k]) for k in keys)
        case Link():
            return b"\xd8\x2a" + encode(b"\x00" + value.raw)
    raise RefusedError("invalid-input", f"type {type(value).__name__}")


def _head(major: int, argument: int) -> bytes:
    if argument < 24:
        return bytes((major << 5 | argument,))
    for code, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << 8 * width:
            return bytes((major << 5 | code,)) + argument.to_bytes(width, "big")
    raise RefusedError("invalid-input", f"integer {argument}")


def decode(block: bytes, *, any_link: bool = False):
    """Returns the value; `any_link` admits foreign CIDs, for fixtures of other projects."""
    if len(block) > BLOCK_BYTES_MAX:
        raise RefusedError("limit-exceeded", "size")
    value, stop = _item(block, 0, 0, any_link)
    if stop != len(block):
        raise RefusedError("corrupt", "bytes after the item")
    return value


def _item(block: bytes, at: int, depth: int, any_link: bool):
    if at >= len(block):
        raise RefusedError("corrupt", "ends early")
    major, low = block[at] >> 5, block[at] & 31
    if major == 7:
        return _simple(block, at, low)
    argument, at = _argument(block, at + 1, low)
    if major == 0:
        return argument, at
    if major == 1:
        return -1 - argument, at
    if major in (2, 3):
        data, at = _take(block, at, argument)
        return (data if major == 2 else _text(data)), at
    if major == 6:
        return _link(block, at, argument, any_link)
    if argument * (major - 3) > len(block) - at:
        raise RefusedError("corrupt", "more entries than bytes")
    if depth == DEPTH_MAX:
        raise RefusedError("limit-exceeded", "depth")
    return (_list if major == 4 else _map)(block, at, argument, depth + 1, any_link)


def _list(block: bytes, at: int, count: int, depth: int, any_link: bool):
    items = []
    for _ in range(count):
        item, at = _item(block, at, depth, any_link)
        items.append(item)
    return items, at


def _map(block: bytes, at: int, count: int, depth: int, any_link: bool):
    entries: dict = {}
    before = (-1, b"")
    for _ in range(count):
        if at < len(block) and block[at] >> 5 != 3:
            raise RefusedError("non-canonical", "a key that is not text")
        key, at = _item(block, at, depth, any_link)
        order = (len(key.encode()), key.encode())
        if order <= before:
            raise RefusedError("non-canonical", "order of keys")
        before = order
        entries[key], at = _item(block, at, depth, any_link)
    return entries, at


def _simple(block: bytes, at: int, low: int):
    if low in (20, 21, 22):
        return (False, True, None)[low - 20], at + 1
    if low != 27:
        raise RefusedError("non-canonical", "simple value or short float")
    data, stop = _take(block, at + 1, 8)
    (value,) = struct.unpack(">d", data)
    if value - value != 0 or data == b"\x80" + bytes(7):
        raise RefusedError("non-canonical", "NaN, infinity or -0.0")
    return value, stop


def _argument(block: bytes, at: int, low: int) -> tuple[int, int]:
    if low < 24:
        return low, at
    if low > 27:
        raise RefusedError("non-canonical", "indefinite length")
    data, stop = _take(block, at, 1 << low - 24)
    argument = int.from_bytes(data, "big")
    if argument < (24, 1 << 8, 1 << 16, 1 << 32)[low - 24]:
        raise RefusedError("non-canonical", "head is not minimal")
    return argument, stop


def _take(block: bytes, at: int, size: int) -> tuple[bytes, int]:
    if size > len(block) - at:
        raise RefusedError("corrupt", "ends early")
    return block[at : at + size], at + size


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RefusedError("corrupt", "not UTF-8") from error


def _link(block: bytes, at: int, tag: int, any_link: bool):
    if tag != 42:
        raise RefusedError("non-canonical", f"tag {tag}")
    if at < len(block) and block[at] >> 5 != 2:
        raise RefusedError("non-canonical", "a link that is not bytes")
    data, at = _item(block, at, 0, any_link)
    if data[:1] != b"\x00" or not (any_link or is_cid(data[1:])):
        raise RefusedError("non-canonical", "not a link of the format")
    return Link(data[1:]), at
