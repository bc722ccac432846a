"""From one part of a document to those around it: before, after, above and beside.

The order is that of packs: the visible passages of a document in the order of its parts, so a
reader is never led to a node that the caller may not see, or past one that is missing.

Spec: packs 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.retrieve.context.sequence import Sequences
from ibidem.retrieve.filter import view_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ibidem.retrieve.protocol import Snapshot


@record
class Navigation:
    """The position of one part of a document, and its neighbours."""

    id: NodeId
    above: tuple[NodeId, ...]
    """The document, then each section around the part, outermost first."""
    previous: NodeId | None
    """The passage before it; None for the first."""
    next: NodeId | None
    """The passage after it and its own parts; None for the last."""
    siblings: tuple[NodeId, ...]
    """The parts of the same parent in order, itself included."""
    parts: tuple[NodeId, ...]
    """Its own parts in order; empty for a passage."""
    passage_index: int
    """The position among the passages of the document, from 0; of a section that of its first."""
    passage_count: int
    """The number of passages of the document."""


def navigation(snapshot: Snapshot, node: NodeId) -> Navigation | None:
    """Returns the neighbours of a visible part of a document, None for any other node."""
    visible = view_of(snapshot, include_tombstoned=False).members
    ordinal = snapshot.ordinal(node)
    found = None
    if ordinal is not None and ordinal in visible:
        found = Sequences(snapshot, visible).find(ordinal)
    if ordinal is None or found is None:
        return None
    sequence, home, position = found.sequence, found.sequence.containers[found.home], found.index
    is_passage = home.ordinal != ordinal
    stop = position + 1 if is_passage else home.stop
    above, at = [], found.home if is_passage else home.above
    while at >= 0:
        above.append(sequence.containers[at].ordinal)
        at = sequence.containers[at].above
    parent = snapshot.parent(ordinal, among=visible)
    siblings = [ordinal] if parent is None else snapshot.children(parent[0]).ordinals.tolist()

    def ids(ordinals: Iterable[int]) -> tuple[NodeId, ...]:
        wanted = np.asarray([one for one in ordinals if one in visible], np.uint32)
        return tuple(NodeId(raw.tobytes()) for raw in snapshot.node_ids(wanted))

    before = ids(sequence.ordinals[position - 1 : position]) if position else ()
    after = ids(sequence.ordinals[stop : stop + 1])
    return Navigation(
        node,
        ids(reversed(above)),
        before[0] if before else None,
        after[0] if after else None,
        ids(siblings),
        ids(snapshot.children(ordinal).ordinals.tolist()),
        position,
        len(sequence.ordinals),
    )
