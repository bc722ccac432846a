"""The scan keeps every row that is among the best, whatever the data, the pass and the library."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from ibidem.index.segments import codes
from ibidem.index.segments.codes import encode_rows
from ibidem.retrieve.dense import kernel
from ibidem.retrieve.dense.bounds import QuerySide
from ibidem.retrieve.dense.lane import canonical_scores
from ibidem.retrieve.dense.quantizers import CODES, FLOATS
from ibidem.retrieve.dense.scan import scan
from ibidem.retrieve.dense.segment_query import SegmentRows
from ibidem.retrieve.dense.tuning import Tuning

from .adversarial import METRICS, FloatSegment, adversarial, leaning

DIMS = (1, 2, 3, 17, 64, 384, 1023, 1041, 4096)
PASSES = {"codes": CODES, "floats": FLOATS}


def segments_of(rows, count):
    edges = np.linspace(0, rows.shape[0], count + 1).astype(int)
    return [
        FloatSegment(np.ascontiguousarray(rows[a:b]), np.arange(a, b, dtype=np.uint32))
        for a, b in pairwise(edges)
    ]


def queries_of(rows):
    return [rows[place] for place in (0, 45, 85, -20, -1) if rows[place].any()]


@pytest.fixture
def centre_from(monkeypatch):
    """Sets the number of rows from which a segment has a centre."""
    return lambda count: monkeypatch.setattr(codes, "CENTRED_ROWS_MIN", count)


@pytest.fixture
def centred(centre_from):
    """Lets segments of few rows have a centre."""
    centre_from(16)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", DIMS)
def test_intervals_hold_the_canonical_score(name, metric, dim):
    rows = adversarial(np.random.default_rng(dim), dim)
    parts = [SegmentRows(segment) for segment in segments_of(rows, 3)]
    sides = [QuerySide.of(query, metric) for query in queries_of(rows)]
    everything = [rows.shape[0]] * len(sides)
    for side, found in zip(
        sides, scan(parts, sides, everything, PASSES[name], may_give_up=False), strict=True
    ):
        seen = 0
        for kept in found:
            scores = canonical_scores(kept.segment.rows[kept.positions], side.query, metric)
            assert (kept.estimate.lower <= scores).all()
            assert (scores <= kept.estimate.upper).all()
            seen += scores.shape[0]
        assert seen == rows.shape[0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", [1, 2, 17, 384, 1041])
def test_intervals_beside_a_centre_hold_the_canonical_score(metric, dim, centred):
    rng = np.random.default_rng(dim)
    rows = leaning(rng, dim)
    parts = [SegmentRows(segment) for segment in segments_of(rows, 2)]
    centres = [CODES.rows(part.segment).centre for part in parts]
    assert all(centre is not None for centre in centres)
    odd = [centre.direction.astype(np.float32) for centre in centres]
    odd += [-odd[0], np.float32(1e30) * odd[1], np.nextafter(odd[0], np.float32(2.0))]
    queries = [row for row in rows[:12] if row.any()]
    queries += [*odd, rng.standard_normal(dim).astype(np.float32)]
    sides = [QuerySide.of(query, metric) for query in queries]
    scanned = scan(parts, sides, [len(rows)] * len(sides), CODES, may_give_up=False)
    for side, found in zip(sides, scanned, strict=True):
        assert sum(one.positions.shape[0] for one in found) == len(rows)
        for kept in found:
            scores = canonical_scores(kept.segment.rows[kept.positions], side.query, metric)
            assert (kept.estimate.lower <= scores).all()
            assert (scores <= kept.estimate.upper).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", [2, 64, 384])
def test_every_row_among_the_best_is_kept_beside_a_centre(metric, dim, centred):
    rng = np.random.default_rng(dim)
    rows = np.concatenate([leaning(rng, dim) for _ in range(5)])
    queries = [row for row in rows[:6] if row.any()]
    queries.append(rng.standard_normal(dim).astype(np.float32))
    sides = [QuerySide.of(query, metric) for query in queries]
    mask = rng.random(len(rows)) < 0.7
    for layout in (1, 4):
        segments = segments_of(rows, layout)
        parts = [SegmentRows(segment, mask=mask[segment.ordinals]) for segment in segments]
        for count in (1, len(sides)):  # one query, and a batch, go different ways
            found = scan(parts, sides[:count], [10] * count, CODES, may_give_up=False)
            for side, one in zip(sides, found, strict=False):
                values = canonical_scores(rows, side.query, metric)
                least = np.sort(values[mask])[::-1][9]
                kept = {int(o) for part in one for o in part.segment.ordinals[part.positions]}
                assert set(np.flatnonzero(mask & (values >= least)).tolist()) <= kept


@pytest.mark.parametrize("kind", ["elsewhere", "themselves"])
def test_codes_beside_a_centre_tell_near_duplicates_apart(kind):
    rng = np.random.default_rng(8)
    centre = rng.standard_normal(64) / 8.0
    rows = (centre + rng.standard_normal((40_001, 64)) * 1e-3).astype(np.float32)
    query = rows[-1] if kind == "themselves" else rng.standard_normal(64).astype(np.float32)
    parts = [SegmentRows(segment) for segment in segments_of(rows[:-1], 2)]
    (kept,) = scan(parts, [QuerySide.of(query, "cosine")], [10], CODES, may_give_up=True)
    assert sum(one.positions.shape[0] for one in kept) < 600


@cache
def scored(metric, dim):
    """Rows, and what each has with each of the queries."""
    rng = np.random.default_rng(dim)
    rows = adversarial(rng, dim)
    rows = np.concatenate([rows, rng.standard_normal((3000, dim)).astype(np.float32)])
    rows = rows[rng.permutation(rows.shape[0])]
    return rows, [canonical_scores(rows, query, metric) for query in queries_of(rows)]


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", [2, pytest.param(64, marks=pytest.mark.slow), 384])
@pytest.mark.parametrize("share", [1.0, pytest.param(0.6, marks=pytest.mark.slow), 0.02])
def test_every_row_among_the_best_is_kept(name, metric, dim, share):
    rows, scores = scored(metric, dim)
    wanted = np.random.default_rng(dim).random(rows.shape[0]) < share
    sides = [QuerySide.of(query, metric) for query in queries_of(rows)]
    depths = [1, 10, 100, 7, 3][: len(sides)]
    for layout in (1, 7):
        for form in ("mask", "positions"):
            parts = []
            for segment in segments_of(rows, layout):
                mask = wanted[segment.ordinals]
                at = {"mask": mask} if form == "mask" else {"positions": np.flatnonzero(mask)}
                parts.append(SegmentRows(segment, **at))
            found = scan(parts, sides, depths, PASSES[name], may_give_up=False)
            for number, depth in enumerate(depths):
                least = np.sort(scores[number][wanted])[::-1][:depth][-1]
                best = set(np.flatnonzero(wanted & (scores[number] >= least)).tolist())
                kept = {
                    int(ordinal)
                    for one in found[number]
                    for ordinal in one.segment.ordinals[one.positions]
                }
                assert best <= kept <= set(np.flatnonzero(wanted).tolist())


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("metric", ["cosine", "dot"])
@pytest.mark.parametrize("count", [1, 5])
def test_zero_rows_that_tie_with_the_last_wanted_are_kept(name, metric, count):
    rng = np.random.default_rng(1)
    rows = -np.abs(rng.standard_normal((20_000, 16))).astype(np.float32)
    rows[::3] = 0.0
    side = QuerySide.of(np.abs(rng.standard_normal(16)).astype(np.float32), metric)
    for parts in ([SegmentRows(s) for s in segments_of(rows, layout)] for layout in (1, 3)):
        for found in scan(parts, [side] * count, [10] * count, PASSES[name], may_give_up=False):
            kept = {int(o) for part in found for o in part.segment.ordinals[part.positions]}
            assert set(range(0, len(rows), 3)) <= kept


@pytest.mark.parametrize("metric", METRICS)
def test_bounds_of_a_first_chunk_hold_in_any_order(metric):
    """Rows that get better, and rows that get worse, as the scan goes on."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((24_000, 24)).astype(np.float32)
    query = rng.standard_normal(24).astype(np.float32)
    scores = canonical_scores(rows, query, metric)
    for order in (np.argsort(scores), np.argsort(-scores)):
        parts = [SegmentRows(segment) for segment in segments_of(rows[order], 2)]
        least = np.sort(scores)[-40]
        for count in (1, 6):
            sides = [QuerySide.of(query, metric)] * count
            for found in scan(parts, sides, [40] * count, CODES, may_give_up=True):
                kept = [one.segment.ordinals[one.positions] for one in found]
                assert set(np.flatnonzero(scores[order] >= least)) <= set(np.concatenate(kept))


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("count", [1, 40])
def test_threads_that_share_a_scan_find_what_one_finds(name, count):
    tuning = Tuning(chunk_rows_max=2_048, shared_products_min=1_024)
    rng = np.random.default_rng(9)
    rows = rng.standard_normal((70_000, 16)).astype(np.float32)
    rows[::7] = adversarial(rng, 16)[np.arange(10_000) % 120]
    queries = rng.standard_normal((count, 16), np.float32)
    sides = [QuerySide.of(query, "cosine") for query in queries]
    found = []
    for workers in (1, 3):
        parts = [SegmentRows(segment) for segment in segments_of(rows, 2)]
        options = {"tuning": tuning, "workers": workers}
        scanned = scan(parts, sides, [10] * count, PASSES[name], may_give_up=False, **options)
        found.append([[one.positions.tolist() for one in kept] for kept in scanned])
    assert found[0] == found[1]


