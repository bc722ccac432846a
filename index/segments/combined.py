"""Many segments of edges, read as one by walks.

Problem: a walk asks every segment for the edges of all of its nodes, most of which have none there;
with n segments that is 2n searches a node. Idea: a table by node of where its edges are in all of
the segments, in one direction: one look-up a node, and then only what is there.

A table takes 4 bytes an edge and 4 a node. It depends on columns alone, which never change, so it
is kept with them, for as long as a snapshot has the same large segments; what single commits add is
in small segments, which stay apart. Processes that ask little never build one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import Array, Ordinals, firsts, offsets, ranges
from ibidem.index.segments.reader import ENDS, Arcs, EdgeSegment

ROWS_MIN = 32_768
"""Smaller segments stay apart."""
SEGMENTS_MIN = 4
"""Fewer segments are searched one by one."""
READS_BEFORE = 32
"""So many reads of a direction search the segments before its table is built, which takes longer
than some."""

_KEY = "combined"
_NO_ARCS = Arcs(
    np.empty(0, np.intp), np.empty(0, np.uint32), np.empty(0, np.float64), np.empty(0, np.uint32)
)


class _Table:
    """Where the edges of each node are: entries of the segments, as if these were in a row."""

    def __init__(self, columns: Sequence[Ordinals]) -> None:
        self.bases = offsets(np.array([len(column) for column in columns]))
        size = max(int(column[-1]) for column in columns) + 1
        counts = np.zeros(size, np.int64)
        for column in columns:
            counts += np.bincount(column, minlength=size)
        self._size = size
        self._starts = offsets(counts)
        self._entries = np.empty(int(self.bases[-1]), self.bases.dtype)
        free = self._starts[:-1].astype(np.int64)
        for base, column in zip(self.bases.tolist(), columns, strict=False):
            begins = np.flatnonzero(firsts(column))
            lengths = np.diff(begins, append=len(column))
            nodes = column[begins]
            self._entries[ranges(free[nodes], lengths)] = np.arange(base, base + len(column))
            free[nodes] += lengths

    def find(self, nodes: Ordinals) -> tuple[npt.NDArray[np.intp], Array]:
        """Returns (index into `nodes`, entry), by node in the order of `nodes`."""
        # A node past the table begins and ends where the table does.
        starts = self._starts[np.minimum(nodes, self._size)].astype(np.int64)
        counts = self._starts[np.minimum(nodes + np.uint32(1), self._size)] - starts
        return np.arange(len(nodes), dtype=np.intp).repeat(counts), self._entries[
            ranges(starts, counts)
        ]


class _Tables:
    """The tables of some segments, by direction."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.reads = {True: 0, False: 0}
        self.by_direction: dict[bool, _Table | None] = {True: None, False: None}


class CombinedEdges:
    """Some segments as one; the types of all are its types."""

    def __init__(self, segments: Sequence[EdgeSegment]) -> None:
        self._segments = segments
        self._names = tuple(segment.name for segment in segments)

    @cached_property
    def etypes(self) -> tuple[str, ...]:
        """The types of the rows, dead ones included."""
        return tuple(sorted({name for segment in self._segments for name in segment.etypes}))

    @cached_property
    def _codes(self) -> list[npt.NDArray[np.uint32]]:
        """By segment, the code here of each of its codes."""
        here = {name: code for code, name in enumerate(self.etypes)}
        return [
            np.array([here[name] for name in segment.etypes], np.uint32)
            for segment in self._segments
        ]

    def etype_counts(self) -> npt.NDArray[np.int64]:
        """Returns the number of live rows of each type, in the order of `etypes`."""
        counts = np.zeros(len(self.etypes), np.int64)
        for segment, codes in zip(self._segments, self._codes, strict=True):
            counts[codes] += segment.etype_counts()
        return counts

    def arcs(self, nodes: Ordinals, *, outgoing: bool, at: int | None = None) -> Arcs:
        """Returns the arcs that the segments return."""
        table = self._table(outgoing=outgoing)
        if table is None:
            found = [one.arcs(nodes, outgoing=outgoing, at=at) for one in self._segments]
            return self._combine(enumerate(found))
        indices, entries = table.find(nodes)
        order = entries.argsort(kind="stable")
        indices, entries = indices[order], entries[order]
        bounds = pairwise(entries.searchsorted(table.bases).tolist())
        return self._combine(
            (
                number,
                self._segments[number].arcs_at(
                    indices[low:high], entries[low:high] - base, outgoing=outgoing, at=at
                ),
            )
            for number, (base, (low, high)) in enumerate(zip(table.bases, bounds, strict=False))
            if low < high
        )

    def _combine(self, numbered: Iterable[tuple[int, Arcs]]) -> Arcs:
        """Returns the arcs found in some segments, by number, as those of one."""
        found = list(numbered)
        if not found:
            return _NO_ARCS
        indices = np.concatenate([arcs.places for _, arcs in found])
        order = indices.argsort(kind="stable")
        return Arcs(
            indices[order],
            np.concatenate([arcs.neighbours for _, arcs in found])[order],
            np.concatenate([arcs.weights for _, arcs in found])[order],
            np.concatenate([self._codes[number][arcs.codes] for number, arcs in found])[order],
        )

    def _table(self, *, outgoing: bool) -> _Table | None:
        """Returns the table of one direction, None before it is worth building."""
        cache = self._segments[0].cache
        tables: _Tables | None = cache.get(_KEY)
        if tables is None or tables.names != self._names:
            tables = cache[_KEY] = _Tables(self._names)
        found = tables.by_direction[outgoing]
        if found is None and tables.reads[outgoing] < READS_BEFORE:
            tables.reads[outgoing] += 1
        elif found is None:
            columns = [one.part.segment[ENDS[outgoing].node] for one in self._segments]
            found = tables.by_direction[outgoing] = _Table(columns)
        return found


def combine(segments: Sequence[EdgeSegment]) -> tuple[EdgeSegment | CombinedEdges, ...]:
    """Returns the segments with the large ones as one, if they are many."""
    large = [one for one in segments if one.part.segment.row_count >= ROWS_MIN]
    if len(large) < SEGMENTS_MIN:
        return tuple(segments)
    small = (one for one in segments if one.part.segment.row_count < ROWS_MIN)
    return (CombinedEdges(large), *small)
