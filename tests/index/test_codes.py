"""Code columns lie beside the rows of every vector segment, and merging copies them."""

from __future__ import annotations

import numpy as np
import pytest

from ibidem.index.families.vector_rows import VectorRows, VectorSegment
from ibidem.index.segments import codes
from ibidem.index.segments.codes import (
    CENTRE,
    CENTRE_COLUMNS,
    CENTRE_NUMBERS,
    CODE_COLUMNS,
    LEAN,
    encode_rows,
)
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.segment import Segment
from ibidem.objects.ids import NodeId
from ibidem.objects.vector import Vector
from ibidem.retrieve.dense.quantizers import CodedRows


def segment_of(rows, start):
    made = VectorRows("m")
    for number, row in enumerate(rows):
        vector = Vector.from_array(row, of=bytes(32))
        made.add(NodeId((start + number).to_bytes(16, "big")).raw, vector, bytes(32))
    columns = made.columns(lambda ids: np.arange(start, start + len(ids)))
    return Segment(f"s{start}", columns, {}, 0)


def random_rows(seed, count, dtype=np.float32):
    return (np.random.default_rng(seed).standard_normal((count, 12)) * 40).astype(dtype)


def same(columns, rows):
    expected = encode_rows(rows)
    assert all(columns[name].tobytes() == expected[name].tobytes() for name in CODE_COLUMNS)


def test_a_segment_is_written_with_codes_of_its_rows():
    for dtype in (np.float32, np.float16, np.int8):
        rows = random_rows(1, 9, dtype)
        segment = segment_of(rows, 0)
        assert segment["rows"].dtype == np.float32
        assert (segment["rows"] == rows).all()
        same(segment.columns(), rows.astype(np.float32))


def test_merging_copies_codes_and_drops_those_of_dead_rows():
    first, second = segment_of(random_rows(1, 9), 0), segment_of(random_rows(2, 5), 20)
    marked = {name: column.copy() for name, column in first.columns().items()}
    marked["scale"][3] = 77.0  # what no encoding gives: a copy keeps it
    merged = VectorRows.merge([Part(Segment("marked", marked, {}, 0)), Part(second)])
    assert merged["ordinals"].tolist() == [*range(9), *range(20, 25)]
    assert merged["scale"][3] == 77.0
    merged["scale"][3] = first["scale"][3]
    same(merged, merged["rows"])


def leaning_rows(seed, count):
    return random_rows(seed, count) + np.float32(100.0)


@pytest.fixture
def centre_from(monkeypatch):
    """Sets the number of rows from which a segment has a centre."""
    return lambda count: monkeypatch.setattr(codes, "CENTRED_ROWS_MIN", count)


def test_rows_that_lean_one_way_are_kept_beside_their_centre(centre_from):
    centre_from(4)
    rows = leaning_rows(1, 40)
    rows[3] = 0.0
    columns = segment_of(rows, 0).columns()
    centre, (mean, reach) = columns[CENTRE].astype(np.float64), columns[CENTRE_NUMBERS]
    assert 0.25 <= (centre**2).sum() <= 1.0
    units = rows.astype(np.float64)
    units /= np.maximum(np.sqrt((units**2).sum(axis=1)), 1e-300)[:, None]
    coded = columns["codes"] * columns["scale"].astype(np.float64)[:, None]
    rest = units - centre - coded
    assert (np.sqrt((rest**2).sum(axis=1)) <= columns["residual"]).all()
    assert (np.sqrt((coded**2).sum(axis=1)) <= reach).all()
    assert np.abs(units @ centre - mean - columns[LEAN]).max() < 2.0**-24
    assert columns["residual"].max() < codes.encode_rows(rows[:3])["residual"].max()


@pytest.mark.parametrize("dim", [1, 3, 64])
@pytest.mark.parametrize("magnitude", [1e-42, 1.0, 1e37])
def test_the_check_of_bounds_knows_the_centre_of_a_segment(centre_from, dim, magnitude):
    centre_from(4)
    rows = np.random.default_rng(7).standard_normal((40, dim))
    rows = ((rows + 3.0) * magnitude).astype(np.float32)
    rows[3] = 0.0
    rows[5] = rows[4]
    columns = encode_rows(rows)
    assert CENTRE in columns
    assert codes.codes_problem({**columns, "rows": rows}) is None


@pytest.mark.parametrize("part", [1, 1 << 20])
@pytest.mark.parametrize("is_leaning", [False, True])
def test_damage_to_any_column_of_codes_is_found(centre_from, monkeypatch, is_leaning, part):
    centre_from(4)
    monkeypatch.setattr(codes, "_CHECK_COMPONENTS", part)
    rows = (leaning_rows if is_leaning else random_rows)(2, 40)
    rows[3] = 0.0
    columns = {"rows": rows, **encode_rows(rows)}
    assert codes.codes_problem(columns) is None
    names = [*CODE_COLUMNS, *(CENTRE_COLUMNS if is_leaning else ())]
    for name in names:
        for place in (0, 3, -1):
            for damage in (lambda old: old // 2, lambda old: old + 100, lambda old: -old - 1):
                wrong = columns[name].copy()
                flat = wrong.reshape(-1)
                flat[place % len(flat)] = damage(flat[place % len(flat)])
                is_bound = name in {"residual", CENTRE_NUMBERS}
                if (wrong == columns[name]).all() or (is_bound and (wrong >= columns[name]).all()):
                    continue  # a greater bound is a bound
                found = codes.codes_problem({**columns, name: wrong})
                assert found is not None, (name, place, flat[place % len(flat)])
        if columns[name].dtype.kind == "f":
            wrong = np.full_like(columns[name], np.nan)
            assert codes.codes_problem({**columns, name: wrong}) is not None, name
    for name in CENTRE_COLUMNS if is_leaning else ():
        rest = {other: column for other, column in columns.items() if other != name}
        assert codes.codes_problem(rest) is not None, name


def test_merging_makes_codes_anew_where_a_part_or_the_whole_has_a_centre(centre_from):
    plain = segment_of(random_rows(1, 9), 0), segment_of(leaning_rows(2, 30), 20)
    centre_from(20)
    leaning = segment_of(leaning_rows(3, 25), 60)
    assert CENTRE in leaning
    for parts in (plain, (plain[0], leaning), (leaning, plain[1])):
        merged = VectorRows.merge([Part(part) for part in parts])
        expected = encode_rows(merged["rows"])
        assert all(merged[name].tobytes() == expected[name].tobytes() for name in expected)
        assert (LEAN in merged) == (CENTRE in merged) == (CENTRE in expected)


def test_a_segment_without_codes_gets_them_when_read_or_merged():
    old = segment_of(random_rows(3, 6), 0)
    bare = {name: column for name, column in old.columns().items() if name not in CODE_COLUMNS}
    segment = Segment("bare", bare, {}, 0)
    view = VectorSegment(Part(segment))
    assert view.codes is None
    coded = CodedRows.of(view)
    assert coded.codes.tobytes() == old["codes"].tobytes()
    assert CodedRows.of(VectorSegment(Part(segment))) is coded
    same(
        VectorRows.merge([Part(segment), Part(segment_of(random_rows(4, 3), 9))]),
        np.concatenate([random_rows(3, 6), random_rows(4, 3)]),
    )
