"""Searches a block for many byte strings at once.

A few strings are searched one by one. Of many, a table of 65,536 slots has the hashes of the first
eight bytes of each; the block is hashed at every offset, and only where its slot is taken are bytes
compared, with the one group of strings that can begin there. So the time hardly grows with the
number of strings, also where thousands begin alike, such as lines with a date.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator

import numpy as np

FEW = 12
"""With no more strings than this, it is quicker to search for each."""
HEAD_BYTES = 8
START_BYTES = 256
"""Strings that agree in this number of bytes, such as versions of one text, are compared one by
one."""
OFFSETS_MAX = 1 << 20
"""Offsets that are hashed at once, about 20 MB of memory; a file may be larger than a block."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(48)


class Substrings:
    """Byte strings of at least eight bytes that may occur in blocks."""

    def __init__(self, strings: Iterable[bytes]) -> None:
        self._strings = sorted(set(strings))
        self._starts: list[bytes] = []
        """First bytes of strings, ascending; none begins with another, so that only the last one
        that is not above some bytes can be their beginning."""
        self._groups: list[list[bytes]] = []
        """By start, the strings that begin with it."""
        for one in self._strings:
            assert len(one) >= HEAD_BYTES, "BUG: a string that is too short to be searched"
            start = one[:START_BYTES]
            if not self._starts or not start.startswith(self._starts[-1]):
                self._starts.append(start)
                self._groups.append([])
            self._groups[-1].append(one)
        self._heads = {start[:HEAD_BYTES] for start in self._starts}
        self._is_taken = np.zeros(1 << 16, np.bool_)
        heads = np.frombuffer(b"".join(self._heads), "<u8")
        self._is_taken[(heads * _FACTOR) >> _SHIFT] = True

    def is_any_in(self, block: bytes) -> bool:
        """Returns whether one of the strings occurs in a block."""
        if len(self._strings) <= FEW:
            return any(one in block for one in self._strings)
        return any(
            block.startswith(one, at)
            for at in self._offsets(block)
            if block[at : at + HEAD_BYTES] in self._heads
            for one in self._groups[bisect(self._starts, block[at : at + START_BYTES]) - 1]
        )

    def _offsets(self, block: bytes) -> Iterator[int]:
        """Yields the offsets where a string may begin, ascending."""
        stop = len(block) - HEAD_BYTES + 1
        for start in range(0, stop, OFFSETS_MAX):
            # Eight bytes at any offset as an integer, read without copying.
            shape = (min(OFFSETS_MAX, stop - start),)
            words = np.ndarray(shape, "<u8", block, start, (1,))
            found = np.flatnonzero(self._is_taken[(words * _FACTOR) >> _SHIFT])
            yield from (found + start).tolist()
