"""A segment: an immutable set of columns, and the file that holds it.

    offset 0   magic (8) | header length (8, little-endian) | file size (8) | 0 (8)
    offset 32  blake3 of the first 32 bytes and of the header (32)
    offset 64  header: DAG-CBOR {
                 "columns": {name: [dtype, shape, offset, chunk rows, checksums]},
                 "digest": blake3 of all that follows the header and its padding,
                 "meta": {...}}
    then       the columns, each at a multiple of 64 bytes, zeros between them

A file is mapped, never read as a whole: a column is a view of the mapping, and the mapping lives as
long as an array on it, even after the file was unlinked. The name of a file is the hash at offset
32, so a file that was truncated or replaced by another is detected when it is opened. The bytes of
columns are compared with their checksums when they are read (`column.py`); `check_digest` compares
all of them with `digest`.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Self, TypeAlias

import numpy as np
from blake3 import blake3

from ibidem.index.arrays import Array, Columns
from ibidem.index.segments.column import Checksums, Column, Fill
from ibidem.objects import codec
from ibidem.objects.errors import CorruptError
from ibidem.objects.record import record

MAGIC = b"ibidseg1"
ALIGNMENT = 64
HEAD_BYTES = 64
Piece: TypeAlias = "bytes | memoryview"
_ONE_CALL_BYTES_MAX = 1 << 16
"""Bytes of columns that are copied to be hashed in one call, which takes less time than a call for
each."""
_DTYPES = frozenset(("|u1", "|i1", "<u2", "<u4", "<u8", "<i8", "<f4", "<f8"))


class Segment:
    """Columns of one segment. `cache` holds data derived from them and lives as long as the
    segment."""

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Array | Column],
        meta: Mapping[str, Any],
        size_bytes: int,
    ) -> None:
        self.name = name
        self._columns = {
            key: column if isinstance(column, Column) else Column(column)
            for key, column in columns.items()
        }
        self.meta = meta
        self.size_bytes = size_bytes
        self.row_count = len(columns["ordinals"]) if "ordinals" in columns else 0
        self.cache: dict[Any, Any] = {}
        self._is_wrong = False

    def __getitem__(self, name: str) -> Array:
        """Returns a whole column.

        Raises:
            CorruptError: some of its bytes do not match their checksum.
        """
        return self._columns[name].whole()

    def column(self, name: str) -> Column:
        """Returns a column, which can be read in part."""
        return self._columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def columns(self) -> Columns:
        """Returns all columns, whole; raises as reading one does."""
        return {name: column.whole() for name, column in self._columns.items()}

    @property
    def is_damaged(self) -> bool:
        """Whether a column was found damaged, by its checksums or by `refuse`."""
        return self._is_wrong or any(column.is_damaged for column in self._columns.values())

    def refuse(self, problem: str) -> NoReturn:
        """Marks the segment as damaged: it differs from the blocks from which it was built.

        Raises:
            CorruptError: always.
        """
        self._is_wrong = True
        raise CorruptError(f"index file {self.name}: {problem}", hint="run 'repo index build'")


@record
class SegmentFile:
    """The file of a segment, before it is written."""

    name: str
    size_bytes: int
    columns: Columns
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, columns: Columns, meta: Mapping[str, Any]) -> Self:
        """Returns the file that holds `columns`, without copying them."""
        arrays = {name: np.ascontiguousarray(columns[name]) for name in sorted(columns)}
        table: dict[str, Any] = {}
        body: list[Piece] = []
        offset = 0
        for name, column in arrays.items():
            dtype = column.dtype.newbyteorder("<").str
            assert dtype in _DTYPES, f"BUG: column {name} has dtype {dtype}"
            checksums = Checksums.of(name, column)
            shape = list(column.shape)
            table[name] = [dtype, shape, offset, checksums.chunk_rows, checksums.digests]
            if column.nbytes:
                body += (column.reshape(-1).view(np.uint8).data, _padding(column.nbytes))
            offset += _aligned(column.nbytes)
        hasher = blake3()  # one thread: the pool of its library does not survive a fork
        for piece in (b"".join(body),) if offset <= _ONE_CALL_BYTES_MAX else body:
            hasher.update(piece)
        header = codec.encode({"columns": table, "digest": hasher.digest(), "meta": dict(meta)})
        size = _aligned(HEAD_BYTES + len(header)) + offset
        head = MAGIC + len(header).to_bytes(8, "little") + size.to_bytes(16, "little")
        digest = blake3(head + header)
        first = head + digest.digest() + header + _padding(len(header))
        return cls(digest.hexdigest(), size, arrays, (first, *body))


def read_segment(
    name: str, data: bytes | memoryview | mmap.mmap, fill: Fill | None = None
) -> Segment:
    """Returns the segment in `data`, named by its hash; columns are compared as they are read.

    Args:
        name: the file name, for errors.
        data: all bytes of the file.
        fill: writes a part of the file, [start, stop), that is not there yet; called where bytes
            of a column do not have their checksum, once.

    Raises:
        CorruptError: not a segment, or truncated.
    """
    head, table, start = _header(name, data)
    columns: dict[str, Column] = {}
    for column, (dtype, shape, offset, chunk_rows, digests) in table["columns"].items():
        count = math.prod(shape)
        array: Array = np.empty(0, dtype=dtype)
        if count:
            array = np.frombuffer(data, dtype=dtype, count=count, offset=start + offset)
        array = array.reshape(shape)
        array.flags.writeable = False
        checksums = Checksums(chunk_rows, digests)
        fills = None if fill is None else _shifted(fill, start + offset)
        columns[column] = Column(array, checksums, f"file {name}, column {column}", fills)
    return Segment(head[32:].hex(), columns, table["meta"], len(data))


def head_bytes(data: bytes | memoryview | mmap.mmap) -> int:
    """Returns the size of what precedes the columns in the file of a segment."""
    return _aligned(HEAD_BYTES + int.from_bytes(data[8:16], "little"))


def check_digest(name: str, data: bytes | memoryview | mmap.mmap) -> None:
    """Compares all bytes of a segment's file with its digest.

    Raises:
        CorruptError: they differ, or it is not a segment.
    """
    _, table, start = _header(name, data)
    with memoryview(data) as view, view[start:] as body:
        found = blake3(body).digest()
    if found != table["digest"]:
        raise CorruptError(f"index file {name}: the columns do not have their stated hash")


def _header(name: str, data: bytes | memoryview | mmap.mmap) -> tuple[bytes, Any, int]:
    """Returns the first 64 bytes, the header, and the offset at which the columns begin."""
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
    return head, codec.decode(header), _aligned(HEAD_BYTES + length)


def _shifted(fill: Fill, offset: int) -> Fill:
    """Returns the fill of a part of a file that begins at an offset."""
    return lambda start, stop: fill(offset + start, offset + stop)


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


def _padding(size_bytes: int) -> bytes:
    return bytes(-size_bytes % ALIGNMENT)
