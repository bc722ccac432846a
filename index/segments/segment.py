"""A segment: one immutable set of columns, and the one file that holds it.

    offset 0   magic (8) | header length (4, little-endian) | 0 (4) | file size (8) | 0 (8)
    offset 32  blake3 of the first 32 bytes and of the header (32)
    offset 64  header: DAG-CBOR {"columns": {name: [dtype, shape, offset]}, "meta": {...}}
    then       the columns, each at a multiple of 64 bytes

A file is mapped, never read as a whole: a column is a view of the mapping, and the mapping lives as
long as an array on it does, also after the file was unlinked. Names of files are the hash of all
their bytes. Truncation and damage of the header are noticed at every open; `verify` hashes the
rest.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from blake3 import blake3

from ibidem.index.arrays import Array, Columns
from ibidem.objects import codec
from ibidem.objects.errors import CorruptError

MAGIC = b"ibidseg1"
ALIGNMENT = 64
HEAD_BYTES = 64
Piece: TypeAlias = "bytes | memoryview"
_DTYPES = frozenset(("|u1", "|i1", "<u2", "<u4", "<u8", "<i8", "<f4", "<f8"))


class Segment:
    """Columns of one segment. `cache` keeps what was derived from them; it dies with the
    segment."""

    __slots__ = ("__weakref__", "cache", "columns", "meta", "name", "row_count", "size_bytes")

    def __init__(
        self, name: str, columns: Columns, meta: Mapping[str, Any], size_bytes: int
    ) -> None:
        self.name = name
        self.columns = columns
        self.meta = meta
        self.size_bytes = size_bytes
        self.row_count = len(columns["ordinals"]) if "ordinals" in columns else 0
        self.cache: dict[Any, Any] = {}

    def __getitem__(self, column: str) -> Array:
        return self.columns[column]


def segment_pieces(columns: Columns, meta: Mapping[str, Any]) -> tuple[int, list[Piece]]:
    """Returns the size of the file that holds `columns`, and its bytes in pieces, without copying
    columns."""
    arrays = {name: np.ascontiguousarray(columns[name]) for name in sorted(columns)}
    table: dict[str, Any] = {}
    offset = 0
    for name, column in arrays.items():
        dtype = column.dtype.newbyteorder("<").str
        assert dtype in _DTYPES, f"BUG: column {name} has dtype {dtype}"
        table[name] = [dtype, list(column.shape), offset]
        offset += -(-column.nbytes // ALIGNMENT) * ALIGNMENT
    header = codec.encode({"columns": table, "meta": dict(meta)})
    size = -(-(HEAD_BYTES + len(header)) // ALIGNMENT) * ALIGNMENT + offset
    head = MAGIC + len(header).to_bytes(8, "little") + size.to_bytes(16, "little")
    pieces: list[Piece] = [head + blake3(head + header).digest() + header + _padding(len(header))]
    for column in arrays.values():
        if column.nbytes:
            pieces.append(column.reshape(-1).view(np.uint8).data)
            pieces.append(_padding(column.nbytes))
    return size, pieces


def _padding(size_bytes: int) -> bytes:
    return bytes(-size_bytes % ALIGNMENT)


def read_segment(name: str, data: bytes | memoryview | mmap.mmap) -> Segment:
    """Returns the segment in `data`; its columns are read-only views.

    Raises:
        CorruptError: not a segment, or cut short.
    """
    size = len(data)
    head = bytes(data[:HEAD_BYTES])
    if size < HEAD_BYTES or head[:8] != MAGIC or int.from_bytes(head[16:24], "little") != size:
        raise CorruptError(
            f"index file {name}: got {size} bytes, expected a segment of its stated size"
        )
    length = int.from_bytes(head[8:16], "little")
    header = bytes(data[HEAD_BYTES : HEAD_BYTES + length])
    if blake3(head[:32] + header).digest() != head[32:64]:
        raise CorruptError(f"index file {name}: the header does not have its stated hash")
    table = codec.decode(header)
    start = -(-(HEAD_BYTES + length) // ALIGNMENT) * ALIGNMENT
    columns: Columns = {}
    for column, (dtype, shape, offset) in table["columns"].items():
        count = 1
        for axis in shape:
            count *= axis
        array: Array = np.empty(0, dtype=dtype)
        if count:
            array = np.frombuffer(data, dtype=dtype, count=count, offset=start + offset)
        array = array.reshape(shape)
        array.flags.writeable = False
        columns[column] = array
    return Segment(name, columns, table["meta"], size)
