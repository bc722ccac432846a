"""Headings, and the first passages below them: nobody is helped by a bare heading.

A heading that is among the best nodes of a lane gives its place to the first passage below it.

Invariant: only the best nodes of a lane are looked at, so a heading counts among the `depth` of
them, and the index holds nothing of this.

Cost: a walk down from each document and section among these nodes, and its length.

Spec: retrieval 4.1.5.
"""

from __future__ import annotations

import numpy as np
from pyroaring import BitMap

from ibidem.objects.location import CONTAINERS
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.protocol import Ordinals

HEADING_TERMS_MAX = 32
"""A document or section with more terms of its own is a text, not a heading."""


def containers_of(view: NodeSet) -> BitMap:
    """Returns the documents and sections of a view, computed once."""

    def build() -> BitMap:
        found = BitMap()
        for name in sorted(CONTAINERS):
            found |= view.snapshot.label(name)
        return found & view.members

    return view.remembered("containers", build)


def first_passage(view: NodeSet, containers: BitMap, heading: int) -> int | None:
    """Returns the first node below a heading, in document order, that has no parts."""
    met = {heading}
    stack = [heading]
    while stack:
        node = stack.pop()
        parts = view.snapshot.children(node).ordinals.tolist()
        if node not in containers and not parts:
            return node
        fresh = [one for one in parts if one in view.members and one not in met]
        met.update(fresh)
        stack += fresh[::-1]
    return None


def opened(universe: Universe, nodes: Ordinals) -> Ordinals:
    """Returns (n,) nodes with the first passage below each heading in its place, where the universe
    has it."""
    view = universe.view
    containers = containers_of(view)
    headings = _short(view, BitMap(nodes) & containers)
    if not headings:
        return nodes

    def shown(node: int) -> int:
        passage = first_passage(view, containers, node) if node in headings else None
        return node if passage is None or passage not in universe.nodes.members else passage

    return np.array([shown(node) for node in nodes.tolist()], np.uint32)


def _short(view: NodeSet, containers: BitMap) -> BitMap:
    """Returns those of some documents and sections that have few terms of their own, or none."""
    held = NodeSet(view.snapshot, containers)
    long = BitMap()
    for segment in view.snapshot.lexical if containers else ():
        positions = held.positions(segment)
        rows = np.arange(segment.ordinals.shape[0]) if positions is None else positions
        long.update(segment.ordinals[rows[segment.lengths[rows] > HEADING_TERMS_MAX]])
    return containers - long
