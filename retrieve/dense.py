"""The dense lane: exact nearest vectors by canonical score, found by a fast pass that carries a
proof.

The fast pass is a float32 product over whole segments, in whatever order a BLAS likes. Each row's
canonical score lies within a slack of its estimate (`bounds.py`, any order of summation, with or
without fused multiply-add or flush to zero), so every row that could be among the best survives and
is scored exactly. Where the estimate overflowed or says nothing, the row survives.

Spec: retrieval 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ibidem.objects.config import Model
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve import bounds, numbers
from ibidem.retrieve.bounds import Estimate, Norms, Positions, QuerySide
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top, has_rows
from ibidem.retrieve.numbers import Float32s, Float64s, kth_largest_at_most
from ibidem.retrieve.protocol import Ordinals, Snapshot, VectorSegment
from ibidem.retrieve.query import Query
from ibidem.retrieve.scope import Universe

LANE = "dense"
_FLOORS = {"cosine": -1.0, "dot": None, "euclidean": None}
_GATHER_SHARE = 6
"""Below one wanted row in so many, rows are gathered first and not masked after."""
_REFINE_ROWS = 64
"""A second pass in float64 pays when so many more rows survive than are wanted."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows of one segment that are still in."""

    segment: VectorSegment
    positions: Positions | None
    """Which rows, ascending; None for all."""
    estimate: Estimate

    def keep(self, least: float) -> Candidates:
        """Returns the candidates whose score may be `least` or more."""
        index = np.flatnonzero(self.estimate.upper >= least)
        positions = index if self.positions is None else self.positions[index]
        return Candidates(self.segment, positions, self.estimate.take(index))


def rank_dense(universe: Universe) -> LaneTop:
    """Returns the best nodes for the query's vector."""
    query, snapshot = universe.query, universe.view.snapshot
    assert query.vector is not None, "BUG: the dense lane runs on a vector"
    model = check_model(snapshot, query)
    floor = _FLOORS[model.metric]
    side = QuerySide.of(query.vector.array(), model.metric)
    segments = snapshot.vectors(query.vector.model)
    survivors = _narrow(_scan(universe, segments, side), query.depth)
    if sum(part.estimate.size for part in survivors) > query.depth + _REFINE_ROWS:
        survivors = _narrow([_refine(part, side) for part in survivors], query.depth)
    ordinals: list[Ordinals] = []
    scores: list[Float64s] = []
    for part in survivors:
        assert part.positions is not None, "BUG: narrowing leaves positions"
        ordinals.append(part.segment.ordinals[part.positions])
        rows = np.take(part.segment.rows, part.positions, axis=0)
        scores.append(canonical_scores(rows, side.query, model.metric))
    found, values = best(snapshot, ordinals, scores, query.depth)
    if found.shape[0] == 0 and not has_rows(universe.view, segments):
        return empty_top(LANE, LaneStatus.NO_VECTORS, floor=floor)
    return LaneTop(LANE, found, values, LaneStatus.OK, floor)


def check_model(snapshot: Snapshot, query: Query) -> Model:
    """Returns the query vector's model.

    Raises:
        InvalidInputError: the root does not know the model, or it has another dimension.
    """
    assert query.vector is not None, "BUG: only a query with a vector has a model"
    models, name = snapshot.config.models, query.vector.model
    model = models.get(name)
    if model is None:
        known = ", ".join(sorted(models)) or "none"
        raise InvalidInputError(
            f"vector: got the model {name!r}, expected one of this root's: {known}",
            kind=ErrorKind.UNKNOWN_MODEL,
        )
    if model.dim != query.vector.dim:
        raise InvalidInputError(
            f"vector: got {query.vector.dim} components, expected {model.dim}, as {name!r} has",
            kind=ErrorKind.DIMENSION_MISMATCH,
        )
    return model


def canonical_scores(rows: Float32s, query: Float32s, metric: str) -> Float64s:
    """Returns the scores that the spec defines: (n, d) float32 to (n,) float64.

    Spec: retrieval 4.2.
    """
    if metric == "euclidean":
        return 0.0 - numbers.squared_distances(rows, query)
    products = numbers.dots(rows, query)
    if metric == "dot":
        return products
    query_norm = math.sqrt(float(numbers.squares(query[None, :])[0]))
    scale = np.sqrt(numbers.squares(rows)) * query_norm
    scores = np.zeros(products.shape[0], np.float64)
    np.divide(products, scale, out=scores, where=scale > 0.0)
    return scores + 0.0


def _scan(
    universe: Universe, segments: Sequence[VectorSegment], side: QuerySide
) -> list[Candidates]:
    """Returns an estimate of every row of the universe."""
    parts: list[Candidates] = []
    for segment in segments:
        count = segment.ordinals.shape[0]
        positions = universe.scope.positions(segment)
        wanted = count if positions is None else positions.shape[0]
        if wanted == 0:
            continue
        norms = _norms(segment)
        if positions is not None and wanted * _GATHER_SHARE < count:
            estimate = bounds.scan_some(segment.rows, positions, norms, side)
        else:
            estimate = bounds.scan(segment.rows, norms, side)
            estimate = estimate if positions is None else estimate.take(positions)
        parts.append(Candidates(segment, positions, estimate))
    return parts


def _narrow(parts: list[Candidates], depth: int) -> list[Candidates]:
    """Returns what can still be among the best `depth`."""
    if not parts:
        return parts
    lowers = [part.estimate.lower for part in parts]
    lower = lowers[0] if len(lowers) == 1 else np.concatenate(lowers)
    least = kth_largest_at_most(lower, depth)
    return [part.keep(least) for part in parts]


def _refine(part: Candidates, side: QuerySide) -> Candidates:
    """Returns the same rows with float64 estimates, whose slack is a million times smaller."""
    assert part.positions is not None, "BUG: narrowing leaves positions"
    rows = np.take(part.segment.rows, part.positions, axis=0)
    return Candidates(part.segment, part.positions, bounds.scan_float64(rows, side))


def _norms(segment: VectorSegment) -> Norms:
    """Returns the norms of a segment's rows, from its column or computed once a segment."""
    found: Norms | None = segment.cache.get("retrieve.norms")
    if found is None:
        column: Float64s | None = getattr(segment, "norms", None)
        found = Norms.of(bounds.norms(segment.rows) if column is None else column)
        segment.cache["retrieve.norms"] = found
    return found
