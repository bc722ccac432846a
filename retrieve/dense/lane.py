"""The dense lane: exact nearest vectors by canonical score, found by passes that carry a proof.

From coarse to fine: eight-bit codes of all rows; float32 of what they leave, or of everything where
they can not tell rows apart; float64 where that leaves much; canonical scores of the rest. Each
pass bounds the canonical score of every row that it keeps, and leaves out only rows that are
provably not among the best (`scan.py`, `retrieve/dense/refine.py`, `bounds.py`). Queries of one
universe and model share the scan.

Spec: retrieval 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ibidem.objects.config import Model
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve import numbers
from ibidem.retrieve.dense.bounds import QuerySide
from ibidem.retrieve.dense.quantizers import CODES, FLOATS
from ibidem.retrieve.dense.refine import Refinement
from ibidem.retrieve.dense.scan import Survivors, scan
from ibidem.retrieve.dense.segment_query import SegmentRows
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lane import LaneStatus, LaneTop, best, has_rows
from ibidem.retrieve.numbers import Float32s, Float64s
from ibidem.retrieve.protocol import Ordinals, Snapshot, VectorSegment
from ibidem.retrieve.query.query import Query

LANE = "dense"
_FLOORS = {"cosine": -1.0, "dot": None, "euclidean": None}
_BATCH_MAX = 64
"""Queries that share a scan at most, which bounds what it keeps in memory."""
_FEW = 8
"""Below one member in so many rows, members are looked up one by one."""
_GATHER_SHARE = 6
"""Below one wanted row in so many, rows are gathered first and not masked after."""


def rank_dense(universe: Universe) -> LaneTop:
    """Returns the best nodes for the query's vector."""
    return rank_dense_many([universe])[0]


def rank_dense_many(universes: Sequence[Universe]) -> list[LaneTop]:
    """Returns the best nodes for the vector of each query; the same as one by one.

    Queries with one model over the same nodes share a scan.

    Args:
        universes: of one snapshot.
    """
    tops: dict[int, LaneTop] = {}
    for group in _groups(universes):
        found = _rank_group([universes[number] for number in group])
        tops.update(zip(group, found, strict=True))
    return [tops[number] for number in range(len(universes))]


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
    if metric == "dot":
        return numbers.dots(rows, query)
    products, squares = numbers.dots_and_squares(rows, query)
    wide = query.astype(np.float64)
    scale = np.sqrt(squares) * math.sqrt(math.fsum((wide * wide).tolist()))
    scores = np.zeros(products.shape[0], np.float64)
    np.divide(products, scale, out=scores, where=scale > 0.0)
    return scores + 0.0


def _groups(universes: Sequence[Universe]) -> list[list[int]]:
    """Returns the numbers of the universes, those with one model and the same nodes together."""
    groups: list[list[int]] = []
    for number, universe in enumerate(universes):
        for group in groups:
            first = universes[group[0]]
            if len(group) < _BATCH_MAX and _share(first, universe):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _share(one: Universe, other: Universe) -> bool:
    first, second = one.query.vector, other.query.vector
    assert first is not None, "BUG: the dense lane runs on a vector"
    assert second is not None, "BUG: the dense lane runs on a vector"
    if first.model != second.model or one.view is not other.view:
        return False
    return one.scope is other.scope or one.scope.members == other.scope.members


def _rank_group(universes: Sequence[Universe]) -> list[LaneTop]:
    """Returns the tops of queries with one scope and model."""
    first, queries = universes[0], [universe.query for universe in universes]
    snapshot = first.view.snapshot
    metric = check_model(snapshot, queries[0]).metric
    for query in queries[1:]:
        check_model(snapshot, query)
    vectors = [query.vector for query in queries if query.vector is not None]
    segments = snapshot.vectors(vectors[0].model)
    parts = _parts(first.scope, segments)
    sides = [QuerySide.of(vector.array(), metric) for vector in vectors]
    depths = [query.depth for query in queries]
    kept = _coarse(parts, sides, depths)
    tops: list[LaneTop] = []
    for number, (side, depth) in enumerate(zip(sides, depths, strict=True)):
        ordinals, scores = _scored(kept.pop(number), parts, side, depth)
        found, values = best(snapshot, ordinals, scores, depth)
        status = LaneStatus.OK
        if found.shape[0] == 0 and not has_rows(first.view, segments):
            status = LaneStatus.NO_VECTORS
        tops.append(LaneTop(LANE, found, values, status, _FLOORS[metric]))
    return tops


def _parts(scope: NodeSet, segments: Sequence[VectorSegment]) -> list[SegmentRows]:
    """Returns the rows of a scope, as positions where they are few."""
    parts: list[SegmentRows] = []
    for segment in segments:
        count = int(segment.ordinals.shape[0])
        if scope.hidden is None and len(scope.members) * _FEW < count:
            part = SegmentRows(segment, positions=scope.positions(segment))
        else:
            mask = scope.mask(segment)
            wanted = count if mask is None else int(np.count_nonzero(mask))
            if mask is None or wanted == count:
                part = SegmentRows(segment)
            elif wanted * _GATHER_SHARE < count:
                part = SegmentRows(segment, positions=np.flatnonzero(mask))
            else:
                part = SegmentRows(segment, mask=mask)
        if part.size:
            parts.append(part)
    return parts


def _coarse(
    parts: list[SegmentRows], sides: list[QuerySide], depths: list[int]
) -> dict[int, list[Survivors] | None]:
    """Returns by number of the query what can be among its best; None for a query without length,
    from which all rows have the same angle."""
    found: dict[int, list[Survivors] | None] = dict.fromkeys(range(len(sides)))
    for one in (CODES, FLOATS):
        left = [number for number, kept in found.items() if kept is None and sides[number].norm]
        if left:
            picked = [sides[number] for number in left], [depths[number] for number in left]
            found.update(zip(left, scan(parts, *picked, one, gives_up=one is CODES), strict=True))
    return found


def _scored(
    kept: list[Survivors] | None, parts: list[SegmentRows], side: QuerySide, depth: int
) -> tuple[list[Ordinals], list[Float64s]]:
    """Returns ordinals and canonical scores by segment; all of the best are there."""
    if kept is None:
        return _without_length(parts, side)
    if not kept:
        return [], []
    left = Refinement.of(kept).refined(side, depth)
    scores = [canonical_scores(rows, side.query, side.metric) for _, rows in left.rows()]
    return [left.ordinals], [np.concatenate(scores)]


def _without_length(
    parts: list[SegmentRows], side: QuerySide
) -> tuple[list[Ordinals], list[Float64s]]:
    """Returns ordinals and canonical scores for a zero vector: 0.0, or the negated square norms."""
    ordinals: list[Ordinals] = []
    scores: list[Float64s] = []
    for part in parts:
        at = part.positions if part.mask is None else np.flatnonzero(part.mask)
        found = part.segment.ordinals if at is None else part.segment.ordinals[at]
        values = np.zeros(found.shape[0], np.float64)
        if side.metric == "euclidean":
            rows = part.segment.rows if at is None else np.take(part.segment.rows, at, axis=0)
            values -= numbers.squares(rows)
        ordinals.append(found)
        scores.append(values + 0.0)
    return ordinals, scores
