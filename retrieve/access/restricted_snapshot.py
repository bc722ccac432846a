"""The snapshot that a caller sees: a root's snapshot without the nodes that are hidden from it.

It behaves as the snapshot of a root in which those nodes never existed: their edges, vectors,
labels, property values and positions among children are removed with them, before any lane,
statistic or warning is computed. Data that depends on columns alone is shared with the underlying
snapshot.

Spec: trust 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.index.arrays import bitmap_of_flags
from ibidem.objects.child import Child
from ibidem.objects.cid import NodeCid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.constants import DOCUMENT_DEPTH_MAX
from ibidem.objects.ids import NodeId
from ibidem.objects.location import CONTAINERS, size_of
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import Level, TrustPolicy, Viewer, checked_viewer, policy_of
from ibidem.retrieve.access.visible import visible_nodes
from ibidem.retrieve.node_source import Load, LoadMany
from ibidem.retrieve.protocol import (
    Arcs,
    Bools,
    EdgeSegment,
    LexicalSegment,
    NodeEdges,
    Ordinals,
    PropertyOrder,
    Snapshot,
    VectorSegment,
)

VIEWS_KEPT = 16
"""The number of restricted views of one snapshot that are cached."""


def restrict(snapshot: Snapshot, viewer: Viewer | None, load: Load) -> Snapshot:
    """Returns a snapshot as a caller sees it: the snapshot itself if nothing is hidden.

    Args:
        snapshot: of a root, or one that was already restricted for the same caller.
        viewer: the caller's context; required if the root has a policy.
        load: reads a node.

    Raises:
        InvalidInputError: kind `viewer-required`.
    """
    if isinstance(snapshot, CallerSnapshot):
        assert snapshot.viewer == viewer, "BUG: a view was asked for another caller"
        return snapshot
    policy = policy_of(snapshot.config)
    caller = checked_viewer(policy, viewer)
    if caller is None or policy is None or caller.everything:
        return snapshot
    kept: dict[Viewer, RestrictedSnapshot] = snapshot.cache.setdefault(("viewer",), {})
    found = kept.get(caller)
    if found is None:
        flags = visible_nodes(snapshot, policy, caller, caller.cap(policy))
        found = RestrictedSnapshot(snapshot, policy, caller, flags, load)
        for old in list(kept)[: max(0, len(kept) + 1 - VIEWS_KEPT)]:
            kept.pop(old, None)
        kept[caller] = found
    return found


@record
class _Edges:
    """m edges of one node, those whose other end is visible."""

    neighbours: Ordinals
    weights: npt.NDArray[np.float64]
    etypes: Sequence[str]
    edge_ids: npt.NDArray[np.uint8]
    digests: npt.NDArray[np.uint8] | None


@record
class _Parts:
    """The parts of one node that are visible."""

    ordinals: Ordinals


class _EdgeSegment:
    """The edges of a segment; edges of hidden nodes are left out of its counts."""

    def __init__(self, base: EdgeSegment, unseen: BitMap) -> None:
        self._base = base
        self._unseen = unseen
        self._counts: npt.NDArray[np.int64] | None = None

    @property
    def etypes(self) -> Sequence[str]:
        """The types of the rows."""
        return self._base.etypes

    def etype_counts(self) -> npt.NDArray[np.int64]:
        """Returns how many edges there are of each type."""
        if self._counts is None:
            nodes = np.asarray(self._unseen.to_array(), np.uint32)
            leaving = self._base.arcs(nodes, outgoing=True).codes
            reaching = self._base.arcs(nodes, outgoing=False)
            others = reaching.codes[~np.isin(reaching.neighbours, nodes)]
            gone = np.bincount(np.concatenate([leaving, others]), minlength=len(self.etypes))
            self._counts = self._base.etype_counts() - gone
        return self._counts

    def arcs(self, nodes: Ordinals, *, outgoing: bool, at: int | None = None) -> Arcs:
        """Returns the same arcs as the underlying segment, including those to hidden nodes."""
        return self._base.arcs(nodes, outgoing=outgoing, at=at)


class CallerSnapshot:
    """A snapshot of what one caller sees, which is not restricted again."""

    viewer: Viewer | None
    flags: Bools | None
    """By ordinal, whether a node is visible; never changed. None if live rows are of visible nodes
    only."""

    def find_shown(self, cid: NodeCid) -> Node | None:
        """Returns a node without the parts that the caller may not see, by a CID that `node_cids`
        returned; None for a node that he sees whole."""
        raise NotImplementedError

    def load_many(self, cids: Sequence[NodeCid], read: LoadMany) -> list[Node]:
        """Returns nodes as the caller sees them; `read` gets those without hidden parts."""
        shown = [self.find_shown(cid) for cid in cids]
        whole = iter(read([cid for cid, node in zip(cids, shown, strict=True) if node is None]))
        return [next(whole) if node is None else node for node in shown]


class RestrictedSnapshot(CallerSnapshot):
    """A snapshot restricted to what one caller sees; a `Snapshot` itself."""

    viewer: Viewer
    flags: Bools

    def __init__(
        self,
        base: Snapshot,
        policy: TrustPolicy,
        viewer: Viewer,
        flags: Bools,
        load: Load,
    ) -> None:
        self.base = base
        self.policy = policy
        self.viewer = viewer
        self.flags = flags
        self.cache: dict[Any, Any] = {}
        self._load = load
        self._shown: dict[int, Node | None] = {}
        self._by_cid: dict[NodeCid, Node] = {}

    @property
    def root(self) -> RootCid:
        """The root of the snapshot."""
        return self.base.root

    @property
    def config(self) -> Config:
        """The root's configuration, which is public."""
        return self.base.config

    @property
    def ordinal_count(self) -> int:
        """All ordinals are below this."""
        return self.base.ordinal_count

    @cached_property
    def live(self) -> BitMap:
        """Ordinals of the visible nodes."""
        return bitmap_of_flags(self.flags)

    @cached_property
    def tombstoned(self) -> BitMap:
        """Ordinals of the visible nodes that a tombstone hides."""
        return self.base.tombstoned & self.live

    @cached_property
    def conflicted(self) -> BitMap:
        """Ordinals of the visible nodes in conflict."""
        return self.base.conflicted & self.live

    @cached_property
    def contested(self) -> Mapping[int, BitMap]:
        """The visible children that only some sides of a conflict about a visible node list."""
        found = self.base.contested
        return {owner: parts & self.live for owner, parts in found.items() if owner in self.live}

    @cached_property
    def withheld(self) -> BitMap:
        """Ordinals of the redacted nodes: the caller may know only that they exist."""
        cap = self.viewer.cap(self.policy)
        near = visible_nodes(self.base, self.policy, self.viewer, min(cap + 1, Level.HYPER))
        return bitmap_of_flags(near & ~self.flags) - self.base.tombstoned

    def ordinal(self, node: NodeId) -> int | None:
        """Returns the ordinal of a visible node, None for any other id."""
        found = self.base.ordinal(node)
        return found if found is not None and found in self.live else None

    def node_ids(self, ordinals: Ordinals) -> npt.NDArray[np.uint8]:
        """Returns (n, 16) uint8, in the order of `ordinals`."""
        return self.base.node_ids(ordinals)

    def node_cids(self, ordinals: Ordinals) -> list[NodeCid]:
        """Returns the CIDs of the nodes as the caller sees them, in the order of `ordinals`."""
        cids = list(self.base.node_cids(ordinals))
        for position in np.flatnonzero(self.base.child_counts(ordinals)).tolist():
            node = self.shown(int(ordinals[position]), cids[position])
            if node is not None:
                cids[position] = node.cid
        return cids

    def find_shown(self, cid: NodeCid) -> Node | None:
        """Returns a node without the parts that the caller may not see, None for any other."""
        return self._by_cid.get(cid)

    def labels(self) -> dict[str, int]:
        """Returns how many visible nodes have each label."""
        counts = {name: len(self.label(name)) for name in self.base.labels()}
        return {name: count for name, count in counts.items() if count}

    def label(self, name: str) -> BitMap:
        """Returns the visible nodes of a label."""
        return self.base.label(name) & self.live

    def property_names(self) -> Iterable[str]:
        """Returns the names of the properties of visible nodes."""
        return [name for name in self.base.property_names() if self.exists(name)]

    def equal(self, name: str, value: Any) -> BitMap:
        """Returns the visible nodes with a value."""
        return self.base.equal(name, value) & self.live

    def between(self, name: str, low: Any, high: Any, *, low_open: bool, high_open: bool) -> BitMap:
        """Returns the visible nodes with a value in a range."""
        found = self.base.between(name, low, high, low_open=low_open, high_open=high_open)
        return found & self.live

    def exists(self, name: str) -> BitMap:
        """Returns the visible nodes that have the property."""
        return self.base.exists(name) & self.live

    def property_order(self, name: str) -> PropertyOrder:
        """Returns the values of a property in order; only their relative order is meaningful."""
        return self.base.property_order(name)

    def written_since(self, base: RootCid | None) -> tuple[BitMap, BitMap]:
        """Raises: the history is not for a restricted caller, and no query asks for it."""
        raise AssertionError("BUG: a query with a history was resolved for a restricted caller")

    @property
    def lexical(self) -> Sequence[LexicalSegment]:
        """The segments of the lexical family; the view decides which of their rows count."""
        return self.base.lexical

    def vectors(self, model: str) -> Sequence[VectorSegment]:
        """Returns the segments of a model; the view decides which of their rows count."""
        return self.base.vectors(model)

    def segments(self, family: str, name: str) -> Sequence[Any]:
        """Returns the segments of a model or vocabulary; the view decides which rows count."""
        return self.base.segments(family, name)

    @cached_property
    def edges(self) -> Sequence[EdgeSegment]:
        """The segments of the edges."""
        unseen = self.base.live - self.live
        return tuple(_EdgeSegment(segment, unseen) for segment in self.base.edges)

    def outgoing(self, ordinal: int, *, at: int | None = None) -> NodeEdges:
        """Returns the edges from a node to visible nodes."""
        return self._between(self.base.outgoing(ordinal, at=at))

    def incoming(self, ordinal: int, *, at: int | None = None) -> NodeEdges:
        """Returns the edges to a node from visible nodes."""
        return self._between(self.base.incoming(ordinal, at=at))

    def children(self, ordinal: int) -> _Parts:
        """Returns the visible parts of a node, in their order."""
        found = self.base.children(ordinal).ordinals
        keep = [position for position, one in enumerate(found.tolist()) if one in self.live]
        return _Parts(found[keep])

    def child_counts(self, ordinals: Ordinals) -> npt.NDArray[np.int64]:
        """Returns the number of visible parts of each node, (m,)."""
        counts = self.base.child_counts(ordinals).copy()
        for position in np.flatnonzero(counts).tolist():
            parts = self.base.children(int(ordinals[position])).ordinals.tolist()
            counts[position] -= sum(one not in self.live for one in parts)
        return counts

    def parent(self, ordinal: int, *, among: BitMap | None = None) -> tuple[int, int] | None:
        """Returns (ordinal, position) of the visible node that lists this one: the one with the
        smallest id, from `among` if given, and the first position in it."""
        found = self.base.parent(ordinal, among=self.live if among is None else among & self.live)
        if found is None:
            return None
        parts = self.base.children(found[0]).ordinals.tolist()
        unseen = sum(one not in self.live for one in parts[: parts.index(ordinal)])
        return found[0], found[1] - unseen

    def shown(self, ordinal: int, cid: NodeCid) -> Node | None:
        """Returns a node without its hidden parts, None if it has none."""
        if ordinal not in self._shown:
            self._shown[ordinal] = self._without(ordinal, cid, ())
        node = self._shown[ordinal]
        if node is not None:
            self._by_cid[node.cid] = node
        return node

    def _without(self, ordinal: int, cid: NodeCid, above: tuple[int, ...]) -> Node | None:
        parts = self.base.children(ordinal).ordinals
        if parts.shape[0] == 0 or ordinal in above or len(above) >= DOCUMENT_DEPTH_MAX:
            return None
        below: dict[NodeId, Node | None] = {}
        unseen: set[NodeId] = set()
        ids = self.base.node_ids(parts)
        cids = self.base.node_cids(parts)
        for position, part in enumerate(parts.tolist()):
            id_ = NodeId(ids[position].tobytes())
            if part not in self.live:
                unseen.add(id_)
                continue
            if part not in self._shown:
                self._shown[part] = self._without(part, cids[position], (*above, ordinal))
            if self._shown[part] is not None:
                below[id_] = self._shown[part]
        if not unseen and not below:
            return None
        node = self._load(cid)
        children = tuple(
            _resized(child, below.get(child.id))
            for child in node.children
            if child.id not in unseen
        )
        return None if children == node.children else replace(node, children=children)

    def _between(self, edges: NodeEdges) -> NodeEdges:
        keep = [
            position for position, one in enumerate(edges.neighbours.tolist()) if one in self.live
        ]
        if len(keep) == len(edges.etypes):
            return edges
        digests = getattr(edges, "digests", None)
        return _Edges(
            edges.neighbours[keep],
            edges.weights[keep],
            tuple(edges.etypes[position] for position in keep),
            edges.edge_ids[keep],
            None if digests is None else digests[keep],
        )


def _resized(child: Child, node: Node | None) -> Child:
    """Returns a child with the size of its visible part."""
    if node is None or node.ntype not in CONTAINERS:
        return child
    size_bytes, size_lines = size_of(node.tail)
    for part in node.children:
        lead_bytes, lead_lines = size_of(part.lead)
        size_bytes += lead_bytes + part.size_bytes
        size_lines += lead_lines + part.size_lines
    return replace(child, size_bytes=size_bytes, size_lines=size_lines)


def loader(snapshot: Snapshot, load: Load) -> Load:
    """Returns a function that reads nodes as a snapshot's caller sees them."""
    if not isinstance(snapshot, CallerSnapshot):
        return load
    find = snapshot.find_shown

    def shown(cid: NodeCid) -> Node:
        found = find(cid)
        return load(cid) if found is None else found

    return shown


def batch_loader(snapshot: Snapshot, load_many: LoadMany | None) -> LoadMany | None:
    """Returns a function that reads nodes in batches as a snapshot's caller sees them."""
    if load_many is None or not isinstance(snapshot, CallerSnapshot):
        return load_many
    return lambda cids: snapshot.load_many(cids, load_many)
