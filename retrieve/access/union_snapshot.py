"""Several roots as one collection: a snapshot made of snapshots.

Each root keeps its own index; nothing is built or copied. The ordinals of the roots follow one
another, in the order of the roots' CIDs, so a node of the union is an ordinal of its root plus that
root's offset. Segments are those of the roots with their ordinals shifted; whatever sums over
segments, such as the statistics of BM25, therefore sums over all roots, and the scores are those of
one repository with all the nodes. Edges and parts stay within their root.

An id names at most one node of a root, but may name one in each of several roots, which are
different nodes. Equal scores are ordered by id, then by root.

Each root is restricted to what the caller may see by its own policy before it becomes a part, so
nothing that is hidden counts.

Spec: retrieval 3.5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.index.segments.reader import Arcs as SegmentArcs
from ibidem.objects.cid import NodeCid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.errors import ErrorKind, NotFoundError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import Viewer
from ibidem.retrieve.access.restricted_snapshot import CallerSnapshot
from ibidem.retrieve.protocol import (
    Arcs,
    Bools,
    EdgeSegment,
    LexicalSegment,
    NodeEdges,
    Ordinals,
    Segment,
    Snapshot,
    VectorSegment,
)


@record
class _Edges:
    """m edges of one node, as the union numbers nodes."""

    neighbours: Ordinals
    weights: npt.NDArray[np.float64]
    etypes: Sequence[str]
    edge_ids: npt.NDArray[np.uint8]


@record
class _Parts:
    """The parts of one node, as the union numbers nodes."""

    ordinals: Ordinals


class _ShiftedRows:
    """A segment of a root whose rows belong to nodes of the union; all else is the segment's."""

    def __init__(self, base: Segment, root: RootCid, offset: int) -> None:
        self._base = base
        self._offset = offset
        self.name = f"{root} {base.name}"
        """Two roots may share a segment, whose ordinals differ here."""
        self.cache: dict[Any, Any] = {}

    @cached_property
    def ordinals(self) -> Ordinals:
        """(n,) uint32, ascending."""
        return self._base.ordinals + np.uint32(self._offset)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)


class _ShiftedEdges:
    """The edges of a segment of a root, as the union numbers nodes."""

    def __init__(self, base: EdgeSegment, first: int, stop: int) -> None:
        self._base, self._first, self._stop = base, first, stop

    @property
    def etypes(self) -> Sequence[str]:
        """The types of the rows."""
        return self._base.etypes

    def etype_counts(self) -> npt.NDArray[np.int64]:
        """Returns how many edges there are of each type."""
        return self._base.etype_counts()

    def arcs(self, nodes: Ordinals, *, outgoing: bool, at: int | None = None) -> Arcs:
        """Returns the arcs from those of the nodes that are of this root."""
        mine = np.flatnonzero((nodes >= self._first) & (nodes < self._stop))
        shift = np.uint32(self._first)
        found = self._base.arcs(nodes[mine] - shift, outgoing=outgoing, at=at)
        where = mine[found.places]
        return SegmentArcs(where, found.neighbours + shift, found.weights, found.codes)


