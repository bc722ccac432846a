"""A term of one segment: its postings, with their impacts and positions.

Arrays are views of the columns; nothing is read or decoded before it is used.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import Array
from ibidem.index.segments.inverted import Inverted
from ibidem.index.segments.positions import positions_at
from ibidem.index.segments.segment import Segment


class Term:
    """The rows that have a term, ascending, dead ones included, with the data of each."""

    __slots__ = ("_index", "_segment", "_start", "_stop", "frequencies", "rows")

    def __init__(self, segment: Segment, column: Inverted, index: int) -> None:
        start, stop = column.bounds(index)
        assert column.values is not None, "BUG: terms have frequencies"
        self._segment, self._index, self._start, self._stop = segment, index, start, stop
        self.rows: npt.NDArray[np.uint32] = column.rows.part(start, stop)
        """(m,) uint32, ascending."""
        self.frequencies: npt.NDArray[np.unsignedinteger] = column.values.part(start, stop)
        """(m,) uint8, uint16 or uint32."""

    @property
    def impacts(self) -> npt.NDArray[np.uint8]:
        """(m,) uint8: bounds of what each posting adds, see `impacts.py`."""
        return self._segment.column("term.impacts").part(self._start, self._stop)

    @property
    def top(self) -> int:
        """The largest impact."""
        return self._segment.column("term.tops").item(self._index)

    @property
    def dense(self) -> npt.NDArray[np.uint8] | None:
        """(n,) uint8: the impacts by row; None unless many rows have the term."""
        indices: dict[int, int] | None = self._segment.cache.get("dense places")
        if indices is None:
            wide = self._segment["dense.terms"].tolist()
            indices = {index: position for position, index in enumerate(wide)}
            self._segment.cache["dense places"] = indices
        position = indices.get(self._index)
        if position is None:
            return None
        found: npt.NDArray[np.uint8] = self._segment.column("dense.impacts")[
            position : position + 1
        ][0]
        return found

    def positions(self) -> tuple[Array, Array]:
        """Returns (ends, positions): those of posting i are positions[ends[i - 1]:ends[i]]."""
        starts = self._segment.column("position.starts")
        start, stop = starts.item(self._index), starts.item(self._index + 1)
        ends = np.cumsum(self.frequencies, dtype=np.int64)
        data = self._segment.column("position.bytes")[start:stop]
        return ends, positions_at(data, int(ends[-1]))
