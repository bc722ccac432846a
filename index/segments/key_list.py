"""Sorted byte keys, read in place, and the union of several such lists.

Columns under a prefix P: P.keys, all keys concatenated; P.ends, (k,) where each one ends.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from ibidem.index.arrays import Array, Bytes, Columns, offsets
from ibidem.index.segments.column import Column
from ibidem.index.segments.property_keys import text_key

_SMALL_SHARE = 16
"""If one list is this many times shorter than the other, its keys are inserted one by one."""
_FOUND_BEFORE_SAMPLE = 32
"""The number of searches after which a list keeps a sample of its keys in memory."""
_SAMPLED_EVERY = 64
_CHARACTER_BYTES_MAX = 4
_ENDING_BYTES = 4


class Numbering(dict[bytes, int]):
    """Gives each new key the next number."""

    def __missing__(self, key: bytes) -> int:
        number = self[key] = len(self)
        return number


class KeyList:
    """The keys of an inverted column as a sorted sequence of bytes, read in place.

    The first searches read only the keys that they compare; then all keys are read and a sample is
    kept.
    """

    __slots__ = ("_blob", "_endings", "_ends", "_found_count", "_offsets", "_sample", "_views")

    def __init__(self, blob: Column, ends: Column) -> None:
        self._blob = blob
        self._ends = ends
        self._found_count = 0
        self._sample: list[bytes] = []
        self._offsets: list[int] = []
        self._endings: tuple[Array, Array] | None = None
        self._views: tuple[memoryview, memoryview] | None = None

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> bytes:
        if self._views is None and not (self._blob.is_checked and self._ends.is_checked):
            return self._blob[self.start(index) : self._ends.item(index)].tobytes()
        blob, ends = self._views or self._whole()
        return bytes(blob[ends[index - 1] if index else 0 : ends[index]])

    def __iter__(self) -> Iterator[bytes]:
        mapped, ends = self._whole()
        blob = bytes(mapped)
        start = 0
        for end in ends:
            yield blob[start:end]
            start = end

    def start(self, index: int) -> int:
        """Returns the offset of key `index` in the concatenated keys, and their end for the index
        after the last key."""
        return self._ends.item(index - 1) if index else 0

    def part(self, start: int, stop: int) -> KeyList:
        """Returns the list of the keys from `start` to before `stop`."""
        first = self.start(start)
        blob = np.ascontiguousarray(self._blob[first : self.start(stop)])
        return KeyList(Column(blob), Column(self._ends[start:stop].astype(np.int64) - first))

    def between(self, start: int, stop: int) -> memoryview:
        """Returns the bytes of the keys from `start` to before `stop`."""
        return self._blob[self.start(start) : self.start(stop)].data

    def lengths(self) -> Array:
        """Returns the length of each key, (k,) int64."""
        return np.diff(self._ends.whole().astype(np.int64), prepend=0)

    def find(self, key: bytes, low: int = 0) -> int:
        """Returns the index of the first key that is not below `key`, from `low` on."""
        high = len(self._ends)
        if self._found_count < _FOUND_BEFORE_SAMPLE:
            self._found_count += 1
        elif high > _SAMPLED_EVERY:
            # A sample of the keys is in memory, so only the last steps read the column.
            if not self._sample:
                self._whole()
                sampled = range(0, high, _SAMPLED_EVERY)
                self._offsets = [self.start(index) for index in (*sampled, high)]
                self._sample = [self[index] for index in sampled]
            position = bisect_left(self._sample, key)
            high = min(high, position * _SAMPLED_EVERY)
            low = max(low, high - _SAMPLED_EVERY, 0)
        views = self._views
        while low < high:
            middle = (low + high) >> 1
            if views is None:
                is_below = self[middle] < key
            else:
                blob, ends = views
                is_below = blob[ends[middle - 1] if middle else 0 : ends[middle]].tobytes() < key
            if is_below:
                low = middle + 1
            else:
                high = middle
        return low

    def index(self, key: bytes) -> int | None:
        """Returns the index of a key, None if it is not in the list."""
        if self._sample and self._views is not None:
            blob, ends = self._views
            position = bisect(self._sample, key)
            if position == 0:
                return None
            start, end = self._offsets[position - 1 : position + 1]
            # The first place of these bytes among some keys is seldom in the middle of one.
            offset = blob[start:end].tobytes().find(key)
            if offset < 0:
                return None
            first, stop = start + offset, start + offset + len(key)
            low = (position - 1) * _SAMPLED_EVERY
            found = bisect(ends, stop - 1, low, min(low + _SAMPLED_EVERY, len(ends)))
            if ends[found] == stop and first == (ends[found - 1] if found else 0):
                return found
        found = self.find(key)
        return found if found < len(self) and self[found] == key else None

    def near(self, text: str) -> list[int]:
        """Returns the indices of the keys, all of them UTF-8, at edit distance 1 from `text`.

        One character added, removed or replaced in the second half leaves the first half as it is,
        so these keys are neighbours; one in the first half leaves the second, so they are
        neighbours in the order of their ends. In both halves a change away from the outer edge
        leaves the character there as well.
        """
        key, half = text_key(text), len(text) >> 1
        blob, ends = self._blob.whole(), self._ends.whole()
        if not key or not len(blob):
            return []
        from_first = self._with_prefix(text[:half])
        from_last = self._with_suffix(text[half:])
        stops = ends[from_first].astype(np.int64)
        starts = ends[from_last - 1].astype(np.int64)
        starts[from_last == 0] = 0
        candidates = np.concatenate(
            (
                from_first[(blob[stops - 1] == key[-1]) & (stops > 0)],
                self._with_prefix(text[:-1]),
                from_last[blob.take(starts, mode="clip") == key[0]],
                self._with_suffix(text[1:]),
            )
        )
        lengths = ends[candidates].astype(np.int64) - ends[candidates - 1] * (candidates > 0)
        candidates = candidates[np.abs(lengths - len(key)) <= _CHARACTER_BYTES_MAX]
        return [
            index
            for index in sorted(set(candidates.tolist()))
            if _is_one_edit(self[index].decode(), text)
        ]

    def _with_prefix(self, head: str) -> Array:
        """Returns the indices of the keys that begin with a text, (m,) int64, ascending."""
        first = text_key(head)
        return np.arange(self.find(first), self.find(first + b"\xff"))

    def _with_suffix(self, tail: str) -> Array:
        """Returns the indices of the keys with the last bytes of a text, (m,) int64.

        The first call puts the last bytes of all keys in order, and keeps them: 8 bytes a key.
        """
        if self._endings is None:
            # The bytes before `stop` as one number, the last of them highest. A key shorter than
            # that gets bytes of the one before it, which no search for its own end compares.
            blob = np.concatenate((np.zeros(_ENDING_BYTES, np.uint8), self._blob.whole()))
            before = np.ndarray(len(blob) - _ENDING_BYTES + 1, "<u4", blob, strides=(1,))
            lasts = before[self._ends.whole()]
            order = lasts.argsort()
            self._endings = lasts[order], order.astype(np.uint32)
        lasts, order = self._endings
        last = text_key(tail)[: -_ENDING_BYTES - 1 : -1]
        low = np.uint32(int.from_bytes(last.ljust(_ENDING_BYTES, b"\0"), "big"))
        high = np.uint32(int.from_bytes(last.ljust(_ENDING_BYTES, b"\xff"), "big"))
        start, stop = lasts.searchsorted(low), lasts.searchsorted(high, side="right")
        return order[start:stop].astype(np.int64)

    def _whole(self) -> tuple[memoryview, memoryview]:
        """Returns the keys concatenated, and their ends."""
        if self._views is None:
            self._views = self._blob.whole().data, self._ends.whole().data
        return self._views


def _is_one_edit(one: str, other: str) -> bool:
    """Whether one text becomes the other by one character added, removed or replaced."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    added = len(long) - len(short)
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    return one != other and added < 2 and short[start + 1 - added :] == long[start + 1 :]


