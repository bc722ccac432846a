"""The scan: an estimate of every row's score in one read, and bounds that leave rows out.

Problem: find the few rows that can be among the `depth` best, reading each row once and in as few
bytes as possible. Idea: a quantiser pass (`quantizers.py`) gives for every row an estimate of the
cosine and a bound of its error; dot products and distances follow from the cosine and the norms.
Rows are read in chunks of growing size. After each, the depth-th largest *lower* bound so far is a
*threshold*, and a row is a candidate if its *upper* bound reaches it. A chunk is compared with one
number, taken for the largest error in the segment; only rows that pass are bounded by their own.

Invariant: at any time `threshold` is a score that `depth` rows provably reach, so a row below it is
not among the best, whatever the rows not read yet are. Ties survive.

Cost: n x d bytes (codes) or 4 x n x d (float32), read once for all queries of the batch, in chunks
whose products stay in a near cache. Candidates are pruned as the threshold rises, so few are held.
Paper: Weber, Schek and Blott (1998), VA-SSA, the scan with a running threshold.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.objects import parallel
from ibidem.objects.record import record
from ibidem.retrieve.dense.bounds import Estimate, Positions, QuerySide
from ibidem.retrieve.dense.candidates import Candidates, concatenated, reached_by
from ibidem.retrieve.dense.kernel import Products
from ibidem.retrieve.dense.quantizers import At, Quantizer, Queries
from ibidem.retrieve.dense.segment_query import SegmentQuery, SegmentRows
from ibidem.retrieve.dense.tuning import TUNING, Tuning
from ibidem.retrieve.numbers import Float32s, Float64s
from ibidem.retrieve.protocol import Bools, VectorSegment

_UNUSED = np.ones((1, 1))
_NO_CENTRE = -1
_NORM_ERROR = 2.0**-36
"""Relative, on the square of a norm."""


@record
class Survivors:
    """The rows of one segment that can be among the best of one query: ascending, with bounds."""

    segment: VectorSegment
    positions: Positions
    estimate: Estimate


def scan(
    parts: Sequence[SegmentRows],
    sides: Sequence[QuerySide],
    depths: Sequence[int],
    quantizer: Quantizer,
    *,
    may_give_up: bool,
    tuning: Tuning = TUNING,
    workers: int | None = None,
) -> list[list[Survivors] | None]:
    """Returns for each query the rows that can be among its best; None where the pass was given up.

    Args:
        parts: the rows, disjoint.
        sides: queries of one metric, none of them zero.
        depths: how many rows each query wants, at least 1.
        quantizer: the pass.
        may_give_up: whether a query whose rows the pass cannot tell apart is given up.
        workers: threads that share it at most; by default those of `parallel.threads`.
    """
    one = _Scan(
        parts,
        sides,
        depths,
        quantizer,
        may_give_up=may_give_up,
        tuning=tuning,
        workers=parallel.threads() if workers is None else workers,
    )
    one.run()
    return [one.survivors(number) for number in range(len(sides))]


@record
class _Chunk:
    """Rows that are read in one go."""

    number: int
    """The index of their segment."""
    at: At
    size: int


class _Scan:
    """One scan for several queries.

    `threshold` is, by query, a score that as many rows as are wanted provably reach; -inf at first.
    """

    def __init__(
        self,
        parts: Sequence[SegmentRows],
        sides: Sequence[QuerySide],
        depths: Sequence[int],
        quantizer: Quantizer,
        *,
        may_give_up: bool,
        tuning: Tuning,
        workers: int,
    ) -> None:
        self.quantizer = quantizer
        self.metric = sides[0].metric
        self.parts = sorted(parts, key=lambda part: -part.size)
        self.sides = list(sides)
        self.depths = np.asarray(depths)
        self.may_give_up = may_give_up
        self.tuning = tuning
        self.workers = workers
        self.threshold = np.full(len(depths), -np.inf)
        self.is_bounded = False
        self.active = np.arange(len(depths), dtype=np.int16)
        self.candidates: list[Candidates] = []
        self.total = sum(part.size for part in self.parts)
        self.offsets = np.cumsum([0, *(part.segment.ordinals.shape[0] for part in self.parts)])
        self.queries: dict[int, Queries] = {}
        """By the index of the segment; _NO_CENTRE for all segments without a centre."""
        self.plain_products: Products | None = None
        self.segments: dict[int, SegmentQuery] = {}

    def run(self) -> None:
        """Reads all rows; the threshold is raised whenever much more was read."""
        pending: list[_Chunk] = []
        read_count, next_check = 0, 0
        for chunk in self._chunks():
            pending.append(chunk)
            read_count += chunk.size
            if read_count >= next_check:
                is_first, next_check = next_check == 0, self.tuning.chunk_growth * read_count
                self._read(pending)
                pending = []
                if is_first and self.may_give_up and self._is_indistinct(read_count):
                    self._sample()
                    if not len(self.active):
                        return
        self._read(pending)

    def _chunks(self) -> Iterator[_Chunk]:
        """Yields all rows by segment and position, in chunks that grow."""
        step = min(self.tuning.chunk_rows_max, self.tuning.chunk_products // len(self.depths))
        step = max(self.tuning.chunk_rows_min, step)
        read_count = 0
        for number, part in enumerate(self.parts):
            longest = step if part.positions is None else min(step, self.tuning.gathered_chunk_rows)
            start, size = 0, part.size
            while start < size:
                grown = max(self.tuning.first_chunk_rows, self.tuning.chunk_growth * read_count)
                stop = min(size, start + min(longest, grown))
                span = slice(start, stop)
                at = span if part.positions is None else part.positions[span]
                yield _Chunk(number, at, stop - start)
                read_count += stop - start
                start = stop

    def _read(self, chunks: Sequence[_Chunk]) -> None:
        """Adds the candidates among the rows of some chunks, then raises the threshold.

        The threshold is not raised while chunks are read, so the result does not depend on threads.
        """
        tasks = [(self._segment_query(chunk.number), chunk.at) for chunk in chunks]
        products = sum(chunk.size for chunk in chunks) * len(self.active)
        is_large = products >= len(tasks) * self.tuning.shared_chunk_products_min
        if (
            len(tasks) >= self.tuning.shared_chunks_min
            and is_large
            and self.is_bounded
            and self.workers > 1
        ):
            found = parallel.map_shared(self._candidates_of, tasks, self.workers)
        else:
            found = [self._candidates_of(task) for task in tasks]
        self.candidates += [part for part in found if part is not None]
        self._prune_below()

    def _is_indistinct(self, read_count: int) -> bool:
        """Returns whether, for some query, many of the rows read so far are still candidates."""
        is_large = self.total > self.tuning.sample_share * self.tuning.sample_rows
        return is_large and not self._distinguishes(read_count).all()

    def _distinguishes(self, taken: int) -> Bools:
        """Returns, by query, whether few of the rows that were read are still candidates."""
        remaining = np.zeros(len(self.depths), np.intp)
        for candidates in self.candidates:
            if len(remaining) == 1:
                remaining += len(candidates.query)
            else:
                remaining += np.bincount(candidates.query, minlength=len(remaining))
        enough = np.maximum(taken, self.tuning.indistinct_depths * self.depths)
        found: Bools = remaining * self.tuning.indistinct_share <= enough
        return found

    def _sample(self) -> None:
        """Raises the threshold by rows spread over all, and gives up queries it does not help."""
        earlier, self.candidates = self.candidates, []
        step = self.total // self.tuning.sample_rows
        chunks: list[_Chunk] = []
        for number, part in enumerate(self.parts):
            at = np.arange(step // 2, part.size, step)
            if at.shape[0]:
                some = at if part.positions is None else part.positions[at]
                chunks.append(_Chunk(number, some, at.shape[0]))
        self._read(chunks)
        taken = sum(chunk.size for chunk in chunks)
        distinguished = self._distinguishes(taken)
        if not distinguished.all():
            self.active = np.flatnonzero(distinguished).astype(np.int16)
            self.plain_products = None
            self.segments.clear()
            earlier = [
                candidates.take(np.flatnonzero(distinguished[candidates.query]))
                for candidates in earlier
            ]
        self.candidates = earlier

    def survivors(self, number: int) -> list[Survivors] | None:
        """Returns the rows left for a query, by segment; None where it was given up."""
        if number not in self.active:
            return None
        if not self.candidates:
            return []
        (candidates,) = self.candidates
        if len(self.depths) > 1:
            edges = np.searchsorted(candidates.query, np.array([number, number + 1], np.int16))
            candidates = candidates.take(slice(*edges.tolist()))
        if len(self.parts) == 1:
            estimate = Estimate(candidates.lower, candidates.upper)
            only = Survivors(self.parts[0].segment, candidates.place, estimate)
            return [only] if estimate.size else []
        # Candidates are in the order of the parts.
        edges = np.searchsorted(candidates.place, self.offsets).tolist()
        found: list[Survivors] = []
        for number, part in enumerate(self.parts):
            mine = slice(edges[number], edges[number + 1])
            if edges[number] < edges[number + 1]:
                positions = candidates.place[mine] - self.offsets[number]
                estimate = Estimate(candidates.lower[mine], candidates.upper[mine])
                found.append(Survivors(part.segment, positions, estimate))
        return found

    def _segment_query(self, number: int) -> SegmentQuery:
        """Returns a segment prepared for the active queries, beside its centre if it has one."""
        built = self.segments.get(number)
        if built is not None:
            return built
        part = self.parts[number]
        rows = self.quantizer.rows(part.segment)
        key = _NO_CENTRE if rows.centre is None else number
        queries = self.queries.get(key)
        if queries is None:
            queries = self.queries[key] = self.quantizer.queries(self.sides, rows.centre)
        active = self.active
        if rows.centre is not None or self.plain_products is None:
            products = self.quantizer.products(queries.body[active])
            if rows.centre is None:
                self.plain_products = products
        else:
            products = self.plain_products
        built = self.segments[number] = SegmentQuery.of(
            number, part, rows, products, queries, active
        )
        return built

    def _candidates_of(self, task: tuple[SegmentQuery, At]) -> Candidates | None:
        """Returns the candidates among some rows, if any."""
        segment_query, at = task
        mask = segment_query.part.mask
        if mask is not None and not mask[at].any():
            return None
        with np.errstate(all="ignore"):
            return self._bounded_candidates(segment_query, at)

    def _bounded_candidates(self, segment_query: SegmentQuery, at: At) -> Candidates | None:
        rows, mask = segment_query.rows, segment_query.part.mask
        estimates = segment_query.estimates(at)
        flat = self._above_threshold(segment_query, estimates, at)
        row, column = flat, np.zeros(1, np.intp)
        if estimates.shape[1] > 1:
            row = flat // estimates.shape[1]
            column = flat - row * estimates.shape[1]
        positions = row + at.start if isinstance(at, slice) else at[row]
        if mask is not None:
            in_mask = np.flatnonzero(mask[positions])
            flat, positions = flat[in_mask], positions[in_mask]
            column = column[in_mask] if len(column) > 1 else column
        if not flat.shape[0]:
            return None
        value = estimates.ravel()[flat].astype(np.float64)
        value *= segment_query.scale[column]
        value += segment_query.offset[column]
        error = rows.residual(positions)
        error *= segment_query.length[column]
        error += segment_query.error_base[column]
        norms = rows.norms[positions] if self.metric != "cosine" else _UNUSED
        lower, upper = self._interval(value, error, norms, segment_query.query_norms[column])
        query = self.active[column]
        reaching = np.flatnonzero(upper >= self.threshold[query])
        query = query[reaching] if len(query) > 1 else np.repeat(query, len(reaching))
        places = positions[reaching] + self.offsets[segment_query.number]
        return Candidates(places, query, lower[reaching], upper[reaching])

    def _above_threshold(
        self, segment_query: SegmentQuery, estimates: Float32s, at: At
    ) -> npt.NDArray[np.intp]:
        """Returns flat indices into (n, m) estimates of the rows that may reach the threshold.

        Rows masked out are among them.
        """
        rows = segment_query.rows
        if rows.has_extreme_norms and not np.isfinite(rows.scale(at)).all():
            return np.arange(estimates.size)
        norms = rows.norms[at] if self.metric != "cosine" else _UNUSED
        if not self.is_bounded:
            self._first_threshold(segment_query, estimates, norms, at)
        cosine = self._required_cosine(norms, segment_query.query_norms)
        estimate = (cosine - segment_query.error_max - segment_query.offset) / segment_query.scale
        # Rounded downwards, so that the comparison loses none.
        lowest = np.nextafter(estimate.astype(np.float32), np.float32(-np.inf))
        return np.flatnonzero(estimates >= lowest)

    def _first_threshold(
        self, segment_query: SegmentQuery, estimates: Float32s, norms: Float64s, at: At
    ) -> None:
        """Raises the threshold from the first rows alone, before any row is a candidate."""
        mask, count = segment_query.part.mask, int(self.depths.max())
        if mask is not None:
            estimates, norms = estimates[mask[at]], norms if norms is _UNUSED else norms[mask[at]]
        if len(estimates) < count or segment_query.rows.has_extreme_norms:
            return
        if norms is _UNUSED:
            lowest = (
                reached_by(estimates, count) * segment_query.scale
                + segment_query.offset
                - segment_query.error_max
            )
        else:
            middle = estimates * segment_query.scale + segment_query.offset
            error = np.repeat(segment_query.error_max[None, :], len(estimates), axis=0)
            lowest = reached_by(
                self._interval(middle, error, norms[:, None], segment_query.query_norms)[0], count
            )
        self._raise_threshold(self.active, lowest)

    def _required_cosine(self, norms: Float64s, query_norms: Float64s) -> Float64s:
        """Returns the least cosine that can reach the threshold.

        By query, and also by row where the norms of the rows differ much. Errors of a few roundings
        are within those that `error` allows for.
        """
        threshold = self.threshold[self.active]
        if self.metric == "cosine":
            return threshold
        low, high = norms.min(), norms.max()
        if high > low * self.tuning.norms_alike:
            low = high = norms[:, None]
        if self.metric == "dot":
            found = threshold / (np.where(threshold > 0.0, high, low) * query_norms)
        else:
            # (square + n²) / (2 n |q|), with square = threshold + |q|², is least at n² = square.
            square = threshold + query_norms * query_norms * (1.0 - _NORM_ERROR)
            norm = np.clip(np.sqrt(np.maximum(square, 0.0)), low, high)
            found = (square + norm * norm * (1.0 - _NORM_ERROR)) / (2.0 * norm * query_norms)
        return np.asarray(np.where(np.isnan(found), -np.inf, found))

    def _interval(
        self, middle: Float64s, error: Float64s, norms: Float64s, query_norms: Float64s
    ) -> tuple[Float64s, Float64s]:
        """Returns lower and upper bounds of canonical scores, given estimates of cosines and their
        errors.

        Overwrites `middle` and `error`. Norms are those of the rows and of the queries.
        """
        extreme = ~np.isfinite(middle)
        if self.metric != "cosine":
            middle *= norms * query_norms
            error *= norms * query_norms
            if self.metric == "euclidean":
                squares = norms * norms + query_norms * query_norms
                middle = 2.0 * middle - squares
                error = 2.0 * error + squares * _NORM_ERROR
        lower, upper = middle - error, middle + error
        lower[extreme], upper[extreme] = -np.inf, np.inf
        return lower, upper

    def _prune_below(self) -> None:
        """Raises the threshold by the candidates, and drops those now below it."""
        if not self.candidates:
            return
        candidates = concatenated(self.candidates, single=len(self.depths) == 1)
        self._raise_threshold(*candidates.thresholds(self.depths))
        self.candidates = [
            candidates.take(np.flatnonzero(candidates.upper >= self.threshold[candidates.query]))
        ]

    def _raise_threshold(self, queries: npt.NDArray[np.integer[Any]], threshold: Float64s) -> None:
        """Raises the threshold of some queries."""
        self.threshold[queries] = np.maximum(self.threshold[queries], threshold)
        self.is_bounded = not np.isneginf(self.threshold[self.active]).any()
