"""Array types of the index, and the few conversions between numpy and roaring bitmaps.

`pyroaring` is fast in one direction only when it is fed an `array('I')`, and only `to_array` is
fast in the other; every conversion goes through here.
"""

from __future__ import annotations

from array import array
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from blake3 import blake3
from pyroaring import BitMap

from ibidem.objects.errors import CorruptError

Array: TypeAlias = npt.NDArray[Any]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Ordinals: TypeAlias = npt.NDArray[np.uint32]
Columns: TypeAlias = dict[str, Array]

_CHECKSUM_BYTES = 8
NO_ROW = np.uint32(0xFFFFFFFF)
"""Stands for "dropped" in renumberings; also the bound on ordinals."""

_BLOCK, _FEW_PLACES, _BLOCKS_COOKIE = 65_536, 4_096, 12_346
"""Of the portable format of roaring bitmaps: places in a block, how many of them are written as
numbers at most, and what a file without runs begins with."""


def to_bitmap(ordinals: Array) -> BitMap:
    """Returns the set of `ordinals`, (n,) of any unsigned type, in any order, repeats allowed."""
    if not len(ordinals):
        return BitMap()
    return BitMap(array("I", np.ascontiguousarray(ordinals, dtype=np.uint32).tobytes()))


def bitmap_of_flags(flags: Array) -> BitMap:
    """Returns the places where `flags`, (n,) bool, is true.

    It is written in the format that the library reads, blocks of 65,536 places as bits or, where
    these are few, as numbers; adding them one by one takes ten times as long.
    """
    bits = np.packbits(flags, bitorder="little")
    heads: list[int] = []
    blocks: list[bytes] = []
    for first in range(0, len(flags), _BLOCK):
        part = flags[first : first + _BLOCK]
        count = int(np.count_nonzero(part))
        if not count:
            continue
        if count > _FEW_PLACES:
            block = bits[first // 8 : (first + _BLOCK) // 8].tobytes().ljust(_BLOCK // 8, b"\0")
        else:
            block = np.flatnonzero(part).astype("<u2").tobytes()
        heads += (first // _BLOCK, count - 1)
        blocks.append(block)
    if not blocks:
        return BitMap()
    start = 8 + 8 * len(blocks)
    starts = start + np.cumsum([0, *map(len, blocks[:-1])])
    head = np.array([_BLOCKS_COOKIE, len(blocks)], "<u4").tobytes()
    head += np.array(heads, "<u2").tobytes() + starts.astype("<u4").tobytes()
    return BitMap.deserialize(b"".join((head, *blocks)))


def to_ordinals(bitmap: BitMap) -> Ordinals:
    """Returns the members as (n,) uint32 ascending; the array is the caller's."""
    return (
        np.frombuffer(bitmap.to_array().tobytes(), dtype=np.uint32) if bitmap else empty_ordinals()
    )


def empty_ordinals() -> Ordinals:
    """Returns an empty array of ordinals."""
    return np.empty(0, dtype=np.uint32)


def bitmap_bytes(bitmap: BitMap | None) -> Bytes:
    """Returns the canonical serialisation and its checksum, (n,) uint8; nothing for an empty one.

    The bitmap is optimised in place: without that, equal sets can have different bytes.
    """
    if not bitmap:
        return np.empty(0, dtype=np.uint8)
    bitmap.run_optimize()
    data: bytes = bitmap.serialize()
    return np.frombuffer(data + _checksum(data), dtype=np.uint8)


def bitmap_of_bytes(data: Array) -> BitMap:
    """Returns the bitmap that `bitmap_bytes` wrote.

    Raises:
        CorruptError: the bytes are damaged; the library would trust them and might crash.
    """
    if not len(data):
        return BitMap()
    raw = data.tobytes()
    if _checksum(raw[:-_CHECKSUM_BYTES]) != raw[-_CHECKSUM_BYTES:]:
        raise CorruptError(
            "index: a bitmap does not have its checksum", hint="run 'repo index build'"
        )
    return BitMap.deserialize(raw[:-_CHECKSUM_BYTES])


def _checksum(data: bytes) -> bytes:
    return blake3(data).digest(_CHECKSUM_BYTES)


def firsts(ascending: Array) -> npt.NDArray[np.bool_]:
    """Returns, (n,), which of some ascending values are the first of their kind."""
    found = np.empty(ascending.shape[0], np.bool_)
    found[:1] = True
    np.not_equal(ascending[1:], ascending[:-1], out=found[1:])
    return found


def contains_rows(sorted_values: Array, wanted: Array) -> tuple[Array, Array]:
    """Returns (position, is_present) of each of `wanted` in the ascending, unique `sorted_values`.

    Both must have one dtype: otherwise numpy would convert the whole column.
    """
    if not len(sorted_values):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    first, count = int(sorted_values[0]), len(sorted_values)
    if int(sorted_values[-1]) - first + 1 == count:  # every value between: nothing to search
        position = wanted.astype(np.int64) - first
        present = (position >= 0) & (position < count)
        return np.where(present, position, 0), present
    position = np.searchsorted(sorted_values, wanted)
    np.minimum(position, len(sorted_values) - 1, out=position)
    return position, sorted_values[position] == wanted


def smallest_unsigned(values: Array) -> Array:
    """Returns `values` as uint8, uint16 or uint32, the smallest that holds them all."""
    top = int(values.max()) if len(values) else 0
    return values.astype(np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.uint32)


def offsets(counts: Array) -> Array:
    """Returns the (n + 1,) running sums of `counts`, from 0; uint32 where that is enough."""
    ends = np.zeros(len(counts) + 1, dtype=np.uint64)
    np.cumsum(counts, out=ends[1:])
    return ends.astype(np.uint32) if int(ends[-1]) < 1 << 32 else ends


def ranges(starts: Array, counts: Array) -> Array:
    """Returns the concatenation of `arange(start, start + count)` over all pairs, (sum,) int64."""
    counts = counts.astype(np.int64)
    total = int(counts.sum())
    if not total:
        return np.empty(0, dtype=np.int64)
    shift = starts.astype(np.int64) - (np.cumsum(counts) - counts)
    return np.repeat(shift, counts) + np.arange(total, dtype=np.int64)
