"""Headings, and the first passages below them: nobody is helped by a bare heading.

A heading that is among the best nodes of a lane gives its place to the first passage below it. That
passage may be among them itself; then it keeps the better of the two places. A heading is near to a
question in a lane of vectors because it is as short, and the passage may say something else: so it
gets the mean of both scores there. Where an edge leads to a heading, it is meant with what is below
it, and the passage gets all.

Invariant: only the best nodes of a lane are looked at, so a heading counts among the `depth` of
them, and the index holds nothing of this.

Cost: a walk down from each document and section among these nodes, and its length.

Spec: retrieval 4.1.5, 4.4.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pyroaring import BitMap

from ibidem.objects.location import CONTAINERS
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.numbers import rank
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


def with_passages(
    universe: Universe, top: LaneTop, *, counts_own: bool
) -> tuple[LaneTop, Ordinals]:
    """Returns the top of a lane with its headings opened if the query has them opened, each node
    once with its best score; and (n,) the nodes of the lane in whose places these stand.

    Args:
        universe: of the query.
        top: of the lane.
        counts_own: whether a passage has the mean of its heading's score and its own, for which the
            lowest of the top stands if it is not among these; otherwise it has its heading's.
    """
    nodes, scores = top.ordinals, top.scores
    if universe.query.passages:
        nodes = opened(universe, nodes)
    if nodes is top.ordinals:
        return top, nodes
    if counts_own:
        own = dict(zip(top.ordinals.tolist(), scores.tolist(), strict=True))
        others = np.array([own.get(node, float(scores[-1])) for node in nodes.tolist()])
        scores = np.where(nodes == top.ordinals, scores, (scores + others) / 2.0 + 0.0)
    order = np.argsort(nodes, kind="stable")
    order = order[rank(scores[order], universe.view.snapshot.node_ids(nodes[order]))]
    order = order[np.sort(np.unique(nodes[order], return_index=True)[1])]
    return replace(top, ordinals=nodes[order], scores=scores[order]), top.ordinals[order]


def _short(view: NodeSet, containers: BitMap) -> BitMap:
    """Returns those of some documents and sections that have few terms of their own, or none."""
    held = NodeSet(view.snapshot, containers)
    long = BitMap()
    for segment in view.snapshot.lexical if containers else ():
        positions = held.positions(segment)
        rows = np.arange(segment.ordinals.shape[0]) if positions is None else positions
        long.update(segment.ordinals[rows[segment.lengths[rows] > HEADING_TERMS_MAX]])
    return containers - long
