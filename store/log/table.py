"""Sorted tables that say where blocks lie; the newest table that knows a block decides.

A table is one immutable file: the objects that it names, 32 bytes each, and rows of 48 bytes by CID
ascending, found by binary search without reading the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter
from struct import Struct

from blake3 import blake3

from ibidem.objects.cid import CID_BYTES
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.store.log.entry import REF_BYTES, Span

_MAGIC = b"ibidemT1"
_SIZES = Struct("<II")
_ROW = Struct(f"<{CID_BYTES}sIII")
_NOWHERE = 0xFFFFFFFF

Row = tuple[bytes, Span | None]
"""A CID's bytes and where the block is; None: it was dropped."""


class Table:
    """Rows by CID. The bytes may be a memory map."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = data
        objects, self.count = _SIZES.unpack_from(data, len(_MAGIC))
        self._refs = len(_MAGIC) + _SIZES.size
        self._start = self._refs + objects * REF_BYTES
        if bytes(data[: len(_MAGIC)]) != _MAGIC or len(data) != (
            self._start + self.count * _ROW.size
        ):
            raise CorruptError("table: its bytes are not those that were written")

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Table:
        """Returns a table of rows, which must be in ascending order."""
        refs: dict[bytes, int] = {}
        packed = []
        for raw, span in rows:
            if span is None:
                packed.append(_ROW.pack(raw, _NOWHERE, 0, 0))
            else:
                ref, start, size = span
                packed.append(_ROW.pack(raw, refs.setdefault(ref, len(refs)), start, size))
        return cls(b"".join((_MAGIC, _SIZES.pack(len(refs), len(packed)), *refs, *packed)))

    @property
    def name(self) -> str:
        """The name of the object that holds it."""
        return f"tables/{blake3(self.data).hexdigest()}"

    def refs(self) -> set[bytes]:
        """Returns the objects that it names."""
        return {
            bytes(self.data[at : at + REF_BYTES])
            for at in range(self._refs, self._start, REF_BYTES)
        }

    def find(self, raw: bytes) -> Row | None:
        """Returns the row of a CID, None if there is none."""
        at = self._position(raw)
        if at == self.count:
            return None
        row = self._row(at)
        return row if row[0] == raw else None

    def rows(self, start: bytes = b"") -> Iterator[Row]:
        """Yields the rows from a CID on."""
        for at in range(self._position(start), self.count):
            yield self._row(at)

    def _position(self, raw: bytes) -> int:
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            at = self._start + middle * _ROW.size
            if bytes(self.data[at : at + CID_BYTES]) < raw:
                low = middle + 1
            else:
                high = middle
        return low

    def _row(self, at: int) -> Row:
        raw, index, start, size = _ROW.unpack_from(self.data, self._start + at * _ROW.size)
        if index == _NOWHERE:
            return raw, None
        ref = self._refs + index * REF_BYTES
        return raw, (bytes(self.data[ref : ref + REF_BYTES]), start, size)


def checked_table(data: bytes, name: str) -> Table:
    """Returns the table in the object of that name; raises `CorruptError` for other bytes."""
    if name != f"tables/{blake3(data).hexdigest()}":
        raise CorruptError(
            f"object {name}: its bytes are not those that were written",
            kind=ErrorKind.HASH_MISMATCH,
        )
    return Table(data)


def merged_rows(
    newest: Mapping[bytes, Span | None], tables: Sequence[Table], start: bytes = b""
) -> Iterator[Row]:
    """Yields for each CID, ascending, what the newest of several tables says."""
    first = sorted((raw, newest[raw]) for raw in list(newest) if raw >= start)
    sources = [iter(first), *(table.rows(start) for table in tables)]
    ranked = [_with_rank(rank, rows) for rank, rows in enumerate(sources)]
    for _, same in groupby(merge(*ranked, key=itemgetter(0, 1)), key=itemgetter(0)):
        raw, _, span = next(same)
        yield raw, span


def folded(newest: Mapping[bytes, Span | None], tables: Sequence[Table]) -> tuple[Table, ...]:
    """Returns the tables after adding one of the newest rows; those of similar size are merged, so
    that there are at most about log2 of the number of blocks.
    """
    if not newest:
        return tuple(tables)
    size, count = len(newest), 0
    while count < len(tables) and tables[count].count <= 2 * size:
        size += tables[count].count
        count += 1
    rows = merged_rows(newest, tables[:count])
    if count == len(tables):  # nothing older can be hidden by a row that says "dropped"
        rows = (row for row in rows if row[1] is not None)
    return Table.of(list(rows)), *tables[count:]


def _with_rank(rank: int, rows: Iterator[Row]) -> Iterator[tuple[bytes, int, Span | None]]:
    return ((raw, rank, span) for raw, span in rows)
