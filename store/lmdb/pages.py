"""Checks every page of an LMDB file, reading it without LMDB.

LMDB trusts its file: a damaged page can show old data, hide records or crash the process, and a
damaged list of free pages destroys data later. So the file is read here with every length checked
before it is used. The invariants: the two meta pages are consecutive states, every table is a
sorted tree of the stated depth and counts, and each page is in exactly one table or free. All other
bytes have no effect and are reported as slack.

The layout is that of LMDB 0.9 on 64-bit little-endian systems; files with another layout are
rejected.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ibidem.objects.record import record

HEAD_BYTES = 16
_MAGIC, _VERSION = 0xBEEFC0DE, 1
_META_BYTES = 136
_NONE = (1 << 64) - 1
_BRANCH, _LEAF, _OVERFLOW, _META = 0x01, 0x02, 0x04, 0x08
_BIG, _TABLE = 0x01, 0x02
_INTEGER_KEYS = 0x08
_DEPTH_MAX = 32
FAULTS_MAX = 100

_page_head = struct.Struct("<QHHHH")
_node_head = struct.Struct("<HHHH")
_meta = struct.Struct("<IIQQ")
_table = struct.Struct("<IHHQQQQQ")
_meta_tail = struct.Struct("<QQ")

Span = tuple[int, int]
"""A half-open range (start, stop) of bytes of the file."""


class _LayoutError(Exception):
    """A page is damaged; the message describes how."""


class Table(NamedTuple):
    """LMDB's record of a table."""

    pad: int
    flags: int
    depth: int
    branch_pages: int
    leaf_pages: int
    overflow_pages: int
    entries: int
    root: int


class Meta(NamedTuple):
    """One of the two meta pages: the state after a transaction."""

    transaction: int
    free: Table
    main: Table
    last_page: int


@record(frozen=False)
class PageReport:
    """The result of checking the pages of a file."""

    faults: list[str] = field(default_factory=list)
    page_count: int = 0
    free_count: int = 0
    slack: list[Span] = field(default_factory=list)
    """Bytes that hold no live data, ascending."""


def empty_file(page_bytes: int, map_bytes: int) -> bytes:
    """Returns the file of a store without tables, as LMDB writes it, with pages of a given size.

    LMDB takes the size from the file, and has no call to choose it: its own files have the
    system's.
    """
    pages = []
    for number in (0, 1):
        free = Table(page_bytes, _INTEGER_KEYS, 0, 0, 0, 0, 0, _NONE)
        main = Table(0, 0, 0, 0, 0, 0, 0, _NONE)
        page = _page_head.pack(number, 0, _META, 0, 0) + _meta.pack(_MAGIC, _VERSION, 0, map_bytes)
        page += _table.pack(*free) + _table.pack(*main) + _meta_tail.pack(1, 0)
        pages.append(page.ljust(page_bytes, b"\0"))
    return b"".join(pages)


