"""A snapshot: all data that retrieval needs about one root, read from immutable segments.

Two snapshots of one root may differ in their segments and ordinals, but with ordinals mapped to
node ids, their results are equal. Returned bitmaps belong to the snapshot and must not be changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.index.adjacency import (
    Adjacency,
    Children,
    adjacency,
    child_counts,
    children_of,
    edge_ids,
    parent_of,
)
from ibidem.index.arrays import Ordinals, bitmap_of_bytes, to_bitmap
from ibidem.index.extract import changed_nodes
from ibidem.index.families.snapshot_parts import SnapshotParts
from ibidem.index.families.vector_rows import ROWS, VectorSegment
from ibidem.index.segments.combined import CombinedEdges, combine
from ibidem.index.segments.identity import Identities, id_array
from ibidem.index.segments.inverted import inverted
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.property_keys import (
    END,
    EXISTS,
    name_key,
    range_keys,
    scalar_key,
    text_key,
)
from ibidem.index.segments.property_order import PropertyOrder, property_order
from ibidem.index.segments.reader import (
    EdgeSegment,
    LexicalSegment,
    SegmentView,
    ordinal_set,
)
from ibidem.index.segments.segment import Segment
from ibidem.objects import codec
from ibidem.objects.blocks import Source
from ibidem.objects.cid import DAG_CBOR_PREFIX, Cid, NodeCid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.conflict import Conflict
from ibidem.objects.constants import DIGEST_BYTES
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Node

_CACHED_KEYS_MAX = 4_096
_CACHED_RANGES_MAX = 4
"""Ranges of values whose ordinals are cached with a segment: up to a bit per row each."""


class Snapshot:
    """The index of one root; safe to use from several threads."""

    def __init__(
        self,
        state: SnapshotParts,
        root: RootCid,
        config: Config,
        conflicts: Mapping[bytes, Cid] | None = None,
        blocks: Source | None = None,
    ) -> None:
        self._blocks = blocks
        self.state = state
        self.root = root
        self.config = config
        self._conflicts = conflicts or {}
        self.cache: dict[Any, Any] = {}
        """A cache of data derived from this snapshot alone; it may be emptied at any time."""

    @cached_property
    def _identities(self) -> Identities:
        return Identities(self.state.identities)

    @property
    def ordinal_count(self) -> int:
        """All ordinals are below this number."""
        return self._identities.count

    @cached_property
    def live(self) -> BitMap:
        """Ordinals of the nodes in the root, tombstoned ones included."""
        return _union(_live_set(part) for part in self.state.nodes)

    @property
    def tombstoned(self) -> BitMap:
        """Ordinals that a tombstone hides, whether or not they are nodes of the root."""
        return self.state.tombstoned

    @cached_property
    def conflicted(self) -> BitMap:
        """Ordinals of the nodes in conflict."""
        return self._present(self._conflicts)

    @cached_property
    def contested(self) -> Mapping[int, BitMap]:
        """By the ordinals of the nodes whose list of children is in conflict, those children that
        only some of the sides list."""
        found = {}
        for raw, cid in sorted(self._conflicts.items()):
            owner = self.ordinal(NodeId(raw))
            if owner is not None and self._blocks is not None:
                found[owner] = self._present(_contested_children(self._blocks, cid))
        return found

    def _present(self, ids: Iterable[bytes]) -> BitMap:
        """Returns the ordinals of those of the ids that are nodes of the root."""
        found = self.ordinals(id_array(sorted(ids)))
        return BitMap(found[found >= 0].astype(np.uint32))

    def ordinal(self, node: NodeId) -> int | None:
        """Returns the ordinal of a node of the root, None for any other id."""
        found = self._identities.ordinal(node.raw)
        return found if found is not None and found in self.live else None

    def ordinals(self, ids: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Returns the ordinals of (m, 16) ids, -1 for ids that are not nodes of the root."""
        found = self._identities.ordinals(ids)
        live = self.live
        for index in np.flatnonzero(found >= 0).tolist():
            if int(found[index]) not in live:
                found[index] = -1
        return found

    def node_ids(self, ordinals: Ordinals) -> npt.NDArray[np.uint8]:
        """Returns the ids of ordinals, (n, 16) uint8, in the given order."""
        return self._identities.ids(np.asarray(ordinals, dtype=np.uint32))

    def node_cids(self, ordinals: Ordinals) -> list[NodeCid]:
        """Returns the CIDs of nodes of the root, in the given order.

        Raises:
            InvalidInputError: an ordinal is not in `live`.
        """
        wanted = np.asarray(ordinals, dtype=np.uint32)
        digests = np.empty((len(wanted), DIGEST_BYTES), np.uint8)
        pending = np.arange(len(wanted))
        for segment in self._node_segments:
            rows, present = segment.find(wanted[pending])
            digests[pending[present]] = segment.part.segment.column("cids")[rows[present]]
            pending = pending[~present]
            if not len(pending):
                break
        if len(pending):
            raise InvalidInputError(
                f"ordinals: got {wanted[pending][:5].tolist()}, expected nodes of the root"
            )
        raw = digests.tobytes()
        return [
            NodeCid(DAG_CBOR_PREFIX + raw[start : start + DIGEST_BYTES])
            for start in range(0, len(raw), DIGEST_BYTES)
        ]

    def labels(self) -> dict[str, int]:
        """Returns the number of nodes with each label, by label ascending."""
        names: set[bytes] = set()
        for part in self.state.nodes:
            names.update(inverted(part.segment, "label").keys or ())
        counts = {name.decode(): len(self._keyed("label", name)) for name in sorted(names)}
        return {name: count for name, count in counts.items() if count}

    def label(self, name: str) -> BitMap:
        """Returns the nodes with a label."""
        return self._keyed("label", text_key(name))

    def property_names(self) -> list[str]:
        """Returns the names of the properties that some node has, ascending."""
        names: set[str] = set()
        for part in self.state.nodes:
            names.update(_names(part))
        return [name for name in sorted(names) if self.exists(name)]

    def equal(self, name: str, value: Any) -> BitMap:
        """Returns the nodes with that value, or with a list that has it as a member.

        `True`, `1` and `1.0` are three values.

        Raises:
            InvalidInputError: `value` is a list or a map.
        """
        key = scalar_key(value)
        if key is None:
            raise InvalidInputError(
                f"property {name!r}: got {value!r:.80}, "
                "expected text, a number, a boolean, bytes, a link or None"
            )
        return self._keyed("prop", name_key(name) + key)

    def exists(self, name: str) -> BitMap:
        """Returns the nodes that have the property, with any value."""
        return self._keyed("prop", name_key(name) + EXISTS)

    def between(
        self,
        name: str,
        low: Any,
        high: Any,
        *,
        low_open: bool = False,
        high_open: bool = False,
    ) -> BitMap:
        """Returns the nodes with a value, or a list member, in a range; None leaves an end open.

        Numbers are compared with numbers, exactly; text with text, by code point.

        Raises:
            InvalidInputError: no bound, or bounds that are not two numbers or two texts.
        """
        start, stop = range_keys(name, low, high, low_open=low_open, high_open=high_open)
        return _union(_in_range(part, start, stop) for part in self.state.nodes)

    def property_order(self, name: str) -> PropertyOrder:
        """Returns the values of a property in their order, and the nodes that have them."""
        key = ("order", name)
        if key not in self.cache:
            self.cache[key] = property_order(self.state.nodes, name)
        found: PropertyOrder = self.cache[key]
        return found

    def written_since(self, base: RootCid | None) -> tuple[BitMap, BitMap]:
        """Returns the nodes that another root lacks, and those that it does not have in the same
        version; None for the empty graph.

        Reads the parts of the two trees of nodes that differ.
        """
        if base is None:
            return self.live, self.live
        assert self._blocks is not None, "BUG: only an audit opens a snapshot without blocks"
        added, changed = changed_nodes(self._blocks, base, self.root)
        created = to_bitmap(self._identities.ordinals(id_array(added)))
        return created, created | to_bitmap(self._identities.ordinals(id_array(changed)))

    @cached_property
    def lexical(self) -> tuple[LexicalSegment, ...]:
        """The segments of the nodes' texts."""
        return tuple(LexicalSegment(part) for part in self.state.nodes)

    def vectors(self, model: str) -> tuple[VectorSegment, ...]:
        """Returns the segments of a model, none for a model without vectors."""
        return self.segments("vectors", model)

    def segments(self, family: str, name: str) -> tuple[Any, ...]:
        """Returns the segments of a model or vocabulary, none for one without vectors; each as an
        instance of its family's class."""
        key = ("segments", family, name)
        found: tuple[Any, ...] | None = self.cache.get(key)
        if found is None:  # the cache may be emptied at any time
            parts = self.state.of((family, name))
            found = tuple(ROWS[family].segment(part, self.live, self._blocks) for part in parts)
            self.cache[key] = found
        return found

    @cached_property
    def edges(self) -> tuple[EdgeSegment | CombinedEdges, ...]:
        """The segments of the edges."""
        return combine([EdgeSegment(part) for part in self.state.edges])

    def outgoing(self, ordinal: int, *, at: int | None = None) -> Adjacency:
        """Returns the edges from a node to nodes of the root, by edge id ascending; those that hold
        at the microsecond `at` if it is given."""
        return adjacency(self.state.edges, "out", ordinal, self.live, at)

    def incoming(self, ordinal: int, *, at: int | None = None) -> Adjacency:
        """Returns the edges to a node from nodes of the root, as `outgoing` does."""
        return adjacency(self.state.edges, "in", ordinal, self.live, at)

    def edge_ids(self, ordinal: int, *, after: EdgeId | None, limit: int) -> list[EdgeId]:
        """Returns the first `limit` ids after `after`, ascending, of the edges between a node and
        nodes of the root; reads only that part of the index."""
        return edge_ids(self.state.edges, ordinal, self.live, after=after, limit=limit)

    def children(self, ordinal: int) -> Children:
        """Returns the parts of a node that are nodes of the root, in their order."""
        return children_of(self._node_segments, ordinal, self.live)

    def child_counts(self, ordinals: Ordinals) -> npt.NDArray[np.int64]:
        """Returns the number of children that each node lists, (m,), missing children included."""
        return child_counts(self._node_segments, ordinals)

    def parent(self, ordinal: int, *, among: BitMap | None = None) -> tuple[int, int] | None:
        """Returns (ordinal, position) of the node that lists this one among its children.

        If several do, or one does twice, it is the one with the smallest node id, at its first
        position.

        Args:
            among: the parents that count, None for all.
        """
        return parent_of(self._node_segments, self._identities, ordinal, among)

    @cached_property
    def _node_segments(self) -> tuple[SegmentView, ...]:
        return tuple(SegmentView(part) for part in self.state.nodes)

    def _keyed(self, prefix: str, key: bytes) -> BitMap:
        found = self.cache.get((prefix, key))
        if found is None:
            found = _union(_at_key(part, prefix, key) for part in self.state.nodes)
            self.cache[prefix, key] = found
        return found


