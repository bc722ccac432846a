"""A strict, iterative check of a foreign block before any library sees it.

It walks the bytes once without recursion and without building anything, so that neither depth nor a
declared length can cost memory. A block that passes is canonical except perhaps for invalid UTF-8,
which decoding checks; `codec.decode_foreign` proves the whole by encoding the value again.

Spec: format 4.
"""

from __future__ import annotations

from typing import NoReturn

from ibidem.objects.constants import BLOCK_BYTES_MAX, DEPTH_MAX
from ibidem.objects.errors import CorruptError, ErrorKind

_LINK_HEAD = b"\xd8\x2a\x58\x25\x00\x01"
_LINK_CODECS = (0x71, 0x55)
_LINK_HASH = b"\x1e\x20"
_LINK_BYTES = 41
_SIMPLE = (0xF4, 0xF5, 0xF6)
_FLOAT64 = 0xFB
_NEGATIVE_ZERO = b"\x80" + bytes(7)
_NO_KEY = (-1, b"")


def prescan(block: bytes) -> None:
    """Raises `CorruptError` unless `block` is one well-formed item within the limits.

    Raises:
        CorruptError: `limit-exceeded` for size and depth, `non-canonical` for forms that CBOR
            allows and DAG-CBOR does not, `corrupt` for truncation, trailing bytes and a length or
            count that cannot fit. The message has the offset.

    Spec: format 4.
    """
    size = len(block)
    if size > BLOCK_BYTES_MAX:
        raise CorruptError(
            f"block: got {size} bytes, expected at most {BLOCK_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    position = 0
    pending = [1]  # items still to come, per open container
    last_key: list[tuple[int, bytes] | None] = [None]  # of each open map; None for a list
    owed = 1  # the sum of `pending`: each item needs one byte at least
    while pending:
        left = pending[-1]
        if not left:
            pending.pop()
            last_key.pop()
            continue
        pending[-1] = left - 1
        owed -= 1
        if position >= size:
            _refuse(ErrorKind.CORRUPT, position, "end of block", "another item")
        initial = block[position]
        major = initial >> 5
        key = last_key[-1]
        if key is not None and not left & 1:
            # Most keys are short: this is `_read_key` inlined for valid short keys.
            stop = position + initial - 0x5F
            if 0x60 <= initial < 0x78 and stop <= size:
                found = (initial - 0x60, block[position + 1 : stop])
                if found > key:
                    position, last_key[-1] = stop, found
                    continue
            position, last_key[-1] = _read_key(block, position, initial, key)
            continue
        if major == 2 or major == 3:
            # Most strings have a short head: this is the rest of the loop for them.
            low = initial & 0x1F
            if low < 24:
                stop = position + 1 + low
            elif low == 24 and position + 1 < size and block[position + 1] >= 24:
                stop = position + 2 + block[position + 1]
            else:
                stop = size + 1
            if stop <= size:
                position = stop
                continue
        if major >= 6:
            position = _skip_tag_or_simple(block, position, initial)
            continue
        argument, position = _read_head(block, position, initial)
        if major == 2 or major == 3:
            position = _skip_string(position, argument, size)
        elif major >= 4:
            count = argument if major == 4 else 2 * argument
            if owed + count > size - position:
                _refuse(
                    ErrorKind.CORRUPT,
                    position,
                    f"{argument} entries",
                    "as many as can fit the block",
                )
            if len(pending) > DEPTH_MAX:
                _refuse(
                    ErrorKind.LIMIT_EXCEEDED,
                    position,
                    "a deeper container",
                    f"depth {DEPTH_MAX} at most",
                )
            owed += count
            pending.append(count)
            last_key.append(None if major == 4 else _NO_KEY)
    if position != size:
        _refuse(
            ErrorKind.CORRUPT,
            position,
            f"{size - position} more bytes",
            "one item and nothing after it",
        )


def _read_key(
    block: bytes, position: int, initial: int, before: tuple[int, bytes]
) -> tuple[int, tuple[int, bytes]]:
    if initial >> 5 != 3:
        _refuse(
            ErrorKind.NON_CANONICAL, position, f"a key that begins 0x{initial:02x}", "a text key"
        )
    length, start = _read_head(block, position, initial)
    stop = _skip_string(start, length, len(block))
    key = (length, block[start:stop])
    if key <= before:
        _refuse(
            ErrorKind.NON_CANONICAL,
            position,
            f"key {key[1][:40]!r} after {before[1][:40]!r}",
            "keys in ascending order of length, then bytes, each once",
        )
    return stop, key


def _skip_string(position: int, length: int, size: int) -> int:
    if length > size - position:
        _refuse(
            ErrorKind.CORRUPT, position, f"a string of {length} bytes", "one that fits the block"
        )
    return position + length


def _read_head(block: bytes, position: int, initial: int) -> tuple[int, int]:
    low = initial & 0x1F
    position += 1
    if low < 24:
        return low, position
    if low > 27:
        _refuse(
            ErrorKind.NON_CANONICAL,
            position - 1,
            f"initial byte 0x{initial:02x}",
            "a definite length",
        )
    width = 1 << (low - 24)
    stop = position + width
    if stop > len(block):
        _refuse(ErrorKind.CORRUPT, position, "end of block", f"a head of {width} more bytes")
    argument = int.from_bytes(block[position:stop])
    if argument < (24, 1 << 8, 1 << 16, 1 << 32)[low - 24]:
        _refuse(
            ErrorKind.NON_CANONICAL,
            position - 1,
            f"{argument} in {width} bytes",
            "the shortest head",
        )
    return argument, stop


def _skip_tag_or_simple(block: bytes, position: int, initial: int) -> int:
    if initial in _SIMPLE:
        return position + 1
    if initial == _FLOAT64:
        if position + 9 > len(block):
            _refuse(ErrorKind.CORRUPT, position, "end of block", "8 bytes of a float")
        bits = block[position + 1 : position + 9]
        if bits == _NEGATIVE_ZERO or (bits[0] & 0x7F == 0x7F and bits[1] >= 0xF0):
            _refuse(
                ErrorKind.NON_CANONICAL,
                position,
                f"float {bits.hex()}",
                "a finite number other than -0.0",
            )
        return position + 9
    if initial >> 5 == 7:
        _refuse(
            ErrorKind.NON_CANONICAL,
            position,
            f"initial byte 0x{initial:02x}",
            "false, true, null or a 64-bit float",
        )
    found = block[position : position + _LINK_BYTES]
    if (
        len(found) != _LINK_BYTES
        or found[:6] != _LINK_HEAD
        or found[6] not in _LINK_CODECS
        or found[7:9] != _LINK_HASH
    ):
        _refuse(
            ErrorKind.NON_CANONICAL,
            position,
            _foreign_link(block, position) or f"tag bytes {found[:9].hex()}",
            "tag 42 with a version 1 blake3-256 cid, dag-cbor or raw",
        )
    return position + _LINK_BYTES


def _foreign_link(block: bytes, position: int) -> str | None:
    """Returns a description of a link of another system, None if the tag holds no CID."""
    if (
        block[position : position + 3] != _LINK_HEAD[:3]
        or block[position + 4 : position + 5] != b"\0"
    ):
        return None
    from ibidem.objects.foreign_cid import describe

    return describe(block[position + 5 : position + 4 + block[position + 3]])


def _refuse(kind: ErrorKind, position: int, found: str, expected: str) -> NoReturn:
    raise CorruptError(f"block: got {found} at offset {position}, expected {expected}", kind=kind)
