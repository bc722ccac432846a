"""Numbers for the chunks of folded text, many texts at a time.

In a bulk load, looking up every word in a dictionary is most of the cost of analysis: each word is
a new object and touches several distant cache lines. Here the chunks are read in place; the first
sixteen bytes of each are two integers, which are looked up for all chunks at once in a hash table
with open addressing, one cache line each. New and longer chunks use the dictionary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]

_KEY_BYTES = 16
_SLOTS_MIN = 1 << 12
_PROBES = 8
"""Slots that are probed together; a chunk that is not found in them uses the dictionary."""
_LOW = np.array([(1 << 8 * min(size, 8)) - 1 for size in range(_KEY_BYTES + 1)], np.uint64)
_HIGH = np.array([(1 << 8 * max(size - 8, 0)) - 1 for size in range(_KEY_BYTES + 1)], np.uint64)
_FACTOR_LOW, _FACTOR_HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_FOLD = np.uint64(32)


class ChunkNumbers:
    """Gives each new chunk the next number."""

    def __init__(self) -> None:
        """Creates an empty numbering."""
        self._numbers: dict[bytes, int] = {}
        self._kept = 0
        """Keys in the table."""
        self._resize(_SLOTS_MIN)

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(
        self, folded: bytes, meet: Callable[[str], None]
    ) -> tuple[Numbers, npt.NDArray[np.int64]]:
        """Returns the number of each chunk in UTF-8 bytes, in order, and where each begins.

        Args:
            folded: chunks separated by spaces; no byte is zero.
            meet: called with each new chunk, in the order of the numbers.
        """
        raw = np.frombuffer(b"".join((b" ", folded, b" ", bytes(_KEY_BYTES))), np.uint8)
        is_space = raw[: len(folded) + 2] == 0x20
        edges = np.flatnonzero(is_space[1:] != is_space[:-1])
        starts, sizes = edges[0::2] + 1, edges[1::2] - edges[0::2]
        # Eight bytes at any offset as a little-endian integer, read without copying.
        words: Keys = np.ndarray((len(raw) - 7,), "<u8", raw, strides=(1,))
        position = np.minimum(sizes, _KEY_BYTES)
        low, high = words[starts] & _LOW[position], words[starts + 8] & _HIGH[position]
        found = self._looked_up(low, high)
        left = np.flatnonzero((found < 0) | (sizes > _KEY_BYTES))
        if len(left):
            known = len(self)
            begins, stops = starts[left].tolist(), (starts + sizes)[left].tolist()
            data = raw.tobytes()
            chunks = map(data.__getitem__, map(slice, begins, stops))
            some = (self._number(chunk, meet) for chunk in chunks)
            found[left] = np.fromiter(some, np.int64, len(left))
            met, first = np.unique(found[left], return_index=True)
            is_new = (met >= known) & (sizes[left[first]] <= _KEY_BYTES)
            new = left[first[is_new]]
            self._keep(low[new], high[new], found[new].astype(np.uint64))
        return found.astype(np.uint32), starts - 1

    def _looked_up(self, low: Keys, high: Keys) -> npt.NDArray[np.int64]:
        """Returns the numbers of keys, -1 for keys that are not in the table."""
        slots = self._slots(low, high)
        rows = self._table.take(slots, axis=0)
        found = rows[:, 2].astype(np.int64)
        pending = np.flatnonzero((rows[:, 0] != low) | (rows[:, 1] != high))
        found[pending] = -1
        for _ in range(_PROBES - 1):
            # A slot without a key ends the search: such a chunk is new.
            pending = pending[self._table[slots[pending], 0] != 0]
            if not len(pending):
                break
            slots[pending] = (slots[pending] + np.uint64(1)) & self._mask
            rows = self._table.take(slots[pending], axis=0)
            is_hit = (rows[:, 0] == low[pending]) & (rows[:, 1] == high[pending])
            found[pending[is_hit]] = rows[is_hit, 2].astype(np.int64)
            pending = pending[~is_hit]
        return found

    def _slots(self, low: Keys, high: Keys) -> Keys:
        with np.errstate(over="ignore"):
            mixed = (low * _FACTOR_LOW) ^ ((high + _FACTOR_LOW) * _FACTOR_HIGH)
            mixed ^= mixed >> _FOLD
            mixed *= _FACTOR_LOW
        return mixed >> self._shift

    def _number(self, chunk: bytes, meet: Callable[[str], None]) -> int:
        number = self._numbers.get(chunk)
        if number is None:
            number = self._numbers[chunk] = len(self._numbers)
            meet(chunk.decode())
        return number

    def _keep(self, low: Keys, high: Keys, numbers: Keys) -> None:
        """Inserts keys that are not in the table; a table that is half full is replaced by a larger
        one."""
        self._kept += len(numbers)
        if 2 * self._kept > len(self._table):
            held = self._table[self._table[:, 0] != 0]
            low, high, numbers = (
                np.concatenate([held[:, column], new])
                for column, new in enumerate((low, high, numbers))
            )
            self._resize(4 * self._kept)
            self._kept = len(numbers)
        rows = np.stack([low, high, numbers], axis=1)
        slots = self._slots(low, high)
        while len(rows):
            is_free = self._table[slots, 0] == 0
            self._table[slots[is_free]] = rows[is_free]  # on a collision, the last one stays
            is_left = self._table[slots, 2] != rows[:, 2]
            rows, slots = rows[is_left], (slots[is_left] + np.uint64(1)) & self._mask

    def _resize(self, count: int) -> None:
        bits = max(count, _SLOTS_MIN).bit_length()
        self._table = np.zeros((1 << bits, 3), np.uint64)
        self._shift, self._mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
