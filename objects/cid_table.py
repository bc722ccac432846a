"""A set for millions of CIDs: 48 bytes per CID, a third of the size of a Python set.

One hash table with open addressing and linear probing. A row holds the codec, 168 bits of the hash
(enough that finding two blocks with equal bits is infeasible), and eight bytes for the caller's
use. Batches of CIDs are added and looked up with numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
"""The part of the 36 bytes of a CID that is stored: enough of the bytes that vary to distinguish
CIDs."""
_HASHED: Final = slice(9, 17)
"""Eight bytes of the key that determine the row at which probing starts."""
_WORD: Final = slice(8, 16)
"""The same bytes within the key."""
_ROW_BYTES: Final = _KEY_BYTES + NOTE_BYTES
_WORDS: Final = _ROW_BYTES // 8
_NO_NOTE: Final = bytes(NOTE_BYTES)
_ROWS_MIN: Final = 1024
_BATCH_CIDS: Final = 2048
"""Number of CIDs that are looked up together."""
_FEW_CIDS: Final = 8
"""Up to this many CIDs are looked up one by one."""


class CidTable:
    """A set of CIDs, given by their 36 bytes, each with a note of eight bytes."""

    def __init__(self, expected: int = 0) -> None:
        """Allocates room for `expected` CIDs; the table grows if more are added."""
        self._count = 0
        self._allot(expected)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, raw: bytes) -> bool:
        # As `_row`, without its call: copies look up each block several times.
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
        """Adds a CID if it is absent; returns the note of one that was present, None for a new
        one."""
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

    def add_all(
        self, raws: bytes | bytearray, notes: NDArray[np.uint64] | Sequence[int] | None = None
    ) -> None:
        """Adds concatenated CIDs that are absent.

        Args:
            notes: (n,) the eight bytes of each note, written as little-endian; by default zeros.
        """
        import numpy as np

        keys = _keys(raws)
        if self._count + len(keys) > self._count_max:
            self._grow(len(keys))
        column = np.zeros(len(keys), "<u8") if notes is None else np.asarray(notes, "<u8")
        self._put(np.column_stack((keys, column)))

    def absent(self, cids: Iterable[Cid]) -> Iterator[Cid]:
        """Yields the given CIDs that are not in the table."""
        waiting = iter(cids)
        while batch := list(islice(waiting, _BATCH_CIDS)):
            yield from compress(batch, self._find(_keys(b"".join(cid.raw for cid in batch))) < 0)

    def absent_count(self, raws: Iterable[bytes]) -> int:
        """Returns how many of some CIDs, given by their 36 bytes, are not in the table."""
        waiting, count = iter(raws), 0
        while batch := b"".join(islice(waiting, _BATCH_CIDS)):
            count += int((self._find(_keys(batch)) < 0).sum())
        return count

    def noted(self, raws: bytes, notes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Returns which of some concatenated CIDs are in the table with a given note each.

        Args:
            notes: (n,) the eight bytes of each note, read as little-endian.
        """
        rows = self._find(_keys(raws))
        is_noted: NDArray[np.bool_] = (rows >= 0) & (self._table()[rows, -1] == notes)
        return is_noted

    def note(self, raw: bytes) -> int | None:
        """Returns the note of a CID as `notes` does."""
        row = self._row(raw[_KEY])
        if row < 0:
            return None
        at = row * _ROW_BYTES + _KEY_BYTES
        return int.from_bytes(self._bytes[at : at + NOTE_BYTES], "little")

    def notes(self, raws: bytes) -> list[int | None]:
        """Returns the note of each of some concatenated CIDs, its eight bytes read as
        little-endian; None for one that is not in the table."""
        rows = self._find(_keys(raws))
        notes: list[int | None] = self._table()[rows, -1].tolist()
        for index in (rows < 0).nonzero()[0].tolist():
            notes[index] = None
        return notes

    def _find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns the row of each key, -1 for one that is not in the table."""
        import numpy as np

        table = self._table()
        found = np.full(len(keys), -1)
        at = _first_rows(keys, self._rows)
        waiting = np.arange(len(keys))
        while len(waiting) > _FEW_CIDS:
            there = table.take(at, 0)
            is_same = _equal(there[:, :-1], keys)
            found[waiting[is_same]] = at[is_same]
            is_other = ~is_same & (there[:, 0] != 0)
            waiting, keys, at = waiting[is_other], keys[is_other], (at[is_other] + 1) % self._rows
        # The last few are in long runs of rows: each is sought by itself.
        for index, key in zip(waiting.tolist(), keys, strict=True):
            found[index] = self._row(key.tobytes())
        return found

    def _row(self, key: bytes) -> int:
        """Returns the row of a key, -1 if it is not in the table."""
        table = self._bytes
        at = int.from_bytes(key[_WORD], "little") % self._rows * _ROW_BYTES
        while table[at]:
            if table.startswith(key, at):
                return at // _ROW_BYTES
            at += _ROW_BYTES
            if at == len(table):
                at = 0
        return -1

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
        """Adds rows, skipping those whose key is already in the table; the caller has ensured that
        there is room."""
        import numpy as np

        table = self._table()
        at = _first_rows(rows, self._rows)
        while len(rows):
            there = table.take(at, 0)
            is_free = there[:, 0] == 0
            free, first = np.unique(at[is_free], return_index=True)
            table[free] = rows[is_free][first]
            self._count += len(free)
            # Retry at the free row that was found: another CID may have taken it first.
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
