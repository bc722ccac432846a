"""A snapshot answers like the graph's dictionaries, whichever way it was reached."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.cases import by_suite
from tests.examples import examples

from ibidem.index import extract, incremental
from ibidem.index.families import node_rows
from ibidem.index.index import Index
from ibidem.index.segments import combined
from ibidem.index.tuning import TUNING, Tuning
from ibidem.objects.cid import RootCid
from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.store.memory import MemoryStore

from .graphs import Graph, mutate, store_root, with_fields
from .model import check

TINY = Tuning(
    fresh_rows=1,
    tail_rows=3,
    tier_rows=(6, 12),
    tier_parts=2,
    step_rows_max=6,
    steps_before=0,
    compact_rows=10,
    chunk_rows=7,
)


@pytest.fixture(scope="module", params=[TINY, TUNING], ids=["tiny tiers", "usual tiers"])
def tuning(request: pytest.FixtureRequest) -> Iterator[Tuning]:
    """Runs all with bounds so small that every kind of merge happens, and with the real ones."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param is TINY:
            patch.setattr(incremental, "BATCH_BLOCKS", 4)
            patch.setattr(extract, "CONTENT_INDEXED_BYTES_MAX", 1 << 20)
            for name, value in (("ROWS_MIN", 2), ("SEGMENTS_MIN", 2), ("READS_BEFORE", 1)):
                patch.setattr(combined, name, value)
        yield request.param


@pytest.fixture(autouse=True, scope="module")
def _wide():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_rows, "WIDE_ROWS", 4)
        yield


def history(
    seed: int, *, commits: int, span: int
) -> tuple[MemoryStore, list[tuple[RootCid, Graph]]]:
    draw, store = random.Random(seed), MemoryStore()
    graph, found = Graph(), []
    for _ in range(commits):
        graph = mutate(graph, draw, store, span=span, edits=draw.choice([0, 1, 5, 30]))
        found.append((store_root(graph, store), graph))
    return store, found


WALKS = {"seed": st.integers(0, 2**32), "span": st.sampled_from([3, 12, 40])}


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(**WALKS)
@example(seed=4818, span=40)  # all edges go, in more than one batch
def test_any_walk_over_roots_answers_like_the_graph(seed: int, span: int, tuning: Tuning):
    walk(seed, span, tuning)


