"""The dense lane: the `depth` vectors nearest to the query's, exactly.

Problem: score n vectors of d components against a query, with the same float64 result on every
machine, without n x d float64 operations. Idea: estimate all scores cheaply with a *proven* error
bound, and spend exact arithmetic only on rows whose interval reaches the depth-th best lower end
(filter and refine). From coarse to fine:

1. eight-bit codes of all rows, one byte a component (`scan.py`, `quantizers.py`); where codes
   cannot tell rows apart, as among near-duplicates, float32 of all rows instead;
2. float32, then float64, of the rows that are left (`refine.py`, `bounds.py`);
3. canonical scores, correctly rounded sums, of the few that are then left.

Invariant: a row is left out only if its upper bound is strictly below a score that `depth` rows
provably reach, so no answer depends on the passes, libraries, threads or instruction sets.
`docs/design/dense.md` explains the lane on one page.

Cost: one read of n x d bytes, shared by the queries of a batch, plus work on some hundred rows.
Paper: Weber, Schek and Blott, "A quantitative analysis and performance study for similarity-search
methods in high-dimensional spaces" (1998): the VA-file, a scan of quantised vectors with bounds,
followed by exact distances.

Spec: retrieval 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ibidem.objects.config import Model
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve import numbers
from ibidem.retrieve.dense import tuning
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
FLOORS = {"cosine": -1.0, "dot": None, "euclidean": None}
"""By metric, the lowest score that there is; None if there is no such bound."""


def rank_dense(universe: Universe) -> LaneTop:
    """Returns the best `query.depth` nodes for the query's vector."""
    return rank_dense_many([universe])[0]


def rank_dense_many(universes: Sequence[Universe]) -> list[LaneTop]:
    """Returns the best nodes for the vector of each query; the same as one by one.

    Queries with one model over the same nodes share a scan.

    Args:
        universes: of one snapshot, each with a query that has a vector.
    """
    tops: dict[int, LaneTop] = {}
    for group in _groups(universes):
        found = _rank_group([universes[number] for number in group])
        tops.update(zip(group, found, strict=True))
    return [tops[number] for number in range(len(universes))]


def check_model(snapshot: Snapshot, query: Query, label: str = "vector") -> Model:
    """Returns the query vector's model; `label` names the vector in errors.

    Raises:
        InvalidInputError: the root does not know the model, or it has another dimension.
    """
    assert query.vector is not None, "BUG: only a query with a vector has a model"
    models, name = snapshot.config.models, query.vector.model
    model = models.get(name)
    if model is None:
        known = ", ".join(sorted(models)) or "none"
        raise InvalidInputError(
            f"{label}: got the model {name!r}, expected one of this root's: {known}",
            kind=ErrorKind.UNKNOWN_MODEL,
        )
    if model.dim != query.vector.dim:
        raise InvalidInputError(
            f"{label}: got {query.vector.dim} components, expected {model.dim}, as {name!r} has",
            kind=ErrorKind.DIMENSION_MISMATCH,
        )
    return model


