"""The scan of the dense lane: all rows once for some queries, and bounds that leave rows out.

A pass (`passes.py`) gives an estimate of each cosine and a bound of its error. The scan keeps rows
whose upper bound, with the largest residual of their segment, reaches the wanted place as far as it
is known; what is kept is bounded again, each row by its own residual. Rows that are left out can
not be among the best, whatever the rows are. Dot products and distances follow from the cosine and
the norms.

Several queries share one scan: memory is read once, in chunks that stay in a near cache.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.retrieve.bounds import Estimate, Positions, QuerySide
from ibidem.retrieve.kernel import Products
from ibidem.retrieve.numbers import Float32s, Float64s
from ibidem.retrieve.passes import ROUNDINGS, At, Pass, Rows
from ibidem.retrieve.protocol import Bools, VectorSegment

_NORM_ERROR = 2.0**-36
"""Relative, on the square of a norm."""
_CHUNK_ROWS = 16_384
_GATHER_ROWS = 2_048
_CHUNK_PRODUCTS = 1 << 17
"""Products of one chunk at most: half a megabyte of float32."""
_JUDGED_ROWS = 65_536
_BLIND_SHARE = 4
"""A query that after so many rows still has more than one in four of them is given up: the pass
does not tell its rows apart."""


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one segment that rank: those at `positions`, or those of `mask`, or all."""

    segment: VectorSegment
    positions: Positions | None = None
    mask: Bools | None = None

    @property
    def size(self) -> int:
        """How many rows are read."""
        rows = self.segment.ordinals if self.positions is None else self.positions
        return int(rows.shape[0])


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of one segment for one query: positions ascending, with their bounds."""

    segment: VectorSegment
    positions: Positions
    estimate: Estimate

    def keep(self, least: float) -> Kept:
        """Returns the rows whose score may be `least` or more."""
        index = np.flatnonzero(self.estimate.upper >= least)
        return Kept(self.segment, self.positions[index], self.estimate.take(index))


def scan(
    parts: Sequence[Part],
    sides: Sequence[QuerySide],
    depths: Sequence[int],
    one: Pass,
    *,
    gives_up: bool,
) -> list[list[Kept] | None]:
    """Returns for each query what can be among its best, or None where the pass does not tell.

    Args:
        parts: the rows, disjoint.
        sides: queries of one metric, none of them zero.
        depths: how many are wanted of each.
        one: the pass.
        gives_up: whether a query may be given up.
    """
    found = _Scan(parts, sides, depths, one, gives_up=gives_up)
    with np.errstate(all="ignore"):
        found.run()
    return [found.kept(number) for number in range(len(sides))]


@dataclass(frozen=True, slots=True)
class _Hits:
    """Rows that are kept so far, each for one query."""

    place: npt.NDArray[np.int64]
    """Of the row, counted through all segments; ascending within a query and a segment."""
    query: npt.NDArray[np.intp]
    lower: Float64s
    upper: Float64s

    def take(self, index: Any) -> _Hits:
        return _Hits(self.place[index], self.query[index], self.lower[index], self.upper[index])


class _Scan:
    """One scan for several queries. `least` is what the last wanted row of each query reaches."""

    def __init__(
        self,
        parts: Sequence[Part],
        sides: Sequence[QuerySide],
        depths: Sequence[int],
        one: Pass,
        *,
        gives_up: bool,
    ) -> None:
        self.one = one
        self.metric = sides[0].metric
        self.parts = sorted(parts, key=lambda part: -part.size)
        self.queries = one.queries(list(sides))
        self.depths = depths
        self.gives_up = gives_up
        self.least = np.full(len(depths), -np.inf)
        self.active = np.arange(len(depths))
        self.hits: list[_Hits] = []
        self.offsets = np.cumsum([0, *(part.segment.ordinals.shape[0] for part in self.parts)])

    def run(self) -> None:
        """Scans everything; bounds are sharpened whenever the rows seen have doubled."""
        products = self.one.products(self.queries.body)
        seen, next_look = 0, 0
        for number, part in enumerate(self.parts):
            rows = self.one.rows(part.segment)
            step = _CHUNK_ROWS if part.positions is None else _GATHER_ROWS
            step = max(256, min(step, _CHUNK_PRODUCTS // len(self.depths)))
            for start in range(0, part.size, step):
                stop = min(part.size, start + step)
                self._chunk(number, rows, slice(start, stop), products)
                seen += stop - start
                if seen >= next_look:
                    next_look = 2 * seen
                    if self._look(seen):
                        if not len(self.active):
                            return
                        products = self.one.products(self.queries.body[self.active])
        self._look(0)

    def kept(self, number: int) -> list[Kept] | None:
        """Returns what is left for a query, None where it was given up."""
        if number not in self.active:
            return None
        if not self.hits:
            return []
        (hits,) = self.hits
        edges = np.searchsorted(hits.query, [number, number + 1])
        hits = hits.take(slice(*edges.tolist()))
        owner = np.searchsorted(self.offsets, hits.place, side="right") - 1
        found: list[Kept] = []
        for index, part in enumerate(self.parts):
            mine = np.flatnonzero(owner == index)
            if mine.shape[0]:
                positions = (hits.place[mine] - self.offsets[index]).astype(np.intp)
                estimate = Estimate(hits.lower[mine], hits.upper[mine])
                found.append(Kept(part.segment, positions, estimate))
        return found

    def _chunk(self, number: int, rows: Rows, span: slice, products: Products) -> None:
        """Adds the rows of a chunk that reach the bounds so far."""
        part = self.parts[number]
        if part.mask is not None and not part.mask[span].any():
            return
        at: At = span if part.positions is None else part.positions[span]
        values = rows.scaled(products(rows.take(at)), at)
        index, query = self._reaching(values, rows, at)
        if not index.shape[0]:
            return
        positions = index + span.start if isinstance(at, slice) else at[index]
        value = values[index, query]
        if part.mask is not None:
            ranks = np.flatnonzero(part.mask[positions])
            positions, query, value = positions[ranks], query[ranks], value[ranks]
        query = self.active[query]
        lower, upper = self._interval(value, rows.residual(positions), rows.norms[positions], query)
        self.hits.append(_Hits(positions + self.offsets[number], query, lower, upper))

    def _reaching(self, values: Float32s, rows: Rows, at: At) -> tuple[Positions, Positions]:
        """Returns (row, column) of the values whose upper bound reaches `least`."""
        active, queries, least = self.active, self.queries, self.least[self.active]
        scale, norms = queries.scale[active], queries.norms[active]
        slack = rows.worst + (1.0 + rows.worst) * queries.residual[active] + ROUNDINGS
        if self.metric == "cosine":
            # One step of float32 down: the comparison itself must not lose a row.
            reach = ((least - slack) / scale).astype(np.float32)
            reaching = values >= np.nextafter(reach, np.float32(-np.inf))
        else:
            upper = values * (scale * norms)
            upper += slack * norms
            lengths = rows.norms[at][:, None]
            upper *= lengths
            if self.metric == "euclidean":
                upper *= 2.0
                upper -= lengths * lengths * (1.0 - _NORM_ERROR)
                upper -= norms * norms * (1.0 - _NORM_ERROR)
            reaching = upper >= least
        index = np.flatnonzero(reaching)
        if values.shape[1] == 1:
            return index, np.zeros(index.shape[0], np.intp)
        row, query = np.divmod(index, values.shape[1])
        return row, query

    def _interval(
        self, value: Float32s, residual: Float64s, norms: Float64s, query: Positions
    ) -> tuple[Float64s, Float64s]:
        """Returns bounds of the canonical scores of rows, each with its own residual."""
        middle = value * self.queries.scale[query]
        slack = residual + (1.0 + residual) * self.queries.residual[query] + ROUNDINGS
        if self.metric != "cosine":
            own = self.queries.norms[query]
            middle *= norms * own
            slack *= norms * own
            if self.metric == "euclidean":
                reach = norms * norms + own * own
                middle = 2.0 * middle - reach
                slack = 2.0 * slack + reach * _NORM_ERROR
        lower, upper = middle - slack, middle + slack
        wild = ~np.isfinite(value)
        lower[wild], upper[wild] = -np.inf, np.inf
        return lower, upper

    def _look(self, seen: int) -> bool:
        """Raises `least` by what was found, drops what falls below it, and returns whether a query
        was given up, which `seen` rows justify."""
        if not self.hits:
            return False
        total = len(self.depths)
        hits = _joined(self.hits, single=total == 1)
        edges = np.searchsorted(hits.query, np.arange(total + 1)).tolist()
        for number in self.active.tolist():
            lower, depth = hits.lower[edges[number] : edges[number + 1]], self.depths[number]
            if lower.shape[0] >= depth:
                place = lower.shape[0] - depth
                self.least[number] = max(self.least[number], np.partition(lower, place)[place])
        hits = hits.take(np.flatnonzero(hits.upper >= self.least[hits.query]))
        self.hits = [hits]
        if not self.gives_up or seen < _JUDGED_ROWS:
            return False
        left = np.bincount(hits.query, minlength=total)
        blind = left * _BLIND_SHARE > np.maximum(seen, _BLIND_SHARE * np.asarray(self.depths))
        if not blind.any():
            return False
        self.active = self.active[~blind[self.active]]
        self.hits = [hits.take(np.flatnonzero(~blind[hits.query]))]
        return True


def _joined(parts: Sequence[_Hits], *, single: bool) -> _Hits:
    """Returns all hits, those of one query together and otherwise in the order they came."""
    if len(parts) > 1:
        hits = _Hits(
            np.concatenate([part.place for part in parts]),
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
        )
    else:
        hits = parts[0]
    return hits if single else hits.take(np.argsort(hits.query, kind="stable"))
