"""How alike two nodes are: the canonical cosine where both have a vector of the query's model, and
the share of common terms otherwise.

Spec: retrieval 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ibidem.index.analysis import analyse
from ibidem.objects.node import Node
from ibidem.objects.text import node_text
from ibidem.retrieve.dense import canonical_scores
from ibidem.retrieve.numbers import Float32s
from ibidem.retrieve.protocol import Ordinals, Snapshot


class Likeness:
    """Similarities of some nodes of a snapshot, by place; texts are read only where vectors
    lack."""

    def __init__(
        self,
        snapshot: Snapshot,
        model: str | None,
        ordinals: Ordinals,
        node: Callable[[int], tuple[Node, bytes | None]],
    ) -> None:
        """Prepares the places 0..n-1 of `ordinals`; `node` reads a node and its whole content."""
        self._snapshot = snapshot
        self._node = node
        self._terms: dict[int, frozenset[str]] = {}
        self._vectors = {} if model is None else _vectors(snapshot, model, ordinals)

    def __call__(self, one: int, others: Sequence[int]) -> list[float]:
        """Returns how like each of `others` is to `one`."""
        known = [place for place in others if place in self._vectors]
        found: dict[int, float] = {}
        if one in self._vectors and known:
            rows = np.stack([self._vectors[place] for place in known])
            scores = canonical_scores(rows, self._vectors[one], "cosine")
            found = dict(zip(known, scores.tolist(), strict=True))
        return [
            found[place] if place in found else _jaccard(self._of(one), self._of(place))
            for place in others
        ]

    def _of(self, place: int) -> frozenset[str]:
        found = self._terms.get(place)
        if found is None:
            config = self._snapshot.config
            node, content = self._node(place)
            text = node_text(node, config.fields, content)
            found = self._terms[place] = frozenset(analyse(text, config.analyser))
        return found


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Returns the share of common terms, rounded once; 0.0 where neither has any."""
    together = len(one | other)
    return len(one & other) / together if together else 0.0


def _vectors(snapshot: Snapshot, model: str, ordinals: Ordinals) -> dict[int, Float32s]:
    """Returns the live vectors of a model by place, without the nodes that have none."""
    found: dict[int, Float32s] = {}
    for segment in snapshot.vectors(model):
        count = segment.ordinals.shape[0]
        if count == 0:
            continue
        rows = np.minimum(np.searchsorted(segment.ordinals, ordinals), count - 1)
        hits = segment.ordinals[rows] == ordinals
        if segment.live is not None:
            hits &= segment.live[rows]
        for place in np.flatnonzero(hits).tolist():
            found[place] = np.array(segment.rows[rows[place]], np.float32)
    return found
