"""The scan of the dense lane: all rows once for some queries, and bounds that leave rows out.

A pass (`retrieve/dense/quantizers.py`) gives an estimate of each cosine and a bound of its error.
The scan keeps rows whose upper bound, with the largest residual of their segment, reaches the
wanted place as far as it is known; what is kept is bounded again, each row by its own residual.
Rows that are left out can not be among the best, whatever the rows are. Dot products and distances
follow from the cosine and the norms.

Several queries share one scan: memory is read once, in chunks that stay in a near cache.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.dense import parallel
from ibidem.retrieve.dense.bounds import Estimate, Positions, QuerySide
from ibidem.retrieve.dense.candidates import Candidates, joined, tops
from ibidem.retrieve.dense.kernel import Products
from ibidem.retrieve.dense.quantizers import At, Quantizer, Queries
from ibidem.retrieve.dense.segment_query import SegmentQuery, SegmentRows
from ibidem.retrieve.numbers import Float32s, Float64s
from ibidem.retrieve.protocol import Bools, VectorSegment

_UNUSED = np.ones((1, 1))
_PLAIN = -1
_NORM_ERROR = 2.0**-36
"""Relative, on the square of a norm."""
_FIRST_ROWS = 8_192
"""Rows of the first chunk; the next has up to _GROWTH times what was seen, and _CHUNK_ROWS."""
_GROWTH = 8
_CHUNK_ROWS = 65_536
_GATHER_ROWS = 2_048
_CHUNK_PRODUCTS = 1 << 17
"""Products of one chunk at most: half a megabyte of float32."""
_NORMS_ALIKE = 1.0 + 2.0**-8
"""Rows with norms no further apart are compared with one bound, that of the worst norm."""
_SHARED_CHUNKS, _SHARED_PRODUCTS = 4, 1 << 15
"""From so many chunks of so many products on, threads share them: less is done sooner by one."""
_SAMPLE_ROWS = 2_048
_SAMPLE_SHARE = 4
"""From so many times the sample on, a sample can be taken."""
_BLIND_SHARE = 4
"""A query for which more than one in four rows of the sample could be among the best of the sample
is given up: the pass does not tell its rows apart."""


@record
class Survivors:
    """What is left of one segment for one query: positions ascending, with their bounds."""

    segment: VectorSegment
    positions: Positions
    estimate: Estimate


def scan(
    parts: Sequence[SegmentRows],
    sides: Sequence[QuerySide],
    depths: Sequence[int],
    one: Quantizer,
    *,
    gives_up: bool,
) -> list[list[Survivors] | None]:
    """Returns for each query what can be among its best, or None where the pass does not tell.

    Args:
        parts: the rows, disjoint.
        sides: queries of one metric, none of them zero.
        depths: how many are wanted of each.
        one: the pass.
        gives_up: whether a query may be given up.
    """
    found = _Scan(parts, sides, depths, one, gives_up=gives_up)
    found.run()
    return [found.kept(number) for number in range(len(sides))]


@record
class _Chunk:
    """Rows that are read at a time."""

    number: int
    """Of the segment."""
    at: At
    size: int


class _Scan:
    """One scan for several queries. `least` is what the last wanted row of each query reaches."""

    def __init__(
        self,
        parts: Sequence[SegmentRows],
        sides: Sequence[QuerySide],
        depths: Sequence[int],
        one: Quantizer,
        *,
        gives_up: bool,
    ) -> None:
        self.one = one
        self.metric = sides[0].metric
        self.parts = sorted(parts, key=lambda part: -part.size)
        self.sides = list(sides)
        self.depths = np.asarray(depths)
        self.gives_up = gives_up
        self.least = np.full(len(depths), -np.inf)
        self.is_bounded = False
        self.active = np.arange(len(depths), dtype=np.int16)
        self.hits: list[Candidates] = []
        self.total = sum(part.size for part in self.parts)
        self.offsets = np.cumsum([0, *(part.segment.ordinals.shape[0] for part in self.parts)])
        self.queries: dict[int, Queries] = {}
        """By the number of the segment; _PLAIN for all without a centre."""
        self.plain: Products | None = None
        self.segments: dict[int, SegmentQuery] = {}

    def run(self) -> None:
        """Scans everything; bounds are sharpened whenever much more was seen."""
        waiting: list[_Chunk] = []
        seen, next_look = 0, 0
        for chunk in self._chunks():
            waiting.append(chunk)
            seen += chunk.size
            if seen >= next_look:
                is_first, next_look = next_look == 0, _GROWTH * seen
                self._read(waiting)
                waiting = []
                if is_first and self.gives_up and self._seems_blind(seen):
                    self._sample()
                    if not len(self.active):
                        return
        self._read(waiting)

    def _chunks(self) -> Iterator[_Chunk]:
        """Yields all rows that rank, by segment and position; the first are few."""
        step = max(256, min(_CHUNK_ROWS, _CHUNK_PRODUCTS // len(self.depths)))
        seen = 0
        for number, part in enumerate(self.parts):
            longest = step if part.positions is None else min(step, _GATHER_ROWS)
            start, size = 0, part.size
            while start < size:
                stop = min(size, start + min(longest, max(_FIRST_ROWS, _GROWTH * seen)))
                span = slice(start, stop)
                at = span if part.positions is None else part.positions[span]
                yield _Chunk(number, at, stop - start)
                seen += stop - start
                start = stop

    def _read(self, chunks: Sequence[_Chunk]) -> None:
        """Adds those rows of some chunks that reach the bounds so far, and looks at them.

        What is found does not depend on the number of threads: bounds are raised in between only.
        """
        tasks = [(self._asked(chunk.number), chunk.at) for chunk in chunks]
        products = sum(chunk.size for chunk in chunks) * len(self.active)
        is_large = len(tasks) >= _SHARED_CHUNKS and products >= len(tasks) * _SHARED_PRODUCTS
        if is_large and self.is_bounded and parallel.WORKERS > 1:
            found = parallel.shared(self._hits_of, tasks)
        else:
            found = [self._hits_of(task) for task in tasks]
        self.hits += [hits for hits in found if hits is not None]
        self._prune_below()

    def _seems_blind(self, seen: int) -> bool:
        """Returns whether rows near each other can hardly be told apart."""
        return self.total > _SAMPLE_SHARE * _SAMPLE_ROWS and not self._told(seen).all()

    def _told(self, taken: int) -> Bools:
        """Returns whether few of the rows that were taken are left, by query."""
        left = np.zeros(len(self.depths), np.intp)
        for hits in self.hits:
            if len(left) == 1:
                left += len(hits.query)
            else:
                left += np.bincount(hits.query, minlength=len(left))
        found: Bools = left * _BLIND_SHARE <= np.maximum(taken, 16 * self.depths)
        return found

    def _sample(self) -> None:
        """Raises `least` by rows spread over all, and gives up queries whose rows look alike."""
        hits, self.hits = self.hits, []
        step = self.total // _SAMPLE_ROWS
        chunks: list[_Chunk] = []
        for number, part in enumerate(self.parts):
            at = np.arange(step // 2, part.size, step)
            if at.shape[0]:
                some = at if part.positions is None else part.positions[at]
                chunks.append(_Chunk(number, some, at.shape[0]))
        self._read(chunks)
        taken = sum(chunk.size for chunk in chunks)
        told = self._told(taken)
        if not told.all():
            self.active = np.flatnonzero(told).astype(np.int16)
            self.plain = None
            self.segments.clear()
            hits = [one.take(np.flatnonzero(told[one.query])) for one in hits]
        self.hits = hits

    def kept(self, number: int) -> list[Survivors] | None:
        """Returns what is left for a query, None where it was given up."""
        if number not in self.active:
            return None
        if not self.hits:
            return []
        (hits,) = self.hits
        if len(self.depths) > 1:
            edges = np.searchsorted(hits.query, np.array([number, number + 1], np.int16))
            hits = hits.take(slice(*edges.tolist()))
        if len(self.parts) == 1:
            estimate = Estimate(hits.lower, hits.upper)
            return (
                [Survivors(self.parts[0].segment, hits.place, estimate)] if len(hits.place) else []
            )
        # Hits are in the order of the parts.
        edges = np.searchsorted(hits.place, self.offsets).tolist()
        found: list[Survivors] = []
        for index, part in enumerate(self.parts):
            mine = slice(edges[index], edges[index + 1])
            if edges[index] < edges[index + 1]:
                positions = hits.place[mine] - self.offsets[index]
                estimate = Estimate(hits.lower[mine], hits.upper[mine])
                found.append(Survivors(part.segment, positions, estimate))
        return found

    def _asked(self, number: int) -> SegmentQuery:
        """Returns a segment as the active queries ask it: beside its centre, if it has one."""
        made = self.segments.get(number)
        if made is not None:
            return made
        part = self.parts[number]
        rows = self.one.rows(part.segment)
        key = _PLAIN if rows.centre is None else number
        queries = self.queries.get(key)
        if queries is None:
            queries = self.queries[key] = self.one.queries(self.sides, rows.centre)
        active = self.active
        if rows.centre is not None or self.plain is None:
            products = self.one.products(queries.body[active])
            if rows.centre is None:
                self.plain = products
        else:
            products = self.plain
        made = self.segments[number] = SegmentQuery.of(
            number, part, rows, products, queries, active
        )
        return made

    def _hits_of(self, task: tuple[SegmentQuery, At]) -> Candidates | None:
        """Returns those of some rows that reach the bounds so far, if any."""
        asked, at = task
        mask = asked.part.mask
        if mask is not None and not mask[at].any():
            return None
        with np.errstate(all="ignore"):
            return self._bounded(asked, at)

    def _bounded(self, asked: SegmentQuery, at: At) -> Candidates | None:
        rows, mask = asked.rows, asked.part.mask
        estimates = asked.estimates(at)
        index = self._reaching(asked, estimates, at)
        row, column = index, np.zeros(1, np.intp)
        if estimates.shape[1] > 1:
            row = index // estimates.shape[1]
            column = index - row * estimates.shape[1]
        positions = row + at.start if isinstance(at, slice) else at[row]
        if mask is not None:
            wanted = np.flatnonzero(mask[positions])
            index, positions = index[wanted], positions[wanted]
            column = column[wanted] if len(column) > 1 else column
        if not index.shape[0]:
            return None
        value = estimates.ravel()[index].astype(np.float64)
        value *= asked.own[column]
        value += asked.base[column]
        slack = rows.residual(positions)
        slack *= asked.length[column]
        slack += asked.rest[column]
        norms = rows.norms[positions] if self.metric != "cosine" else _UNUSED
        lower, upper = self._interval(value, slack, norms, asked.norms[column])
        query = self.active[column]
        kept = np.flatnonzero(upper >= self.least[query])
        query = query[kept] if len(query) > 1 else np.repeat(query, len(kept))
        places = positions[kept] + self.offsets[asked.number]
        return Candidates(places, query, lower[kept], upper[kept])

    def _reaching(self, asked: SegmentQuery, estimates: Float32s, at: At) -> npt.NDArray[np.intp]:
        """Returns the flat positions of estimates of rows that may reach `least`, and of some
        others."""
        rows = asked.rows
        if rows.has_wild and not np.isfinite(rows.scale(at)).all():
            return np.arange(estimates.size)
        norms = rows.norms[at] if self.metric != "cosine" else _UNUSED
        if not self.is_bounded:
            self._begin(asked, estimates, norms, at)
        reach = self._needed(norms, asked.norms)
        reach = (reach - asked.slack - asked.base) / asked.own
        # Rounded downwards, so that the comparison loses none.
        lowest = np.nextafter(reach.astype(np.float32), np.float32(-np.inf))
        return np.flatnonzero(estimates >= lowest)

    def _begin(self, asked: SegmentQuery, estimates: Float32s, norms: Float64s, at: At) -> None:
        """Raises `least` by some rows alone, when nothing is known yet."""
        mask, count = asked.part.mask, int(self.depths.max())
        if mask is not None:
            estimates, norms = estimates[mask[at]], norms if norms is _UNUSED else norms[mask[at]]
        if len(estimates) < count or asked.rows.has_wild:
            return
        if norms is _UNUSED:
            lowest = tops(estimates, count) * asked.own + asked.base - asked.slack
        else:
            middle = estimates * asked.own + asked.base
            slack = np.repeat(asked.slack[None, :], len(estimates), axis=0)
            lowest = tops(self._interval(middle, slack, norms[:, None], asked.norms)[0], count)
        self._raise_threshold(self.active, lowest)

    def _needed(self, norms: Float64s, own: Float64s) -> Float64s:
        """Returns the least cosine that can reach `least`, by query, and by row where the norms of
        rows differ much.

        Errors of a few roundings are within those that the slack allows for.
        """
        least = self.least[self.active]
        if self.metric == "cosine":
            return least
        low, high = norms.min(), norms.max()
        if high > low * _NORMS_ALIKE:
            low = high = norms[:, None]
        if self.metric == "dot":
            found = least / (np.where(least > 0.0, high, low) * own)
        else:
            # (rest + n²) / (2 n |q|) is least at n² = rest.
            rest = least + own * own * (1.0 - _NORM_ERROR)
            norm = np.clip(np.sqrt(np.maximum(rest, 0.0)), low, high)
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

    def _prune_below(self) -> None:
        """Raises `least` by what was found, and drops what falls below it."""
        if not self.hits:
            return
        hits = joined(self.hits, single=len(self.depths) == 1)
        self._raise_threshold(*hits.reached(self.depths))
        self.hits = [hits.take(np.flatnonzero(hits.upper >= self.least[hits.query]))]

    def _raise_threshold(self, queries: npt.NDArray[np.integer[Any]], least: Float64s) -> None:
        """Raises `least` of some queries."""
        self.least[queries] = np.maximum(self.least[queries], least)
        self.is_bounded = not np.isneginf(self.least[self.active]).any()
