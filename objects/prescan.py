"""A strict, iterative check of a foreign block before any library sees it.

Walks the bytes once without recursion and without building anything, so that neither depth nor a
declared length can cost memory. What it lets through is well-formed CBOR with minimal heads,
bounded depth and only well-formed links as tags; map order, UTF-8 and float values are left to the
comparison that `codec.decode_foreign` makes afterwards.

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


def prescan(block: bytes) -> None:
    """Raises `CorruptError` unless `block` is one well-formed item within the limits.

    Raises:
        CorruptError: `limit-exceeded` for size, depth or a count that can not fit, `non-canonical`
            for a head that is not minimal or a feature that DAG-CBOR does not have, `corrupt` for
            truncation and trailing bytes. The message has the offset.
    """
    size = len(block)
    if size > BLOCK_BYTES_MAX:
        raise CorruptError(
            f"block: got {size} bytes, expected at most {BLOCK_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    position = 0
    pending = [1]  # items still to come, per open container
    owed = 1  # their sum: each needs one byte at least
    while pending:
        if not pending[-1]:
            pending.pop()
            continue
        pending[-1] -= 1
        owed -= 1
        if position >= size:
            _refuse(ErrorKind.CORRUPT, position, "end of block", "another item")
        initial = block[position]
        major = initial >> 5
        if major >= 6:
            position = _skip_tag_or_simple(block, position, initial)
            continue
        argument, position = _read_head(block, position, initial)
        if major == 2 or major == 3:
            if argument > size - position:
                _refuse(
                    ErrorKind.CORRUPT,
                    position,
                    f"a string of {argument} bytes",
                    "one that fits the block",
                )
            position += argument
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
    if position != size:
        _refuse(
            ErrorKind.CORRUPT,
            position,
            f"{size - position} more bytes",
            "one item and nothing after it",
        )


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
            f"tag bytes {found[:9].hex()}",
            "tag 42 with a version 1 blake3-256 cid, dag-cbor or raw",
        )
    return position + _LINK_BYTES


def _refuse(kind: ErrorKind, position: int, found: str, expected: str) -> NoReturn:
    raise CorruptError(f"block: got {found} at offset {position}, expected {expected}", kind=kind)
