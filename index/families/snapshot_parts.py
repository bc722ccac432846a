"""What a snapshot consists of: the parts of every family for one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from pyroaring import BitMap

from ibidem.index.families.edge_rows import merge_edges
from ibidem.index.families.family import FamilyParts, Merge, compacted
from ibidem.index.families.node_rows import merge_nodes
from ibidem.index.families.ordinals import merge_identities
from ibidem.index.families.vector_rows import ROWS
from ibidem.index.segments.segment import Segment
from ibidem.index.segments.store import SegmentStore
from ibidem.index.tuning import Tuning
from ibidem.objects.cid import RootCid
from ibidem.objects.record import record

Key = tuple[str, str]
"""Kind of a family, and its model or vocabulary, "" for nodes and edges."""
NODES: Key = ("nodes", "")
EDGES: Key = ("edges", "")
MERGES: Mapping[str, Merge] = {
    "nodes": merge_nodes,
    "edges": merge_edges,
    **{kind: rows.merge for kind, rows in ROWS.items()},
}
"""How the segments of each kind of family are merged."""
_ORDER = {kind: position for position, kind in enumerate(MERGES)}


@record
class SnapshotParts:
    """The parts of one snapshot; immutable."""

    root: RootCid | None = None
    identities: tuple[Segment, ...] = ()
    """Segments of ids; an ordinal is a position in their concatenation."""
    families: Mapping[Key, FamilyParts] = field(default_factory=dict)
    """Nodes, edges, and every model and vocabulary that has vectors."""
    tombstoned: BitMap = field(default_factory=BitMap)

    @property
    def nodes(self) -> FamilyParts:
        """The parts of the nodes."""
        return self.of(NODES)

    @property
    def edges(self) -> FamilyParts:
        """The parts of the edges."""
        return self.of(EDGES)

    def of(self, key: Key) -> FamilyParts:
        """Returns the parts of a family, none where it has no rows."""
        return self.families.get(key, ())

    def names(self, kind: str) -> list[str]:
        """Returns the models or vocabularies of a kind of family, ascending."""
        return sorted(name for found, name in self.families if found == kind)

    def items(self) -> Iterator[tuple[Key, FamilyParts]]:
        """Yields each family with its parts, those of one kind by name; nodes and edges even if
        empty."""
        keys = self.families.keys() | {NODES, EDGES}
        for key in sorted(keys, key=lambda key: (_ORDER[key[0]], key[1])):
            yield key, self.of(key)

    def segments(self) -> Iterator[Segment]:
        """Yields every segment of the snapshot."""
        yield from self.identities
        for parts in self.families.values():
            for part in parts:
                yield part.segment


def compacted_parts(
    state: SnapshotParts, segment_store: SegmentStore, tuning: Tuning
) -> SnapshotParts:
    """Returns the state with small segments merged and dead rows dropped; ordinals stay."""
    families = {
        (kind, name): compacted(parts, MERGES[kind], segment_store, tuning)
        for (kind, name), parts in state.items()
    }
    identities = state.identities
    if len(identities) > 1:
        identities = (merge_identities(list(identities), segment_store),)
    return replace(state, identities=identities, families=families)
