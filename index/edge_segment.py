"""Edges as retrieval walks them: for many nodes at once, every arc that leaves or reaches them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import Array, Ordinals, ranges
from ibidem.index.key_list import KeyList
from ibidem.index.reading import SegmentView
from ibidem.objects.record import record

_FEW_ROWS = 256
"""Up to so many rows are asked one by one whether they are dead."""


@record
class Arcs:
    """m arcs, those of one node side by side, in no order that means anything."""

    places: npt.NDArray[np.intp]
    """(m,) the node of each arc, as its place among those asked for; ascending."""
    neighbours: Ordinals
    """(m,) uint32: the node at the other end, which need not exist."""
    weights: npt.NDArray[np.float64]
    """(m,) float64, as the edges have them."""
    codes: npt.NDArray[np.uint32]
    """(m,) uint32: the edge's type, as its place in the segment's `etypes`."""


class EdgeSegment(SegmentView):
    """The edges of one segment; a row counts while it is live, whether or not its ends exist."""

    @cached_property
    def etypes(self) -> tuple[str, ...]:
        """The types of the segment's rows, dead ones included."""
        columns = self.part.segment
        return tuple(key.decode() for key in KeyList(columns["etype.keys"], columns["etype.ends"]))

    def etype_counts(self) -> npt.NDArray[np.int64]:
        """Returns how many live rows there are of each type, beside `etypes`."""
        columns = self.part.segment
        codes = columns["code"]
        if "etype counts" not in self.cache:
            self.cache["etype counts"] = np.bincount(codes, minlength=len(self.etypes))
        counts: npt.NDArray[np.int64] = self.cache["etype counts"]
        if self.part.dead:
            dead = np.array(self.part.dead.to_array(), dtype=np.uint32)
            gone = codes[np.searchsorted(self.ordinals, dead)]
            counts = counts - np.bincount(gone, minlength=len(self.etypes))
        return counts

    def arcs(self, nodes: Ordinals, *, outgoing: bool) -> Arcs:
        """Returns the arcs from nodes to their targets, or from nodes to their sources.

        Costs what it returns, and a search for each node.

        Args:
            nodes: (k,) uint32, in any order; ascending is quickest.
            outgoing: whether the nodes are the sources.
        """
        columns = self.part.segment
        end, name = ("target", "out") if outgoing else ("source", "in")
        column = columns[f"{name}.node"]
        starts = np.searchsorted(column, nodes, side="left")
        counts = np.searchsorted(column, nodes, side="right") - starts
        places = np.repeat(np.arange(len(nodes), dtype=np.intp), counts)
        rows = columns[f"{name}.row"][ranges(starts, counts)]
        if self.part.dead and len(rows):
            keep = self._is_live(rows)
            places, rows = places[keep], rows[keep]
        return Arcs(places, columns[end][rows], columns["weight"][rows], columns["code"][rows])

    def _is_live(self, rows: Array) -> npt.NDArray[np.bool_]:
        if len(rows) <= _FEW_ROWS or self.live is None:
            dead = self.part.dead or ()
            serials = self.ordinals[rows].tolist()
            return np.array([serial not in dead for serial in serials], np.bool_)
        found: npt.NDArray[np.bool_] = self.live[rows]
        return found
