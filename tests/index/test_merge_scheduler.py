"""Merges beside the commits change the layout and nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from pyroaring import BitMap

from ibidem.index.families.merge_scheduler import _exchanged, _Job
from ibidem.index.index import Index
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.segment import Segment
from ibidem.index.segments.store import MemorySegmentStore
from ibidem.index.tuning import Tuning
from ibidem.store.memory import MemoryStore

from .graphs import Graph, mutate, store_root
from .model import check

TINY = Tuning(
    fresh_rows=1, tail_rows=3, tier_parts=2, step_rows_max=1, patience=1_000, steps_before=0
)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_on_disk", [pytest.param(False, marks=pytest.mark.slow), True])
def test_taking_over_a_merge_answers_like_the_graph(seed: int, is_on_disk: bool, tmp_path: Path):
    draw, store = random.Random(seed), MemoryStore()
    index = Index(tmp_path if is_on_disk else None, store, tuning=TINY)
    graph, roots, taken = Graph(), [], 0
    for _ in range(12):
        graph = mutate(graph, draw, store, span=300, edits=draw.choice([5, 9]))
        roots.append((store_root(graph, store), graph))
        before = index._merger._job
        snapshot = index.snapshot(roots[-1][0])
        if before is not None and index._merger._job is not before:
            taken += 1
            check(snapshot, graph, store)
        if draw.random() < 0.8:
            index._merger.wait()
        if draw.random() < 0.3:
            root, older = draw.choice(roots)
            check(index.snapshot(root), older, store)
    assert taken
    for root, older in roots:
        check(index.snapshot(root), older, store)
    if is_on_disk:
        assert Index(tmp_path, store).verify(roots[-1][0]) == []


def part(name: str, ordinals: list[int], dead: list[int]) -> Part:
    columns = {"ordinals": np.array(ordinals, np.uint32)}
    return Part(Segment(name, columns, {}, 0), BitMap(dead) or None)


def test_rows_that_died_during_a_merge_are_dead_in_what_it_made():
    sources = (part("a", [0, 1, 2], [1]), part("b", [3, 4], []))
    merged = part("m", [0, 2, 3, 4], []).segment
    tail = part("t", [5], [])
    found = _exchanged((part("a", [0, 1, 2], [1, 2]), part("b", [3, 4], []), tail), sources, merged)
    assert found is not None
    assert [one.segment.name for one in found] == ["m", "t"]
    assert found[0].dead == BitMap([2])


def test_a_merge_is_thrown_away_where_a_row_lives_again_or_a_part_is_gone():
    sources = (part("a", [0, 1, 2], [1]), part("b", [3, 4], []))
    merged = part("m", [0, 2, 3, 4], []).segment
    assert _exchanged((part("a", [0, 1, 2], []), part("b", [3, 4], [])), sources, merged) is None
    assert _exchanged((part("b", [3, 4], []),), sources, merged) is None


def test_a_merge_that_the_disk_refuses_leaves_the_parts(tmp_path: Path):
    draw, store, graph = random.Random(1), MemoryStore(), Graph()
    index = Index(tmp_path, store, tuning=TINY)
    for _ in range(8):
        graph = mutate(graph, draw, store, span=40, edits=5)
        root = store_root(graph, store)
        index.snapshot(root)
        index._merger.wait()
        job = index._merger._job
        if job is not None:
            job.merged = None
    check(index.snapshot(root), graph, store)


def test_a_merge_that_fails_leaves_its_parts():
    """Damage shows in many ways; the thread that merges survives every one of them."""

    def fails(parts: object) -> Segment:
        raise IndexError("a damaged segment")

    job = _Job(("nodes", ""), ())
    job.run(fails, MemorySegmentStore())
    assert job.is_done.is_set()
    assert job.merged is None
