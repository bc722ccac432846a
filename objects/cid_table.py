"""A set of CIDs for millions of them: 48 bytes each, where a set of Python takes three times that.

One table with open addressing and linear probing. A row holds the codec and 168 bits of the hash,
which nobody makes two blocks share, and eight bytes that whoever adds the CID may use. Many CIDs at
once are added or looked up by numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress, islice
from typing import TYPE_CHECKING, Final

from ibidem.objects.cid import CID_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ibidem.objects.cid import Cid

NOTE_BYTES: Final = 8
_KEY_BYTES: Final = 24
_KEY: Final = slice(1, 1 + _KEY_BYTES)
"""Of the 36 bytes of a CID: all that differs, as far as it is needed to tell CIDs apart."""
_HASHED: Final = slice(9, 17)
"""Eight bytes of the key that say where in the table it is looked for."""
_ROW_BYTES: Final = _KEY_BYTES + NOTE_BYTES
_WORDS: Final = _ROW_BYTES // 8
_NO_NOTE: Final = bytes(NOTE_BYTES)
_ROWS_MIN: Final = 1024
_BATCH_CIDS: Final = 2048
"""CIDs that are looked up together."""


class CidTable:
    """CIDs, by their 36 bytes, each with a note of eight bytes."""

    def __init__(self, expected: int = 0) -> None:
        """Makes room for as many CIDs as are expected; it grows where more come."""
        self._count = 0
        self._allot(expected)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, raw: bytes) -> bool:
        table, key = self._bytes, raw[_KEY]
        at = int.from_bytes(raw[_HASHED], "little") % self._rows * _ROW_BYTES
        while table[at]:
            if table.startswith(key, at):
                return True
            at += _ROW_BYTES
            if at == len(table):
                at = 0
        return False

    def add(self, raw: bytes, note: bytes = _NO_NOTE) -> bytes | None:
        """Adds a CID that is not there yet; returns the note of one that is, None for a new one."""
        table, key = self._bytes, raw[_KEY]
        at = int.from_bytes(raw[_HASHED], "little") % self._rows * _ROW_BYTES
        while table[at]:
            if table.startswith(key, at):
                return bytes(table[at + _KEY_BYTES : at + _ROW_BYTES])
            at += _ROW_BYTES
            if at == len(table):
                at = 0
        table[at : at + _ROW_BYTES] = key + note
        self._count += 1
        if self._count > self._count_max:
            self._grow(0)
        return None

    def add_all(self, raws: bytes | bytearray) -> None:
        """Adds CIDs that stand one after the other, without notes."""
        import numpy as np

        keys = _keys(raws)
        if self._count + len(keys) > self._count_max:
            self._grow(len(keys))
        self._put(np.hstack((keys, np.zeros((len(keys), 1), "<u8"))))

    def absent(self, cids: Iterable[Cid]) -> Iterator[Cid]:
        """Yields those of some CIDs that are not there."""
        waiting = iter(cids)
        while batch := list(islice(waiting, _BATCH_CIDS)):
            yield from compress(batch, ~self._has(_keys(b"".join(cid.raw for cid in batch))))

    def _has(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        import numpy as np

        table = self._table()
        found = np.zeros(len(keys), np.bool_)
        at = _first_rows(keys, self._rows)
        waiting = np.arange(len(keys))
        while len(waiting):
            there = table.take(at, 0)[:, :-1]
            is_same = _equal(there, keys)
            found[waiting[is_same]] = True
            is_other = ~is_same & (there[:, 0] != 0)
            waiting, keys, at = waiting[is_other], keys[is_other], (at[is_other] + 1) % self._rows
        return found

    def _allot(self, count: int) -> None:
        self._rows = max(_ROWS_MIN, count + count // 2)
        self._count_max = self._rows - self._rows // 4
        self._bytes = bytearray(self._rows * _ROW_BYTES)

    def _table(self) -> NDArray[np.uint64]:
        import numpy as np

        return np.frombuffer(self._bytes, "<u8").reshape(-1, _WORDS)

    def _grow(self, more: int) -> None:
        old = self._table()
        self._count, count = 0, self._count
        self._allot(max(2 * count, count + more))
        self._put(old[old[:, 0] != 0])

    def _put(self, rows: NDArray[np.uint64]) -> None:
        """Adds rows, for which there is room; those whose key is there already are passed."""
        import numpy as np

        table = self._table()
        at = _first_rows(rows, self._rows)
        while len(rows):
            there = table.take(at, 0)
            is_free = there[:, 0] == 0
            free, first = np.unique(at[is_free], return_index=True)
            table[free] = rows[is_free][first]
            self._count += len(free)
            # What found a free row looks there again: another may have come first.
            is_other = ~is_free & ~_equal(there[:, :-1], rows)
            at += is_other
            at[at == self._rows] = 0
            is_waiting = is_free | is_other
            is_waiting[np.flatnonzero(is_free)[first]] = False
            rows, at = rows[is_waiting], at[is_waiting]


def _first_rows(keys: NDArray[np.uint64], rows: int) -> NDArray[np.int64]:
    import numpy as np

    return (keys[:, 1] % rows).astype(np.int64)


def _equal(some: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    is_equal: NDArray[np.bool_] = some[:, 0] == others[:, 0]
    for word in range(1, _WORDS - 1):
        is_equal &= some[:, word] == others[:, word]
    return is_equal


def _keys(raws: bytes | bytearray) -> NDArray[np.uint64]:
    import numpy as np

    cids = np.frombuffer(raws, np.uint8).reshape(-1, CID_BYTES)
    return np.ascontiguousarray(cids[:, _KEY]).view("<u8")
