"""Bounds: estimates of canonical scores that say how wrong they can be.

Write u for the unit roundoff of the arithmetic and gamma_d = d·u / (1 - d·u). A dot product of d terms
computed in any order, with or without fused multiply-add, differs from the true one by at most
gamma_d·Σ|x||q| ≤ gamma_d·|x||q|, plus what underflow loses: at most 2^-126 a product, an addition or an
input, even where a library has turned on flush to zero. The query is scaled by a power of two so
that its largest component lies in [1/2, 1); |q| is then at least 1/2 and the loss is small beside
anything but subnormal rows, which simply survive.

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
"""Relative error allowed to a column of norms; a float64 sum over 4,096 components errs by less
than 2^-40."""
_FLUSHED = 2.0**-126
_CHUNK_ROWS = 8192
_ROUNDINGS = 2.0**-48
"""More than the relative error of the few float64 operations that lie around a dot product."""


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
class Estimate:
    """(n,) float64 each: every canonical score lies in [lower, upper]."""

    lower: Float64s
    upper: Float64s

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.lower.shape[0])

    def take(self, index: npt.NDArray[np.intp]) -> Estimate:
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


def scan(rows: Float32s, norms: Float64s, side: QuerySide) -> Estimate:
    """Returns estimates from a float32 pass.

    Args:
        rows: (n, d) float32.
        norms: (n,) float64, from `norms` or a column as good.
        side: the query.
    """
    dim = rows.shape[1]
    with np.errstate(all="ignore"):
        products = np.dot(rows, side.scaled)
    relative = gamma(dim + 2, UNIT_32) + 2.0**-100
    absolute = 4.0 * dim * _FLUSHED
    return _estimate(products, norms, side, relative, absolute)


def scan_float64(rows: Float32s, side: QuerySide) -> Estimate:
    """Returns estimates from a float64 pass, in which products are exact and nothing underflows."""
    dim = rows.shape[1]
    exact = np.ldexp(side.query.astype(np.float64), -side.exponent)
    products = np.empty(rows.shape[0], np.float64)
    for start in range(0, rows.shape[0], _CHUNK_ROWS):
        part = rows[start : start + _CHUNK_ROWS].astype(np.float64)
        products[start : start + _CHUNK_ROWS] = part @ exact
    return _estimate(products, norms(rows), side, gamma(dim + 2, UNIT_64), 0.0)


def _estimate(
    products: npt.NDArray[np.floating],
    norms: Float64s,
    side: QuerySide,
    relative: float,
    absolute: float,
) -> Estimate:
    """Returns the metric's estimate from dot products with errors `relative·|x||q| + absolute`."""
    with np.errstate(all="ignore"):
        value, slack = _value_and_slack(products, norms, side, relative, absolute)
        lower, upper = value - slack, value + slack
    blind = ~(np.isfinite(lower) & np.isfinite(upper))
    if blind.any():
        lower[blind], upper[blind] = -np.inf, np.inf
    return Estimate(lower, upper)


def _value_and_slack(
    products: npt.NDArray[np.floating],
    norms: Float64s,
    side: QuerySide,
    relative: float,
    absolute: float,
) -> tuple[Float64s, Float64s | float]:
    if side.metric == "cosine":
        if side.norm == 0.0:
            return np.zeros(norms.shape[0], np.float64), 0.0
        scale = np.where(norms > 0.0, norms, 1.0) * side.norm
        slack: Float64s | float = relative * (1.0 + 2.0**-20) + 2.0 * _NORM_ERROR
        least = float(scale.min(initial=1.0))
        if absolute > slack * least * 2.0**-20:
            slack = slack + np.where(norms > 0.0, absolute / scale, 0.0)
        else:
            slack *= 1.0 + 2.0**-19
        return products / scale, slack
    power = math.ldexp(1.0, side.exponent)
    product = products.astype(np.float64) * power
    length = norms * (side.norm * power)
    error = (length * relative + absolute * power) * (1.0 + 2.0**-20)
    if side.metric == "dot":
        return product, error + length * _ROUNDINGS
    reach = norms * norms + (side.norm * power) ** 2
    value = 2.0 * product - reach
    return value, 2.0 * error + reach * (4.0 * _NORM_ERROR)
