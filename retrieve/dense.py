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
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ibidem.objects.config import Model
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve import bounds, numbers
from ibidem.retrieve.bounds import Estimate, QuerySide
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, empty_top
from ibidem.retrieve.numbers import Float32s, Float64s, kth_largest_at_most
from ibidem.retrieve.protocol import Ordinals, Snapshot, VectorSegment
from ibidem.retrieve.query import Query
from ibidem.retrieve.scope import Universe, cached

LANE = "dense"
_FLOORS = {"cosine": -1.0, "dot": None, "euclidean": None}
_GATHER_SHARE = 4
"""Below one wanted row in so many, rows are gathered first and not masked after."""
_REFINE_ROWS = 64
"""A second pass in float64 pays when so many more rows survive than are wanted."""

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows of one segment that are still in."""

    segment: VectorSegment
    positions: Positions | None
    """Which rows, ascending; None for all."""
    estimate: Estimate

    def position(self, index: Positions) -> Positions:
        """Returns the rows of candidates."""
        return index if self.positions is None else self.positions[index]

    def keep(self, least: float) -> Candidates:
        """Returns the candidates whose score may be `least` or more."""
        index = np.flatnonzero(self.estimate.upper >= least)
        return Candidates(self.segment, self.position(index), self.estimate.take(index))


def rank_dense(universe: Universe) -> LaneTop:
    """Returns the best nodes for the query's vector."""
    query, snapshot = universe.query, universe.view.snapshot
    assert query.vector is not None, "BUG: the dense lane runs on a vector"
    model = check_model(snapshot, query)
    floor = _FLOORS[model.metric]
    side = QuerySide.of(query.vector.array(), model.metric)
    scanned = _scan(universe, side)
    if scanned is None:
        return empty_top(LANE, LaneStatus.NO_VECTORS, floor=floor)
    survivors = _narrow(scanned, query.depth)
    if sum(part.estimate.size for part in survivors) > query.depth + _REFINE_ROWS:
        refined = [_refine(part, side) for part in survivors]
        survivors = _narrow(refined, query.depth)
    ordinals: list[Ordinals] = []
    scores: list[Float64s] = []
    for part in survivors:
        assert part.positions is not None, "BUG: narrowing leaves positions"
        ordinals.append(part.segment.ordinals[part.positions])
        scores.append(canonical_scores(part.segment.rows[part.positions], side.query, model.metric))
    found, values = best(snapshot, ordinals, scores, query.depth)
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


def _scan(universe: Universe, side: QuerySide) -> list[Candidates] | None:
    """Returns an estimate of every row of the universe, or None when the view has no vector at
    all."""
    query = universe.query
    assert query.vector is not None, "BUG: the dense lane runs on a vector"
    snapshot = universe.view.snapshot
    parts: list[Candidates] = []
    any_rows = False
    for index, segment in enumerate(snapshot.vectors(query.vector.model)):
        mask = universe.scope.rows(segment)
        norms = _norms(snapshot, query.vector.model, index, segment)
        count = norms.shape[0]
        wanted = count if mask is None else int(np.count_nonzero(mask))
        if universe.scope is universe.view:
            any_rows = any_rows or wanted > 0
        if wanted == 0:
            continue
        any_rows = True
        positions = None if mask is None else np.flatnonzero(mask)
        if positions is None or wanted * _GATHER_SHARE >= count:
            estimate = bounds.scan(segment.rows, norms, side)
            estimate = estimate if positions is None else estimate.take(positions)
        else:
            estimate = bounds.scan(segment.rows[positions], norms[positions], side)
        parts.append(Candidates(segment, positions, estimate))
    if not any_rows and not _view_has_rows(universe, query.vector.model):
        return None
    return parts


def _view_has_rows(universe: Universe, model: str) -> bool:
    for segment in universe.view.snapshot.vectors(model):
        mask = universe.view.rows(segment)
        if segment.ordinals.shape[0] if mask is None else mask.any():
            return True
    return False


def _narrow(parts: list[Candidates], depth: int) -> list[Candidates]:
    """Returns what can still be among the best `depth`."""
    if not parts:
        return parts
    lower = np.concatenate([part.estimate.lower for part in parts])
    least = kth_largest_at_most(lower, depth)
    return [part.keep(least) for part in parts]


def _refine(part: Candidates, side: QuerySide) -> Candidates:
    """Returns the same rows with float64 estimates, whose slack is a billion times smaller."""
    assert part.positions is not None, "BUG: narrowing leaves positions"
    estimate = bounds.scan_float64(part.segment.rows[part.positions], side)
    return Candidates(part.segment, part.positions, estimate)


def _norms(snapshot: Snapshot, model: str, index: int, segment: VectorSegment) -> Float64s:
    """Returns the segment's column of norms, or computes it once a snapshot."""
    column: Float64s | None = getattr(segment, "norms", None)
    if column is not None:
        return column
    return cached(snapshot, ("norms", model, index), lambda: bounds.norms(segment.rows))
