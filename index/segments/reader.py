"""Segments as retrieval reads them: their live rows, and their columns in place.

A view combines the columns of one segment, which never change, with the rows that are live in a
snapshot. There is one class for each kind of row: texts; edges, which returns the arcs from or to
many nodes at once; the classes of vectors are in `vector_rows.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.index.arrays import Array, Ordinals, bitmap_of_bytes, ranges
from ibidem.index.segments.inverted import inverted
from ibidem.index.segments.key_list import KeyList
from ibidem.index.segments.merge_rows import Part, live_mask
from ibidem.index.segments.property_keys import text_key
from ibidem.index.segments.segment import Segment
from ibidem.index.segments.term import Term
from ibidem.objects.record import record

Rows = npt.NDArray[np.uint32]


def ordinal_set(part: Part) -> BitMap:
    """Returns the ordinals of a segment as a bitmap, which is cached with it and must not be
    changed."""
    found: BitMap | None = part.segment.cache.get("set")
    if found is None:
        found = part.segment.cache["set"] = bitmap_of_bytes(part.segment["set"])
    return found


class SegmentView:
    """One segment of a family in one snapshot. A row counts if it is live here and its node
    exists."""

    def __init__(self, part: Part, nodes: BitMap | None = None) -> None:
        if nodes is not None:
            orphans = ordinal_set(part) - nodes
            if orphans:
                part = Part(part.segment, orphans if part.dead is None else part.dead | orphans)
        self.part = part

    @property
    def name(self) -> str:
        """The name of the segment: in all snapshots, equal names mean equal columns."""
        return self.part.segment.name

    @property
    def cache(self) -> dict[Any, Any]:
        """A cache of data derived from the columns alone; kept with them, across snapshots."""
        return self.part.segment.cache

    @property
    def ordinals(self) -> Ordinals:
        """(n,) uint32, ascending."""
        return self.part.segment["ordinals"]

    @cached_property
    def live(self) -> npt.NDArray[np.bool_] | None:
        """(n,) bool, or None if every row is live."""
        return live_mask(self.part)

    @cached_property
    def _first(self) -> int | None:
        """The first ordinal if the ordinals are consecutive, as after a bulk load, else None. A row
        is then computed, not searched for, which saves a cache miss per step."""
        column = self.ordinals
        is_run = len(column) and int(column[-1]) - int(column[0]) == len(column) - 1
        return int(column[0]) if is_run else None

    def find(self, ordinals: Array) -> tuple[Array, Array]:
        """Returns (row, is_live_here) of each of (m,) uint32 ordinals."""
        column = self.ordinals
        if self._first is None:
            row = np.searchsorted(column, ordinals)
        else:
            row = np.maximum(ordinals.astype(np.int64) - self._first, 0)
        np.minimum(row, len(column) - 1, out=row)
        present = column[row] == ordinals
        if self.part.dead and present.any():
            if len(ordinals) <= _FEW_ORDINALS:
                dead = self.part.dead
                is_dead = [ordinal in dead for ordinal in ordinals.tolist()]
                present &= ~np.array(is_dead, dtype=bool)
            elif self.live is not None:
                present &= self.live[row]
        return row, present


_FEW_ORDINALS = 1_024


class LexicalSegment(SegmentView):
    """Terms of the nodes' texts."""

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """(n,) uint32: terms in each row's text, repeats included; 0 for a node without terms."""
        return self.part.segment["lengths"]

    @property
    def analysers(self) -> npt.NDArray[np.uint8]:
        """(n,) uint8: the position in `ANALYSERS` of the analyser of each row's text."""
        return self.part.segment["analysers"]

    @cached_property
    def totals(self) -> tuple[int, int]:
        """(rows with a term, terms) over the live rows; the cost is proportional to the dead rows,
        not to the live ones."""
        lengths = self.lengths
        documents, terms, _ = self.counted
        if self.part.dead:
            gone = lengths[
                np.searchsorted(self.ordinals, np.array(self.part.dead.to_array(), dtype=np.uint32))
            ]
            documents -= int(np.count_nonzero(gone))
            terms -= int(gone.sum(dtype=np.uint64))
        return documents, terms

    def postings(self, term: str) -> tuple[Rows, Array] | None:
        """Returns (rows ascending, term frequencies uint8, uint16 or uint32), dead rows included.

        None for a term that no row has.
        """
        column = inverted(self.part.segment, "term")
        index = column.find(text_key(term))
        if index is None:
            return None
        span = column.span(index)
        assert column.values is not None, "BUG: terms have frequencies"
        return column.rows[span], column.values[span]

    @property
    def counted(self) -> tuple[int, int, int]:
        """(rows with a term, terms in them, terms in the longest), dead rows included."""
        documents, terms, longest = self.part.segment["term.reference"][3:].tolist()
        return int(documents), int(terms), int(longest)

    @property
    def reference(self) -> tuple[float, float, float]:
        """The k1, b and mean length for which the impacts were computed."""
        k1, b, mean = self.part.segment["term.reference"][:3].tolist()
        return k1, b, mean

    def term(self, text: str) -> Term | None:
        """Returns the data of a term, None if no row has it."""
        segment = self.part.segment
        column = inverted(segment, "term")
        index = column.find(text_key(text))
        return None if index is None else Term(segment, column, index)

    def terms_near(self, text: str) -> Iterator[str]:
        """Yields the terms at edit distance 1 from `text`, ascending."""
        keys = inverted(self.part.segment, "term").keys
        assert keys is not None, "BUG: terms are byte keys"
        return (keys[index].decode() for index in keys.near(text))


