"""The order of a document's passages, and the position of each hit in it.

A document is the top of a chain of parents. Its sequence consists of the visible nodes below it
that have no parts, in the order of the parts: a hidden node leaves no gap, and nodes that are
reachable only through it are not part of the document. None of this is stored; it is derived from
`children`.

Spec: packs 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from pyroaring import BitMap

from ibidem.objects.constants import DOCUMENT_DEPTH_MAX
from ibidem.objects.ids import NodeId
from ibidem.objects.location import CONTAINERS
from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet
from ibidem.retrieve.listing import Order, list_nodes
from ibidem.retrieve.protocol import Ordinals, Snapshot

_KEPT_MAX = 50_000
"""The largest number of documents and hits that are cached with a view."""

Heading = Callable[[int], str]
"""Returns the heading of a section, empty if it has none."""


@record
class Container:
    """A document, or a part of it that has parts: positions start..stop of the sequence."""

    ordinal: int
    above: int
    """The index of its parent among the containers; -1 for the document."""
    start: int
    stop: int


@record
class Sequence:
    """The passages of one document."""

    document: NodeId
    ordinals: tuple[int, ...]
    """In document order."""
    places: Mapping[int, int]
    """The position of each ordinal."""
    homes: tuple[int, ...]
    """The innermost container of each passage."""
    containers: tuple[Container, ...]
    """The document first, every other after its parent."""

    @property
    def top(self) -> int:
        """The ordinal of the document; two roots may have documents of one id."""
        return self.containers[0].ordinal

    def chain(self, position: int) -> tuple[int, ...]:
        """Returns the ordinals of the containers around a passage, the document first."""
        found: list[int] = []
        at = self.homes[position]
        while at >= 0:
            found.append(self.containers[at].ordinal)
            at = self.containers[at].above
        return tuple(reversed(found))


@record
class Spot:
    """The position of a hit: its own for a passage, that of its first passage for a container."""

    sequence: Sequence
    index: int
    home: int
    """The innermost container around the hit, or the hit itself if it is a container."""

    @property
    def passage(self) -> int:
        """The ordinal of the passage at the position."""
        return self.sequence.ordinals[self.index]

    @property
    def key(self) -> tuple[bytes, int, int]:
        """What orders positions: the document, by id and then by root, and the place in it."""
        return self.sequence.document.raw, self.sequence.top, self.index

    def section(self, heading: Heading, sections: BitMap) -> Container | None:
        """Returns the nearest section around the hit that has a heading."""
        containers, at = self.sequence.containers, self.home
        while at >= 0:
            found = containers[at]
            if found.ordinal in sections and heading(found.ordinal):
                return found
            at = found.above
        return None


class Sequences:
    """The sequences of one snapshot and view, built when a hit needs them."""

    def __init__(self, snapshot: Snapshot, visible: BitMap) -> None:
        self._snapshot = snapshot
        self._visible = visible
        self._sequences: dict[int, Sequence] = {}
        self._spots: dict[int, Spot | None] = {}
        self._containers = BitMap()
        for name in sorted(CONTAINERS):
            self._containers |= snapshot.label(name)

    def find(self, ordinal: int) -> Spot | None:
        """Returns the position of a visible node, None for one that is part of no sequence.

        A node that several documents list belongs to the one that its own parents lead to, so the
        answer does not depend on earlier questions.
        """
        if ordinal not in self._spots:
            if len(self._spots) + len(self._sequences) > _KEPT_MAX:
                self._spots, self._sequences = {}, {}
            self._spots[ordinal] = self._found(ordinal)
        return self._spots[ordinal]

    def _found(self, ordinal: int) -> Spot | None:
        top = self._top(ordinal)
        sequence = self._sequences.get(top)
        if sequence is None:
            sequence = self._sequences[top] = self._walk(top)
        place = sequence.places.get(ordinal)
        if place is not None:
            return Spot(sequence, place, sequence.homes[place])
        for home, container in enumerate(sequence.containers):
            if container.ordinal == ordinal and container.start < container.stop:
                return Spot(sequence, container.start, home)
        return None

    def _top(self, ordinal: int) -> int:
        for _ in range(DOCUMENT_DEPTH_MAX):
            found = self._snapshot.parent(ordinal, among=self._visible)
            if found is None:
                break
            ordinal = found[0]
        return ordinal

    def _walk(self, top: int) -> Sequence:
        walk = _Walk(self._snapshot, self._visible, self._containers)
        walk.run(top)
        containers = tuple(
            Container(ordinal, above, start, walk.stops[place])
            for place, (ordinal, above, start) in enumerate(walk.opened)
        )
        return Sequence(
            NodeId(self._snapshot.node_ids(np.array([top], np.uint32)).tobytes()),
            tuple(walk.leaves),
            {ordinal: place for place, ordinal in enumerate(walk.leaves)},
            tuple(walk.homes),
            containers,
        )


def sequences_of(view: NodeSet, visible: BitMap, name: str = "") -> Sequences:
    """Returns the sequences of some nodes of a view, which keeps them under a name."""
    return view.remembered(f"sequences {name}", lambda: Sequences(view.snapshot, visible))


class ThreadSequence(Sequences):
    """The messages of one thread as a sequence: by `ord`, then id, whatever lists them."""

    def __init__(self, snapshot: Snapshot, visible: BitMap, messages: BitMap) -> None:
        super().__init__(snapshot, visible)
        listed = list_nodes(NodeSet(snapshot, messages), Order("ord"), after=None).ordinals.tolist()
        self.newest_first = tuple(reversed(listed))
        """The messages of the thread, the newest first."""
        self._messages = messages
        self._indices = {ordinal: index for index, ordinal in enumerate(self.newest_first)}
        if listed:
            self._thread = top = super()._top(listed[0])
            self._sequences[top] = Sequence(
                NodeId(snapshot.node_ids(np.array([top], np.uint32)).tobytes()),
                tuple(listed),
                {ordinal: index for index, ordinal in enumerate(listed)},
                (0,) * len(listed),
                (Container(top, -1, 0, len(listed)),),
            )

    def beside(self, ordinal: int) -> tuple[int, ...]:
        """Returns the messages just before and after a message; none for another node."""
        at = self._indices.get(ordinal)
        if at is None:
            return ()
        return self.newest_first[max(0, at - 1) : at] + self.newest_first[at + 1 : at + 2]

    def _top(self, ordinal: int) -> int:
        return self._thread if ordinal in self._messages else super()._top(ordinal)


class _Walk:
    """A depth-first walk from a top node, in document order; each node is visited once."""

    def __init__(self, snapshot: Snapshot, visible: BitMap, containers: BitMap) -> None:
        self._snapshot = snapshot
        self._visible = visible
        self._containers = containers
        self.leaves: list[int] = []
        self.homes: list[int] = []
        self.opened: list[tuple[int, int, int]] = []
        """(ordinal, index of the parent, first leaf) of each container."""
        self.stops: list[int] = []

    def run(self, top: int) -> None:
        """Walks down from `top`; a top without parts that is not a container is left out."""
        if not self._has_parts(np.array([top], np.uint32))[0]:
            return
        met = {top}
        # (ordinal, index of its parent, whether it has parts); (-1, index, _) closes a container.
        stack: list[tuple[int, int, bool]] = [(top, -1, True)]
        while stack:
            ordinal, above, has_parts = stack.pop()
            if ordinal < 0:
                self.stops[above] = len(self.leaves)
            elif not has_parts:
                self.leaves.append(ordinal)
                self.homes.append(above)
            else:
                place = len(self.opened)
                self.opened.append((ordinal, above, len(self.leaves)))
                self.stops.append(0)
                parts = self._parts(ordinal, met)
                flags = self._has_parts(parts)
                stack.append((-1, place, False))
                stack += [
                    (part, place, flag)
                    for part, flag in zip(parts.tolist()[::-1], flags[::-1], strict=True)
                ]

    def _parts(self, ordinal: int, met: set[int]) -> Ordinals:
        """Returns the visible parts of a node that were not visited before, in their order."""
        found = self._snapshot.children(ordinal).ordinals
        kept = []
        for part in found.tolist():
            if part in self._visible and part not in met:
                met.add(part)
                kept.append(part)
        return np.array(kept, np.uint32)

    def _has_parts(self, ordinals: Ordinals) -> list[bool]:
        counts = self._snapshot.child_counts(ordinals).tolist()
        return [
            count > 0 or ordinal in self._containers
            for ordinal, count in zip(ordinals.tolist(), counts, strict=True)
        ]
