"""The sparse lane: dot products over shared tokens, added in ascending token order.

A product of two float32 is exact in float64; each addition is rounded on its own. A node takes part
when it shares a token with the query, whatever the sum.

Spec: retrieval 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import firsts
from ibidem.retrieve.filter import Universe
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top, has_rows
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Ordinals, Rows, Segment

LANE = "sparse"
_SPARSE_SHARE = 16
"""If less than one in this many rows has a posting, only the touched rows are summed instead of a
whole column."""


class SparseSegment(Segment, Protocol):
    """Postings of the tokens of one vocabulary."""

    def postings(self, token: int) -> tuple[Rows, npt.NDArray[np.float32]] | None:
        """Returns (rows ascending, weights), or None for a token that no row has."""


def rank_sparse(universe: Universe) -> LaneTop:
    """Returns the best nodes for the query's sparse vector."""
    query, snapshot = universe.query, universe.view.snapshot
    assert query.sparse is not None, "BUG: the sparse lane runs on a sparse vector"
    segments: Sequence[SparseSegment] = snapshot.segments(LANE, query.sparse.vocab)
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
        touched, values = _add_postings(
            np.concatenate(rows), np.concatenate(gains), segment.ordinals.shape[0]
        )
        keep = universe.nodes.keep(segment, touched)
        if keep is not None:
            touched, values = touched[keep], values[keep]
        ordinals.append(segment.ordinals[touched])
        scores.append(values + 0.0)
    found_ordinals, found_scores = best(snapshot, ordinals, scores, query.depth)
    if found_ordinals.shape[0] == 0 and not has_rows(universe.view, segments):
        return empty_top(LANE, LaneStatus.NO_VECTORS)
    return LaneTop(LANE, found_ordinals, found_scores)


def _add_postings(touched: Rows, gain: Float64s, row_count: int) -> tuple[Rows, Float64s]:
    """Returns the distinct rows, ascending, with their gains added in list order, from 0.0 on.

    `bincount` is a plain loop over its input, so the order of addition is the order of the lists.
    """
    if touched.shape[0] * _SPARSE_SHARE < row_count:
        order = touched.argsort(kind="stable")
        ascending = touched[order]
        first = firsts(ascending)
        where = np.empty(touched.shape[0], np.intp)
        where[order] = first.cumsum() - 1
        return ascending[first], _sums(where, gain, 0)
    sums = _sums(touched, gain, row_count)
    flags = np.zeros(row_count, np.bool_)
    flags[touched] = True
    distinct = np.flatnonzero(flags).astype(np.uint32)
    return distinct, sums[distinct]


def _sums(rows: npt.NDArray[np.integer], gain: Float64s, least: int) -> Float64s:
    return np.asarray(np.bincount(rows, weights=gain, minlength=least), np.float64)
