"""Every canonical score lies in its interval, whatever the data and the order of summation."""

from __future__ import annotations

import numpy as np
import pytest

from ibidem.retrieve.dense import bounds
from ibidem.retrieve.dense.bounds import QuerySide
from ibidem.retrieve.dense.kernel import float_products
from ibidem.retrieve.dense.lane import canonical_scores

from .adversarial import METRICS, adversarial

DIMS = (1, 2, 3, 17, 64, 384, 1023, 4096)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", DIMS)
def test_float64_intervals_hold_the_canonical_score(metric, dim):
    rows = adversarial(np.random.default_rng(dim), dim)
    for query in (rows[0], rows[45], rows[85], rows[-1], np.zeros(dim, np.float32)):
        scores = canonical_scores(rows, query, metric)
        estimate = bounds.scan_float64(rows, QuerySide.of(query, metric))
        assert (estimate.lower <= scores).all()
        assert (scores <= estimate.upper).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", DIMS)
def test_float32_intervals_hold_the_canonical_score(metric, dim):
    rows = adversarial(np.random.default_rng(dim), dim)
    norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))
    tame = (norms == 0.0) | ((norms <= 2.0**60) & (norms >= 2.0**-60))
    rows, norms = rows[tame], norms[tame]
    for query in (rows[0], rows[45], rows[-1], np.float32(2.0**100) * np.sign(rows[0])):
        side = QuerySide.of(query, metric)
        scores = canonical_scores(rows, query, metric)
        for products in (float_products(side.scaled[None, :])(rows), rows @ side.scaled[:, None]):
            estimate = bounds.scan_float32(products, norms, side)
            assert (estimate.lower <= scores).all()
            assert (scores <= estimate.upper).all()


@pytest.mark.parametrize("dim", [3, 384])
def test_intervals_of_ordinary_rows_are_narrow(dim):
    rows = np.random.default_rng(1).standard_normal((50, dim)).astype(np.float32)
    estimate = bounds.scan_float64(rows, QuerySide.of(rows[0], "cosine"))
    assert float((estimate.upper - estimate.lower).max()) < 1e-10
