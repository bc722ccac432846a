"""Two ways to estimate cosines of all rows with a proven error: eight-bit codes, and float32.

Both estimate the cosine of row x and query q as

    offset + centre_weight * lean + (row scale) * (query scale) * product

with an error of at most p l + h z, for a row with residual p and a query with residual z and length
l, where h is the largest length of what was coded. The proofs are two lines of the Cauchy-Schwarz
inequality; both start from y = x / |x|.

*Codes* (scalar quantisation, one scale a row). Write y = m + s c + r with integer codes c, a scale
s and a residual |r| <= p, for a *centre* m, the mean direction of the segment; and |s c| <= h. For
the query write q / |q| - b m = t e + w with |w| <= z and |q / |q| - b m| <= l, for any number b.
Then

    cos(x, q) = b <y, m> + <m, q / |q| - b m> + s t <c, e> + s <c, w> + <r, q / |q| - b m>

where <c, e> is an exact integer, and the last two terms are the error. Without a centre m = 0, l =
1 and h = 1 + p. A centre matters for rows that lean one way, such as near-duplicates: what is coded
is then small, and so is the error.

*Float32.* A dot product of d terms errs by at most gamma |x||q| with gamma = (d + 2) u / (1 - (d +
2) u), in any order of summation, with or without fused multiply-add. The query is scaled by a power
of two to a norm of 1/2 or more, so that underflow, at most 2^-126 an operation, is negligible for
rows with norms in [2^-60, 2^60]. Rows outside have *extreme* norms: their estimate is infinite, and
they stay candidates.

Cost: d bytes a row for codes, 4 d for float32; 16 bytes a row beside the codes, 20 with a centre.
Papers: Higham, "Accuracy and Stability of Numerical Algorithms" (2nd ed., 2002), section 3.1, for
gamma; Weber, Schek and Blott (1998) for exact search by approximations with bounds.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from ibidem.index.segments.codes import (
    CENTRE,
    CENTRE_NUMBERS,
    LEAN,
    directions,
    encode_rows,
    quantised,
)
from ibidem.objects.record import record
from ibidem.retrieve.dense.bounds import Positions, QuerySide
from ibidem.retrieve.dense.kernel import Products, code_products, float_products
from ibidem.retrieve.numbers import UNIT_32, Float32s, Float64s, gamma
from ibidem.retrieve.protocol import Column, VectorSegment

ROUNDINGS = 2.0**-20
"""Absolute, on a cosine: more than the roundings to float32 of a product and its row scale, the
relative errors of norms, the underflow of rows without extreme norms, and a few float64 operations.
"""
NORM_MAX = 2.0**60
"""Norms above this, or below its inverse and not zero, are extreme."""

_ROUND_UP = 1.0 + 2.0**-30
_LENGTH_ERROR = 2.0**-30
"""More than what roundings can take from the length of a centred query."""

At = slice | Positions


class Rows(Protocol):
    """The rows of one segment as a quantiser sees them."""

    @property
    def residual_max(self) -> float:
        """The largest residual p."""

    @property
    def length_max(self) -> float:
        """h: at least the largest |s c|."""

    @property
    def centre(self) -> Centre | None:
        """m, or None."""

    @property
    def norms(self) -> Float64s:
        """(n,) float64 |x|, relative error below 2^-38."""

    @property
    def has_extreme_norms(self) -> bool:
        """Whether some row has an infinite estimate."""

    def take(self, at: At) -> npt.NDArray[Any]:
        """Returns some rows, C-contiguous, in the form that `Quantizer.products` multiplies."""

    def scale(self, at: At) -> Float32s:
        """Returns (k,) scales s of some rows, infinity for extreme norms."""

    def residual(self, positions: Positions) -> Float64s:
        """Returns (k,) residuals p of some rows."""


@record
class Centre:
    """The mean direction m of a segment's rows."""

    direction: Float64s
    """(d,)"""
    mean: float
    """The mean of <y, m>, which `lean` does not include."""
    lean: Float32s
    """(n,) <y, m> of the rows, less the mean."""


@record
class Queries:
    """m queries in the form of one quantiser, none of them zero."""

    body: npt.NDArray[Any]
    """(m, d) codes or float32."""
    scale: Float64s
    """(m,) t."""
    residual: Float64s
    """(m,) z."""
    norms: Float64s
    """(m,) |q|."""
    length: Float64s
    """(m,) l: at least |q / |q| - b m|."""
    centre_weight: Float64s
    """(m,) b."""
    offset: Float64s
    """(m,) the part of the cosine that all rows have in common."""


@record
class Quantizer:
    """One way to make rows, queries and their products."""

    rows: Callable[[VectorSegment], Rows]
    queries: Callable[[list[QuerySide], Centre | None], Queries]
    products: Callable[[npt.NDArray[Any]], Products]


