"""The interface between retrieval and an index: the shape of a snapshot, not how it is stored.

A snapshot is the index of one root. Its ordinals are internal: they name rows here and never order
anything or appear in an answer. The rows of one family are in segments. A row counts if its segment
marks it as live, and then its node is one of the root's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.objects.cid import NodeCid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.ids import NodeId

Ordinals = npt.NDArray[np.uint32]
Rows = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]


class Column(Protocol):
    """An array of n rows that is read in part."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, (n, ...)."""

    def __getitem__(self, rows: Any, /) -> npt.NDArray[Any]:
        """Returns the rows of a range, or those at given positions, which are not negative.

        Raises:
            CorruptError: their bytes are damaged.
        """


class Segment(Protocol):
    """Rows of one family: which node each belongs to, and which of them still count."""

    @property
    def name(self) -> str:
        """Segments with equal names have equal columns, in every snapshot."""

    @property
    def ordinals(self) -> Ordinals:
        """(n,) uint32, ascending."""

    @property
    def live(self) -> Bools | None:
        """(n,) bool, or None when every row is live."""

    @property
    def cache(self) -> MutableMapping[Any, Any]:
        """A cache for data derived from the columns alone; may be emptied at any time."""


class Term(Protocol):
    """A term of one segment."""

    @property
    def rows(self) -> Rows:
        """(m,) uint32 ascending: the rows that contain it, dead ones included."""

    @property
    def frequencies(self) -> npt.NDArray[np.unsignedinteger]:
        """(m,): how often each row contains it."""

    @property
    def impacts(self) -> npt.NDArray[np.uint8] | None:
        """(m,) uint8 bounds of the share of each posting, by the segment's `reference`; or None."""

    @property
    def top(self) -> int:
        """The largest impact."""

    @property
    def dense(self) -> npt.NDArray[np.uint8] | None:
        """(n,) uint8: impacts by row, 0 for rows without the term; may be None."""

    def positions(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.unsignedinteger]]:
        """Returns (ends, positions): posting i has positions[ends[i - 1]:ends[i]]."""


class LexicalSegment(Segment, Protocol):
    """Postings of terms."""

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """(n,) uint32: terms in each row's text, repeats counted."""

    @property
    def analysers(self) -> npt.NDArray[np.uint8]:
        """(n,) uint8: the position in `ANALYSERS` of the analyser of each row's text."""

    @property
    def counted(self) -> tuple[int, int, int]:
        """(rows with a term, terms in them, terms in the longest), dead rows included."""

    @property
    def reference(self) -> tuple[float, float, float] | None:
        """k1, b and the mean length that impacts were computed with; None without impacts."""

    def term(self, text: str) -> Term | None:
        """Returns a term, or None if no row has it."""

    def terms_near(self, text: str) -> Iterator[str]:
        """Yields the terms at edit distance 1: one character added, removed or replaced."""


class VectorSegment(Segment, Protocol):
    """Dense vectors of one model."""

    @property
    def rows(self) -> Column:
        """(n, d) float32, finite."""

    @property
    def codes(self) -> Mapping[str, Column] | None:
        """The columns of `index.segments.codes` that belong to the rows, or None if there are
        none.
        """

    def made_from(self, rows: Sequence[int]) -> list[bytes]:
        """Returns the digests of the texts that the vectors of some live rows were computed from.

        Raises:
            CorruptError: a row differs from its block.
        """


class Arcs(Protocol):
    """Edges of several nodes, seen from these nodes, in no meaningful order."""

    @property
    def places(self) -> npt.NDArray[np.intp]:
        """(m,) the node of each arc, as its index into the requested nodes; ascending."""

    @property
    def neighbours(self) -> Ordinals:
        """(m,) uint32: the node at the other end, which need not exist."""

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """(m,) float64, finite."""

    @property
    def codes(self) -> npt.NDArray[np.uint32]:
        """(m,) the edge's type, as its index into the segment's `etypes`."""


class EdgeSegment(Protocol):
    """Rows of the edges; only live ones are returned or counted."""

    @property
    def etypes(self) -> Sequence[str]:
        """The types of the rows."""

    def etype_counts(self) -> npt.NDArray[np.int64]:
        """Returns the number of live rows of each type."""

    def arcs(self, nodes: Ordinals, *, outgoing: bool, at: int | None = None) -> Arcs:
        """Returns the arcs from nodes to their targets, or from nodes to their sources; those that
        hold at the microsecond `at` if it is given."""


class NodeEdges(Protocol):
    """The edges of one node in one direction, between nodes of the root."""

    @property
    def neighbours(self) -> Ordinals:
        """(m,) uint32: the node at the other end."""

    @property
    def etypes(self) -> Sequence[str]:
        """m edge types."""

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """(m,) float64."""

    @property
    def edge_ids(self) -> npt.NDArray[np.uint8]:
        """(m, 16) uint8."""


