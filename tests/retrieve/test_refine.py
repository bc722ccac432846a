"""What finer passes leave out is not among the best, whatever the rows."""

from __future__ import annotations

import numpy as np
import pytest

from ibidem.retrieve.dense import refine as module
from ibidem.retrieve.dense.bounds import Estimate, QuerySide
from ibidem.retrieve.dense.lane import canonical_scores
from ibidem.retrieve.dense.refine import Refinement
from ibidem.retrieve.dense.scan import Survivors

from .adversarial import METRICS, FloatSegment, adversarial, leaning


def everything(segments):
    """Returns all rows of some segments, as if the scan had left them."""
    kept = []
    for segment in segments:
        count = len(segment.rows)
        wide = Estimate(np.full(count, -np.inf), np.full(count, np.inf))
        kept.append(Survivors(segment, np.arange(count), wide))
    return kept


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", [1, 3, 64, 1041])
@pytest.mark.parametrize("kind", ["adversarial", "tame", "leaning"])
def test_the_best_are_left(metric, dim, kind):
    rng = np.random.default_rng(dim)
    rows = leaning(rng, dim) if kind == "leaning" else adversarial(rng, dim)
    if kind == "tame":
        with np.errstate(over="ignore"):
            norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))
        rows = rows[(norms == 0.0) | ((norms < 2.0**60) & (norms > 2.0**-60))]
    half = len(rows) // 2
    segments = [
        FloatSegment(rows[:half], np.arange(half, dtype=np.uint32)),
        FloatSegment(rows[half:], np.arange(half, len(rows), dtype=np.uint32)),
    ]
    for query in [row for row in rows[:: max(1, len(rows) // 8)] if row.any()]:
        scores = canonical_scores(rows, query, metric)
        for depth in (1, 10, 30):
            found = Refinement.of(everything(segments)).refine(QuerySide.of(query, metric), depth)
            best = np.flatnonzero(scores >= np.sort(scores)[-depth])
            assert set(best.tolist()) <= set(found.ordinals.tolist())


def test_float32_leaves_few_of_ordinary_rows(monkeypatch):
    """And float64 is not asked where it did."""
    monkeypatch.setattr(module, "scan_float64", None)
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((2_000, 64)).astype(np.float32)
    segment = FloatSegment(rows, np.arange(2_000, dtype=np.uint32))
    side = QuerySide.of(rng.standard_normal(64).astype(np.float32), "cosine")
    assert 10 <= Refinement.of(everything([segment])).refine(side, 10).size <= 12
