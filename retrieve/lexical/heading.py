"""Headings: a passage is ranked with the title of its document and the headings above it.

Problem: "production timeout" asks for the passage "it is 30 seconds" under the heading
"Production", and neither of the two says both. Idea: after the lane has its best nodes, they are
scored again, each as if its text contained the headings above it. A heading that is among the best
itself gives its place to the first passage below it, because nobody is helped by a bare heading.

Invariant: only the best nodes of the lane are looked at, and the view's N, df and mean length stay
as they are, so the index holds nothing of this and needs no update when a heading changes.

Cost: the chain of parents of at most `depth` nodes.

Spec: retrieval 4.1.5.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from pyroaring import BitMap

from ibidem.objects.constants import DOCUMENT_DEPTH_MAX
from ibidem.objects.location import CONTAINERS
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.lexical.bm25 import Scorer
from ibidem.retrieve.numbers import Float64s, rank
from ibidem.retrieve.protocol import Ordinals
from ibidem.retrieve.query.match import OR

HEADING_TERMS_MAX = 32
"""A document or section with more terms of its own is a text, not a heading."""


def ranked_with_headings(universe: Universe, scorer: Scorer, top: LaneTop) -> LaneTop:
    """Returns the nodes of a top, scored with their headings, in the order of these scores.

    Args:
        universe: a passage takes the place of a heading only if it belongs to it.
        scorer: of the query.
        top: the best nodes by their own text.
    """
    view = universe.view
    containers = containers_of(view)
    if not containers:
        return top
    headings = _Headings(scorer, containers)
    match = universe.query.match
    found: Iterable[int] = top.ordinals.tolist()
    if match.operator == OR and not match.phrases:
        found = headings.opened(found, universe.nodes.members)
    nodes = np.array(list(dict.fromkeys(found)), np.uint32)
    nodes, scores = headings.scored(nodes)
    order = rank(scores, view.snapshot.node_ids(nodes))[: universe.query.depth]
    return LaneTop(top.lane, nodes[order], scores[order], top.status, top.floor)


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


class _Headings:
    """The headings of some nodes, for one query."""

    def __init__(self, scorer: Scorer, containers: BitMap) -> None:
        self._scorer = scorer
        self._view = scorer.view
        self._containers = containers
        self._above: dict[int, tuple[int, ...]] = {}

    def opened(self, nodes: Iterable[int], universe: BitMap) -> list[int]:
        """Returns nodes with the first passage below each heading in its place."""
        found = list(nodes)
        held = np.array([one for one in found if one in self._containers], np.uint32)
        lengths, _ = self._rows(held)
        for heading, length in zip(held.tolist(), lengths.tolist(), strict=True):
            first = None
            if length <= HEADING_TERMS_MAX:
                first = first_passage(self._view, self._containers, heading)
            if first is not None and first in universe:
                found[found.index(heading)] = first
        return found

    def scored(self, nodes: Ordinals) -> tuple[Ordinals, Float64s]:
        """Returns those of some nodes that have a term of the query, with their headings, and the
        (n,) scores of these."""
        chains = [self._chain(node) for node in nodes.tolist()]
        above = np.array(sorted({one for chain in chains for one in chain}), np.uint32)
        lengths, frequencies = self._rows(nodes)
        their_lengths, their_frequencies = self._rows(above)
        their_frequencies[:, their_lengths > HEADING_TERMS_MAX] = 0.0
        their_lengths[their_lengths > HEADING_TERMS_MAX] = 0
        owners = np.repeat(np.arange(len(chains)), [len(chain) for chain in chains])
        each = above.searchsorted(np.array([one for chain in chains for one in chain], np.uint32))
        np.add.at(lengths, owners, their_lengths[each])
        np.add.at(frequencies.T, owners, their_frequencies.T[each])
        has_term = np.flatnonzero(frequencies.any(axis=0))
        found = self._scorer.scores_of(lengths[has_term], frequencies[:, has_term])
        return nodes[has_term], found

    def _chain(self, node: int) -> tuple[int, ...]:
        """Returns the documents and sections above a node, each once."""
        found: dict[int, None] = {}
        for _ in range(DOCUMENT_DEPTH_MAX):
            parent = self._view.snapshot.parent(node, among=self._view.members)
            if parent is None or parent[0] in found:
                break
            node = parent[0]
            found[node] = None
        return tuple(one for one in found if one in self._containers)

    def _rows(self, nodes: Ordinals) -> tuple[Ordinals, Float64s]:
        """Returns the (n,) lengths of nodes, and the (terms, n) frequencies in them."""
        lexical, terms = self._scorer.lexical_view, self._scorer.terms
        lengths = np.zeros(nodes.shape[0], np.uint32)
        frequencies = np.zeros((len(terms), nodes.shape[0]), np.float64)
        for segment, start in zip(lexical.segments, lexical.starts, strict=True):
            if not segment.ordinals.shape[0]:
                continue
            rows = segment.ordinals.searchsorted(nodes)
            is_here = segment.ordinals.take(rows, mode="clip") == nodes
            if segment.live is not None:
                is_here &= segment.live.take(rows, mode="clip")
            here = np.flatnonzero(is_here)
            slots = (rows[here] + start).astype(np.uint32)
            lengths[here] = lexical.lengths[slots]
            found = np.empty(here.shape[0], np.float64)
            for row, term in zip(frequencies, terms, strict=True):
                if term.postings.count and here.shape[0]:
                    term.postings.frequencies_at(slots, found)
                    row[here] = found
        return lengths, frequencies
