"""Intervals that provably hold canonical scores, from float32 or float64 arithmetic.

Write u for the unit roundoff of the arithmetic and gamma_d = d u / (1 - d u). A dot product of d
terms, computed in any order, with or without fused multiply-add, differs from the true one by at
most gamma_d * sum |x_i q_i| <= gamma_d |x| |q|, the last step by Cauchy and Schwarz. In float64 the
products of float32 numbers are exact and neither overflow nor underflow. The query is scaled by a
power of two, which is exact, so that its largest component lies in [1/2, 1).

Invariant: `lower` <= canonical score <= `upper` for every row. Cost: one pass over the rows.
Paper: Higham, "Accuracy and Stability of Numerical Algorithms" (2nd ed., 2002), section 3.1.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.dense import tuning
from ibidem.retrieve.numbers import UNIT_32, UNIT_64, Float32s, Float64s, gamma

_NORM_ERROR = 2.0**-38
"""Relative error allowed to a norm; a float64 sum over 4,096 components errs by less than 2^-40."""
_UNDERFLOW = 2.0**-50
"""More than what underflow loses of a float32 product, relative to the norms."""
_ROUNDINGS = 2.0**-48
"""More than the relative error of the few float64 operations that lie around a dot product."""

Positions = npt.NDArray[np.intp]


@record
class QuerySide:
    """A query vector, with what is computed once for all rows."""

    query: Float32s
    """(d,) float32, as given."""
    scaled: Float32s
    """(d,) float32, the query times 2^-exponent."""
    exponent: int
    norm: float
    """|scaled|, at least 1/2, or 0 for a zero vector; relative error below 2^-50."""
    metric: str

    @classmethod
    def of(cls, query: Float32s, metric: str) -> Self:
        """Returns a (d,) float32 query with what can be computed once."""
        wide = query.astype(np.float64)
        largest = float(np.abs(query).max())
        exponent = math.frexp(largest)[1] if largest > 0.0 else 0
        with np.errstate(under="ignore"):
            scaled = np.ldexp(wide, -exponent).astype(np.float32)
        norm = math.ldexp(math.sqrt(math.fsum((wide * wide).tolist())), -exponent)
        return cls(query, scaled, exponent, norm, metric)


@record
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


def scan_float64(rows: Float32s, side: QuerySide) -> Estimate:
    """Returns intervals for the scores of (n, d) float32 rows, from a float64 pass."""
    exact = np.ldexp(side.query.astype(np.float64), -side.exponent)
    count, dim = rows.shape
    products, norms = np.empty(count, np.float64), np.empty(count, np.float64)
    step = max(1, tuning.FLOAT64_COMPONENTS // dim)
    for start in range(0, count, step):
        part = rows[start : start + step].astype(np.float64)
        # Not by a BLAS, whose threads would spin between the chunks.
        np.einsum("ij,j->i", part, exact, out=products[start : start + step])
        np.einsum("ij,ij->i", part, part, out=norms[start : start + step])
    np.sqrt(norms, out=norms)
    relative = gamma(dim + 2, UNIT_64)
    interval = _cosine if side.metric == "cosine" else _distance
    value, error = interval(products, norms, side, relative)
    return Estimate(value - error, value + error)


def scan_float32(products: npt.NDArray[Any], norms: Float64s, side: QuerySide) -> Estimate:
    """Returns intervals for scores from float32 products of rows with `side.scaled`, which is not
    zero.

    Args:
        products: (n, 1), summed in float32 or better in any order.
        norms: (n,) of the rows, relative error below 2^-38: 0, or from 2^-60 to 2^60.
        side: the query.
    """
    relative = gamma(side.query.shape[0] + 2, UNIT_32) + _UNDERFLOW
    interval = _cosine if side.metric == "cosine" else _distance
    value, error = interval(products[:, 0].astype(np.float64), norms, side, relative)
    return Estimate(value - error, value + error)


def _cosine(
    products: Float64s, norms: Float64s, side: QuerySide, relative: float
) -> tuple[Float64s, Float64s | float]:
    """Returns cosines and the bound of their error: of the product, two norms and the roundings."""
    if side.norm == 0.0:
        return np.zeros(products.shape[0], np.float64), 0.0
    error = (relative * (1.0 + 2.0**-20) + 2.0 * _NORM_ERROR) * (1.0 + 2.0**-19)
    value = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0.0)
    return value * (1.0 / side.norm), error


def _distance(
    products: Float64s, norms: Float64s, side: QuerySide, relative: float
) -> tuple[Float64s, Float64s | float]:
    """Returns dot products or negated squared distances, and bounds of their errors."""
    power = math.ldexp(1.0, side.exponent)
    product = products * power
    length = norms * (side.norm * power)
    error = length * (relative * (1.0 + 2.0**-20) + _ROUNDINGS)
    if side.metric == "dot":
        return product, error
    squares = norms * norms + (side.norm * power) ** 2
    return 2.0 * product - squares, 2.0 * error + squares * (4.0 * _NORM_ERROR)
