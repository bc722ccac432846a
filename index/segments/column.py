"""A column of a segment: no byte of it is returned before it was compared with its checksum.

Problem: a file of an index is mapped, and its bytes come from a medium when they are first read. A
bit that rotted, or a page that a power cut tore, would be scored like any other, and hashing files
of gigabytes at every open would take longer than most answers. Idea: a column is cut into *chunks*
of whole rows, each with a checksum in the header of the file. Reading a range compares the chunks
that it touches, each once in a process, and raises where one differs.

Invariant: `Column` is the only object that holds arrays on a mapped file, and each of its methods
that returns an array checks first, so a reader cannot get unchecked bytes. Marks are bytes that are
only ever set after a comparison: threads may compare a chunk twice, never miss one, and a forked
child goes on with the marks of its parent, whose pages it shares.

Cost: one read of what is touched, at the speed of memory: xxh3 takes 27 GB/s on one core of the
machine that it was chosen on, where a sum of the same numbers takes 30, zlib's CRC-32 6 and blake3
7. Once a column was read completely, reading it costs the same as reading an array.

This protects against accidents. It does not protect against an attacker who can write the files,
since the checksums are not keyed, nor against a page that changes in memory after its comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_digest

from ibidem.index.arrays import Array
from ibidem.objects.errors import CorruptError
from ibidem.objects.record import record

CHECKSUM_BYTES = 8
CHUNK_BYTES = 1 << 15
"""Size of a chunk at most, unless a row is larger: the amount that is checked when a single row is
read."""
SCANNED_CHUNK_BYTES = 1 << 18
"""The same for columns that are mostly read sequentially. `xxhash` 4 lets other threads run while
it reads more than 65,536 bytes, and a call of it costs a tenth of what such a chunk does."""
SCANNED = frozenset({"codes"})
WHOLE_BYTES = 1 << 19
"""Columns up to this size are compared as a whole on the first read, which takes 0.02 ms."""

Fill = Callable[[int, int], None]
"""Writes the bytes [start, stop) of a file or a column that are not there yet."""


@record
class Checksums:
    """The checksums of the chunks of one column."""

    chunk_rows: int
    """Rows of each chunk but the last; a power of two."""
    digests: bytes
    """The xxh3 of each chunk, 64 bits, big-endian."""

    @classmethod
    def of(cls, name: str, array: Array) -> Self:
        """Returns the checksums of a C-contiguous column; its name decides the chunk size."""
        size = SCANNED_CHUNK_BYTES if name in SCANNED else CHUNK_BYTES
        row_bytes = _row_bytes(array)
        chunk_rows = 1 << max(1, size // row_bytes).bit_length() - 1
        data, width = _bytes_of(array), chunk_rows * row_bytes
        if 0 < len(data) <= width:  # as every column of what a commit adds
            return cls(chunk_rows, xxh3_64_digest(data))
        starts = range(0, len(data), width)
        return cls(
            chunk_rows, b"".join(xxh3_64_digest(data[start : start + width]) for start in starts)
        )


class Column:
    """One column of a segment, an array of n rows that is read in whole or in part."""

    __slots__ = (
        "_array",
        "_bytes",
        "_checksums",
        "_fill",
        "_marks",
        "_shift",
        "_whole",
        "_width",
        "is_damaged",
        "name",
    )

    def __init__(
        self,
        array: Array,
        checksums: Checksums | None = None,
        name: str = "",
        fill: Fill | None = None,
    ) -> None:
        """Wraps an array that must not change from now on.

        Args:
            array: (n, ...), C-contiguous where it has checksums.
            checksums: None for an array that this process computed.
            name: the column and file that errors name.
            fill: writes a part of the column that is not there yet.
        """
        self.name = name
        self.is_damaged = False
        """Whether a chunk with a wrong checksum was found."""
        self._array = array
        self._whole: Array | None = array
        if checksums is not None and array.nbytes:
            self._whole = None
            self._bytes = _bytes_of(array)
            self._checksums = checksums.digests
            self._shift = checksums.chunk_rows.bit_length() - 1
            self._width = checksums.chunk_rows * _row_bytes(array)
            self._marks = bytearray(-(-len(array) >> self._shift))
            self._fill = fill

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, (n, ...)."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return self._array.dtype

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self._array.nbytes

    @property
    def is_checked(self) -> bool:
        """Whether every chunk has been compared."""
        return self._whole is not None

    def __len__(self) -> int:
        return len(self._array)

    def whole(self) -> Array:
        """Returns the column as a read-only array.

        Raises:
            CorruptError: some bytes do not match their checksum; the other methods raise it too.
        """
        if self._whole is None:
            self._compare(0, len(self._marks))
        return self._array

    def __getitem__(self, rows: slice | npt.NDArray[np.integer[Any]] | np.integer[Any]) -> Array:
        """Returns the rows of a range with step 1 as a read-only view, or those at positions that
        are not negative, one or (k,) of them, as a copy."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self._array))
            assert step == 1, "BUG: a range of a column has step 1"
            return self.part(start, stop)
        assert rows.dtype != np.bool_, "BUG: rows of a column are given by their positions"
        if self._whole is None:
            self._compare_rows(rows)
        found: Array = self._array.take(rows, axis=0)
        return found

    def part(self, start: int, stop: int) -> Array:
        """Returns the rows from `start` to before `stop`, which there are, as a read-only view."""
        if self._whole is None and start < stop:
            shift = self._shift
            if self._marks.find(0, start >> shift, (stop - 1 >> shift) + 1) >= 0:
                self._compare_range(start, stop)
        return self._array[start:stop]

    def _compare_range(self, start: int, stop: int) -> None:
        if self._array.nbytes <= WHOLE_BYTES:
            self.whole()
        else:
            self._compare(start >> self._shift, ((stop - 1) >> self._shift) + 1)

    def _compare_rows(self, rows: npt.NDArray[np.integer[Any]] | np.integer[Any]) -> None:
        if self._array.nbytes <= WHOLE_BYTES:
            self.whole()
            return
        chunks = rows >> self._shift
        marks = np.frombuffer(self._marks, np.uint8)
        if not marks.take(chunks).all():
            for chunk in np.unique(chunks).tolist():
                self._compare(chunk, chunk + 1)

    def item(self, row: int) -> int:
        """Returns the number of one row, of a column of integers; `row` is not negative."""
        if self._whole is None and not self._marks[row >> self._shift]:
            self._compare_range(row, row + 1)
        found: int = self._array.item(row)
        return found

    def _compare(self, first: int, last: int) -> None:
        """Compares those of the chunks [first, last) that have not been compared yet."""
        width = self._width
        chunk = self._marks.find(0, first, last)
        if chunk < 0:
            return
        if self._fill is not None:
            self._fetch(first, last)
        while chunk >= 0:
            start = chunk * width
            if not self._is_right(chunk):
                self.is_damaged = True
                raise CorruptError(
                    f"index {self.name}: the {width} bytes from {start} on do not have their "
                    "checksum",
                    hint="run 'repo index build'",
                )
            self._marks[chunk] = 1
            chunk = self._marks.find(0, chunk + 1, last)
        if self._marks.find(0) < 0:
            self._whole = self._array

    def _fetch(self, first: int, last: int) -> None:
        """Has those of the chunks [first, last) written that are not here."""
        absent = [
            chunk
            for chunk in range(first, last)
            if not self._marks[chunk] and not self._is_right(chunk)
        ]
        if absent:
            assert self._fill is not None, "BUG: nothing to fetch from"
            stop = min((absent[-1] + 1) * self._width, self._array.nbytes)
            self._fill(absent[0] * self._width, stop)

    def _is_right(self, chunk: int) -> bool:
        start, at = chunk * self._width, chunk * CHECKSUM_BYTES
        found = xxh3_64_digest(self._bytes[start : start + self._width])
        return found == self._checksums[at : at + CHECKSUM_BYTES]


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _row_bytes(array: Array) -> int:
    return max(1, array.nbytes // max(1, len(array)))