def key_list(keys: Sequence[bytes]) -> KeyList:
    """Returns the list of ascending byte keys."""
    columns = key_columns("", keys)
    return KeyList(Column(columns[".keys"]), Column(columns[".ends"]))


def key_columns(prefix: str, keys: Sequence[bytes]) -> Columns:
    """Returns the key columns for ascending byte keys."""
    lengths = np.fromiter(map(len, keys), dtype=np.uint64, count=len(keys))
    return {
        f"{prefix}.keys": np.frombuffer(b"".join(keys), dtype=np.uint8),
        f"{prefix}.ends": offsets(lengths)[1:].copy(),
    }


def union_keys(lists: Sequence[KeyList]) -> tuple[Bytes, Array, list[Array]]:
    """Returns the distinct keys of several lists, ascending, as blob and ends.

    The third is, for each list, (k,) uint64: the index of each of its keys among the distinct ones.
    """
    if len(lists) == 2 and len(lists[1]) * _SMALL_SHARE < len(lists[0]):
        return _with_few(lists[0], list(lists[1]))
    read = [list(one) for one in lists]
    keys = list(dict.fromkeys(chain.from_iterable(read)))  # sorted runs, which `sort` merges
    keys.sort()
    rank = dict(zip(keys, range(len(keys)), strict=True))
    tables: list[Array] = [
        np.fromiter(map(rank.__getitem__, one), dtype=np.uint64, count=len(one)) for one in read
    ]
    columns = key_columns("", keys)
    return columns[".keys"], columns[".ends"], tables


def _with_few(many: KeyList, few: Sequence[bytes]) -> tuple[Bytes, Array, list[Array]]:
    """Returns the union, reading only as much of `many` as finding the keys of `few` in it
    needs."""
    positions, is_new, low = [], [], 0
    for key in few:
        low = many.find(key, low)
        positions.append(low)
        is_new.append(low == len(many) or many[low] != key)
    position = np.array(positions, dtype=np.int64)
    new = np.array(is_new, dtype=bool)
    inserted = np.bincount(position[new], minlength=len(many) + 1).cumsum()
    table_many = (np.arange(len(many)) + inserted[:-1]).astype(np.uint64)
    table_few = (position + np.cumsum(new) - new).astype(np.uint64)
    pieces: list[bytes | memoryview] = []
    start = 0
    for key, at, fresh in zip(few, positions, is_new, strict=True):
        if fresh:
            pieces += (many.between(start, at), key)
            start = at
    pieces.append(many.between(start, len(many)))
    sizes = np.fromiter(
        (len(key) for key, fresh in zip(few, is_new, strict=True) if fresh), np.int64
    )
    lengths = np.insert(many.lengths(), position[new], sizes)
    blob = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    return blob, offsets(lengths)[1:].copy(), [table_many, table_few]