class Parts(Protocol):
    """The parts of one node that exist."""

    @property
    def ordinals(self) -> Ordinals:
        """(m,) uint32, in the order of the parts."""


class Keys(Protocol):
    """Byte strings that sort in the same order as the values that they represent."""

    def __len__(self) -> int:
        """Returns the number of strings."""


class PropertyOrder(Protocol):
    """The distinct values of one property, ascending, and the nodes that have each."""

    @property
    def ordinals(self) -> Ordinals:
        """(m,) uint32: the node of each pair of node and value; a list has a pair per value."""

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        """(m,) the rank of the value of each pair."""

    @property
    def keys(self) -> Keys:
        """The values."""

    def key(self, rank: int) -> bytes:
        """Returns a value as bytes that sort as values do."""

    def find(self, key: bytes) -> tuple[int, bool]:
        """Returns the rank of a value, and whether it exists; if not, where it would be."""


class Snapshot(Protocol):
    """The index of one root."""

    @property
    def root(self) -> RootCid:
        """The root of the snapshot."""

    @property
    def config(self) -> Config:
        """The root's configuration."""

    @property
    def ordinal_count(self) -> int:
        """All ordinals are below this."""

    @property
    def live(self) -> BitMap:
        """Ordinals of the nodes in the root."""

    @property
    def tombstoned(self) -> BitMap:
        """Ordinals of the nodes that a tombstone hides."""

    @property
    def conflicted(self) -> BitMap:
        """Ordinals of the nodes in conflict."""

    @property
    def contested(self) -> Mapping[int, BitMap]:
        """By the ordinals of the nodes whose list of children is in conflict, those children that
        only some of the sides list."""

    @property
    def cache(self) -> MutableMapping[Any, Any]:
        """A cache for data derived from this snapshot alone; may be emptied at any time."""

    def ordinal(self, node: NodeId) -> int | None:
        """Returns the ordinal of a node, or None."""

    def node_ids(self, ordinals: Ordinals) -> npt.NDArray[np.uint8]:
        """Returns (n, 16) uint8, in the order of `ordinals`."""

    def node_cids(self, ordinals: Ordinals) -> Sequence[NodeCid]:
        """Returns the node CIDs, in the order of `ordinals`."""

    def labels(self) -> Mapping[str, int]:
        """Returns how many nodes have each label."""

    def label(self, name: str) -> BitMap:
        """Returns the nodes of a label."""

    def property_names(self) -> Iterable[str]:
        """Returns the names of the properties that are indexed."""

    def equal(self, name: str, value: Any) -> BitMap:
        """Returns the nodes with a property, or a member of a list property, equal to `value`."""

    def between(self, name: str, low: Any, high: Any, *, low_open: bool, high_open: bool) -> BitMap:
        """Returns the nodes with such a value in a range; None leaves an end open."""

    def exists(self, name: str) -> BitMap:
        """Returns the nodes that have the property."""

    def property_order(self, name: str) -> PropertyOrder:
        """Returns the values of a property in order, and the nodes that have them."""

    def written_since(self, base: RootCid | None) -> tuple[BitMap, BitMap]:
        """Returns the nodes that another root lacks, and those that it does not have in the same
        version; None for the empty graph."""

    @property
    def lexical(self) -> Sequence[LexicalSegment]:
        """The segments of the lexical family."""

    def vectors(self, model: str) -> Sequence[VectorSegment]:
        """Returns the segments of a model, none for a model without vectors."""

    def children(self, ordinal: int) -> Parts:
        """Returns the parts of a node that are nodes of the root, in their order."""

    def child_counts(self, ordinals: Ordinals) -> npt.NDArray[np.int64]:
        """Returns the number of parts of each node, (m,), nodes of the root or not."""

    def parent(self, ordinal: int, *, among: BitMap | None = None) -> tuple[int, int] | None:
        """Returns (ordinal, position) of the node that lists this one: the one with the smallest
        id, from `among` if given."""

    @property
    def edges(self) -> Sequence[EdgeSegment]:
        """The segments of the edges."""

    def outgoing(self, ordinal: int, *, at: int | None = None) -> NodeEdges:
        """Returns the edges from a node, in any order; those that hold at the microsecond `at` if
        it is given."""

    def incoming(self, ordinal: int, *, at: int | None = None) -> NodeEdges:
        """Returns the edges to a node, as `outgoing` does."""

    def segments(self, family: str, name: str) -> Sequence[Any]:
        """Returns the segments of a model or vocabulary of any family of vectors, none if there are
        none; the lane of the family defines what it reads from them."""
