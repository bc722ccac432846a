"""Headings and surroundings: a passage is ranked with what stands above it and beside it.

Problem: "production timeout" asks for the passage "it is 30 seconds" under the heading
"Production", and neither of the two says both. Idea: after the lane has its best nodes, they are
scored again, each as if its text contained the headings above it. A heading that is among the best
itself is opened before that (`retrieve/heading.py`).
A passage also says more than its own sentences: the paragraphs before and after it have the words
that it takes for granted. So a third of its score is that of the passages around it, read as one
text. These texts are about equally long, so their length does not count.
And it says some words of the question in its own way: each counts as itself or as a related word
(`related.py`), whichever adds more.

Invariant: only the best nodes of the lane are looked at, and the view's N, df and mean length stay
as they are, so the index holds nothing of this and needs no update when a heading changes.

Cost: the chain of parents of at most `depth` nodes, and the lengths and frequencies of the passages
beside them.

Spec: retrieval 4.1.5, 4.1.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, takewhile

import numpy as np
from pyroaring import BitMap

from ibidem.objects.constants import DOCUMENT_DEPTH_MAX
from ibidem.retrieve.filter import Universe
from ibidem.retrieve.heading import HEADING_TERMS_MAX, containers_of, opened
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.lexical.bm25 import Alternatives, Scorer
from ibidem.retrieve.lexical.postings import MergedPostings
from ibidem.retrieve.lexical.related import with_related
from ibidem.retrieve.numbers import Float64s, rank
from ibidem.retrieve.protocol import Ordinals

SURROUNDINGS_TERMS_MAX = 100
"""A passage and those around it that count for it have at most as many terms together."""
SURROUNDINGS_SIDE_MAX = 4
"""The most passages before it, and after it."""


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
    nodes = top.ordinals
    if universe.query.match.is_of_any_word:
        nodes = np.array(list(dict.fromkeys(opened(universe, nodes).tolist())), np.uint32)
    nodes, scores = headings.scored(nodes)
    order = rank(scores, view.snapshot.node_ids(nodes))[: universe.query.depth]
    return LaneTop(top.lane, nodes[order], scores[order], top.status, top.floor)


class _Headings:
    """The headings of some nodes, for one query."""

    def __init__(self, scorer: Scorer, containers: BitMap) -> None:
        self._scorer, self._related = with_related(scorer)
        self._own = [term.postings for term in self._scorer.terms]
        self._others = {one.text: one.postings for one in self._related}
        self._view = scorer.view
        self._containers = containers
        self._homes: dict[int, int | None] = {}
        self._parts: dict[int, list[int]] = {}

    def scored(self, nodes: Ordinals) -> tuple[Ordinals, Float64s]:
        """Returns those of some nodes that have a term of the query, with their headings, and the
        (n,) scores of these."""
        chains = [self._chain(node) for node in nodes.tolist()]
        above = np.array(sorted(set(chain(*chains))), np.uint32)
        owners = np.repeat(np.arange(len(chains)), [len(one) for one in chains])
        each = above.searchsorted(np.array(list(chain(*chains)), np.uint32))
        terms = [*self._own, *self._others.values()]
        lengths, frequencies = self._rows(nodes, terms)
        own, other = np.split(frequencies, [len(self._own)])
        around = self._around(nodes, lengths, own)
        their_lengths, theirs = self._rows(above, terms)
        theirs[:, their_lengths > HEADING_TERMS_MAX] = 0.0
        their_lengths[their_lengths > HEADING_TERMS_MAX] = 0
        np.add.at(lengths, owners, their_lengths[each])
        np.add.at(frequencies.T, owners, theirs.T[each])
        np.add.at(around.T, owners, theirs[: len(self._own)].T[each])
        is_part = np.array([self._is_part(node) for node in nodes.tolist()], np.bool_)
        other[:, ~is_part] = 0.0
        has_term = np.flatnonzero(own.any(axis=0))
        found = self._scorer.scores_of(
            lengths[has_term], own[:, has_term], self._alternatives(other[:, has_term])
        )
        has_home = is_part[has_term].nonzero()[0]
        shared = self._scorer.scores_without_length(around[:, has_term[has_home]])
        found[has_home] = (2.0 * found[has_home] + shared) / 3.0
        return nodes[has_term], found

    def _alternatives(self, frequencies: Float64s) -> Alternatives | None:
        """Returns the related words, by the (others, n) frequencies of their terms."""
        if not self._related:
            return None
        places = {text: place for place, text in enumerate(self._others)}
        return Alternatives(
            [one.row for one in self._related],
            np.array([one.weight for one in self._related]),
            frequencies[[places[one.text] for one in self._related]],
        )

    def _around(self, nodes: Ordinals, lengths: Ordinals, frequencies: Float64s) -> Float64s:
        """Returns the (terms, n) frequencies in nodes and the passages around them together.

        Args:
            nodes: (n,) any.
            lengths: theirs.
            frequencies: in them.
        """
        beside = [self._beside(node) for node in nodes.tolist()]
        every = np.array(sorted(set(chain(*chain(*beside)))), np.uint32)
        their_lengths, their_frequencies = self._rows(every, self._own)
        found = frequencies.copy()
        rows = {one: row for row, one in enumerate(every.tolist())}
        for at, sides in enumerate(beside):
            size = int(lengths[at])
            waiting = [iter(side) for side in sides]
            for _ in range(SURROUNDINGS_SIDE_MAX):
                for side in list(waiting):
                    row = rows.get(next(side, -1))
                    if row is None or size + int(their_lengths[row]) > SURROUNDINGS_TERMS_MAX:
                        waiting.remove(side)
                        continue
                    size += int(their_lengths[row])
                    found[:, at] += their_frequencies[:, row]
        return found

    def _beside(self, node: int) -> tuple[list[int], list[int]]:
        """Returns the passages after a node and before it in its section, the nearest first."""
        home = self._home(node)
        if home is None or not self._is_part(node):
            return [], []
        parts = self._parts.get(home)
        if parts is None:
            found = self._view.snapshot.children(home).ordinals.tolist()
            parts = self._parts[home] = [one for one in found if one in self._view.members]
        at = parts.index(node)
        after = parts[at + 1 : at + 1 + SURROUNDINGS_SIDE_MAX]
        before = parts[max(0, at - SURROUNDINGS_SIDE_MAX) : at][::-1]
        return self._until_container(after), self._until_container(before)

    def _until_container(self, parts: list[int]) -> list[int]:
        return list(takewhile(lambda one: one not in self._containers, parts))

    def _is_part(self, node: int) -> bool:
        """Returns whether a node is a passage of a document or section."""
        home = self._home(node)
        return node not in self._containers and home is not None and home in self._containers

    def _home(self, node: int) -> int | None:
        """Returns the parent of a node."""
        if node not in self._homes:
            parent = self._view.snapshot.parent(node, among=self._view.members)
            self._homes[node] = None if parent is None else parent[0]
        return self._homes[node]

    def _chain(self, node: int) -> tuple[int, ...]:
        """Returns the documents and sections above a node, each once."""
        found: dict[int, None] = {}
        for _ in range(DOCUMENT_DEPTH_MAX):
            home = self._home(node)
            if home is None or home in found:
                break
            node = home
            found[node] = None
        return tuple(one for one in found if one in self._containers)

    def _rows(self, nodes: Ordinals, terms: Sequence[MergedPostings]) -> tuple[Ordinals, Float64s]:
        """Returns the (n,) lengths of nodes, and the (terms, n) frequencies in them."""
        lexical = self._scorer.lexical_view
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
                if term.count and here.shape[0]:
                    term.frequencies_at(slots, found)
                    row[here] = found
        return lengths, frequencies