def check_pages(path: Path, tables: tuple[str, ...]) -> PageReport:
    """Reads every page of the file that the newest transaction can reach.

    Args:
        path: the data file. It must not be written meanwhile, unless the caller compares `metas_of`
            before and after.
        tables: the names of the tables that must exist.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 2 * 512:
            return PageReport([f"the file has {size} bytes, expected two meta pages"])
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            return _Check(data, tables).run()


def metas_of(path: Path) -> bytes:
    """Returns the bytes that change with every transaction."""
    with path.open("rb") as file:
        size = _page_size(file.read(HEAD_BYTES + _META_BYTES))
        file.seek(0)
        first = file.read(HEAD_BYTES + _META_BYTES)
        file.seek(size)
        return first + file.read(HEAD_BYTES + _META_BYTES)


class _Check:
    """One pass over one file."""

    def __init__(self, data: mmap.mmap, tables: tuple[str, ...]) -> None:
        self._data = data
        self._size = _page_size(data[: HEAD_BYTES + _META_BYTES])
        self._tables = tables
        self._report = PageReport()
        self._owner: dict[int, str] = {}
        self._slack: list[Span] = []

    def run(self) -> PageReport:
        try:
            metas = [self._read_meta(number) for number in (0, 1)]
            newest = self._check_metas(metas)
            self._report.page_count = newest.last_page + 1
            self._owner = {0: "meta", 1: "meta"}
            self._slack += [
                (number * self._size + HEAD_BYTES + _META_BYTES, (number + 1) * self._size)
                for number in (0, 1)
            ]
            self._check_tables(newest)
            self._check_free(newest)
            self._check_all_known(newest)
        except _LayoutError as error:
            self._fault(str(error))
        self._report.slack = sorted(self._slack)
        return self._report

    def _fault(self, text: str) -> None:
        if len(self._report.faults) < FAULTS_MAX:
            self._report.faults.append(text)

    # -- meta pages ----------------------------------------------------------------------------

    def _read_meta(self, number: int) -> Meta:
        page = self._data[number * self._size : (number + 1) * self._size]
        if len(page) < self._size:
            raise _LayoutError(f"meta page {number}: it is cut short")
        found, _, flags, _, _ = _page_head.unpack_from(page)
        magic, version, address, _ = _meta.unpack_from(page, HEAD_BYTES)
        start = HEAD_BYTES + _meta.size
        free = Table(*_table.unpack_from(page, start))
        main = Table(*_table.unpack_from(page, start + _table.size))
        last_page, transaction = _meta_tail.unpack_from(page, start + 2 * _table.size)
        if (found, flags, magic, version, address) != (number, _META, _MAGIC, _VERSION, 0):
            raise _LayoutError(f"meta page {number}: its header is not that of a meta page")
        if free.pad != self._size or free.flags != _INTEGER_KEYS:
            raise _LayoutError(f"meta page {number}: page size or flags differ")
        return Meta(transaction, free, main, last_page)

    def _check_metas(self, metas: list[Meta]) -> Meta:
        """Returns the newest meta page, after checking that its transaction number is genuine.

        Every transaction except the first records, under its own number, the pages that it freed.
        So the highest number in the list of free pages is that of the transaction itself.
        """
        older, newest = sorted(metas, key=lambda meta: meta.transaction)
        first = newest.transaction <= 1
        if not (newest.transaction - older.transaction == 1 or newest.transaction == 0):
            self._fault(
                f"meta pages: transactions {older.transaction} and {newest.transaction} "
                "do not follow each other"
            )
        if not first and metas[newest.transaction & 1] is not newest:
            self._fault("meta pages: they stand in each other's place")
        for meta in (older, newest):
            freed = self._newest_freed(meta)
            if meta.transaction >= 2 and freed != meta.transaction:
                self._fault(
                    f"meta pages: one claims transaction {meta.transaction}, "
                    f"its list of free pages ends with {freed}"
                )
        return newest

    def _newest_freed(self, meta: Meta) -> int:
        """Returns the highest key of the list of free pages, 0 if it is empty."""
        number = meta.free.root
        for _ in range(_DEPTH_MAX):
            if number == _NONE:
                return 0
            page = self._page(number)
            flags, places = self._places(number, page)
            if not places:
                return 0
            low, high, middle, key_size = _node_head.unpack_from(page, places[-1])
            if flags == _LEAF:
                key = page[places[-1] + 8 : places[-1] + 8 + key_size]
                return int.from_bytes(key, "little")
            number = low | high << 16 | middle << 32
        raise _LayoutError("list of free pages: it is too deep")

    # -- tables --------------------------------------------------------------------------------

    def _check_tables(self, meta: Meta) -> None:
        if meta.main.flags or meta.main.pad:
            self._fault("main table: its flags differ")
        found: dict[str, Table] = {}
        for key, value, flags in self._walk("main table", meta.main):
            if flags != _TABLE or len(value) != _table.size:
                self._fault(f"main table: entry {key!r:.80} is not a table")
                continue
            found[key.decode("utf-8", "replace")] = Table(*_table.unpack(value))
        if sorted(found) != sorted(self._tables):
            self._fault(f"main table: it has {sorted(found)}, expected {sorted(self._tables)}")
        for name, table in found.items():
            if table.flags or table.pad:
                self._fault(f"table {name}: its flags differ")
            for _, _, flags in self._walk(f"table {name}", table):
                if flags & ~_BIG:
                    self._fault(f"table {name}: a record has flags {flags}")

    def _check_free(self, meta: Meta) -> None:
        for key, value, _ in self._walk("list of free pages", meta.free):
            count = int.from_bytes(value[:8], "little")
            if len(value) < 8 * (count + 1) or len(key) != 8:
                self._fault(f"list of free pages: entry {key.hex()} is not whole")
                continue
            pages = struct.unpack_from(f"<{count}Q", value, 8)
            if any(one <= other for one, other in pairwise(pages)):
                self._fault(f"list of free pages: entry {key.hex()} is not in order")
            is_last = int.from_bytes(key, "little") == meta.transaction
            for number in pages:
                if not self._claim(number, "free", meta.last_page):
                    continue
                self._report.free_count += 1
                if is_last:
                    self._keep(number)
                else:
                    self._slack.append((number * self._size, (number + 1) * self._size))

    def _keep(self, number: int) -> None:
        """Counts as slack only the bytes that no record covers in a page that the last transaction
        freed: the older of the two states, to which a torn meta page would lead, still uses the
        page."""
        with suppress(_LayoutError):
            self._places(number, self._page(number))

    def _check_all_known(self, meta: Meta) -> None:
        lost = meta.last_page + 1 - len(self._owner)
        if lost:
            self._fault(f"pages: {lost} are neither in a table nor free")

    def _walk(self, name: str, table: Table) -> Iterator[tuple[bytes, bytes, int]]:
        """Yields (key, value, flags) of every record, and checks the tree meanwhile."""
        counts = [0, 0, 0, 0]
        if table.root == _NONE:
            if any(table[2:7]):
                self._fault(f"{name}: it has counts and no pages")
            return
        last: bytes | None = None
        is_number = name == "list of free pages"
        for key, value, flags in self._subtree(name, table.root, table.depth, counts, b"", None):
            order = key[::-1] if is_number else key
            if last is not None and order <= last:
                self._fault(f"{name}: key {key.hex()[:80]} is out of order")
            last = order
            counts[3] += 1
            yield key, value, flags
        stated = [table.branch_pages, table.leaf_pages, table.overflow_pages, table.entries]
        if counts != stated:
            self._fault(f"{name}: it has {counts} pages and entries, expected {stated}")

    def _subtree(
        self, name: str, number: int, depth: int, counts: list[int], low: bytes, high: bytes | None
    ) -> Iterator[tuple[bytes, bytes, int]]:
        if not self._claim(number, name, self._report.page_count - 1):
            return
        try:
            page = self._page(number)
            flags, places = self._places(number, page)
            if (flags == _LEAF) != (depth == 1) or not places or depth > _DEPTH_MAX:
                raise _LayoutError(f"page {number}: it is not of the level that {name} has there")
        except _LayoutError as error:
            self._fault(str(error))
            return
        counts[0 if flags == _BRANCH else 1] += 1
        if flags == _BRANCH:
            yield from self._branch(name, page, places, depth, counts, low, high)
            return
        is_number = name == "list of free pages"
        for at in places:
            try:
                key, value, node_flags = self._record(name, page, at, counts)
            except _LayoutError as error:
                self._fault(str(error))
                continue
            order = key[::-1] if is_number else key
            if order < low or (high is not None and order >= high):
                self._fault(f"page {number}: key {key.hex()[:80]} is not where {name} looks for it")
            yield key, value, node_flags

    def _branch(
        self,
        name: str,
        page: bytes,
        places: list[int],
        depth: int,
        counts: list[int],
        low: bytes,
        high: bytes | None,
    ) -> Iterator[tuple[bytes, bytes, int]]:
        children: list[tuple[bytes, int]] = []
        for index, at in enumerate(places):
            first, second, third, key_size = _node_head.unpack_from(page, at)
            key = b"" if index == 0 else page[at + 8 : at + 8 + key_size]
            if name == "list of free pages":
                key = key[::-1]
            children.append((key if index else low, first | second << 16 | third << 32))
        bounds = [key for key, _ in children[1:]]
        for index, (start, child) in enumerate(children):
            stop = bounds[index] if index < len(bounds) else high
            yield from self._subtree(name, child, depth - 1, counts, start, stop)

    def _record(
        self, name: str, page: bytes, at: int, counts: list[int]
    ) -> tuple[bytes, bytes, int]:
        low, high, flags, key_size = _node_head.unpack_from(page, at)
        size = low | high << 16
        key = page[at + 8 : at + 8 + key_size]
        start = at + 8 + key_size
        if not flags & _BIG:
            return key, page[start : start + size], flags
        first = int.from_bytes(page[start : start + 8], "little")
        count = (HEAD_BYTES - 1 + size) // self._size + 1
        head = self._page(first)
        found, _, page_flags, low_count, high_count = _page_head.unpack_from(head)
        if (found, page_flags, low_count | high_count << 16) != (first, _OVERFLOW, count):
            raise _LayoutError(f"page {first}: it is not the first of {count} of a long record")
        for number in range(first, first + count):
            if not self._claim(number, name, self._report.page_count - 1):
                raise _LayoutError(f"page {number}: a long record runs into it")
        counts[2] += count
        begin = first * self._size + HEAD_BYTES
        stop = (first + count) * self._size
        value = self._data[begin : begin + size]
        if len(value) != size:
            raise _LayoutError(f"page {first}: a long record is cut short")
        self._slack.append((begin + size, stop))
        return key, value, flags

    # -- pages ---------------------------------------------------------------------------------

    def _page(self, number: int) -> bytes:
        start = number * self._size
        page = self._data[start : start + self._size] if number < 1 << 40 else b""
        if len(page) < self._size:
            raise _LayoutError(f"page {number}: it lies beyond the end of the file")
        return page

    def _places(self, number: int, page: bytes) -> tuple[int, list[int]]:
        """Returns whether a page is a branch or a leaf, and where its nodes begin."""
        found, pad, flags, lower, upper = _page_head.unpack_from(page)
        if found != number or pad or flags not in (_BRANCH, _LEAF):
            raise _LayoutError(f"page {number}: its header is not that of a page of a table")
        if not HEAD_BYTES <= lower <= upper <= self._size or lower % 2:
            raise _LayoutError(f"page {number}: its bounds are {lower} and {upper}")
        places = [int.from_bytes(page[at : at + 2], "little") for at in range(HEAD_BYTES, lower, 2)]
        stops: list[Span] = []
        for at in places:
            if not upper <= at <= self._size - 8:
                raise _LayoutError(f"page {number}: a record begins at {at}")
            low, high, node_flags, key_size = _node_head.unpack_from(page, at)
            size = 8 + key_size
            if flags == _LEAF:
                size += 8 if node_flags & _BIG else low | high << 16
            stops.append((at, at + size + size % 2))
        end = upper
        for start, stop in sorted(stops):
            if start != end:
                raise _LayoutError(f"page {number}: its records do not follow each other")
            end = stop
        if end != self._size:
            raise _LayoutError(f"page {number}: its records end at {end}")
        if number * self._size + lower < number * self._size + upper:
            self._slack.append((number * self._size + lower, number * self._size + upper))
        return flags, places

    def _claim(self, number: int, owner: str, last: int) -> bool:
        if not 2 <= number <= last:
            self._fault(f"{owner}: it has page {number}, expected 2 to {last}")
            return False
        if number in self._owner:
            self._fault(f"page {number}: it is in {self._owner[number]} and in {owner}")
            return False
        self._owner[number] = owner
        return True


def _page_size(head: bytes) -> int:
    """Returns the page size in the first meta page, restricted to values that are safe to use."""
    if len(head) < HEAD_BYTES + _META_BYTES:
        return 4096
    size: int = _table.unpack_from(head, HEAD_BYTES + _meta.size)[0]
    return size if 512 <= size <= 65536 and not size & (size - 1) else 4096
