"""The bytes of a tree block: a fixed canonical DAG-CBOR shape.

The shape never varies, so it is written and read here without the general codec; the codec would
write the same bytes for the same map. Finding, decoding and searching a block takes about two
microseconds, so no caller needs a cache that outlives its owner.

Spec: format 6.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import CID_BYTES, Cid, TreeCid
from ibidem.objects.constants import (
    FORMAT_VERSION,
    TREE_ENTRIES_MAX,
    TREE_KEY_BYTES_MAX,
    TREE_LEVEL_MAX,
)
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, unknown_version
from ibidem.objects.tree.columns import COUNT_BYTES, Block

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

_LEAF_HEAD = b"\xa5\x61v\x01\x64cids"
_INNER_HEAD = b"\xa6\x61v\x01\x64cids"
_HEAD_BYTES = len(_LEAF_HEAD)
_KEYS = b"\x64keys"
_KIND_LEVEL = b"\x64kind\x64tree\x65level"
_COUNTS = b"\x66counts"
_LEVELS = tuple(
    _KIND_LEVEL + (bytes((level,)) if level < 24 else bytes((0x18, level)))
    for level in range(TREE_LEVEL_MAX + 1)
)

_LAYOUT_HEAD_BYTES = _HEAD_BYTES + 3
_LAYOUTS_MAX = 8192
_LAYOUTS: dict[tuple[bytes, int], tuple[int, int, bytes, int, bytes, int]] = {}
"""Layouts by the first bytes and the length of a block: its level and size, the bytes required
before its keys, the offset of the keys, the bytes required after the keys, and their offset."""


def encode(level: int, keys: bytes, cids: bytes, counts: bytes) -> bytes:
    """Returns the canonical bytes of a block. The columns must agree; this is not checked.

    Spec: format 6.1.
    """
    head = b"".join(
        (
            _LEAF_HEAD if level == 0 else _INNER_HEAD,
            _bytes_head(len(cids)),
            cids,
            _KEYS,
            _bytes_head(len(keys)),
            keys,
            _LEVELS[level],
        )
    )
    return head if level == 0 else b"".join((head, _COUNTS, _bytes_head(len(counts)), counts))


def decode(block: bytes) -> Block:
    """Reads a block of either level.

    Shape, canonical form and the agreement of the columns are checked; `verify` checks the order of
    the keys and the positions of the boundaries.

    Raises:
        CorruptError: not a tree block, or not the canonical one; the kind is the codec's for a
            fault of the encoding, `limit-exceeded` above 256 entries, otherwise `corrupt`.
        FormatError: a tree block of a newer version.

    Spec: format 6.1.
    """
    layout = _LAYOUTS.get((block[:_LAYOUT_HEAD_BYTES], len(block)))
    if layout is not None:
        level, size, middle, keys_start, tail, tail_start = layout
        counts_start = tail_start + len(tail)
        if block.startswith(middle, keys_start - len(middle)) and block.startswith(
            tail, tail_start
        ):
            return Block(
                level,
                size,
                block[keys_start:tail_start],
                block[_LAYOUT_HEAD_BYTES : keys_start - len(middle)],
                block[counts_start:],
            )
    try:
        return _decode_any(block)
    except CorruptError:
        codec.decode_foreign(block)  # a fault of the encoding itself comes first, with its own kind
        raise


def _decode_any(block: bytes) -> Block:
    """Decodes a block field by field, and remembers the layout for the next ones like it."""
    head = block[:_HEAD_BYTES]
    inner = head == _INNER_HEAD
    if not inner and head != _LEAF_HEAD:
        raise _refuse_head(block)
    cids, at = _read_bytes(block, _HEAD_BYTES, "cids")
    if block[at : at + 5] != _KEYS:
        raise _corrupt(f"field at offset {at}, expected 'keys'")
    keys, at = _read_bytes(block, at + 5, "keys")
    if block[at : at + 16] != _KIND_LEVEL:
        raise _corrupt(f"fields at offset {at}, expected 'kind', 'tree', 'level'")
    level, at = _read_level(block, at + 16)
    counts = b""
    if inner:
        if block[at : at + 7] != _COUNTS:
            raise _corrupt(f"field at offset {at}, expected 'counts'")
        counts, at = _read_bytes(block, at + 7, "counts")
    if at != len(block):
        raise _corrupt(f"{len(block) - at} bytes after its end")
    size = len(cids) // CID_BYTES
    _check_columns(level, size, keys, cids, counts, inner=inner)
    if len(cids) >= 256 and len(_LAYOUTS) < _LAYOUTS_MAX:
        middle = _KEYS + _bytes_head(len(keys))
        tail = _LEVELS[level] + (_COUNTS + _bytes_head(len(counts)) if inner else b"")
        keys_start = _LAYOUT_HEAD_BYTES + len(cids) + len(middle)
        layout = (level, size, middle, keys_start, tail, keys_start + len(keys))
        _LAYOUTS[block[:_LAYOUT_HEAD_BYTES], len(block)] = layout
    return Block(level, size, keys, cids, counts)


def begins_as_tree(block: bytes) -> bool:
    """Returns whether a block begins as every tree block does; few blocks of other kinds do."""
    return block.startswith((_LEAF_HEAD, _INNER_HEAD))


def load(source: Source, raw: bytes) -> Block:
    """Reads the block with the CID `raw` from `source`; the empty tree needs no reading."""
    if raw == EMPTY_TREE.raw:
        return _EMPTY
    try:
        return decode(source.get(TreeCid(raw)))
    except CorruptError as error:
        raise CorruptError(f"{error} (tree block {Cid(raw)})", kind=error.kind) from error


def check_child(child: Block, raw: bytes, level: int, last: bytes) -> None:
    """Raises `CorruptError` unless a child is at `level` and ends at the key `last`."""
    if child.level != level:
        raise CorruptError(f"tree block {Cid(raw)}: level {child.level}, expected {level}")
    if child.size == 0 or child.last != last:
        raise CorruptError(
            f"tree block {Cid(raw)}: ends at key {child.last.hex()}, its parent says {last.hex()}"
        )


def _bytes_head(size: int) -> bytes:
    if size >= 256:
        return b"\x59" + size.to_bytes(2, "big")
    return bytes((0x40 + size,)) if size < 24 else bytes((0x58, size))


def _read_bytes(block: bytes, at: int, field: str) -> tuple[bytes, int]:
    head = block[at : at + 3]
    if len(head) < 3:
        raise _corrupt(f"ends within {field!r}")
    size = -1
    if head[0] == 0x59:
        size = (head[1] << 8) | head[2]
        start, least = at + 3, 256
    elif head[0] == 0x58:
        size = head[1]
        start, least = at + 2, 24
    else:
        size = head[0] - 0x40
        start, least = at + 1, 0
        if size >= 24:
            size = -1
    if size < least:
        raise _corrupt(
            f"{field!r} begins with {head.hex()}, expected the shortest byte string head"
        )
    value = block[start : start + size]
    if len(value) != size:
        raise _corrupt(f"{field!r} declares {size} bytes, {len(value)} are left")
    return value, start + size


def _read_level(block: bytes, at: int) -> tuple[int, int]:
    head = block[at : at + 2]
    if head and head[0] < 24:
        return head[0], at + 1
    if len(head) == 2 and head[0] == 0x18 and 24 <= head[1] <= TREE_LEVEL_MAX:
        return head[1], at + 2
    raise _corrupt(f"'level' is written {head.hex()!r}, expected 0 to {TREE_LEVEL_MAX}")


def _check_columns(
    level: int, size: int, keys: bytes, cids: bytes, counts: bytes, *, inner: bool
) -> None:
    if inner != (level > 0):
        raise _corrupt(f"level {level} {'with' if inner else 'without'} counts")
    if size * CID_BYTES != len(cids):
        raise _corrupt(f"'cids' of {len(cids)} bytes, expected a multiple of {CID_BYTES}")
    if size > TREE_ENTRIES_MAX:
        raise _corrupt(f"{size} entries, expected at most {TREE_ENTRIES_MAX}", limit=True)
    if size == 0:
        if inner or keys:
            raise _corrupt(f"no entries at level {level} with {len(keys)} bytes of keys")
        return
    width, rest = divmod(len(keys), size)
    if rest or not 1 <= width <= TREE_KEY_BYTES_MAX:
        raise _corrupt(
            f"{len(keys)} bytes of keys for {size} entries, "
            f"expected one width of 1 to {TREE_KEY_BYTES_MAX}"
        )
    if inner and len(counts) != size * COUNT_BYTES:
        raise _corrupt(f"'counts' of {len(counts)} bytes, expected {size * COUNT_BYTES}")


def _refuse_head(block: bytes) -> CorruptError | FormatError:
    if block[:3] in (_LEAF_HEAD[:3], _INNER_HEAD[:3]) and block[3:4] != b"\x01":
        return unknown_version("tree.v", block[3], (FORMAT_VERSION,))
    return _corrupt(
        f"begins {block[:_HEAD_BYTES].hex()}, expected a map of v, cids, keys, kind, level"
    )


def _corrupt(what: str, *, limit: bool = False) -> CorruptError:
    kind = ErrorKind.LIMIT_EXCEEDED if limit else ErrorKind.CORRUPT
    return CorruptError(f"tree block: {what}", kind=kind)


# At the end, because the functions above make them.
EMPTY_TREE_BLOCK = encode(0, b"", b"", b"")
"""The block of the empty tree."""

EMPTY_TREE = TreeCid.of(EMPTY_TREE_BLOCK)
"""The empty tree. It reads as empty whether or not its block is stored."""

_EMPTY = decode(EMPTY_TREE_BLOCK)
