"""One segment prepared for the queries of a scan: its rows, and estimates of their cosines.

An estimate is a float32 that, times `scale` plus `offset` (one of each per query), is a cosine;
`quantizers.py` proves how far it can be off. Comparing estimates instead of cosines saves two
float64 operations for every row.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.dense.bounds import Positions
from ibidem.retrieve.dense.kernel import Products
from ibidem.retrieve.dense.quantizers import ROUNDINGS, At, Queries, Rows
from ibidem.retrieve.numbers import Float32s, Float64s
from ibidem.retrieve.protocol import Bools, VectorSegment


@record
class SegmentRows:
    """The rows of one segment that rank: those at `positions`, or those of `mask`, or all."""

    segment: VectorSegment
    positions: Positions | None = None
    mask: Bools | None = None

    @property
    def size(self) -> int:
        """The number of rows that are read, masked ones included."""
        rows = self.segment.ordinals if self.positions is None else self.positions
        return int(rows.shape[0])


@record
class SegmentQuery:
    """One segment and the m active queries of a scan; arrays are (m,)."""

    number: int
    """The index of the segment."""
    part: SegmentRows
    rows: Rows
    products: Products
    scale: Float64s
    """What estimates are multiplied by to be cosines."""
    offset: Float64s
    """What is added to that."""
    lean_scale: Float32s
    """What the lean of a row is multiplied by before it is added to an estimate."""
    error_max: Float64s
    """The largest error of the cosine of any row: `residual_max` * `length` + `error_base`."""
    length: Float64s
    error_base: Float64s
    """The error of a row's cosine is its residual * `length` + this."""
    query_norms: Float64s
    """|q|."""

    @classmethod
    def of(
        cls,
        number: int,
        part: SegmentRows,
        rows: Rows,
        products: Products,
        queries: Queries,
        active: npt.NDArray[np.int16],
    ) -> Self:
        """Returns a segment prepared for those of the queries that are active."""
        scale, length = queries.scale[active], queries.length[active]
        error_base = rows.length_max * queries.residual[active] + ROUNDINGS
        return cls(
            number,
            part,
            rows,
            products,
            scale,
            queries.offset[active],
            (queries.centre_weight[active] / scale).astype(np.float32),
            rows.residual_max * length + error_base,
            length,
            error_base,
            queries.norms[active],
        )

    def estimates(self, at: At) -> Float32s:
        """Returns (n, m) float32 estimates for n rows."""
        values = self.products(self.rows.take(at))
        scale = self.rows.scale(at)[:, None]
        if values.dtype == np.float32:
            found = np.multiply(values, scale, out=values)
        else:
            found = values.astype(np.float32)
            found *= scale
        centre = self.rows.centre
        if centre is not None:
            found += centre.lean[at][:, None] * self.lean_scale
        return found