def test_codes_leave_few_of_ordinary_rows():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((20_000, 64)).astype(np.float32)
    side = QuerySide.of(rng.standard_normal(64).astype(np.float32), "cosine")
    (kept,) = scan(
        [SegmentRows(s) for s in segments_of(rows, 1)], [side], [10], CODES, may_give_up=True
    )
    assert sum(one.positions.shape[0] for one in kept) < 60


def test_a_query_is_given_up_where_codes_do_not_tell_rows_apart(centre_from):
    centre_from(1 << 30)
    rng = np.random.default_rng(6)
    rows = np.ones((70_000, 8), np.float32)
    rows += rng.standard_normal(rows.shape).astype(np.float32) * np.float32(1e-5)
    sides = [QuerySide.of(rng.standard_normal(8).astype(np.float32), "cosine")] * 2
    parts = [SegmentRows(segment) for segment in segments_of(rows, 2)]
    assert scan(parts, sides, [10, 10], CODES, may_give_up=True) == [None, None]
    fine = scan(parts, sides, [10, 10], FLOATS, may_give_up=False)
    assert 10 <= sum(one.positions.shape[0] for one in fine[0]) < 35_000


@pytest.mark.parametrize("dim", DIMS)
def test_codes_reconstruct_rows_within_their_residual(dim):
    rows = adversarial(np.random.default_rng(dim), dim)
    columns = encode_rows(rows)
    for number in range(0, rows.shape[0], 7):
        norm = math.sqrt(math.fsum((rows[number].astype(np.float64) ** 2).tolist()))
        assert (columns["norms"][number] == 0.0) == (norm == 0.0)
        if norm:
            assert abs(columns["norms"][number] / norm - 1.0) < 2.0**-38
            unit = rows[number].astype(np.float64) / norm
            rest = unit - columns["codes"][number] * float(columns["scale"][number])
            assert math.sqrt(math.fsum((rest**2).tolist())) <= columns["residual"][number]
        else:
            assert not columns["codes"][number].any()
            assert columns["residual"][number] == columns["scale"][number] == 0.0


@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("dim", [1, 63, 384, 1041, 4096])
def test_every_library_gives_the_same_products(dim, count):
    rng = np.random.default_rng(dim)
    numbers = rng.integers(-127, 128, (50, dim), dtype=np.int8)
    queries = rng.integers(-127, 128, (count, dim), dtype=np.int8)
    numbers[0], queries[0] = 127, 127
    exact = (numbers.astype(np.int64) @ queries.T.astype(np.int64)).astype(np.float32)
    numbers.flags.writeable = False
    products = [kernel.with_numpy(queries), kernel.code_products(queries)]
    if simsimd := kernel.simsimd_module():
        products.append(kernel.with_simsimd(simsimd, queries))
    if numkong := kernel.numkong_module():
        products.append(kernel.with_numkong(numkong, queries))
    for one in products:
        assert one(numbers).astype(np.float32).tobytes() == exact.tobytes()
