"""Reads the tables of a redb file, the storage of mnem, without its library and without writing.

A file is a header page and pages of a B-tree whose leaves hold keys and values. Only what is needed
to list a table of byte strings is here; checksums of pages are not verified, because the values of
interest are blocks, whose bytes are compared with their CIDs.

The layout is that of version 3 of the file format: https://github.com/cberner/redb/blob/master/docs/design.md
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

from ibidem import CorruptError, ErrorKind, FormatError

MAGIC = b"redb\x1a\n\xa9\r\n"
_HEADER_BYTES = 320
_COMMIT_STARTS = (64, 192)
"""Where the two records of a commit begin; a bit of the byte after the magic number selects one."""
_VERSION = 3
_LEAF, _BRANCH = 1, 2
_DEFINITION = struct.Struct("<BQBQ16sQBIBI")
"""Kind, length, whether there is a root, its page, checksum and length, and for keys and values
whether they have a fixed size, and which."""
_ORDER_MAX = 20
"""A page has 4 KiB * 2^order; 2^20 pages are 4 GiB."""
_DEPTH_MAX = 32


class RedbFile:
    """A file of redb that is open for reading."""

    def __init__(self, stream: IO[bytes]) -> None:
        """Reads the header.

        Raises:
            CorruptError: it is no file of redb, or damaged.
        """
        self._stream = stream
        self._size_bytes = stream.seek(0, 2)
        stream.seek(0)
        header = stream.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES or not header.startswith(MAGIC):
            raise _corrupt("header", "expected the magic number of redb")
        start = _COMMIT_STARTS[header[9] & 1]
        self._page_bytes, self._header_pages, self._region_pages = struct.unpack_from(
            "<III", header, 12
        )
        if self._page_bytes not in (1 << size for size in range(9, 17)) or not self._region_pages:
            raise _corrupt("header", f"got pages of {self._page_bytes} bytes")
        version = header[start]
        if version != _VERSION:
            raise FormatError(
                f"redb: got version {version} of the file format, expected {_VERSION}"
            )
        self._root = struct.unpack_from("<Q", header, start + 8)[0] if header[start + 1] else None

    def table(self, name: str) -> Iterator[tuple[bytes, int, int]]:
        """Yields the keys of a table of byte strings, with the start and the size of each value in
        the file; none if there is no such table.

        Raises:
            CorruptError: a page is damaged.
        """
        for key, start, size in self._entries(self._root, is_sized=True):
            if key.decode("utf-8", "replace") != name:
                continue
            definition = self._read(start, size)
            if size < _DEFINITION.size:
                raise _corrupt(f"table {name}", "its definition is too short")
            _, _, has_root, root, _, _, is_key_fixed, _, is_value_fixed, value_bytes = (
                _DEFINITION.unpack_from(definition)
            )
            if is_key_fixed or (is_value_fixed and value_bytes):
                raise _corrupt(f"table {name}", "expected keys and values of any size, or no value")
            yield from self._entries(root if has_root else None, is_sized=not is_value_fixed)
            return

    def _entries(
        self, number: int | None, *, is_sized: bool, depth: int = 0
    ) -> Iterator[tuple[bytes, int, int]]:
        """Yields the entries below a page.

        Args:
            is_sized: whether values have sizes; otherwise they are empty.
        """
        if number is None:
            return
        if depth > _DEPTH_MAX:
            raise _corrupt(f"page {number}", "the tree is too deep")
        start, size = self._bounds(number)
        page = self._read(start, size)
        kind, count = page[0], int.from_bytes(page[2:4], "little")
        if kind == _BRANCH:
            children = self._numbers(page, "Q", 8 + 16 * (count + 1), count + 1, number)
            for child in children:
                yield from self._entries(child, is_sized=is_sized, depth=depth + 1)
            return
        if kind != _LEAF:
            raise _corrupt(f"page {number}", f"got type {kind}, expected a leaf or a branch")
        fields = 2 * count if is_sized else count
        ends = self._numbers(page, "I", 4, fields, number)
        bounds = (4 + 4 * fields, *ends)
        if list(bounds) != sorted(bounds) or bounds[-1] > size:
            raise _corrupt(f"page {number}", "its entries overlap")
        for index in range(count):
            key = page[bounds[index] : bounds[index + 1]]
            value = bounds[count + index : count + index + 2] if is_sized else (0, 0)
            yield key, start + value[0], value[1] - value[0]

    def _numbers(
        self, page: bytes, form: str, start: int, count: int, number: int
    ) -> tuple[int, ...]:
        try:
            return struct.unpack_from(f"<{count}{form}", page, start)
        except struct.error as error:
            raise _corrupt(f"page {number}", "it is too short") from error

    def _bounds(self, number: int) -> tuple[int, int]:
        """Returns start and size of a page; its number has order, region, and index in the
        region."""
        order, region, index = number >> 59, number >> 20 & 0xFFFFF, number & 0xFFFFF
        size = self._page_bytes << min(order, _ORDER_MAX)
        region_bytes = (self._header_pages + self._region_pages) * self._page_bytes
        start = self._page_bytes * (1 + self._header_pages) + region * region_bytes + index * size
        if order > _ORDER_MAX or start + size > self._size_bytes:
            raise _corrupt(f"page {number}", "it is behind the end of the file")
        return start, size

    def _read(self, start: int, size: int) -> bytes:
        self._stream.seek(start)
        return self._stream.read(size)


def _corrupt(where: str, text: str) -> CorruptError:
    return CorruptError(f"redb: {where}: {text}", kind=ErrorKind.CORRUPT)
