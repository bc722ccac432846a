"""Bounds: estimates of canonical scores that say how wrong they can be.

Write u for the unit roundoff of the arithmetic and gamma_d = d·u / (1 - d·u). A dot product of d
terms computed in any order, with or without fused multiply-add, differs from the true one by at
most gamma_d·Σ|x||q| <= gamma_d·|x||q|, plus what underflow loses: at most 2^-126 a product, an
addition or an input, even where a library has turned on flush to zero. The query is scaled by a
power of two so that its largest component lies in [1/2, 1); |q| is then at least 1/2, and the loss
is small beside anything but subnormal rows, which simply survive.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ibidem.retrieve.numbers import UNIT_32, UNIT_64, Float32s, Float64s, gamma, squares

_NORM_ERROR = 2.0**-38
"""Relative error allowed to a norm; a float64 sum over 4,096 components errs by less than 2^-40."""
_FLUSHED = 2.0**-126
_CHUNK_ROWS = 8192
_GATHER_ROWS = 256
"""Rows gathered at a time, so that the copy stays in a cache near the core."""
_ROUNDINGS = 2.0**-48
"""More than the relative error of the few float64 operations that lie around a dot product."""

Positions = npt.NDArray[np.intp]
Products = npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class QuerySide:
    """What every row is compared with."""

    query: Float32s
    """(d,) float32, as given."""
    scaled: Float32s
    """The query times 2^-exponent."""
    exponent: int
    norm: float
    """|scaled|, at least 1/2, or 0 for a zero vector; relative error below 2^-50."""
    metric: str

    @classmethod
    def of(cls, query: Float32s, metric: str) -> Self:
        """Returns the query with what can be computed once."""
        largest = float(np.abs(query).max())
        exponent = math.frexp(largest)[1] if largest > 0.0 else 0
        with np.errstate(under="ignore"):
            scaled = np.ldexp(query.astype(np.float64), -exponent).astype(np.float32)
        norm = math.ldexp(math.sqrt(float(squares(query[None, :])[0])), -exponent)
        return cls(query, scaled, exponent, norm, metric)


@dataclass(frozen=True, slots=True)
class Norms:
    """The norms of some rows, in the forms that estimates use."""

    values: Float64s
    """(n,) float64; exactly 0.0 for a zero vector and for no other."""
    divisors: Float64s
    """The same with 1.0 for 0.0."""
    least: float
    """The smallest divisor, at most 1.0."""

    @classmethod
    def of(cls, values: Float64s) -> Self:
        """Returns the forms of a column of norms."""
        divisors = values if values.all() else np.where(values > 0.0, values, 1.0)
        return cls(values, divisors, float(divisors.min(initial=1.0)))

    def take(self, index: Positions) -> Norms:
        """Returns the norms of some rows."""
        return Norms(self.values[index], self.divisors[index], self.least)


@dataclass(frozen=True, slots=True)
class Estimate:
    """(n,) float64 each: every canonical score lies in [lower, upper], which may be infinite."""

    lower: Float64s
    upper: Float64s

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.lower.shape[0])

    def take(self, index: Positions) -> Estimate:
        """Returns the estimates of some rows."""
        return Estimate(self.lower[index], self.upper[index])


def norms(rows: Float32s) -> Float64s:
    """Returns about the norm of each row; exactly 0.0 for a zero vector and for no other.

    float64 squares of float32 neither overflow nor underflow.
    """
    out = np.empty(rows.shape[0], np.float64)
    for start in range(0, rows.shape[0], _CHUNK_ROWS):
        part = rows[start : start + _CHUNK_ROWS].astype(np.float64)
        out[start : start + _CHUNK_ROWS] = np.sqrt(np.einsum("ij,ij->i", part, part))
    return out


def scan(rows: Float32s, norms: Norms, side: QuerySide) -> Estimate:
    """Returns estimates of all rows from a float32 pass.

    Args:
        rows: (n, d) float32.
        norms: of the rows.
        side: the query.
    """
    with np.errstate(all="ignore"):
        return _from_float32(products(rows, side.scaled), norms, side)


def scan_some(rows: Float32s, positions: Positions, norms: Norms, side: QuerySide) -> Estimate:
    """Returns estimates of the rows at `positions` from a float32 pass over those alone."""
    found = np.empty(positions.shape[0], np.float64)
    with np.errstate(all="ignore"):
        for start in range(0, positions.shape[0], _GATHER_ROWS):
            part = np.take(rows, positions[start : start + _GATHER_ROWS], axis=0)
            found[start : start + _GATHER_ROWS] = products(part, side.scaled)
    return _from_float32(found, norms.take(positions), side)


def products(rows: Float32s, query: Float32s) -> Products:
    """Returns dot products computed in float32 or better, in any order.

    One thread of `simsimd` reads memory as fast as a core can. A BLAS takes all cores for it and
    waits for each, which is far slower on a machine that has other work to do.
    """
    if rows.flags.c_contiguous and rows.shape[0]:
        import simsimd

        return np.asarray(simsimd.cdist(query[None, :], rows, "dot", threads=1)).reshape(-1)
    return np.asarray(np.dot(rows, query))


def scan_float64(rows: Float32s, side: QuerySide) -> Estimate:
    """Returns estimates from a float64 pass, in which products are exact and nothing underflows."""
    dim = rows.shape[1]
    exact = np.ldexp(side.query.astype(np.float64), -side.exponent)
    products = np.empty(rows.shape[0], np.float64)
    for start in range(0, rows.shape[0], _CHUNK_ROWS):
        part = rows[start : start + _CHUNK_ROWS].astype(np.float64)
        products[start : start + _CHUNK_ROWS] = part @ exact
    return _estimate(products, Norms.of(norms(rows)), side, gamma(dim + 2, UNIT_64), 0.0)


def _from_float32(products: Products, norms: Norms, side: QuerySide) -> Estimate:
    dim = side.query.shape[0]
    return _estimate(products, norms, side, gamma(dim + 2, UNIT_32) + 2.0**-100, 4 * dim * _FLUSHED)


def _estimate(
    products: Products,
    norms: Norms,
    side: QuerySide,
    relative: float,
    absolute: float,
) -> Estimate:
    """Returns the metric's estimate from dot products with errors `relative·|x||q| + absolute`."""
    with np.errstate(all="ignore"):
        if side.metric == "cosine":
            value, slack = _cosine(products, norms, side, relative, absolute)
        else:
            value, slack = _distance(products, norms, side, relative, absolute)
        lower, upper = value - slack, value + slack
        if not math.isfinite(float(lower.sum() + upper.sum())):
            blind = ~(np.isfinite(lower) & np.isfinite(upper))
            lower[blind], upper[blind] = -np.inf, np.inf
    return Estimate(lower, upper)


