"""The scan keeps every row that is among the best, whatever the data, the pass and the library."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from ibidem.index.codes import encode_rows
from ibidem.retrieve import kernel
from ibidem.retrieve.bounds import QuerySide
from ibidem.retrieve.dense import canonical_scores
from ibidem.retrieve.passes import CODES, FLOATS
from ibidem.retrieve.scan import Part, scan

from .adversarial import METRICS, FloatSegment, adversarial

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


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", DIMS)
def test_intervals_hold_the_canonical_score(name, metric, dim):
    rows = adversarial(np.random.default_rng(dim), dim)
    parts = [Part(segment) for segment in segments_of(rows, 3)]
    sides = [QuerySide.of(query, metric) for query in queries_of(rows)]
    everything = [rows.shape[0]] * len(sides)
    for side, found in zip(
        sides, scan(parts, sides, everything, PASSES[name], gives_up=False), strict=True
    ):
        seen = 0
        for kept in found:
            scores = canonical_scores(kept.segment.rows[kept.positions], side.query, metric)
            assert (kept.estimate.lower <= scores).all()
            assert (scores <= kept.estimate.upper).all()
            seen += scores.shape[0]
        assert seen == rows.shape[0]


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", [2, 64, 384])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.02])
def test_every_row_among_the_best_is_kept(name, metric, dim, share):
    rng = np.random.default_rng(dim)
    rows = adversarial(rng, dim)
    rows = np.concatenate([rows, rng.standard_normal((3000, dim)).astype(np.float32)])
    rows = rows[rng.permutation(rows.shape[0])]
    wanted = rng.random(rows.shape[0]) < share
    sides = [QuerySide.of(query, metric) for query in queries_of(rows)]
    depths = [1, 10, 100, 7, 3][: len(sides)]
    scores = {}
    for layout in (1, 7):
        for form in ("mask", "positions"):
            parts = []
            for segment in segments_of(rows, layout):
                mask = wanted[segment.ordinals]
                at = {"mask": mask} if form == "mask" else {"positions": np.flatnonzero(mask)}
                parts.append(Part(segment, **at))
            found = scan(parts, sides, depths, PASSES[name], gives_up=False)
            for number, (side, depth) in enumerate(zip(sides, depths, strict=True)):
                values = scores.setdefault(number, canonical_scores(rows, side.query, metric))
                least = np.sort(values[wanted])[::-1][:depth][-1]
                best = set(np.flatnonzero(wanted & (values >= least)).tolist())
                kept = {
                    int(ordinal)
                    for one in found[number]
                    for ordinal in one.segment.ordinals[one.positions]
                }
                assert best <= kept <= set(np.flatnonzero(wanted).tolist())


def test_codes_leave_few_of_ordinary_rows():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((20_000, 64)).astype(np.float32)
    side = QuerySide.of(rng.standard_normal(64).astype(np.float32), "cosine")
    (kept,) = scan([Part(s) for s in segments_of(rows, 1)], [side], [10], CODES, gives_up=True)
    assert sum(one.positions.shape[0] for one in kept) < 60


def test_a_query_is_given_up_where_codes_do_not_tell_rows_apart():
    rng = np.random.default_rng(6)
    rows = np.ones((70_000, 8), np.float32)
    rows += rng.standard_normal(rows.shape).astype(np.float32) * np.float32(1e-5)
    sides = [QuerySide.of(rng.standard_normal(8).astype(np.float32), "cosine")] * 2
    parts = [Part(segment) for segment in segments_of(rows, 2)]
    assert scan(parts, sides, [10, 10], CODES, gives_up=True) == [None, None]
    fine = scan(parts, sides, [10, 10], FLOATS, gives_up=False)
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
    codes = rng.integers(-127, 128, (50, dim), dtype=np.int8)
    queries = rng.integers(-127, 128, (count, dim), dtype=np.int8)
    codes[0], queries[0] = 127, 127
    exact = (codes.astype(np.int64) @ queries.T.astype(np.int64)).astype(np.float32)
    codes.flags.writeable = False
    products = [kernel.with_numpy(queries), kernel.code_products(queries)]
    if simsimd := kernel.simsimd_module():
        products.append(kernel.with_simsimd(simsimd, queries))
    if numkong := kernel.numkong_module():
        products.append(kernel.with_numkong(numkong, queries))
    for one in products:
        assert one(codes).astype(np.float32).tobytes() == exact.tobytes()