_FEW_ROWS = 256
"""Up to this many rows are looked up one by one among the dead rows."""


@record
class Arcs:
    """m arcs, grouped by node, in no particular order within a group."""

    places: npt.NDArray[np.intp]
    """(m,) the node of each arc, as its index in the request; ascending."""
    neighbours: Ordinals
    """(m,) uint32: the node at the other end, which may not exist."""
    weights: npt.NDArray[np.float64]
    """(m,) float64, as the edges have them."""
    codes: npt.NDArray[np.uint32]
    """(m,) uint32: the edge's type, as an index into the segment's `etypes`."""


@record
class Ends:
    """The columns of one direction."""

    node: str
    """(m,) the nodes, ascending."""
    row: str
    """(m,) the row of each."""
    other: str
    """(n,) by row, the node at the other end."""


ENDS = {
    True: Ends("out.node", "out.row", "target"),
    False: Ends("in.node", "in.row", "source"),
}
"""By whether arcs are outgoing."""


def valid_rows(segment: Segment, rows: Array, at: int) -> npt.NDArray[np.bool_] | None:
    """Returns which rows of edges hold at a microsecond, None for all of them."""
    if "valid.first" not in segment:
        return None
    found: npt.NDArray[np.bool_] = segment.column("valid.first")[rows] <= at
    return found & (at <= segment.column("valid.last")[rows])


class EdgeSegment(SegmentView):
    """The edges of one segment; a row counts while it is live, whether or not its ends exist."""

    @cached_property
    def etypes(self) -> tuple[str, ...]:
        """The types of the segment's rows, dead ones included."""
        columns = self.part.segment
        names = KeyList(columns.column("etype.keys"), columns.column("etype.ends"))
        return tuple(key.decode() for key in names)

    def etype_counts(self) -> npt.NDArray[np.int64]:
        """Returns the number of live rows of each type, in the order of `etypes`."""
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

    def arcs(self, nodes: Ordinals, *, outgoing: bool, at: int | None = None) -> Arcs:
        """Returns the arcs from nodes to their targets, or from nodes to their sources.

        The cost is proportional to the number of arcs returned, plus a search for each node.

        Args:
            nodes: (k,) uint32, in any order; ascending order is fastest.
            outgoing: whether the nodes are the sources.
            at: only edges that hold at this microsecond.
        """
        column = self.part.segment[ENDS[outgoing].node]
        starts = column.searchsorted(nodes, side="left")
        counts = column.searchsorted(nodes, side="right") - starts
        indices = np.arange(len(nodes), dtype=np.intp).repeat(counts)
        return self.arcs_at(indices, ranges(starts, counts), outgoing=outgoing, at=at)

    def arcs_at(
        self, indices: npt.NDArray[np.intp], entries: Array, *, outgoing: bool, at: int | None
    ) -> Arcs:
        """Returns the live arcs at some entries of the order by node, with the indices given for
        them."""
        columns, ends = self.part.segment, ENDS[outgoing]
        rows = columns[ends.row][entries]
        mask = None if at is None else valid_rows(columns, rows, at)
        if self.part.dead and len(rows):
            live = self._is_live(rows)
            mask = live if mask is None else mask & live
        if mask is not None:
            indices, rows = indices[mask], rows[mask]
        return Arcs(
            indices, columns[ends.other][rows], columns["weight"][rows], columns["code"][rows]
        )

    def _is_live(self, rows: Array) -> npt.NDArray[np.bool_]:
        if len(rows) <= _FEW_ROWS or self.live is None:
            dead = self.part.dead or ()
            serials = self.ordinals[rows].tolist()
            return np.array([serial not in dead for serial in serials], np.bool_)
        found: npt.NDArray[np.bool_] = self.live[rows]
        return found
