"""Every canonical score lies in its interval, whatever the data and the order of summation."""

from __future__ import annotations

import numpy as np
import pytest

from ibidem.retrieve import bounds
from ibidem.retrieve.bounds import Norms, QuerySide
from ibidem.retrieve.dense import canonical_scores

METRICS = ("cosine", "dot", "euclidean")
DIMS = (1, 2, 3, 17, 64, 384, 1023, 4096)


def adversarial(rng, dim):
    """Rows of every kind that has broken a bound somewhere: (n, d) float32."""
    plain = rng.standard_normal((40, dim))
    rows = [
        plain,
        plain * 1e-30,
        plain * 1e30,
        np.sign(plain) * 3.4e38,
        np.zeros((2, dim)),
        np.full((2, dim), 1e-45),
        plain * 1e-41,
        np.ones((3, dim)),
        plain[:1] + rng.standard_normal((20, dim)) * 1e-7,
        plain * 2.0 ** rng.integers(-120, 120, (40, dim)),
    ]
    with np.errstate(over="ignore"):
        array = np.concatenate(rows).astype(np.float32)
    return array[np.isfinite(array).all(axis=1)]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", DIMS)
def test_intervals_hold_the_canonical_score(metric, dim):
    rng = np.random.default_rng(dim)
    rows = adversarial(rng, dim)
    norms = Norms.of(bounds.norms(rows))
    for query in (rows[0], rows[45], rows[85], rows[-1], np.zeros(dim, np.float32)):
        side = QuerySide.of(query, metric)
        scores = canonical_scores(rows, query, metric)
        everything = np.arange(rows.shape[0])
        for estimate in (
            bounds.scan(rows, norms, side),
            bounds.scan(np.asfortranarray(rows), norms, side),  # not by simsimd
            bounds.scan_some(rows, everything, norms, side),
            bounds.scan_float64(rows, side),
        ):
            assert (estimate.lower <= scores).all()
            assert (scores <= estimate.upper).all()


@pytest.mark.parametrize("dim", [3, 384])
def test_intervals_of_ordinary_rows_are_narrow(dim):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((50, dim)).astype(np.float32)
    side = QuerySide.of(rows[0], "cosine")
    estimate = bounds.scan(rows, Norms.of(bounds.norms(rows)), side)
    assert float((estimate.upper - estimate.lower).max()) < 2.2 * (dim + 2) * 2.0**-24
    refined = bounds.scan_float64(rows, side)
    assert float((refined.upper - refined.lower).max()) < 1e-10


def test_norms_are_zero_for_zero_vectors_only():
    rows = np.array([[0.0, 0.0], [1e-45, 0.0], [3e38, 3e38]], np.float32)
    assert (bounds.norms(rows) == 0.0).tolist() == [True, False, False]
