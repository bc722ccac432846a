"""What a snapshot consists of: the parts of every family for one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from pyroaring import BitMap

from ibidem.index.families.edge_rows import merge_edges
from ibidem.index.families.family import FamilyParts, Merge, compacted
from ibidem.index.families.node_rows import merge_nodes
from ibidem.index.families.ordinals import merge_identities
from ibidem.index.families.vector_rows import merge_sparse, merge_vectors
from ibidem.index.segments.segment import Segment
from ibidem.index.segments.store import SegmentStore
from ibidem.objects.cid import RootCid
from ibidem.objects.record import record

MERGES: Mapping[str, Merge] = {
    "nodes": merge_nodes,
    "edges": merge_edges,
    "vectors": merge_vectors,
    "sparse": merge_sparse,
}
"""How the segments of each kind of family are merged."""


@record
class SnapshotParts:
    """The parts of one snapshot; nothing in it is ever changed."""

    root: RootCid | None = None
    identities: tuple[Segment, ...] = ()
    """Segments of ids; an ordinal is a position in their concatenation."""
    nodes: FamilyParts = ()
    edges: FamilyParts = ()
    vectors: Mapping[str, FamilyParts] = field(default_factory=dict)
    sparse: Mapping[str, FamilyParts] = field(default_factory=dict)
    tombstoned: BitMap = field(default_factory=BitMap)

    def families(self) -> Iterator[tuple[str, str, FamilyParts]]:
        """Yields (kind, name, parts) of each row family, in a fixed order; name is a model or
        vocabulary."""
        yield "nodes", "", self.nodes
        yield "edges", "", self.edges
        for name in sorted(self.vectors):
            yield "vectors", name, self.vectors[name]
        for name in sorted(self.sparse):
            yield "sparse", name, self.sparse[name]

    def segments(self) -> Iterator[Segment]:
        """Yields every segment of the snapshot."""
        yield from self.identities
        for _, _, parts in self.families():
            for part in parts:
                yield part.segment


def compacted_parts(state: SnapshotParts, segment_store: SegmentStore) -> SnapshotParts:
    """Returns the state with small segments merged and dead rows dropped; ordinals stay."""
    families: dict[str, dict[str, FamilyParts]] = {kind: {} for kind in MERGES}
    for kind, name, parts in state.families():
        families[kind][name] = compacted(parts, MERGES[kind], segment_store)
    identities = state.identities
    if len(identities) > 1:
        identities = (merge_identities(list(identities), segment_store),)
    return SnapshotParts(
        state.root,
        identities,
        families["nodes"][""],
        families["edges"][""],
        families["vectors"],
        families["sparse"],
        state.tombstoned,
    )
