"""The two passes over dense rows, as the scan sees them: eight-bit codes, and float32.

Both estimate the cosine of a row and a query as base + tilt·lean + (row scale)·(query
scale)·product, and know how far that can be off: p l + h z for a row with residual p and a query
with residual z and length l, where h is the largest of the rows.

*Codes.* With y = x/|x| and v = q/|q|: y = m + s c + r, |r| <= p, |s c| <= h, and v - b m = t e + w,
|w| <= z, |v - b m| <= l, for a centre m of the segment and any b. So cos(x, q) = b <y, m> + <m, v -
b m> + s t <c, e> + s <c, w> + <r, v - b m>, where <c, e> is an integer and exact. Without a centre
the last three terms are all, l is 1 and h is 1 + p.

*Float32.* The product of d terms errs by at most gamma |x||q|, in any order of summation, with or
without fused multiply-add. The query is scaled by a power of two to a norm of 1/2 or more; what
underflow loses, at most 2^-126 a product, an addition or an input, is then nothing beside rows of
norms between 2^-60 and 2^60. Rows outside are *wild*: their estimate is infinite, they are kept.

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
    CODE_COLUMNS,
    LEAN,
    directions,
    encode_rows,
    quantised,
)
from ibidem.objects.record import record
from ibidem.retrieve.dense.bounds import Positions, QuerySide
from ibidem.retrieve.dense.kernel import Int8s, Products, code_products, float_products
from ibidem.retrieve.numbers import UNIT_32, Float32s, Float64s, gamma
from ibidem.retrieve.protocol import VectorSegment

ROUNDINGS = 2.0**-20
"""Absolute, on a cosine: more than the roundings to float32 of a product and its row scale, the
relative errors of norms, the underflow of rows that are not wild, and a few float64 operations."""
TAME = 2.0**60
"""Norms between this and its inverse are not wild."""

_UPWARDS = 1.0 + 2.0**-30
_ANY_LENGTH = 2.0**-30
"""More than what the roundings of a centred query can add to its length."""

At = slice | Positions


class Rows(Protocol):
    """The rows of one segment in one pass."""

    @property
    def worst(self) -> float:
        """The largest residual."""

    @property
    def reach(self) -> float:
        """At least the largest |s c|."""

    @property
    def centre(self) -> Centre | None:
        """What the rows are taken beside."""

    @property
    def norms(self) -> Float64s:
        """(n,) float64, relative error below 2^-38."""

    @property
    def has_wild(self) -> bool:
        """Whether some row is wild."""

    def take(self, at: At) -> npt.NDArray[Any]:
        """Returns some rows, C-contiguous, for the products."""

    def scale(self, at: At) -> Float32s:
        """Returns the scales of some rows, infinity for wild ones."""

    def residual(self, positions: Positions) -> Float64s:
        """Returns the residuals of some rows."""


@record
class Centre:
    """The centre of a segment's directions."""

    direction: Float64s
    """(d,)"""
    mean: float
    """What `lean` is less by."""
    lean: Float32s
    """(n,) <x/|x|, m> of the rows, less the mean."""


@record
class Queries:
    """m queries in one pass, none of them zero."""

    body: npt.NDArray[Any]
    """(m, d) codes or float32."""
    scale: Float64s
    """(m,)."""
    residual: Float64s
    """(m,)."""
    norms: Float64s
    """(m,) |q|."""
    length: Float64s
    """(m,) at least the length of what was quantised, of a direction."""
    tilt: Float64s
    """(m,) b."""
    base: Float64s
    """(m,) what the cosine of every row has in common."""


@record
class Quantizer:
    """How rows, queries and products are made."""

    rows: Callable[[VectorSegment], Rows]
    queries: Callable[[list[QuerySide], Centre | None], Queries]
    products: Callable[[npt.NDArray[Any]], Products]


