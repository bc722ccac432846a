"""One segment as a scan asks it: its rows that rank, and their estimates for several queries.

An estimate times what the query has for all rows is a cosine, `retrieve/dense/quantizers.py` says
how far off.

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
        """How many rows are read."""
        rows = self.segment.ordinals if self.positions is None else self.positions
        return int(rows.shape[0])


@record
class SegmentQuery:
    """One segment as the active queries ask it, (m,) each."""

    number: int
    """Of the segment."""
    part: SegmentRows
    rows: Rows
    products: Products
    own: Float64s
    """What estimates are multiplied by to be cosines."""
    base: Float64s
    """And what is added then."""
    lean: Float32s
    """What the lean of a row is multiplied by to be added to estimates."""
    slack: Float64s
    """How far off an estimate of any row can be, as a cosine."""
    length: Float64s
    rest: Float64s
    """`slack` less the residual of a row times `length`."""
    norms: Float64s
    """Of the queries."""

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
        """Returns a segment with those of the queries that are active."""
        own, length = queries.scale[active], queries.length[active]
        rest = rows.reach * queries.residual[active] + ROUNDINGS
        return cls(
            number,
            part,
            rows,
            products,
            own,
            queries.base[active],
            (queries.tilt[active] / own).astype(np.float32),
            rows.worst * length + rest,
            length,
            rest,
            queries.norms[active],
        )

    def estimates(self, at: At) -> Float32s:
        """Returns (n, m) estimates of some rows."""
        values = self.products(self.rows.take(at))
        scale = self.rows.scale(at)[:, None]
        if values.dtype == np.float32:
            found = np.multiply(values, scale, out=values)
        else:
            found = values.astype(np.float32)
            found *= scale
        centre = self.rows.centre
        if centre is not None:
            found += centre.lean[at][:, None] * self.lean
        return found
