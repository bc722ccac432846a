"""Thresholds that follow from candidates are reached by as many rows as are wanted."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.retrieve.dense.candidates import Candidates


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 30)), min_size=1, max_size=5),
    st.integers(0, 2**32),
)
def test_a_threshold_is_reached_by_as_many_candidates_as_are_wanted(sizes, seed):
    random = np.random.default_rng(seed)
    lowers = [random.integers(-9, 9, size).astype(np.float64) for size, _ in sizes]
    depths = np.array([depth for _, depth in sizes], np.intp)
    query = np.repeat(np.arange(len(sizes), dtype=np.int16), [size for size, _ in sizes])
    lower = np.concatenate(lowers)
    candidates = Candidates(np.arange(len(lower)), query, lower, lower + 1.0)
    queries, thresholds = candidates.thresholds(depths)
    found = dict(zip(queries.tolist(), thresholds.tolist(), strict=True))
    for number, depth in enumerate(depths.tolist()):
        bound = found.get(number, -np.inf)
        assert np.isneginf(bound) or np.count_nonzero(lowers[number] >= bound) >= depth


def test_a_threshold_of_many_candidates_is_near_the_wanted_value():
    lower = np.random.default_rng(1).permutation(20_000).astype(np.float64)
    candidates = Candidates(np.arange(20_000), np.zeros(20_000, np.int16), lower, lower)
    _, (threshold,) = candidates.thresholds(np.array([100]))
    assert 19_800 < threshold <= 19_900