class UnionSnapshot(CallerSnapshot):
    """The snapshots of several roots as one; a `Snapshot` itself."""

    homes_max = 65_536
    """Number of CIDs whose root is remembered, about 10 MB of memory."""

    def __init__(self, parts: Sequence[Snapshot], config: Config, viewer: Viewer | None) -> None:
        """Joins snapshots.

        Args:
            parts: of distinct roots, each restricted for the viewer.
            config: what the configurations of the roots agree on.
            viewer: the caller; None if no root has a policy.
        """
        self.parts = tuple(sorted(parts, key=lambda part: part.root.raw))
        self.config = config
        self.viewer = viewer
        self.cache: dict[Any, Any] = {}
        self._homes: dict[NodeCid, RootCid] = {}
        self._starts = np.cumsum([0, *(part.ordinal_count for part in self.parts)])
        self.ordinal_count = int(self._starts[-1])
        self.flags = self._flags()

    @property
    def root(self) -> RootCid:
        """The first of the roots; the query names them all."""
        return self.parts[0].root

    def _flags(self) -> Bools | None:
        if not any(isinstance(part, CallerSnapshot) for part in self.parts):
            return None
        flags = np.zeros(self.ordinal_count, np.bool_)
        flags[np.asarray(self.live.to_array(), np.uint32)] = True
        return flags

    def origins(self, ordinals: Ordinals) -> list[RootCid]:
        """Returns the root of each of some nodes."""
        return [self.parts[index].root for index in self._part_of(ordinals).tolist()]

    @cached_property
    def live(self) -> BitMap:
        """Ordinals of the nodes of all roots."""
        return self._bitmap(lambda part: part.live)

    @cached_property
    def tombstoned(self) -> BitMap:
        """Ordinals of the nodes that a tombstone of their root hides."""
        return self._bitmap(lambda part: part.tombstoned)

    @cached_property
    def conflicted(self) -> BitMap:
        """Ordinals of the nodes in conflict in their root."""
        return self._bitmap(lambda part: part.conflicted)

    @cached_property
    def contested(self) -> Mapping[int, BitMap]:
        """The children that only some sides of a conflict in their root list."""
        return {
            owner + start: parts.shift(start)
            for part, start in self._each()
            for owner, parts in part.contested.items()
        }

    def ordinal(self, node: NodeId) -> int | None:
        """Returns the ordinal of a node, None if no root has it.

        Raises:
            NotFoundError: kind `ambiguous`: several roots have a node with this id.
        """
        found = [
            (part.root, start + ordinal)
            for part, start in self._each()
            if (ordinal := part.ordinal(node)) is not None
        ]
        if len(found) > 1:
            raise NotFoundError(
                f"node {node} is in several of the repositories, at the roots "
                + " and ".join(str(root) for root, _ in found),
                kind=ErrorKind.AMBIGUOUS,
                hint="ask them one by one, or without what reads nodes by their id",
            )
        return found[0][1] if found else None

    def node_ids(self, ordinals: Ordinals) -> npt.NDArray[np.uint8]:
        """Returns (n, 16) uint8, in the order of `ordinals`."""
        found = np.empty((len(ordinals), ID_BYTES), np.uint8)
        for part, positions, own in self._split(ordinals):
            found[positions] = part.node_ids(own)
        return found

    def node_cids(self, ordinals: Ordinals) -> list[NodeCid]:
        """Returns the node CIDs, in the order of `ordinals`."""
        found: dict[int, NodeCid] = {}
        for part, positions, own in self._split(ordinals):
            cids = part.node_cids(own)
            found.update(zip(positions.tolist(), cids, strict=True))
            if len(self._homes) > self.homes_max:
                self._homes.clear()
            self._homes.update(dict.fromkeys(cids, part.root))
        return [found[position] for position in range(len(ordinals))]

    def home(self, cid: NodeCid) -> RootCid | None:
        """Returns a root with a node, by a CID that `node_cids` returned lately; None if it did
        not."""
        return self._homes.get(cid)

    def find_shown(self, cid: NodeCid) -> Node | None:
        """Returns a node without the parts that the caller may not see, None for any other."""
        for part in self.parts:
            if isinstance(part, CallerSnapshot) and (found := part.find_shown(cid)) is not None:
                return found
        return None

    def labels(self) -> dict[str, int]:
        """Returns how many nodes have each label."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(part.labels())
        return {name: counts[name] for name in sorted(counts)}

    def label(self, name: str) -> BitMap:
        """Returns the nodes of a label."""
        return self._bitmap(lambda part: part.label(name))

    def property_names(self) -> list[str]:
        """Returns the names of the properties that some node has, ascending."""
        return sorted({name for part in self.parts for name in part.property_names()})

    def equal(self, name: str, value: Any) -> BitMap:
        """Returns the nodes with a value."""
        return self._bitmap(lambda part: part.equal(name, value))

    def between(self, name: str, low: Any, high: Any, *, low_open: bool, high_open: bool) -> BitMap:
        """Returns the nodes with a value in a range."""
        return self._bitmap(
            lambda part: part.between(name, low, high, low_open=low_open, high_open=high_open)
        )

    def exists(self, name: str) -> BitMap:
        """Returns the nodes that have the property."""
        return self._bitmap(lambda part: part.exists(name))

    def property_order(self, name: str) -> Any:
        """Raises: only listings and policies need the order, and they read one root."""
        raise AssertionError(f"BUG: the order of {name!r} was asked of a union")

    def written_since(self, base: RootCid | None) -> tuple[BitMap, BitMap]:
        """Raises: several roots have no history in common, and no query asks for it."""
        raise AssertionError("BUG: a query with a history was resolved for a union")

    @cached_property
    def lexical(self) -> Sequence[LexicalSegment]:
        """The segments of the texts of all roots."""
        return self._shifted(lambda part: part.lexical)

    def vectors(self, model: str) -> Sequence[VectorSegment]:
        """Returns the segments of a model, none if no root has vectors of it."""
        return self._family(("vectors", model), lambda part: part.vectors(model))

    def segments(self, family: str, name: str) -> Sequence[Any]:
        """Returns the segments of a model or vocabulary, none if no root has vectors of it."""
        return self._family((family, name), lambda part: part.segments(family, name))

    def _family(
        self, key: tuple[str, str], read: Callable[[Snapshot], Sequence[Segment]]
    ) -> tuple[Any, ...]:
        """Returns the shifted segments of a family: what is derived from them is kept with them."""
        if ("segments", *key) not in self.cache:
            self.cache["segments", *key] = self._shifted(read)
        found: tuple[Any, ...] = self.cache["segments", *key]
        return found

    @cached_property
    def edges(self) -> Sequence[EdgeSegment]:
        """The segments of the edges of all roots."""
        return tuple(
            _ShiftedEdges(segment, start, start + part.ordinal_count)
            for part, start in self._each()
            for segment in part.edges
        )

    def outgoing(self, ordinal: int, *, at: int | None = None) -> NodeEdges:
        """Returns the edges from a node to nodes of its root."""
        part, start = self._part_with(ordinal)
        return _moved(part.outgoing(ordinal - start, at=at), start)

    def incoming(self, ordinal: int, *, at: int | None = None) -> NodeEdges:
        """Returns the edges to a node from nodes of its root."""
        part, start = self._part_with(ordinal)
        return _moved(part.incoming(ordinal - start, at=at), start)

    def children(self, ordinal: int) -> _Parts:
        """Returns the parts of a node, in their order."""
        part, start = self._part_with(ordinal)
        return _Parts(part.children(ordinal - start).ordinals + np.uint32(start))

    def child_counts(self, ordinals: Ordinals) -> npt.NDArray[np.int64]:
        """Returns the number of parts of each node, (m,)."""
        found = np.zeros(len(ordinals), np.int64)
        for part, positions, own in self._split(ordinals):
            found[positions] = part.child_counts(own)
        return found

    def parent(self, ordinal: int, *, among: BitMap | None = None) -> tuple[int, int] | None:
        """Returns (ordinal, position) of the node of its root that lists this one."""
        part, start = self._part_with(ordinal)
        stop = start + part.ordinal_count
        own = None if among is None else (among & BitMap(range(start, stop))).shift(-start)
        found = part.parent(ordinal - start, among=own)
        return None if found is None else (found[0] + start, found[1])

    def _each(self) -> Iterator[tuple[Snapshot, int]]:
        """Yields each part with its first ordinal."""
        return zip(self.parts, self._starts.tolist(), strict=False)

    def _part_of(self, ordinals: Ordinals) -> npt.NDArray[np.intp]:
        """Returns the index of the part of each ordinal."""
        wanted = np.asarray(ordinals, np.int64)
        return np.searchsorted(self._starts, wanted, side="right") - 1

    def _part_with(self, ordinal: int) -> tuple[Snapshot, int]:
        """Returns the part of an ordinal, and its first ordinal."""
        index = int(self._part_of(np.array([ordinal], np.uint32))[0])
        return self.parts[index], int(self._starts[index])

    def _split(
        self, ordinals: Ordinals
    ) -> Iterator[tuple[Snapshot, npt.NDArray[np.intp], Ordinals]]:
        """Yields the parts of some ordinals: which of these are of it, and its own ordinals."""
        wanted = np.asarray(ordinals, np.uint32)
        index = self._part_of(wanted)
        for number, (part, start) in enumerate(self._each()):
            positions = np.flatnonzero(index == number)
            if len(positions):
                yield part, positions, wanted[positions] - np.uint32(start)

    def _bitmap(self, read: Callable[[Snapshot], BitMap]) -> BitMap:
        return BitMap.union(*(read(part).shift(start) for part, start in self._each()))

    def _shifted(self, read: Callable[[Snapshot], Sequence[Segment]]) -> tuple[Any, ...]:
        return tuple(
            _ShiftedRows(segment, part.root, start)
            for part, start in self._each()
            for segment in read(part)
        )


def _moved(edges: NodeEdges, start: int) -> _Edges:
    neighbours = edges.neighbours + np.uint32(start)
    return _Edges(neighbours, edges.weights, edges.etypes, edges.edge_ids)
