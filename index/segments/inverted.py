"""Inverted columns: from a key to the rows that have it, with an optional number for each row.

Columns under a prefix P, p postings of k distinct keys:
    P.keys   all keys, ascending by bytes, concatenated (or, for number keys, (k,) uint32 ascending)
    P.ends   (k,) where each key ends, byte keys only
    P.starts (k + 1,) where each key's postings begin
    P.rows   (p,) uint32: rows of the segment, ascending within a key, each once
    P.values (p,) the number for each row: term frequency or weight; may be absent
Terms have positions as well (`positions.py`), and impacts (`impacts.py`).

Nothing is decoded at open: a lookup is a binary search in the mapped bytes, and only the requested
postings are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ibidem.index.arrays import (
    NO_ROW,
    Array,
    Columns,
    firsts,
    offsets,
    ranges,
    smallest_unsigned,
)
from ibidem.index.segments.key_list import KeyList, key_columns, union_keys
from ibidem.index.segments.positions import all_positions, position_columns
from ibidem.index.segments.segment import Segment

_ROW_BITS = np.uint64(32)
_ROW_MASK = np.uint64(0xFFFFFFFF)
_FOUND_MAX = 8_192
"""The most keys whose indexes are cached."""
_ABSENT = -1
_SMALL_SHARE = 16
"""New postings are inserted one by one if the existing ones are at least this many times as many;
else all are sorted."""


class Inverted:
    """Reads one group of inverted columns of a segment."""

    __slots__ = ("_found", "_starts", "keys", "rows", "values")

    def __init__(self, segment: Segment, prefix: str) -> None:
        column = segment.column
        ends, values = f"{prefix}.ends", f"{prefix}.values"
        self.keys: KeyList | None = None
        if ends in segment:
            self.keys = KeyList(column(f"{prefix}.keys"), column(ends))
        self._starts = column(f"{prefix}.starts")
        self.rows = column(f"{prefix}.rows")
        self.values = column(values) if values in segment else None
        self._found: dict[bytes, int | None] = {}

    def counts(self) -> Array:
        """Returns the number of postings of each key, (k,) int64."""
        counts: Array = np.diff(self.posting_starts())
        return counts

    def posting_starts(self) -> Array:
        """Returns where the postings of each key begin, and the end of the last, (k + 1,) int64."""
        starts: Array = self._starts.whole().astype(np.int64)
        return starts

    def find(self, key: bytes) -> int | None:
        """Returns the index of a byte key, None if there is none; recent ones are cached, across
        snapshots."""
        assert self.keys is not None, "BUG: number keys are searched by their column"
        found = self._found.get(key, _ABSENT)
        if found != _ABSENT:
            return found
        found = self.keys.index(key)
        if len(self._found) >= _FOUND_MAX:
            self._found.clear()
        self._found[key] = found
        return found

    def bounds(self, index: int) -> tuple[int, int]:
        """Returns where the postings of a key begin and end."""
        return self._starts.item(index), self._starts.item(index + 1)

    def span(self, index: int, stop: int | None = None) -> slice:
        """Returns the range of the postings of the keys from `index` to before `stop` (of one key
        if None)."""
        stop = index + 1 if stop is None else stop
        return slice(self._starts.item(index), self._starts.item(stop))


def inverted(segment: Segment, prefix: str) -> Inverted:
    """Returns the reader of a group of columns, cached with the segment."""
    found: Inverted | None = segment.cache.get(prefix)
    if found is None:
        found = segment.cache[prefix] = Inverted(segment, prefix)
    return found


def build_inverted(
    prefix: str,
    vocabulary: dict[bytes, int],
    numbers: Array,
    rows: Array,
    *,
    is_counted: bool,
    positions: Array | None = None,
) -> Columns:
    """Returns the columns for postings given one by one.

    Args:
        prefix: the prefix of the column names.
        vocabulary: key to number, numbers 0..k-1 in the order of insertion.
        numbers: (t,) number of the key of each occurrence.
        rows: (t,) uint32, the row of each occurrence, best ascending; pairs may repeat.
        is_counted: whether the number of repeats of a pair becomes its value; else repeats are
            dropped.
        positions: (t,) uint32, the position of each occurrence in its row, ascending in each row;
            they get columns of their own.
    """
    keys = sorted(vocabulary)
    rank = np.empty(len(keys), dtype=np.uint32)
    order = np.fromiter(map(vocabulary.__getitem__, keys), dtype=np.int64, count=len(keys))
    rank[order] = np.arange(len(keys), dtype=np.uint32)
    ranked = rank[numbers]
    packed, positions = _sorted(ranked, rows, positions)
    placed: Columns = {}
    if positions is not None:
        placed = position_columns(positions, np.bincount(ranked, minlength=len(keys)))
    del ranked
    first = np.flatnonzero(firsts(packed))
    packed_once = packed[first]
    columns = key_columns(prefix, keys) | placed
    columns |= _posting_columns(prefix, packed_once, len(keys))
    if is_counted:
        columns[f"{prefix}.values"] = smallest_unsigned(np.diff(first, append=len(packed)))
    return columns


def build_numbered(prefix: str, tokens: Array, rows: Array, values: Array) -> Columns:
    """Returns the columns for number keys: `tokens` (t,) uint32, each (token, row) pair once."""
    packed = (tokens.astype(np.uint64) << _ROW_BITS) | rows
    order = np.argsort(packed)
    packed = packed[order]
    return _numbered_columns(prefix, packed, values[order])


def merge_inverted(
    prefix: str, segments: Sequence[Segment], renumbered: Sequence[Array]
) -> Columns:
    """Returns the columns of several segments as one, without the rows that were dropped.

    Args:
        prefix: the prefix of the column names.
        segments: all with byte keys, or all with number keys.
        renumbered: for each segment (rows,) uint32 from its row to the new one, NO_ROW to drop.
    """
    readers = [Inverted(segment, prefix) for segment in segments]
    is_placed = prefix == "term" and all("position.bytes" in one for one in segments)
    if readers[0].keys is None:
        tables = [segment[f"{prefix}.keys"].astype(np.uint64) for segment in segments]
        packed, values, _ = _renumber(readers, tables, renumbered)
        return _numbered_columns(prefix, packed, values)
    blob, ends, tables = union_keys([reader.keys for reader in readers if reader.keys is not None])
    packed, values, order = _renumber(readers, tables, renumbered)
    used = np.zeros(len(ends), dtype=bool)
    used[(packed >> _ROW_BITS).astype(np.int64)] = True
    if not used.all():
        rank = np.cumsum(used, dtype=np.uint64) - np.uint64(1)
        packed = (rank[(packed >> _ROW_BITS).astype(np.int64)] << _ROW_BITS) | (packed & _ROW_MASK)
        blob, ends = _kept_keys(blob, ends, used)
    columns: Columns = {f"{prefix}.keys": blob, f"{prefix}.ends": ends}
    columns |= _posting_columns(prefix, packed, len(ends))
    if values is not None:
        columns[f"{prefix}.values"] = values
    if is_placed:
        assert values is not None, "BUG: positions come with frequencies"
        columns |= _merged_positions(segments, readers, renumbered, order, values, columns)
    return columns


def _merged_positions(
    segments: Sequence[Segment],
    readers: Sequence[Inverted],
    renumbered: Sequence[Array],
    order: Array,
    values: Array,
    columns: Columns,
) -> Columns:
    """Returns the position columns of merged postings.

    `order` is the index of each posting among the kept ones of all segments, `values` its number of
    positions.
    """
    kept_positions, kept_counts = [], []
    for segment, reader, rows_new in zip(segments, readers, renumbered, strict=True):
        assert reader.values is not None, "BUG: positions come with frequencies"
        counts = reader.values.whole().astype(np.int64)
        starts = segment["position.starts"]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        by_term = np.diff(ends[reader.posting_starts()])
        positions = all_positions(segment["position.bytes"], starts, by_term)
        kept = rows_new[reader.rows.whole()] != NO_ROW
        if not kept.all():
            positions, counts = positions[np.repeat(kept, counts)], counts[kept]
        kept_positions.append(positions)
        kept_counts.append(counts)
    counts = np.concatenate(kept_counts)
    firsts = (np.cumsum(counts) - counts)[order]
    positions = np.concatenate(kept_positions)[ranges(firsts, values)]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)])
    return position_columns(positions, np.diff(ends[columns["term.starts"].astype(np.int64)]))


def _kept_keys(blob: Array, ends: Array, used: Array) -> tuple[Array, Array]:
    starts = np.concatenate([ends[:1] * 0, ends[:-1]])
    lengths = (ends - starts)[used]
    return blob[ranges(starts[used], lengths)], offsets(lengths)[1:]


def _sorted(ranks: Array, rows: Array, positions: Array | None) -> tuple[Array, Array | None]:
    """Returns the occurrences packed as rank << 32 | row, ascending, and the position of each,
    ascending where these are equal.

    The three numbers of an occurrence are sorted as one of 64 bits, which is several times as fast
    as to sort indices, if they have no more together; only very long texts have.
    """
    fields = [ranks, rows] if positions is None else [ranks, rows, positions]
    widths = [int(field.max()).bit_length() if len(field) else 0 for field in fields]
    if sum(widths) > 64:
        order = np.lexsort(fields[::-1])
        ranks, rows = ranks[order].astype(np.uint64), rows[order]
        positions = None if positions is None else positions[order]
    else:
        packed = np.zeros(len(ranks), np.uint64)
        for field, width in zip(fields, widths, strict=True):
            packed <<= np.uint64(width)
            packed |= field
        packed.sort()
        if positions is not None:
            positions = _lowest(packed, widths[2])
        rows, ranks = _lowest(packed, widths[1]), packed
    ranks <<= _ROW_BITS
    ranks |= rows
    return ranks, positions


def _lowest(packed: Array, width: int) -> Array:
    """Takes the lowest bits off numbers, in place, and returns them as uint32."""
    found: Array = (packed & np.uint64((1 << width) - 1)).astype(np.uint32)
    packed >>= np.uint64(width)
    return found


def _renumber(
    readers: Sequence[Inverted], tables: Sequence[Array], renumbered: Sequence[Array]
) -> tuple[Array, Array | None, Array]:
    """Returns all kept postings, packed as key << 32 | row and ascending, and their values.

    The third is the index of each among the kept ones before sorting, (p,) int64.
    """
    packed_parts, value_parts = [], []
    for reader, table, rows_new in zip(readers, tables, renumbered, strict=True):
        counts = reader.counts()
        rows = rows_new[reader.rows.whole()]
        packed = (np.repeat(table, counts) << _ROW_BITS) | rows
        kept = rows != NO_ROW
        is_whole = bool(kept.all())
        packed_parts.append(packed if is_whole else packed[kept])
        if reader.values is not None:
            values = reader.values.whole()
            value_parts.append(values if is_whole else values[kept])
    if len(packed_parts) == 2 and len(packed_parts[1]) * _SMALL_SHARE < len(packed_parts[0]):
        position = np.searchsorted(packed_parts[0], packed_parts[1])
        both = np.insert(packed_parts[0], position, packed_parts[1])
        first, second = len(packed_parts[0]), len(packed_parts[1])
        order = np.insert(np.arange(first), position, np.arange(first, first + second))
        return both, _inserted(value_parts, position) if value_parts else None, order
    packed = np.concatenate(packed_parts)
    order = np.argsort(packed, kind="stable")  # sorted runs: a merge, not a sort
    return packed[order], np.concatenate(value_parts)[order] if value_parts else None, order


def _inserted(parts: Sequence[Array], position: Array) -> Array:
    large, small = parts
    common = np.result_type(large, small)
    return np.insert(large.astype(common, copy=False), position, small.astype(common, copy=False))


def _posting_columns(prefix: str, packed: Array, key_count: int) -> Columns:
    counts = np.bincount((packed >> _ROW_BITS).view(np.int64), minlength=key_count)
    return {f"{prefix}.starts": offsets(counts), f"{prefix}.rows": packed.astype(np.uint32)}


def _numbered_columns(prefix: str, packed: Array, values: Array | None) -> Columns:
    tokens = (packed >> _ROW_BITS).astype(np.uint32)
    first = np.flatnonzero(np.diff(tokens.astype(np.int64), prepend=-1))
    columns: Columns = {
        f"{prefix}.keys": tokens[first],
        f"{prefix}.starts": offsets(np.diff(first, append=len(tokens))),
        f"{prefix}.rows": (packed & _ROW_MASK).astype(np.uint32),
    }
    if values is not None:
        columns[f"{prefix}.values"] = values
    return columns
