"""The order of a document's passages, and where each hit stands in it.

A document is the top of a chain of parents. Its sequence are the nodes below it that have no parts,
in the order of the parts, as far as they are visible: a node outside leaves no gap, and what only
hangs on it is no part of the document. Nothing of this is stored; it is derived from `children`.

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
from ibidem.retrieve.protocol import Ordinals, Snapshot

_KEPT_MAX = 50_000
"""Documents and hits remembered with a view."""

Heading = Callable[[int], str]
"""Returns the heading of a section, empty for one without."""


@record
class Container:
    """A document or a part of it that has parts: the places start..stop of the sequence."""

    ordinal: int
    above: int
    """Its parent, as a place among the containers; -1 for the document."""
    start: int
    stop: int


@record
class Sequence:
    """The passages of one document."""

    document: NodeId
    ordinals: tuple[int, ...]
    """In document order."""
    places: Mapping[int, int]
    """Where each stands."""
    homes: tuple[int, ...]
    """By passage, the innermost container that holds it."""
    containers: tuple[Container, ...]
    """The document first, every other after its parent."""


@record
class Spot:
    """Where a hit stands: a passage at its place, a container at that of its first passage."""

    sequence: Sequence
    place: int
    home: int
    """The innermost container around it; the container itself for one."""

    def section(self, heading: Heading, sections: BitMap) -> Container | None:
        """Returns the nearest section around it that has a heading."""
        containers, at = self.sequence.containers, self.home
        while at >= 0:
            found = containers[at]
            if found.ordinal in sections and heading(found.ordinal):
                return found
            at = found.above
        return None

    def headings(self, heading: Heading, sections: BitMap) -> tuple[str, ...]:
        """Returns the headings that it stands under, the outermost first."""
        containers, at = self.sequence.containers, self.home
        found: list[str] = []
        while at >= 0:
            if containers[at].ordinal in sections and (text := heading(containers[at].ordinal)):
                found.append(text)
            at = containers[at].above
        return tuple(reversed(found))


class Sequences:
    """The sequences of one snapshot and what is visible of it, made when a hit needs them."""

    def __init__(self, snapshot: Snapshot, visible: BitMap) -> None:
        self._snapshot = snapshot
        self._visible = visible
        self._sequences: dict[int, Sequence] = {}
        self._spots: dict[int, Spot | None] = {}
        self._containers = BitMap()
        for name in sorted(CONTAINERS):
            self._containers |= snapshot.label(name)

    def spot(self, ordinal: int) -> Spot | None:
        """Returns where a visible node stands, None for one that is part of no sequence.

        A node that several documents list stands in the one that its own parents lead to, so the
        answer does not depend on what was asked before.
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
            found = self._snapshot.parent(ordinal)
            if found is None or found[0] not in self._visible:
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


class _Walk:
    """One way down from a top, in document order; each node is met once."""

    def __init__(self, snapshot: Snapshot, visible: BitMap, containers: BitMap) -> None:
        self._snapshot = snapshot
        self._visible = visible
        self._containers = containers
        self.leaves: list[int] = []
        self.homes: list[int] = []
        self.opened: list[tuple[int, int, int]] = []
        """(ordinal, parent's place, first leaf) of each container."""
        self.stops: list[int] = []

    def run(self, top: int) -> None:
        """Walks down; a top without parts that is no container stays out."""
        if not self._has_parts(np.array([top], np.uint32))[0]:
            return
        met = {top}
        # (ordinal, place of its parent, whether it has parts); (-1, place, _) closes a container.
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
        """Returns the visible parts of a node that were not met before, in their order."""
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
