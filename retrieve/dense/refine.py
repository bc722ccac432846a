"""Rows that the scan leaves, few enough to be gathered: told apart by finer passes.

Float32 first, where no norm is extreme, then float64: each leaves out only rows that are provably
not among the best.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Self

import numpy as np

from ibidem.objects.record import record
from ibidem.retrieve.dense.bounds import Estimate, Positions, QuerySide, scan_float32, scan_float64
from ibidem.retrieve.dense.kernel import float_products
from ibidem.retrieve.dense.quantizers import CODES, TAME
from ibidem.retrieve.dense.scan import Survivors
from ibidem.retrieve.numbers import Float32s, kth_largest_at_most
from ibidem.retrieve.protocol import Ordinals, VectorSegment

_GATHERED_COMPONENTS = 1 << 17
"""Of rows that are gathered at a time: half a megabyte, for the same reason as in `bounds.py`."""
_REFINE_ROWS = 16
"""A finer pass pays when so many more rows are left than are wanted, or, in float64, twice as many
and these."""


@record
class Refinement:
    """Rows of several segments, as one list."""

    segments: tuple[VectorSegment, ...]
    owner: Positions
    """(n,) the segment of each, ascending."""
    positions: Positions
    """(n,) the row of each in its segment."""
    ordinals: Ordinals

    @classmethod
    def of(cls, kept: Sequence[Survivors]) -> Self:
        """Returns what is left of all segments, which are one or more."""
        return cls(
            tuple(one.segment for one in kept),
            np.repeat(np.arange(len(kept)), [one.positions.shape[0] for one in kept]),
            np.concatenate([one.positions for one in kept]),
            np.concatenate([one.segment.ordinals[one.positions] for one in kept]),
        )

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.positions.shape[0])

    def refined(self, side: QuerySide, depth: int) -> Refinement:
        """Returns those that can be among the best `depth`, as far as it pays to know."""
        left = self
        if side.norm and left.size > depth + _REFINE_ROWS:
            found = left._float32(side)
            left = left if found is None else left._best(found, depth)
        if left.size > 2 * depth + _REFINE_ROWS:
            left = left._best([scan_float64(rows, side) for _, rows in left.rows()], depth)
        return left

    def rows(self) -> Iterator[tuple[slice, Float32s]]:
        """Yields their rows, some hundred at a time, and which of them these are."""
        step = max(1, _GATHERED_COMPONENTS // self.segments[0].rows.shape[1])
        for start in range(0, self.size, step):
            span = slice(start, min(self.size, start + step))
            pieces = [
                np.take(segment.rows, positions, axis=0)
                for segment, positions in self._by_segment(span)
            ]
            yield span, pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _by_segment(self, span: slice) -> Iterator[tuple[VectorSegment, Positions]]:
        owner, positions = self.owner[span], self.positions[span]
        edges = np.searchsorted(owner, np.arange(len(self.segments) + 1)).tolist()
        for segment, (low, high) in zip(self.segments, pairwise(edges), strict=True):
            if high > low:
                yield segment, positions[low:high]

    def _float32(self, side: QuerySide) -> list[Estimate] | None:
        """Returns estimates from products in float32; None where a norm is extreme."""
        everything = slice(0, self.size)
        norms = np.concatenate(
            [CODES.rows(segment).norms[at] for segment, at in self._by_segment(everything)]
        )
        if not ((norms == 0.0) | ((norms <= TAME) & (norms >= 1.0 / TAME))).all():
            return None
        products = float_products(side.scaled[None, :])
        return [scan_float32(products(rows), norms[span], side) for span, rows in self.rows()]

    def _best(self, estimates: Sequence[Estimate], depth: int) -> Refinement:
        """Returns those whose upper bound reaches the wanted place."""
        least = kth_largest_at_most(np.concatenate([one.lower for one in estimates]), depth)
        index = np.flatnonzero(np.concatenate([one.upper for one in estimates]) >= least)
        return Refinement(
            self.segments, self.owner[index], self.positions[index], self.ordinals[index]
        )