def canonical_scores(rows: Float32s, query: Float32s, metric: str) -> Float64s:
    """Returns the (n,) float64 scores that the spec defines for (n, d) float32 rows and a (d,)
    query.

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
    """Returns indices of the universes, grouped by model and node set."""
    groups: list[list[int]] = []
    for number, universe in enumerate(universes):
        for group in groups:
            first = universes[group[0]]
            if len(group) < tuning.BATCH_QUERIES_MAX and _can_share(first, universe):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _can_share(one: Universe, other: Universe) -> bool:
    first, second = one.query.vector, other.query.vector
    assert first is not None, "BUG: the dense lane runs on a vector"
    assert second is not None, "BUG: the dense lane runs on a vector"
    if first.model != second.model or one.view is not other.view:
        return False
    return one.nodes is other.nodes or one.nodes.members == other.nodes.members


def _rank_group(universes: Sequence[Universe]) -> list[LaneTop]:
    """Returns the best nodes of each query; all have one model and one set of nodes."""
    first, queries = universes[0], [universe.query for universe in universes]
    snapshot = first.view.snapshot
    metric = check_model(snapshot, queries[0]).metric
    for query in queries[1:]:
        check_model(snapshot, query)
    vectors = [query.vector for query in queries if query.vector is not None]
    segments = snapshot.vectors(vectors[0].model)
    parts = _parts(first.nodes, segments)
    sides = [QuerySide.of(vector.array(), metric) for vector in vectors]
    depths = [query.depth for query in queries]
    survivors = _scan_passes(parts, sides, depths)
    tops: list[LaneTop] = []
    for number, (side, depth) in enumerate(zip(sides, depths, strict=True)):
        ordinals, scores = _canonical(survivors.pop(number), parts, side, depth)
        found, values = best(snapshot, ordinals, scores, depth)
        status = LaneStatus.OK
        if found.shape[0] == 0 and not has_rows(first.view, segments):
            status = LaneStatus.NO_VECTORS
        tops.append(LaneTop(LANE, found, values, status, FLOORS[metric]))
    return tops


def _parts(scope: NodeSet, segments: Sequence[VectorSegment]) -> list[SegmentRows]:
    """Returns a node set's rows by segment: all, masked, or as positions where they are few."""
    parts: list[SegmentRows] = []
    for segment in segments:
        count = int(segment.ordinals.shape[0])
        if scope.hidden is None and len(scope.members) * tuning.LOOKUP_SHARE < count:
            part = SegmentRows(segment, positions=scope.positions(segment))
        else:
            mask = scope.mask(segment)
            wanted = count if mask is None else int(np.count_nonzero(mask))
            if mask is None or wanted == count:
                part = SegmentRows(segment)
            elif wanted * tuning.GATHER_SHARE < count:
                part = SegmentRows(segment, positions=np.flatnonzero(mask))
            else:
                part = SegmentRows(segment, mask=mask)
        if part.size:
            parts.append(part)
    return parts


def _scan_passes(
    parts: list[SegmentRows], sides: list[QuerySide], depths: list[int]
) -> dict[int, list[Survivors] | None]:
    """Returns, by index of the query, the rows that can be among its best.

    None for a zero query, for which no pass is needed.
    """
    found: dict[int, list[Survivors] | None] = dict.fromkeys(range(len(sides)))
    for quantizer in (CODES, FLOATS):
        pending = [
            number
            for number, survivors in found.items()
            if survivors is None and sides[number].norm
        ]
        if pending:
            survivors = scan(
                parts,
                [sides[number] for number in pending],
                [depths[number] for number in pending],
                quantizer,
                may_give_up=quantizer is CODES,
            )
            found.update(zip(pending, survivors, strict=True))
    return found


def _canonical(
    survivors: list[Survivors] | None, parts: list[SegmentRows], side: QuerySide, depth: int
) -> tuple[list[Ordinals], list[Float64s]]:
    """Returns ordinals and canonical scores of rows that include all of the best."""
    if survivors is None:
        return _scores_of_zero_query(parts, side)
    if not survivors:
        return [], []
    remaining = Refinement.of(survivors).refine(side, depth)
    scores = [canonical_scores(rows, side.query, side.metric) for _, rows in remaining.rows()]
    return [remaining.ordinals], [np.concatenate(scores)]


def _scores_of_zero_query(
    parts: list[SegmentRows], side: QuerySide
) -> tuple[list[Ordinals], list[Float64s]]:
    """Returns ordinals and canonical scores of all rows for a zero query: 0.0 each, or for
    Euclidean distance the negated squared norms.
    """
    ordinals: list[Ordinals] = []
    scores: list[Float64s] = []
    for part in parts:
        positions = part.positions if part.mask is None else np.flatnonzero(part.mask)
        found = part.segment.ordinals if positions is None else part.segment.ordinals[positions]
        values = np.zeros(found.shape[0], np.float64)
        if side.metric == "euclidean":
            rows = part.segment.rows[:] if positions is None else part.segment.rows[positions]
            values -= numbers.squares(rows)
        ordinals.append(found)
        scores.append(values + 0.0)
    return ordinals, scores
