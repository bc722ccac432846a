"""Searches a block for many byte strings at once.

A few strings are searched one by one. Of many, a table of 65,536 slots has the hashes of the first
eight bytes of each; the block is hashed at every offset, and only where its slot is taken are bytes
compared. So the time does not grow with the number of strings.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

FEW = 12
"""With no more strings than this, it is quicker to search for each."""
HEAD_BYTES = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(48)


class Substrings:
    """Byte strings of at least eight bytes that may occur in blocks."""

    def __init__(self, strings: Iterable[bytes]) -> None:
        self._strings = list(dict.fromkeys(strings))
        self._by_head: dict[bytes, list[bytes]] = {}
        for one in self._strings:
            assert len(one) >= HEAD_BYTES, "BUG: a string that is too short to be searched"
            self._by_head.setdefault(one[:HEAD_BYTES], []).append(one)
        self._is_taken = np.zeros(1 << 16, np.bool_)
        heads = np.frombuffer(b"".join(self._by_head), "<u8")
        self._is_taken[(heads * _FACTOR) >> _SHIFT] = True

    def is_any_in(self, block: bytes) -> bool:
        """Returns whether one of the strings occurs in a block."""
        if len(self._strings) <= FEW:
            return any(one in block for one in self._strings)
        if len(block) < HEAD_BYTES:
            return False
        # Eight bytes at any offset as an integer, read without copying.
        words = np.ndarray((len(block) - HEAD_BYTES + 1,), "<u8", block, strides=(1,))
        return any(
            block.startswith(one, at)
            for at in np.flatnonzero(self._is_taken[(words * _FACTOR) >> _SHIFT]).tolist()
            for one in self._by_head.get(block[at : at + HEAD_BYTES], ())
        )