@record
class CodedRows:
    """The eight-bit codes of one segment, as stored."""

    codes: Column
    """(n, d) int8."""
    scales: Float32s
    residuals: Float32s
    norms: Float64s
    residual_max: float
    length_max: float
    centre: Centre | None
    has_extreme_norms: bool = False

    @classmethod
    def of(cls, segment: VectorSegment) -> Self:
        """Returns a segment's codes; computed once where the segment was written without them."""
        found: Self | None = segment.cache.get("retrieve.codes")
        if found is None:
            stored = segment.codes
            columns = encode_rows(segment.rows[:]) if stored is None else stored
            codes = columns["codes"]
            norms, residual, scale = (columns[name][:] for name in ("norms", "residual", "scale"))
            residual_max = float(residual.max(initial=0.0))
            length_max, centre = 1.0 + residual_max, None
            if CENTRE in columns:
                direction, lean = columns[CENTRE][:].astype(np.float64), columns[LEAN][:]
                mean, length_max = columns[CENTRE_NUMBERS][:].tolist()
                centre = Centre(direction, mean, lean)
            found = cls(codes, scale, residual, norms, residual_max, length_max, centre)
            segment.cache["retrieve.codes"] = found
        return found

    def take(self, at: At) -> npt.NDArray[Any]:
        """Returns the codes of some rows."""
        return self.codes[at]

    def scale(self, at: At) -> Float32s:
        """Returns the scales of some rows."""
        return self.scales[at]

    def residual(self, positions: Positions) -> Float64s:
        """Returns the residuals of some rows."""
        return self.residuals[positions].astype(np.float64)


@record
class FloatRows:
    """The float32 rows of one segment."""

    rows: Column
    """(n, d) float32."""
    norms: Float64s
    residual_max: float
    has_extreme_norms: bool
    length_max: float = 1.0
    centre: Centre | None = None

    @classmethod
    def of(cls, segment: VectorSegment) -> Self:
        """Returns a segment's rows."""
        found: Self | None = segment.cache.get("retrieve.floats")
        if found is None:
            rows, norms = segment.rows, CodedRows.of(segment).norms
            has_extreme_norms = bool(
                ((norms > NORM_MAX) | ((norms < 1.0 / NORM_MAX) & (norms > 0.0))).any()
            )
            found = cls(rows, norms, gamma(rows.shape[1] + 2, UNIT_32), has_extreme_norms)
            segment.cache["retrieve.floats"] = found
        return found

    def take(self, at: At) -> npt.NDArray[Any]:
        """Returns some rows."""
        return np.ascontiguousarray(self.rows[at])

    def scale(self, at: At) -> Float32s:
        """Returns one over the norms, 0 for zero rows."""
        norms = self.norms[at]
        scale = 1.0 / norms
        extreme = (norms > NORM_MAX) | (norms < 1.0 / NORM_MAX)
        if extreme.any():
            scale[extreme] = np.where(norms[extreme] > 0.0, np.inf, 0.0)
        return scale.astype(np.float32)

    def residual(self, positions: Positions) -> Float64s:
        """Returns the residuals of some rows."""
        return np.full(positions.shape[0], self.residual_max)


def _coded_queries(sides: list[QuerySide], centre: Centre | None) -> Queries:
    remainder, norms = directions(np.stack([side.query for side in sides]))
    centre_weight, offset = np.zeros(len(sides)), np.zeros(len(sides))
    if centre is not None:
        # Not by a BLAS: the rows are few, and its threads would spin for more.
        centre_weight = (
            np.einsum("ij,j->i", remainder, centre.direction) / (centre.direction**2).sum()
        )
        remainder -= centre_weight[:, None] * centre.direction
        offset = centre_weight * centre.mean + np.einsum("ij,j->i", remainder, centre.direction)
    length = np.sqrt(np.einsum("ij,ij->i", remainder, remainder)) * _ROUND_UP + _LENGTH_ERROR
    codes, scale, residual, _ = quantised(remainder)
    wide = scale.astype(np.float64)
    # A query that equals its centre, or nearly, has all-zero codes; any scale will do.
    codes[wide == 0.0] = 0
    wide[wide == 0.0] = 1.0
    return Queries(codes, wide, residual.astype(np.float64), norms, length, centre_weight, offset)


def _float_queries(sides: list[QuerySide], centre: Centre | None) -> Queries:
    assert centre is None, "BUG: float32 rows have no centre"
    lengths = np.array([side.norm for side in sides])
    exponents = np.array([side.exponent for side in sides])
    body = np.stack([side.scaled for side in sides])
    zeros = np.zeros(len(sides))
    norms = np.ldexp(lengths, exponents)
    return Queries(body, 1.0 / lengths, zeros, norms, zeros + 1.0, zeros, zeros)


CODES = Quantizer(CodedRows.of, _coded_queries, code_products)
FLOATS = Quantizer(FloatRows.of, _float_queries, float_products)
