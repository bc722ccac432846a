"""Canonical numbers against exact arithmetic."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.retrieve import logarithm, numbers

FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


def exact_dot(row, query):
    return float(
        sum((Fraction(x) * Fraction(q) for x, q in zip(row, query, strict=True)), Fraction(0))
    )


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_dot_products_are_correctly_rounded_sums(data):
    """[2.4-a]"""
    dim = data.draw(st.integers(1, 12))
    rows = data.draw(
        st.lists(st.lists(FLOAT32, min_size=dim, max_size=dim), min_size=1, max_size=4)
    )
    query = data.draw(st.lists(FLOAT32, min_size=dim, max_size=dim))
    found = numbers.dots(np.array(rows, np.float32), np.array(query, np.float32))
    assert found.tolist() == [exact_dot(row, query) for row in rows]


@pytest.mark.parametrize("dim", [1, 2, 3, 63, 64, 384, 4096])
def test_dot_products_of_every_size_match_fsum_under_cancellation(dim):
    """[2.4-a]"""
    rng = np.random.default_rng(dim)
    rows = rng.standard_normal((7, dim)).astype(np.float32)
    rows *= np.float32(2.0) ** rng.integers(-60, 60, (7, dim)).astype(np.float32)
    rows[1] = 0.0
    rows[2, dim // 2 :] = -rows[2, : dim - dim // 2]
    query = np.ones(dim, np.float32)
    products = rows.astype(np.float64) * query.astype(np.float64)
    assert numbers.dots(rows, query).tolist() == [math.fsum(row) for row in products.tolist()]


@pytest.mark.parametrize("dim", [1, 2, 17, 384, 1041])
def test_products_and_squares_made_together_are_those_of_one_rounding(dim):
    """[2.4-a] Near-ties, cancellation, integers, and components and norms of every size."""
    rng = np.random.default_rng(dim)
    rows = rng.standard_normal((90, dim)) * 10.0 ** rng.integers(-44, 36, (90, 1))
    rows[::3] *= 2.0 ** rng.integers(-40, 3, (30, dim))
    rows[1::5, dim // 2 :] = -rows[1::5, : dim - dim // 2]
    rows[2::6] = rng.integers(-8, 9, (15, dim))
    rows[7] = 0.0
    rows = rows.astype(np.float32)
    wide = rows.astype(np.float64)
    for query in (rows[0], rows[2], rows[7], rows[11], np.ones(dim, np.float32)):
        found = numbers.dots_and_squares(rows, query)
        for values, factors in zip(found, (query.astype(np.float64), wide), strict=True):
            assert values.tolist() == [math.fsum(row) for row in (wide * factors).tolist()]
            assert not np.signbit(values[values == 0.0]).any()
        assert numbers.dots(rows, query).tobytes() == found[0].tobytes()
        assert numbers.squares(rows).tobytes() == found[1].tobytes()


def test_sums_at_the_middle_between_two_numbers_round_to_even():
    """[2.4-a]"""
    big, half = 2.0**60, 2.0**7
    terms = np.array([[big, big, big + 2 * half], [half, half, half], [0.0, 2.0**-90, 0.0]])
    assert numbers.sums(terms.T).tolist() == [math.fsum(column) for column in terms.T.tolist()]


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(FLOAT32, min_size=1, max_size=9))
def test_squared_distances_are_one_correctly_rounded_sum(values):
    """[4.2-a]"""
    row = np.array([values], np.float32)
    query = np.array(values[::-1], np.float32)
    exact = sum((Fraction(x) - Fraction(q)) ** 2 for x, q in zip(values, values[::-1], strict=True))
    assert numbers.squared_distances(row, query)[0] == float(exact)


def test_sums_never_give_a_negative_zero():
    """[2.2-a]"""
    found = numbers.dots(np.array([[-0.0, 0.0]], np.float32), np.array([1.0, -1.0], np.float32))
    assert math.copysign(1.0, found[0]) == 1.0


@given(st.integers(1, 10**12), st.integers(1, 10**12))
@settings(max_examples=examples(60), deadline=None)
def test_logarithms_are_rounded_once(numerator, denominator):
    """[2.3-a]"""
    with decimal.localcontext(decimal.Context(prec=80)):
        expected = float((decimal.Decimal(numerator) / decimal.Decimal(denominator)).ln())
    assert numbers.ln_ratio(numerator, denominator) == expected


def test_logarithms_and_exponentials_ignore_the_context_of_the_thread():
    """[2.1-a] [2.3-b]"""
    expected = numbers.ln(0.1), numbers.exp(-3.7), numbers.ln_ratio(7, 3)
    numbers.ln_ratio.cache_clear()
    narrow = decimal.Context(prec=3, rounding=decimal.ROUND_UP, traps=[decimal.Inexact])
    with decimal.localcontext(narrow):
        assert (numbers.ln(0.1), numbers.exp(-3.7), numbers.ln_ratio(7, 3)) == expected


positive = st.one_of(
    st.integers(1, 300), st.integers(1, 2**24), st.integers(1, 2**200), st.just(2**20_000)
)


@given(positive, positive, st.integers(-3, 3))
def test_a_logarithm_in_fixed_point_is_that_of_fifty_digits(numerator, denominator, near):
    for other in (denominator, max(1, numerator + near)):
        found = logarithm.ln_quotient(numerator, other)
        if found is not None:
            assert found == numbers.ln_decimal(numerator, other)
        else:
            assert abs(numerator - other) << 50 < other, "only near ln 1 it is not decided"


def test_a_logarithm_that_is_not_decided_is_made_from_fifty_digits(monkeypatch):
    monkeypatch.setattr(numbers, "ln_quotient", lambda *_: None)
    numbers.ln_ratio.cache_clear()
    assert numbers.ln_ratio(8, 3) == 0.9808292530117262
    assert logarithm.ln_quotient(1 << 70_000, 1) is None


def test_equal_scores_are_ordered_by_every_byte_of_the_id():
    """[2.5-a]"""
    ids = np.zeros((4, 16), np.uint8)
    ids[0, 15], ids[1, 0], ids[2, 7] = 1, 255, 128
    assert numbers.rank(np.array([1.0, 1.0, 1.0, 2.0]), ids).tolist() == [3, 0, 2, 1]


@given(st.lists(st.integers(-50, 50), max_size=2000), st.integers(1, 40))
@settings(max_examples=examples(60), deadline=None)
def test_a_lower_bound_of_the_kth_largest_is_reached_by_k_values(values, count):
    array = np.array(values, np.float64)
    least = numbers.kth_largest_at_most(array, count)
    assert (array >= least).sum() >= min(count, len(values))
    if len(values) >= count:
        assert least <= sorted(values, reverse=True)[count - 1]
