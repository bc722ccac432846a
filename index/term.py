"""A term of one segment: its postings, and what else is kept of them.

Arrays are views of the columns; nothing is decoded until it is asked for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import Array
from ibidem.index.inverted import inverted
from ibidem.index.positions import positions_at
from ibidem.index.segment import Segment


class Term:
    """The rows that have a term, ascending, dead ones included, and what is known of each."""

    __slots__ = ("_index", "_segment", "dense", "frequencies", "impacts", "rows", "top")

    def __init__(self, segment: Segment, index: int) -> None:
        column = inverted(segment, "term")
        span = column.span(index)
        assert column.values is not None, "BUG: terms have frequencies"
        self._segment, self._index = segment, index
        self.rows: npt.NDArray[np.uint32] = column.rows[span]
        """(m,) uint32, ascending."""
        self.frequencies = column.values[span]
        """(m,) uint8, uint16 or uint32."""
        self.impacts: npt.NDArray[np.uint8] = segment["term.impacts"][span]
        """(m,) uint8: bounds what each posting adds, see `impacts.py`."""
        self.top = int(segment["term.tops"][index])
        """The largest impact."""
        self.dense: npt.NDArray[np.uint8] | None = None
        """(n,) uint8: the impacts by row, where many rows have the term."""
        wide = segment["dense.terms"]
        place = int(np.searchsorted(wide, np.uint32(index)))
        if place < len(wide) and int(wide[place]) == index:
            self.dense = segment["dense.impacts"][place]

    def positions(self) -> tuple[Array, Array]:
        """Returns (ends, positions): posting i stands at positions[ends[i - 1]:ends[i]]."""
        starts = self._segment["position.starts"]
        start, stop = int(starts[self._index]), int(starts[self._index + 1])
        ends = np.cumsum(self.frequencies, dtype=np.int64)
        data = self._segment["position.bytes"]
        return ends, positions_at(data, start, stop, int(ends[-1]))
