"""Canonical numbers: the few operations that determine an answer, with the same bytes on every
machine.

Everything here is float64 with one stated rounding per operation. `ln` and `exp` run in an explicit
50-digit decimal context and are rounded once. A dot product is the correctly rounded sum of
products that are exact, so neither the order of summation nor fused multiply-add nor a BLAS can
change it. Numpy's transcendental functions and default sorts are absent on purpose, because their
results depend on the CPU.

Spec: retrieval 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.retrieve.logarithm import context, ln_quotient

Float64s = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]
Ids = npt.NDArray[np.uint8]

DIGITS = 50
"""Decimal digits that `ln` and `exp` carry before their one rounding to float64."""

UNIT_64 = 2.0**-53
"""Unit roundoff of float64."""

UNIT_32 = 2.0**-24
"""Unit roundoff of float32."""

_CHUNK_TERMS = 1 << 14
"""The number of terms summed at a time: 128 kB, which fit into a cache near the core, and for which
the allocator does not call the system each time."""


@lru_cache(maxsize=65_536)
def ln_ratio(numerator: int, denominator: int) -> float:
    """Returns ln(numerator / denominator) rounded once to float64; both are positive integers.

    The quotient is rounded to 50 digits, its logarithm is correctly rounded to 50 digits.

    Spec: retrieval 2.3.

    >>> ln_ratio(8, 3)
    0.9808292530117262
    """
    found = ln_quotient(numerator, denominator)
    return ln_decimal(numerator, denominator) if found is None else found


def ln_decimal(numerator: int, denominator: int) -> float:
    """Returns the result of `ln_ratio`, computed by its definition."""
    decimals = context(DIGITS)
    quotient = decimals.divide(Decimal(numerator), Decimal(denominator))
    return float(quotient.ln(decimals))


def ln(value: float) -> float:
    """Returns the natural logarithm of a positive float64, rounded once.

    Spec: retrieval 2.3.

    >>> ln(2.0)
    0.6931471805599453
    """
    return float(Decimal(value).ln(context(DIGITS)))


def exp(value: float) -> float:
    """Returns e to the power of `value`, rounded once; results of 0.0 and subnormal results are
    kept.

    Spec: retrieval 2.3.

    >>> exp(1.0)
    2.718281828459045
    """
    return float(Decimal(value).exp(context(DIGITS)))


def dots(rows: Float32s, query: Float32s) -> Float64s:
    """Returns the correctly rounded dot product of each row with `query`.

    Args:
        rows: (n, d) float32, finite.
        query: (d,) float32, finite.

    Spec: retrieval 2.4.
    """
    other = query.astype(np.float64)
    return _by_chunk(rows, lambda part: part * other)


def squares(rows: Float32s) -> Float64s:
    """Returns the correctly rounded sum of squares of each row: (n, d) float32 to (n,) float64."""

    def products(part: Float32s) -> Float64s:
        terms = part.astype(np.float64)
        terms *= terms
        return terms

    return _by_chunk(rows, products)


def dots_and_squares(rows: Float32s, query: Float32s) -> tuple[Float64s, Float64s]:
    """Returns `dots` and `squares`, computed together in less time."""
    other = query.astype(np.float64)
    reach = float(np.abs(other).max(initial=0.0)) * (1.0 + 2.0**-50)
    count, dim = rows.shape
    found = np.zeros(count, np.float64), np.zeros(count, np.float64)
    step = max(1, _CHUNK_TERMS // max(1, dim))
    for start in range(0, count, step):
        part = slice(start, start + step)
        terms = rows[part].astype(np.float64)
        squared = terms * terms
        largest = squared.max(axis=1, initial=0.0)
        found[1][part] = sums(squared, largest)
        terms *= other
        found[0][part] = sums(terms, np.sqrt(largest) * reach)
    return found


def squared_distances(rows: Float32s, query: Float32s) -> Float64s:
    """Returns the sum of x² - 2xq + q² over the components of each row, as one correctly rounded
    sum.

    Spec: retrieval 2.4.
    """
    other = query.astype(np.float64)

    def terms(part: Float32s) -> Float64s:
        x = part.astype(np.float64)
        q = np.broadcast_to(other * other, x.shape)
        return np.concatenate([x * x, x * (-2.0 * other), q], axis=1)

    return _by_chunk(rows, terms, terms_each=3)


def _by_chunk(
    rows: Float32s, terms: Callable[[Float32s], Float64s], *, terms_each: int = 1
) -> Float64s:
    count, dim = rows.shape
    out = np.zeros(count, np.float64)
    step = max(1, _CHUNK_TERMS // max(1, dim * terms_each))
    for start in range(0, count, step):
        stop = min(count, start + step)
        out[start:stop] = sums(terms(rows[start:stop]))
    return out


def sums(terms: Float64s, largest: Float64s | None = None) -> Float64s:
    """Returns the correctly rounded sum of each row.

    With a power of two p, at least m + 2 times the largest of m terms in magnitude, a term t splits
    into (p + t) - p, a multiple of up, and a rest of at most up, both without error. The first
    parts add up without error in any order, since no partial sum reaches p; the rests to within
    2m²u²p. If the sum of both, moved by that bound in either direction, rounds to the same number,
    that number is the answer; the rare others go to `math.fsum`, which is exact by construction.

    Args:
        terms: (n, m) float64, multiples of 2^-298 below 2^300 in magnitude, so that no addition
            overflows or is inexact below the normal range. Products of two float32 are such
            numbers.
        largest: (n,) an upper bound of the magnitude of the terms of each row, if it is known.

    Spec: retrieval 2.4.
    """
    count = terms.shape[1]
    if count == 0:
        return np.zeros(terms.shape[0], np.float64)
    if largest is None:
        largest = np.maximum(terms.max(axis=1), -terms.min(axis=1))
    power = np.ldexp(1.0, np.frexp(largest)[1] + (count + 1).bit_length())
    above = terms + power[:, None]
    above -= power[:, None]
    high = above.sum(axis=1)
    low = np.subtract(terms, above, out=above).sum(axis=1)
    result = high + low
    part = result - high
    rest = (high - (result - part)) + (low - part)
    bound = power * (2.0 * count * count * UNIT_64 * UNIT_64)
    size = np.abs(result)
    half_gap = 0.5 * np.minimum(np.spacing(size), size - np.nextafter(size, 0.0))
    undecided = (np.abs(rest) + bound >= half_gap) & (largest > 0.0)
    for row in undecided.nonzero()[0]:
        result[row] = math.fsum(terms[row].tolist())
    found: Float64s = result + 0.0
    return found


def gamma(count: int, unit: float) -> float:
    """Returns an upper bound of gamma_count = count·u / (1 - count·u), the classic rounding
    constant."""
    product = count * unit
    assert product < 0.5, "BUG: gamma is used where it proves nothing"
    return product / (1.0 - product) * (1.0 + 2.0**-40)


def rank(scores: Float64s, ids: Ids) -> npt.NDArray[np.intp]:
    """Returns the positions in canonical order: score descending, then id ascending.

    Args:
        scores: (n,) float64 without -0.0.
        ids: (n, 16) uint8.

    Spec: retrieval 2.5.
    """
    words = np.ascontiguousarray(ids).view(">u8")
    return np.lexsort((words[:, 1], words[:, 0], -scores))


def block_maxima(values: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    """Returns (n // width, ...) the largest of each `width` of (n, ...) values; values after the
    last full block are ignored.

    A number that k of the maxima reach is reached by at least k of the values.
    """
    blocks = values.shape[0] // width
    shape = (width, blocks, *values.shape[1:])
    found: npt.NDArray[Any] = values[: width * blocks].reshape(shape).max(axis=0)
    return found


def kth_largest(values: Float64s, count: int) -> float:
    """Returns the count-th largest of at least `count` values."""
    values = values.copy()
    values.partition(-count)
    return float(values[-count])


def kth_largest_at_most(values: Float64s | Float32s, count: int) -> float:
    """Returns a number that at least `count` of `values` reach; -inf if there are too few.

    It is the count-th largest of the maxima of blocks if there are enough blocks, and the exact
    count-th largest otherwise: either way a valid lower bound, and a much cheaper one for long
    arrays.
    """
    size = values.shape[0]
    if size < count or count == 0:
        return -math.inf
    width = min(64, size // (4 * count))
    if width >= 4:
        values = block_maxima(values, width)
        size = values.shape[0]
    else:
        values = values.copy()
    values.partition(size - count)
    return float(values[size - count])