def _cosine(
    products: Products,
    norms: Norms,
    side: QuerySide,
    relative: float,
    absolute: float,
) -> tuple[Float64s, Float64s | float]:
    """Returns estimates of the cosine.

    The error relative to |x||q| is that of the product, of two norms and of the roundings; where
    the absolute part counts at all, it is added row by row.
    """
    if side.norm == 0.0:
        return np.zeros(products.shape[0], np.float64), 0.0
    slack = (relative * (1.0 + 2.0**-20) + 2.0 * _NORM_ERROR) * (1.0 + 2.0**-19)
    value: Float64s = products / norms.divisors
    value *= 1.0 / side.norm
    if absolute <= slack * norms.least * side.norm * 2.0**-20:
        return value, slack
    return value, slack + absolute / side.norm / norms.divisors * (1.0 + 2.0**-20)


def _distance(
    products: Products,
    norms: Norms,
    side: QuerySide,
    relative: float,
    absolute: float,
) -> tuple[Float64s, Float64s]:
    """Returns estimates of the dot product or of the negated squared distance."""
    power = math.ldexp(1.0, side.exponent)
    product = products.astype(np.float64) * power
    length = norms.values * (side.norm * power)
    error = (length * relative + absolute * power) * (1.0 + 2.0**-20)
    if side.metric == "dot":
        return product, error + length * _ROUNDINGS
    reach = norms.values * norms.values + (side.norm * power) ** 2
    return 2.0 * product - reach, 2.0 * error + reach * (4.0 * _NORM_ERROR)
