"""Segments of edges that are read as one give the arcs that they give one by one."""

import numpy as np
import pytest
from pyroaring import BitMap

from ibidem.index.segments import combined
from ibidem.index.segments.combined import CombinedEdges
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.reader import Arcs, EdgeSegment
from ibidem.index.segments.segment import Segment


def segment(random: np.random.Generator, name: str, rows: int, nodes: int) -> EdgeSegment:
    source, target = random.integers(0, nodes, (2, rows)).astype(np.uint32)
    etypes = sorted(random.choice(["cites", "has", "is", "sees"], 2, replace=False).tolist())
    orders = [np.argsort(column, kind="stable").astype(np.uint32) for column in (source, target)]
    columns = {
        "ordinals": np.arange(rows, dtype=np.uint32),
        "source": source,
        "target": target,
        "weight": random.random(rows),
        "code": random.integers(0, 2, rows).astype(np.uint32),
        "out.row": orders[0],
        "out.node": source[orders[0]],
        "in.row": orders[1],
        "in.node": target[orders[1]],
        "etype.keys": np.frombuffer("".join(etypes).encode(), np.uint8),
        "etype.ends": np.cumsum([len(etype) for etype in etypes]).astype(np.uint32),
        "valid.first": random.integers(0, 5, rows),
        "valid.last": random.integers(3, 9, rows),
    }
    dead = BitMap(random.integers(0, rows, rows // 4).tolist()) if name != "a" else None
    return EdgeSegment(Part(Segment(name, columns, {}, 0), dead))


def rows_of(arcs: Arcs, etypes: tuple[str, ...]) -> list[tuple[int, int, float, str]]:
    assert (np.diff(arcs.places) >= 0).all()
    names = [etypes[code] for code in arcs.codes.tolist()]
    columns = (arcs.places.tolist(), arcs.neighbours.tolist(), arcs.weights.tolist())
    return sorted(zip(*columns, names, strict=True))


def limits(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    for name, value in values.items():
        monkeypatch.setattr(combined, name, value)


@pytest.mark.parametrize("seed", range(6))
def test_the_arcs_and_counts_of_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    limits(monkeypatch, READS_BEFORE=1)
    random = np.random.default_rng(seed)
    parts = [segment(random, name, rows, 40) for name, rows in zip("abc", (60, 9, 30), strict=True)]
    one = CombinedEdges(parts)
    for outgoing in (True, False):
        for at in (None, 0, 4, 20):
            # The first read has no table; the last nodes are past every edge.
            for nodes in (np.arange(45), random.permutation(50)[:9], np.array([60]), np.zeros(0)):
                asked = nodes.astype(np.uint32)
                found = rows_of(one.arcs(asked, outgoing=outgoing, at=at), one.etypes)
                assert found == sorted(
                    row
                    for part in parts
                    for row in rows_of(part.arcs(asked, outgoing=outgoing, at=at), part.etypes)
                )
    counts = dict(zip(one.etypes, one.etype_counts().tolist(), strict=True))
    for etype in one.etypes:
        assert counts[etype] == sum(
            dict(zip(part.etypes, part.etype_counts().tolist(), strict=True)).get(etype, 0)
            for part in parts
        )


def test_a_table_is_built_once_for_the_same_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    limits(monkeypatch, READS_BEFORE=2)
    random = np.random.default_rng(1)
    parts = [segment(random, name, 20, 9) for name in "abcd"]
    built, table = [], combined._Table
    monkeypatch.setattr(combined, "_Table", lambda columns: built.append(1) or table(columns))
    nodes = np.arange(9, dtype=np.uint32)
    for count in (0, 0, 1, 1):
        CombinedEdges(parts).arcs(nodes, outgoing=True)
        assert len(built) == count
    CombinedEdges(parts[:3]).arcs(nodes, outgoing=True)
    assert len(built) == 1


def test_small_segments_and_few_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    parts = [segment(random, name, rows, 9) for name, rows in zip("abc", (20, 5, 20), strict=True)]
    assert combined.combine(parts) == tuple(parts)
    limits(monkeypatch, ROWS_MIN=20)
    assert combined.combine(parts) == tuple(parts)
    limits(monkeypatch, SEGMENTS_MIN=2)
    large, small = combined.combine(parts)
    assert isinstance(large, CombinedEdges)
    assert small is parts[1]
