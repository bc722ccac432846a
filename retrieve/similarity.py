"""The similarity of two nodes: the canonical cosine if both have a vector of the query's model, and
the share of common terms otherwise.

Spec: retrieval 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ibidem.index.analysis import analyse, analyser_of, home_of
from ibidem.objects.node import Node
from ibidem.objects.text import node_text
from ibidem.retrieve import numbers
from ibidem.retrieve.numbers import Float32s, Float64s
from ibidem.retrieve.protocol import Ordinals, Snapshot

_CHUNK_TERMS = 1 << 15
"""The number of terms that are summed at a time, chosen to fit a processor's cache."""


class Likeness:
    """Similarities of some nodes of a snapshot, by position; texts are read only if vectors are
    missing."""

    def __init__(
        self,
        snapshot: Snapshot,
        model: str | None,
        ordinals: Ordinals,
        node: Callable[[int], tuple[Node, bytes | None]],
    ) -> None:
        """Prepares positions 0..n-1 of `ordinals`; `node` reads a node and its whole content."""
        self._snapshot = snapshot
        self._node = node
        self._terms: dict[int, frozenset[str]] = {}
        vectors = {} if model is None else _vectors(snapshot, model, ordinals)
        self._place = {position: index for index, position in enumerate(sorted(vectors))}
        self._cosines = cosines([vectors[position] for position in sorted(vectors)])

    def __call__(self, one: int, others: Sequence[int]) -> list[float]:
        """Returns the similarity of each of `others` to `one`."""
        row = self._cosines[self._place[one]].tolist() if one in self._place else None
        return [
            _jaccard(self._of(one), self._of(position))
            if row is None or position not in self._place
            else row[self._place[position]]
            for position in others
        ]

    def _of(self, position: int) -> frozenset[str]:
        found = self._terms.get(position)
        if found is None:
            config = self._snapshot.config
            node, content = self._node(position)
            text = node_text(node, config.fields, content)
            analyser = analyser_of(text, home_of(node.props, config.analyser))
            found = self._terms[position] = frozenset(analyse(text, analyser))
        return found


def cosines(rows: Sequence[Float32s]) -> Float64s:
    """Returns the canonical cosine of every pair of n vectors, (n, n) float64.

    Each pair is computed once: a product does not depend on the order of its factors.

    Spec: retrieval 4.2.
    """
    count = len(rows)
    found = np.zeros((count, count), np.float64)
    if count == 0:
        return found
    matrix = np.stack(rows).astype(np.float64)
    one, other = np.triu_indices(count)
    products = np.zeros(one.shape[0], np.float64)
    step = max(1, _CHUNK_TERMS // matrix.shape[1])
    for start in range(0, one.shape[0], step):
        part = slice(start, start + step)
        products[part] = numbers.sums(matrix[one[part]] * matrix[other[part]])
    norms = np.sqrt(products[one == other])
    scale = norms[one] * norms[other]
    np.divide(products, scale, out=products, where=scale > 0.0)
    products[scale == 0.0] = 0.0
    found[one, other] = found[other, one] = products + 0.0
    return found


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Returns the share of common terms, rounded once; 0.0 if neither has any."""
    together = len(one | other)
    return len(one & other) / together if together else 0.0


def _vectors(snapshot: Snapshot, model: str, ordinals: Ordinals) -> dict[int, Float32s]:
    """Returns the live vectors of a model by position, without the nodes that have none."""
    found: dict[int, Float32s] = {}
    for segment in snapshot.vectors(model):
        count = segment.ordinals.shape[0]
        if count == 0:
            continue
        rows = np.minimum(np.searchsorted(segment.ordinals, ordinals), count - 1)
        matches = segment.ordinals[rows] == ordinals
        if segment.live is not None:
            matches &= segment.live[rows]
        for position in np.flatnonzero(matches).tolist():
            found[position] = np.array(segment.rows[rows[position]], np.float32)
    return found
