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
from ibidem.retrieve.kernel import BATCH_MIN, Products
from ibidem.retrieve.numbers import Float32s, Float64s
from ibidem.retrieve.passes import ROUNDINGS, At, Pass, Queries, Rows
from ibidem.retrieve.protocol import Bools, VectorSegment

_UNUSED = np.ones((1, 1))
_PLAIN = -1
_NORM_ERROR = 2.0**-36
"""Relative, on the square of a norm."""
_FIRST_ROWS = 1_024
"""Rows of the first chunk, all of which are kept; the following double up to _CHUNK_ROWS."""
_CHUNK_ROWS = 32_768
_GATHER_ROWS = 2_048
_CHUNK_PRODUCTS = 1 << 17
"""Products of one chunk at most: half a megabyte of float32."""
_MANY_SHARE = 16
_SAMPLE_ROWS = 2_048
_SAMPLE_SHARE = 4
"""From so many times the sample on, a sample is taken first."""
_BLIND_SHARE = 4
"""A query for which more than one in four rows of the sample could be among the best of the sample
is given up: the pass does not tell its rows apart."""


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
    query: npt.NDArray[np.int16]
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
        self.sides = list(sides)
        self.asked: dict[int, Queries] = {}
        """What is asked of a segment, by its number; _PLAIN for those without a centre."""
        self.depths = depths
        self.gives_up = gives_up
        self.least = np.full(len(depths), -np.inf)
        self.active = np.arange(len(depths), dtype=np.int16)
        self.hits: list[_Hits] = []
        self.total = sum(part.size for part in self.parts)
        self.offsets = np.cumsum([0, *(part.segment.ordinals.shape[0] for part in self.parts)])

    def run(self) -> None:
        """Scans everything; bounds are sharpened whenever the rows seen have doubled."""
        if self.total > _SAMPLE_SHARE * _SAMPLE_ROWS:
            self._sample()
        if not len(self.active):
            return
        plain: Products | None = None
        seen, next_look = 0, 0
        for number, part in enumerate(self.parts):
            rows = self.one.rows(part.segment)
            if rows.centre is not None or plain is None:
                products = self.one.products(self._queries(number, rows).body[self.active])
                plain = products if rows.centre is None else plain
            else:
                products = plain
            step = _CHUNK_ROWS if part.positions is None else _GATHER_ROWS
            step = max(256, min(step, _CHUNK_PRODUCTS // len(self.depths)))
            start, size = 0, part.size
            while start < size:
                stop = min(size, start + min(step, max(_FIRST_ROWS, seen)))
                span = slice(start, stop)
                if part.mask is None or part.mask[span].any():
                    at = span if part.positions is None else part.positions[span]
                    self._add(number, rows, at, products)
                seen += stop - start
                start = stop
                if seen >= next_look:
                    next_look = 2 * seen
                    self._look()
        self._look()

    def _sample(self) -> None:
        """Raises `least` by rows spread over all, and gives up queries whose rows look alike."""
        step = self.total // _SAMPLE_ROWS
        taken = 0
        for number, part in enumerate(self.parts):
            at = np.arange(step // 2, part.size, step)
            if at.shape[0]:
                at = at if part.positions is None else part.positions[at]
                rows = self.one.rows(part.segment)
                self._add(number, rows, at, self.one.products(self._queries(number, rows).body))
                taken += at.shape[0]
        self._look()
        if self.gives_up and self.hits:
            left = np.bincount(self.hits[0].query, minlength=len(self.depths))
            told = left * _BLIND_SHARE <= np.maximum(taken, 16 * np.asarray(self.depths))
            self.active = np.flatnonzero(told).astype(np.int16)
        self.hits = []

    def kept(self, number: int) -> list[Kept] | None:
        """Returns what is left for a query, None where it was given up."""
        if number not in self.active:
            return None
        if not self.hits:
            return []
        (hits,) = self.hits
        edges = np.searchsorted(hits.query, np.array([number, number + 1], np.int16))
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

    def _add(self, number: int, rows: Rows, at: At, products: Products) -> None:
        """Adds those of some rows that reach the bounds so far."""
        part = self.parts[number]
        values = products(rows.take(at))
        scale = rows.scale(at)
        asked = self._queries(number, rows)
        index = self._reaching(values, scale, rows, at, asked)
        row: npt.NDArray[Any] = index
        query: npt.NDArray[Any] = np.zeros_like(index)
        if values.shape[1] > 1:
            row, query = np.divmod(index, values.shape[1])
        positions = row + at.start if isinstance(at, slice) else at[row]
        if part.mask is not None:
            wanted = np.flatnonzero(part.mask[positions])
            row, query, positions = row[wanted], query[wanted], positions[wanted]
        if not row.shape[0]:
            return
        value = values[row, query] * scale[row].astype(np.float64)
        query = self.active[query]
        value *= asked.scale[query]
        if rows.centre is not None:
            value += asked.tilt[query] * rows.centre.lean[positions] + asked.base[query]
        slack = rows.residual(positions) * asked.length[query]
        slack += rows.reach * asked.residual[query] + ROUNDINGS
        lower, upper = self._interval(value, slack, rows.norms[positions], asked.norms[query])
        kept = np.flatnonzero(upper >= self.least[query])
        places = positions[kept] + self.offsets[number]
        self.hits.append(_Hits(places, query[kept], lower[kept], upper[kept]))

    def _queries(self, number: int, rows: Rows) -> Queries:
        """Returns the queries as a segment is asked: beside its centre, if it has one."""
        key = _PLAIN if rows.centre is None else number
        found = self.asked.get(key)
        if found is None:
            found = self.asked[key] = self.one.queries(self.sides, rows.centre)
        return found

    def _reaching(
        self, values: npt.NDArray[Any], scale: Float32s, rows: Rows, at: At, asked: Queries
    ) -> npt.NDArray[np.intp]:
        """Returns the flat positions of values of rows that may reach `least`, and of some others.

        In a batch, one bound from the chunk's largest scale and its range of norms spares a pass;
        where it says little, each row has its own.
        """
        if rows.has_wild and not np.isfinite(scale).all():
            return np.arange(values.size)
        length, residual = asked.length[self.active], asked.residual[self.active]
        slack = rows.worst * length + rows.reach * residual + ROUNDINGS + asked.base[self.active]
        own, lengths = asked.scale[self.active], asked.norms[self.active]
        norms = rows.norms[at][:, None] if self.metric != "cosine" else _UNUSED
        lean = None if rows.centre is None else rows.centre.lean[at]
        tilt = asked.tilt[self.active]
        if values.shape[1] >= BATCH_MIN:
            needed = self._needed(norms.min(), norms.max(), lengths) - slack
            if lean is not None:
                needed -= np.maximum(tilt * float(lean.max()), tilt * float(lean.min()))
            reach = np.where(needed > 0.0, needed / (own * float(scale.max())), -np.inf)
            index = _at_least(values, reach)
            if index.shape[0] * _MANY_SHARE < values.size:
                return index
        scaled = values * scale[:, None]
        if lean is not None:
            scaled += lean[:, None] * (tilt / own).astype(np.float32)
        return _at_least(scaled, (self._needed(norms, norms, lengths) - slack) / own)

    def _needed(self, least_norm: Any, largest_norm: Any, own: Float64s) -> Float64s:
        """Returns the least cosine that can reach `least` with a norm in some range, by query.

        Errors of a few roundings are within those that the slack allows for.
        """
        least = self.least[self.active]
        if self.metric == "cosine":
            return least
        if self.metric == "dot":
            norm = np.where(least > 0.0, largest_norm, least_norm)
            return np.asarray(least / (norm * own))
        # (rest + n²) / (2 n |q|) is least at n² = rest.
        rest = least + own * own * (1.0 - _NORM_ERROR)
        norm = np.clip(np.sqrt(np.maximum(rest, 0.0)), least_norm, largest_norm)
        found = (rest + norm * norm * (1.0 - _NORM_ERROR)) / (2.0 * norm * own)
        return np.asarray(np.where(np.isnan(found), -np.inf, found))

    def _interval(
        self, middle: Float64s, slack: Float64s, norms: Float64s, own: Float64s
    ) -> tuple[Float64s, Float64s]:
        """Returns bounds of the canonical scores from estimates of the cosines, which are used up,
        and the norms of rows and queries."""
        wild = ~np.isfinite(middle)
        if self.metric != "cosine":
            middle *= norms * own
            slack *= norms * own
            if self.metric == "euclidean":
                reach = norms * norms + own * own
                middle = 2.0 * middle - reach
                slack = 2.0 * slack + reach * _NORM_ERROR
        lower, upper = middle - slack, middle + slack
        lower[wild], upper[wild] = -np.inf, np.inf
        return lower, upper

    def _look(self) -> None:
        """Raises `least` by what was found, and drops what falls below it."""
        if not self.hits:
            return
        count = len(self.depths)
        hits = _joined(self.hits, single=count == 1)
        edges = np.searchsorted(hits.query, np.arange(count + 1, dtype=np.int16)).tolist()
        for number in self.active.tolist():
            lower, depth = hits.lower[edges[number] : edges[number + 1]], self.depths[number]
            if lower.shape[0] >= depth:
                place = lower.shape[0] - depth
                self.least[number] = max(self.least[number], np.partition(lower, place)[place])
        self.hits = [hits.take(np.flatnonzero(hits.upper >= self.least[hits.query]))]


def _at_least(values: npt.NDArray[Any], reach: Float64s) -> npt.NDArray[np.intp]:
    """Returns the flat positions of (n, m) values that are at least `reach`, (m,) or (n, m), and
    perhaps of some that are almost: it is rounded downwards, so that the comparison loses none."""
    if values.dtype == np.int32:
        low = np.clip(np.floor(reach), -(2.0**31), 2.0**31 - 1.0).astype(np.int32)
    else:
        low = np.nextafter(reach.astype(np.float32), np.float32(-np.inf))
    return np.flatnonzero(values >= low)


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
