"""The sparse lane: dot products over shared tokens, added in ascending token order.

A product of two float32 is exact in float64; each addition is rounded on its own. A node takes part
when it shares a token with the query, whatever the sum.

Spec: retrieval 4.3.
"""

from __future__ import annotations

import numpy as np

from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top
from ibidem.retrieve.lexical import add_postings
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Ordinals, Rows
from ibidem.retrieve.scope import Universe

LANE = "sparse"


def rank_sparse(universe: Universe) -> LaneTop:
    """Returns the best nodes for the query's sparse vector."""
    query, snapshot = universe.query, universe.view.snapshot
    assert query.sparse is not None, "BUG: the sparse lane runs on a sparse vector"
    segments = snapshot.sparse(query.sparse.vocab)
    if not any(_holds_any(universe, segment.ordinals, segment.live) for segment in segments):
        return empty_top(LANE, LaneStatus.NO_VECTORS)
    ordinals: list[Ordinals] = []
    scores: list[Float64s] = []
    for segment in segments:
        rows: list[Rows] = []
        gains: list[Float64s] = []
        for token, weight in zip(query.sparse.tokens, query.sparse.weights, strict=True):
            found = segment.postings(token)
            if found is not None:
                rows.append(found[0])
                gains.append(found[1].astype(np.float64) * weight)
        if not rows:
            continue
        touched, values = add_postings(rows, gains, segment.ordinals.shape[0])
        mask = universe.scope.rows(segment)
        if mask is not None:
            keep = np.flatnonzero(mask[touched])
            touched, values = touched[keep], values[keep]
        ordinals.append(segment.ordinals[touched])
        scores.append(values + 0.0)
    found_ordinals, found_scores = best(snapshot, ordinals, scores, query.depth)
    return LaneTop(LANE, found_ordinals, found_scores)


def _holds_any(universe: Universe, ordinals: Ordinals, live: object) -> bool:
    """Returns whether a live row of the segment belongs to the view."""
    flags = universe.view.flags
    mask = np.ones(ordinals.shape[0], np.bool_) if live is None else np.asarray(live)
    return bool((mask if flags is None else mask & flags[ordinals]).any())
