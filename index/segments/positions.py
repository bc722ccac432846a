"""Positions: the index of each occurrence of a term in its row's list of terms.

Columns, k terms:
    position.bytes  occurrences in the order of the postings, ascending within one; little-endian
        integers of 1, 2 or 4 bytes, the fewest that hold every position of the term
    position.starts (k + 1,) where the bytes of each term begin

The frequency of a posting is its number of occurrences. Only phrase queries read positions.
"""

from __future__ import annotations

import numpy as np

from ibidem.index.arrays import Array, Columns, offsets

WIDTHS = (1, 2, 4)


def position_columns(positions: Array, counts: Array) -> Columns:
    """Returns the columns.

    Args:
        positions: (t,) uint32 of all occurrences, term by term.
        counts: (k,) occurrences of each term, each at least 1.
    """
    widths = np.ones(len(counts), np.int64)
    if len(positions):
        firsts = np.cumsum(counts) - counts
        tops = np.maximum.reduceat(positions, firsts)
        widths[tops >= 1 << 8] = 2
        widths[tops >= 1 << 16] = 4
    parts = positions.astype("<u4").view(np.uint8).reshape(-1, 4)
    if len(widths) and int(widths.max()) == 1:
        data = parts[:, 0].copy()
    else:
        data = parts[np.arange(4) < np.repeat(widths.astype(np.uint8), counts)[:, None]]
    return {"position.bytes": data, "position.starts": offsets(widths * counts)}


def all_positions(data: Array, starts: Array, counts: Array) -> Array:
    """Returns the positions that were given to `position_columns`, (t,) uint32."""
    widths = np.diff(starts.astype(np.int64)) // np.maximum(counts, 1)
    if len(widths) and int(widths.max()) == 1:
        return data.astype(np.uint32)
    parts = np.zeros((int(counts.sum()), 4), np.uint8)
    parts[np.arange(4) < np.repeat(widths.astype(np.uint8), counts)[:, None]] = data
    found: Array = parts.view("<u4").reshape(-1).astype(np.uint32)
    return found


def positions_at(data: Array, count: int) -> Array:
    """Returns the positions of one term with `count` occurrences, whose bytes are `data`, (count,)
    of an unsigned type."""
    width = len(data) // count
    assert width in WIDTHS, "BUG: positions are 1, 2 or 4 bytes wide"
    found: Array = np.frombuffer(data.tobytes(), f"<u{width}")
    return found
