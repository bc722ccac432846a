"""Refinement: the few hundred rows that the scan leaves, told apart by finer arithmetic.

The rows are copied together and bounded again, in float32 unless a norm is extreme, then in
float64. Each pass keeps the rows whose upper bound reaches the depth-th largest lower bound, so the
best `depth` with their ties are always among them. After float64 little more than ties is left, and
only that is scored canonically.

Cost: rows x d, in pieces that fit a near cache. Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Self

import numpy as np

from ibidem.objects.record import record
from ibidem.retrieve.dense import tuning
from ibidem.retrieve.dense.bounds import Estimate, Positions, QuerySide, scan_float32, scan_float64
from ibidem.retrieve.dense.kernel import float_products
from ibidem.retrieve.dense.quantizers import CODES, NORM_MAX
from ibidem.retrieve.dense.scan import Survivors
from ibidem.retrieve.numbers import Float32s, kth_largest_at_most
from ibidem.retrieve.protocol import Ordinals, VectorSegment


@record
class Refinement:
    """Rows of several segments, as one list of n."""

    segments: tuple[VectorSegment, ...]
    segment_of: Positions
    """(n,) the index of each row's segment, ascending."""
    positions: Positions
    """(n,) the position of each row in its segment."""
    ordinals: Ordinals

    @classmethod
    def of(cls, survivors: Sequence[Survivors]) -> Self:
        """Returns the rows that a scan left, of one segment or more."""
        return cls(
            tuple(one.segment for one in survivors),
            np.repeat(np.arange(len(survivors)), [one.positions.shape[0] for one in survivors]),
            np.concatenate([one.positions for one in survivors]),
            np.concatenate([one.segment.ordinals[one.positions] for one in survivors]),
        )

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.positions.shape[0])

    def refine(self, side: QuerySide, depth: int) -> Refinement:
        """Returns the rows that can be among the best `depth`, as far as a finer pass pays."""
        remaining = self
        if side.norm and remaining.size > depth + tuning.REFINE_ROWS:
            found = remaining._float32(side)
            remaining = remaining if found is None else remaining._prune(found, depth)
        if remaining.size > 2 * depth + tuning.REFINE_ROWS:
            remaining = remaining._prune(
                [scan_float64(rows, side) for _, rows in remaining.rows()], depth
            )
        return remaining

    def rows(self) -> Iterator[tuple[slice, Float32s]]:
        """Yields (slice, (k, d) float32 rows), some hundred rows at a time."""
        step = max(1, tuning.GATHERED_COMPONENTS // self.segments[0].rows.shape[1])
        for start in range(0, self.size, step):
            span = slice(start, min(self.size, start + step))
            pieces = [segment.rows[positions] for segment, positions in self._by_segment(span)]
            yield span, pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _by_segment(self, span: slice) -> Iterator[tuple[VectorSegment, Positions]]:
        segment_of, positions = self.segment_of[span], self.positions[span]
        edges = np.searchsorted(segment_of, np.arange(len(self.segments) + 1)).tolist()
        for segment, (low, high) in zip(self.segments, pairwise(edges), strict=True):
            if high > low:
                yield segment, positions[low:high]

    def _float32(self, side: QuerySide) -> list[Estimate] | None:
        """Returns intervals from float32 products; None where a norm is extreme."""
        everything = slice(0, self.size)
        norms = np.concatenate(
            [CODES.rows(segment).norms[at] for segment, at in self._by_segment(everything)]
        )
        if not ((norms == 0.0) | ((norms <= NORM_MAX) & (norms >= 1.0 / NORM_MAX))).all():
            return None
        products = float_products(side.scaled[None, :])
        return [scan_float32(products(rows), norms[span], side) for span, rows in self.rows()]

    def _prune(self, estimates: Sequence[Estimate], depth: int) -> Refinement:
        """Returns the rows whose upper bound reaches the depth-th largest lower bound."""
        threshold = kth_largest_at_most(np.concatenate([one.lower for one in estimates]), depth)
        index = np.flatnonzero(np.concatenate([one.upper for one in estimates]) >= threshold)
        return Refinement(
            self.segments, self.segment_of[index], self.positions[index], self.ordinals[index]
        )