@pytest.mark.slow
@settings(max_examples=examples(24), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(**WALKS)
def test_many_walks_over_roots_answer_like_the_graph(seed: int, span: int, tuning: Tuning):
    walk(seed, span, tuning)


def walk(seed: int, span: int, tuning: Tuning) -> None:
    """Compares every root of a history, some of them again, one compacted and one built anew."""
    store, roots = history(seed, commits=6, span=span)
    index = Index(None, store, tuning=tuning)
    draw = random.Random(seed)
    for root, graph in [*roots, *draw.choices(roots, k=3)]:
        check(index.snapshot(root), graph, store)
    root, graph = draw.choice(roots)
    check(index.compact(root), graph, store)
    check(index.build(root), graph, store)


@pytest.mark.parametrize("seed", by_suite(range(12), slow=4))
def test_long_walks_answer_like_the_graph(seed: int, tmp_path: Path, tuning: Tuning):
    store, roots = history(seed, commits=25, span=60)
    draw = random.Random(seed)
    index = Index(tmp_path, store, tuning=tuning)
    for root, graph in [*roots, *draw.choices(roots, k=10)]:
        check(index.snapshot(root), graph, store)
        if draw.random() < 0.2:
            check(index.compact(root), graph, store)
        if draw.random() < 0.2:
            index = Index(tmp_path, store, tuning=tuning)


def test_reopened_snapshots_answer_like_the_graph(tmp_path: Path, tuning: Tuning):
    store, roots = history(5, commits=8, span=30)
    index = Index(tmp_path, store, tuning=tuning)
    for root, _ in roots:
        index.snapshot(root)
    for root, graph in roots:
        check(Index(tmp_path, store, tuning=tuning).snapshot(root), graph, store)
        assert Index(tmp_path, store, tuning=tuning).verify(root) == []


def test_snapshots_stay_readable_after_their_files_are_gone(tmp_path: Path, tuning: Tuning):
    store, roots = history(6, commits=3, span=30)
    root, graph = roots[-1]
    snapshot = Index(tmp_path, store, tuning=tuning).snapshot(root)
    Index(tmp_path, store, tuning=tuning).forget()
    assert not list(tmp_path.glob("*/*"))
    check(snapshot, graph, store)


def test_another_configuration_of_texts_is_indexed_anew(tuning: Tuning):
    store, roots = history(7, commits=3, span=30)
    root, graph = roots[-1]
    index = Index(None, store, tuning=tuning)
    check(index.snapshot(root), graph, store)
    other = with_fields(graph, ("summary", "props.a"))
    check(index.snapshot(store_root(other, store)), other, store)
    check(index.snapshot(root), graph, store)


def test_the_empty_root_has_a_snapshot(tmp_path: Path, tuning: Tuning):
    store = MemoryStore()
    root = store_root(Graph(), store)
    check(Index(tmp_path, store, tuning=tuning).snapshot(root), Graph(), store)
    check(Index(tmp_path, store, tuning=tuning).snapshot(root), Graph(), store)


def test_a_base_that_lost_its_blocks_is_not_used(tmp_path: Path, tuning: Tuning):
    store, roots = history(8, commits=4, span=30)
    index = Index(tmp_path, store, tuning=tuning)
    index.snapshot(roots[0][0])
    store.delete([roots[0][0]])
    for opened in (index, Index(tmp_path, store, tuning=tuning)):
        check(opened.snapshot(roots[-1][0]), roots[-1][1], store)


def test_a_missing_root_is_an_error(tmp_path: Path, tuning: Tuning):
    with pytest.raises(NotFoundError):
        Index(tmp_path, MemoryStore(), tuning=tuning).snapshot(RootCid.of(b"nothing"))


def test_a_node_under_another_key_is_refused(tuning: Tuning):
    store, roots = history(9, commits=3, span=30)
    graph = roots[-1][1].copy()
    raw = next(iter(graph.nodes))
    graph.nodes[b"\xee" * 16] = graph.nodes[raw]
    with pytest.raises(CorruptError):
        Index(None, store, tuning=tuning).snapshot(store_root(graph, store))


def test_ranges_without_sense_are_refused(tuning: Tuning):
    store, roots = history(10, commits=1, span=3)
    snapshot = Index(None, store, tuning=tuning).snapshot(roots[0][0])
    for low, high in [(None, None), (1, "a"), (True, 2), (b"a", None), (float("nan"), None)]:
        with pytest.raises(InvalidInputError):
            snapshot.between("a", low, high)
    for value in ([], {}):
        with pytest.raises(InvalidInputError):
            snapshot.equal("a", value)
    with pytest.raises(InvalidInputError):
        snapshot.node_cids([10**6])


def test_text_that_nothing_can_hold_matches_nothing(tuning: Tuning):
    store, roots = history(11, commits=3, span=20)
    snapshot = Index(None, store, tuning=tuning).snapshot(roots[-1][0])
    assert not snapshot.label("\ud800")
    assert not snapshot.equal("a", "\ud800")
    assert not snapshot.equal("a", float("nan"))
    assert not snapshot.equal("a", 10**400)
    assert all(segment.postings("\ud800") is None for segment in snapshot.lexical)
    assert snapshot.between("a", "\ud800", None) <= snapshot.exists("a")
    assert snapshot.between("a", -(10**400), 10**400) == snapshot.between("a", -1e308, 1e308)
    assert not snapshot.between("a", float("inf"), None)
