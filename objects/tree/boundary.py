"""The boundaries at which a level is cut into blocks: a function of the level and its keys only.

Two rules. A key whose hash is small is a natural boundary, about one in 64. Where natural
boundaries are too far apart, an entry is a forced boundary when it has the smallest (hash, key) of
a long enough neighbourhood. Both look at a bounded neighbourhood only, so an edit moves boundaries
near itself and nowhere else, whatever the keys are. Values never move a boundary.

Spec: format 6.2 and 6.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ibidem.objects.constants import TREE_BOUNDARY_BELOW, TREE_ENTRIES_MAX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_VECTORISE_FROM = 24


def key_hash(key: bytes, level: int) -> int:
    """Returns the 64-bit hash of one key at one level.

    Spec: format 6.2.

    >>> hex(key_hash(bytes(16), 0))
    '0x48218226ff3cd4bf'
    """
    state = _STEP * (level + 1) & _MASK
    for start in range(0, len(key), 8):
        state ^= int.from_bytes(key[start : start + 8], "little")
        state = (state ^ (state >> 30)) * _FIRST & _MASK
        state = (state ^ (state >> 27)) * _SECOND & _MASK
        state ^= state >> 31
    return state


def key_hashes(keys: NDArray[np.uint8], level: int) -> NDArray[np.uint64]:
    """Returns `key_hash` of every row.

    Args:
        keys: (n, width) uint8, C-contiguous.

    Returns:
        (n,) uint64.
    """
    import numpy as np

    size, width = keys.shape
    if width % 8:
        padded = np.zeros((size, width + 8 - width % 8), np.uint8)
        padded[:, :width] = keys
        keys = padded
    words = np.ascontiguousarray(keys).view("<u8")
    state = np.full(size, _STEP * (level + 1) & _MASK, np.uint64)
    for column in range(words.shape[1]):
        state ^= words[:, column]
        state ^= state >> np.uint64(30)
        state *= np.uint64(_FIRST)
        state ^= state >> np.uint64(27)
        state *= np.uint64(_SECOND)
        state ^= state >> np.uint64(31)
    return state


def natural_flags(keys: Sequence[bytes], level: int) -> list[bool]:
    """Returns for each key whether it is a natural boundary at `level`."""
    import numpy as np

    if len(keys) < _VECTORISE_FROM:
        return [key_hash(key, level) < TREE_BOUNDARY_BELOW for key in keys]
    rows = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)
    flags: list[bool] = (key_hashes(rows, level) < np.uint64(TREE_BOUNDARY_BELOW)).tolist()
    return flags


def cut_flags(keys: NDArray[np.uint8], level: int, fences: Sequence[int] = ()) -> NDArray[np.bool_]:
    """Marks the entries that end a block.

    Args:
        keys: (n, width) uint8, ascending: a whole level, or the pieces of one that end at `fences`.
        fences: indexes of entries that end a piece. The last entry always ends one.

    Returns:
        (n,) bool. With k = True positions, k blocks of 1 to 256 entries each.

    Spec: format 6.3.
    """
    import numpy as np

    hashes = key_hashes(keys, level)
    flags = hashes < np.uint64(TREE_BOUNDARY_BELOW)
    if len(flags):
        flags[-1] = True
    if fences:
        flags[list(fences)] = True
    stops = np.flatnonzero(flags)
    starts = np.empty_like(stops)
    starts[:1] = 0
    starts[1:] = stops[:-1] + 1
    for span in np.flatnonzero(stops - starts >= TREE_ENTRIES_MAX).tolist():
        start, stop = int(starts[span]), int(stops[span])
        for index in forced(hashes[start:stop].tolist()):
            flags[start + index] = True
    return flags


def forced(hashes: Sequence[int]) -> list[int]:
    """Finds the forced boundaries within one natural span, in no particular order.

    An entry is a forced boundary if the longest run of entries around it in which it has the
    smallest (hash, key) holds at least 256 entries. This is equivalent to splitting the span
    repeatedly at its smallest (hash, key) until no part is longer than 256, but takes one pass with
    a stack.

    Args:
        hashes: the hashes of the entries of the span in key order, without the entry that ends it.

    Spec: format 6.3.
    """
    found: list[int] = []
    stack: list[tuple[int, int]] = [(-1, -1)]
    for stop, value in enumerate((*hashes, -1)):
        while stack[-1][0] > value:
            _, index = stack.pop()
            if stop - stack[-1][1] - 1 >= TREE_ENTRIES_MAX:
                found.append(index)
        stack.append((value, stop))
    return found