@record
class CodedRows:
    """The code columns of one segment."""

    codes: Int8s
    scales: Float32s
    residuals: Float32s
    norms: Float64s
    worst: float
    reach: float
    centre: Centre | None
    has_wild: bool = False

    @classmethod
    def of(cls, segment: VectorSegment) -> Self:
        """Returns a segment's columns, made once where it was written without them."""
        found: Self | None = segment.cache.get("retrieve.codes")
        if found is None:
            kept = segment.codes
            columns = encode_rows(segment.rows) if kept is None else kept
            codes, norms, residual, scale = (columns[name] for name in CODE_COLUMNS)
            worst = float(residual.max(initial=0.0))
            reach, centre = 1.0 + worst, None
            if CENTRE in columns:
                direction, lean = columns[CENTRE].astype(np.float64), columns[LEAN]
                mean, reach = columns[CENTRE_NUMBERS].tolist()
                centre = Centre(direction, mean, lean)
            found = cls(codes, scale, residual, norms, worst, reach, centre)
            segment.cache["retrieve.codes"] = found
        return found

    def take(self, at: At) -> npt.NDArray[Any]:
        """Returns the codes of some rows."""
        return self.codes[at] if isinstance(at, slice) else np.take(self.codes, at, axis=0)

    def scale(self, at: At) -> Float32s:
        """Returns the scales of some rows."""
        return self.scales[at]

    def residual(self, positions: Positions) -> Float64s:
        """Returns the residuals of some rows."""
        return self.residuals[positions].astype(np.float64)


@record
class FloatRows:
    """The float32 rows of one segment."""

    rows: Float32s
    norms: Float64s
    worst: float
    has_wild: bool
    reach: float = 1.0
    centre: Centre | None = None

    @classmethod
    def of(cls, segment: VectorSegment) -> Self:
        """Returns a segment's rows."""
        found: Self | None = segment.cache.get("retrieve.floats")
        if found is None:
            rows, norms = segment.rows, CodedRows.of(segment).norms
            has_wild = bool(((norms > TAME) | ((norms < 1.0 / TAME) & (norms > 0.0))).any())
            found = cls(rows, norms, gamma(rows.shape[1] + 2, UNIT_32), has_wild)
            segment.cache["retrieve.floats"] = found
        return found

    def take(self, at: At) -> npt.NDArray[Any]:
        """Returns some rows."""
        rows = self.rows[at] if isinstance(at, slice) else np.take(self.rows, at, axis=0)
        return np.ascontiguousarray(rows)

    def scale(self, at: At) -> Float32s:
        """Returns one over the norms, 0 for zero rows."""
        norms = self.norms[at]
        scale = 1.0 / norms
        odd = (norms > TAME) | (norms < 1.0 / TAME)
        if odd.any():
            scale[odd] = np.where(norms[odd] > 0.0, np.inf, 0.0)
        return scale.astype(np.float32)

    def residual(self, positions: Positions) -> Float64s:
        """Returns the residuals of some rows."""
        return np.full(positions.shape[0], self.worst)


def _coded_queries(sides: list[QuerySide], centre: Centre | None) -> Queries:
    rest, norms = directions(np.stack([side.query for side in sides]))
    tilt, base = np.zeros(len(sides)), np.zeros(len(sides))
    if centre is not None:
        # Not by a BLAS: these are few, and its threads would go on waiting for more.
        tilt = np.einsum("ij,j->i", rest, centre.direction) / (centre.direction**2).sum()
        rest -= tilt[:, None] * centre.direction
        base = tilt * centre.mean + np.einsum("ij,j->i", rest, centre.direction)
    length = np.sqrt(np.einsum("ij,ij->i", rest, rest)) * _UPWARDS + _ANY_LENGTH
    codes, scale, residual, _ = quantised(rest)
    wide = scale.astype(np.float64)
    # A query that is its centre, or too near to have a scale, has no codes; any scale will do.
    codes[wide == 0.0] = 0
    wide[wide == 0.0] = 1.0
    return Queries(codes, wide, residual.astype(np.float64), norms, length, tilt, base)


def _float_queries(sides: list[QuerySide], centre: Centre | None) -> Queries:
    assert centre is None, "BUG: float32 rows have no centre"
    lengths = np.array([side.norm for side in sides])
    exponents = np.array([side.exponent for side in sides])
    body = np.stack([side.scaled for side in sides])
    nothing = np.zeros(len(sides))
    norms = np.ldexp(lengths, exponents)
    return Queries(body, 1.0 / lengths, nothing, norms, nothing + 1.0, nothing, nothing)


CODES = Quantizer(CodedRows.of, _coded_queries, code_products)
FLOATS = Quantizer(FloatRows.of, _float_queries, float_products)
