"""Code columns lie beside the rows of every vector segment, and merging copies them."""

from __future__ import annotations

import numpy as np

from ibidem.index.codes import CODE_COLUMNS, encode_rows
from ibidem.index.merge import Part
from ibidem.index.reading import VectorSegment
from ibidem.index.segment import Segment
from ibidem.index.vector_rows import VectorRows, merge_vectors
from ibidem.objects.ids import NodeId
from ibidem.objects.vector import Vector
from ibidem.retrieve.passes import CodedRows


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
        same(segment.columns, rows.astype(np.float32))


def test_merging_copies_codes_and_drops_those_of_dead_rows():
    first, second = segment_of(random_rows(1, 9), 0), segment_of(random_rows(2, 5), 20)
    marked = {name: column.copy() for name, column in first.columns.items()}
    marked["scale"][3] = 77.0  # what no encoding gives: a copy keeps it
    merged = merge_vectors([Part(Segment("marked", marked, {}, 0)), Part(second)])
    assert merged["ordinals"].tolist() == [*range(9), *range(20, 25)]
    assert merged["scale"][3] == 77.0
    merged["scale"][3] = first["scale"][3]
    same(merged, merged["rows"])


def test_a_segment_without_codes_gets_them_when_read_or_merged():
    old = segment_of(random_rows(3, 6), 0)
    bare = {name: column for name, column in old.columns.items() if name not in CODE_COLUMNS}
    segment = Segment("bare", bare, {}, 0)
    view = VectorSegment(Part(segment))
    assert view.codes is None
    coded = CodedRows.of(view)
    assert coded.codes.tobytes() == old["codes"].tobytes()
    assert CodedRows.of(VectorSegment(Part(segment))) is coded
    same(
        merge_vectors([Part(segment), Part(segment_of(random_rows(4, 3), 9))]),
        np.concatenate([random_rows(3, 6), random_rows(4, 3)]),
    )