def _contested_children(blocks: Source, conflict: Cid) -> set[bytes]:
    """Returns the ids of the children that some sides of a conflict list and others do not; a side
    that deleted the node lists none, and one that was erased does not count."""
    found = Conflict.decode(blocks.get(conflict))
    if found.fields and "layout" not in found.fields and not found.deleted:
        return set()
    side_count = int(found.deleted)
    counts: Counter[bytes] = Counter()
    for cid in found.sides:
        with suppress(NotFoundError):
            counts.update({child.id.raw for child in Node.decode(blocks.get(cid)).children})
            side_count += 1
    return {raw for raw, count in counts.items() if count < side_count}


def _union(sets: Iterator[BitMap]) -> BitMap:
    found = [one for one in sets if one]
    return BitMap.union(*found) if found else BitMap()


def _live_set(part: Part) -> BitMap:
    return ordinal_set(part) - part.dead if part.dead else ordinal_set(part)


def _at_key(part: Part, prefix: str, key: bytes) -> BitMap:
    """Returns the live ordinals at a key; the part that does not depend on the snapshot is cached
    with the segment."""
    cache = part.segment.cache
    found: BitMap | None = cache.get((prefix, key))
    if found is None:
        found = _read_set(part.segment, prefix, inverted(part.segment, prefix).find(key))
        if len(cache) < _CACHED_KEYS_MAX:
            cache[prefix, key] = found
    return found - part.dead if part.dead else found


def _read_set(segment: Segment, prefix: str, index: int | None) -> BitMap:
    """Returns the ordinals at a key of a segment, from the key's bitmap if it has one."""
    if index is None:
        return BitMap()
    wide = segment[f"{prefix}.wide"]
    position = int(np.searchsorted(wide, np.uint32(index)))
    if position < len(wide) and int(wide[position]) == index:
        starts = segment.column(f"{prefix}.wide_starts")
        span = slice(starts.item(position), starts.item(position + 1))
        return bitmap_of_bytes(segment.column(f"{prefix}.wide_sets")[span])
    column = inverted(segment, prefix)
    return to_bitmap(segment["ordinals"][column.rows[column.span(index)]])


def _in_range(part: Part, start: bytes, stop: bytes) -> BitMap:
    """Returns the live ordinals at the keys from `start` to before `stop`; those of the last few
    ranges are cached with the segment, dead ones included."""
    cache: dict[tuple[bytes, bytes], BitMap] = part.segment.cache.setdefault("ranges", {})
    found = cache.get((start, stop))
    if found is None:
        column = inverted(part.segment, "prop")
        assert column.keys is not None, "BUG: properties have byte keys"
        low = column.keys.find(start)
        rows = np.sort(column.rows[column.span(low, column.keys.find(stop, low))])
        found = to_bitmap(part.segment["ordinals"][rows])
        for old in list(cache)[: max(0, len(cache) + 1 - _CACHED_RANGES_MAX)]:
            cache.pop(old, None)
        cache[start, stop] = found
    return found - part.dead if part.dead else found


def _names(part: Part) -> tuple[str, ...]:
    """Returns the property names of a segment, found by skipping from name to name."""
    cache = part.segment.cache
    if "names" not in cache:
        keys = inverted(part.segment, "prop").keys
        assert keys is not None, "BUG: properties have byte keys"
        names, index = [], 0
        while index < len(keys):
            prefix = keys[index][:-1]  # the first key of a name is the one that says it exists
            names.append(_text(prefix))
            index = keys.find(prefix + END, index)
        cache["names"] = tuple(names)
    found: tuple[str, ...] = cache["names"]
    return found


def _text(prefix: bytes) -> str:
    name: str = codec.decode(prefix)
    return name
