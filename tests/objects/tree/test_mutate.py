"""Editing: the result is the fresh build of the resulting set, and little else is touched."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, Tree, mutate

from .reference import Recorder, cid, edited, random_edits, random_entries, stored


def check(entries: dict[bytes, Cid], edits: dict[bytes, Cid | None]) -> None:
    top, blocks = stored(entries)
    buffer = WriteBatch(Recorder(blocks))
    found = mutate(top, edits, buffer)
    expected, fresh = stored(edited(entries, edits))
    assert found == expected
    assert fresh.items() >= buffer.new.items()
    assert (blocks | buffer.new).items() >= fresh.items()
    if found != EMPTY_TREE:
        assert not buffer.new.keys() & blocks.keys()


@settings(max_examples=examples(80), deadline=None)
@given(
    st.sampled_from([1, 2, 3, 16, 24]),
    st.sampled_from([0, 1, 60, 300, 2500]),
    st.sampled_from([1, 2, 20, 300, 3000]),
    st.integers(0, 2**32),
)
def test_mutate_equals_build(width: int, size: int, edits: int, seed: int) -> None:
    rng = random.Random(seed)
    entries = random_entries(rng, size, width)
    check(entries, random_edits(rng, entries, edits, width))


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 1500), st.integers(0, 3000), st.integers(0, 3000))
def test_deleting_and_refilling_a_stretch_equals_build(
    seed: int, size: int, one: int, other: int
) -> None:
    rng = random.Random(seed)
    entries = random_entries(rng, 3000)
    ordered = sorted(entries)
    start, stop = sorted((one, other))
    edits: dict[bytes, Cid | None] = dict.fromkeys(ordered[start:stop])
    check(entries, edits)
    low = ordered[start - 1] if start else bytes(16)
    dense = [low[:8] + rng.randbytes(8) for _ in range(size)]
    check(entries, edits | {key: cid(1) for key in dense})
    check(edited(entries, edits), {key: entries[key] for key in ordered[start:stop]})


def test_every_single_insert_and_delete_equals_build() -> None:
    rng = random.Random(1)
    entries = random_entries(rng, 700)
    for key in sorted(entries)[::7]:
        check(entries, {key: None})
        rest = {other: value for other, value in entries.items() if other != key}
        check(rest, {key: entries[key]})


def test_history_leaves_no_trace() -> None:
    rng = random.Random(2)
    entries: dict[bytes, Cid] = {}
    blocks: dict[Cid, bytes] = {}
    top = EMPTY_TREE
    for step in range(60):
        edits = random_edits(rng, entries, rng.choice([1, 5, 200]))
        if step % 20 == 19:
            edits = dict.fromkeys(entries)
        buffer = WriteBatch(Recorder(blocks))
        top = mutate(top, edits, buffer)
        blocks |= buffer.new
        entries = edited(entries, edits)
        assert top == stored(entries)[0]


def test_deleting_everything_gives_the_empty_tree() -> None:
    for size in (1, 300, 5000):
        entries = random_entries(random.Random(3), size)
        top, blocks = stored(entries)
        buffer = WriteBatch(Recorder(blocks))
        assert mutate(top, dict.fromkeys(entries), buffer) == EMPTY_TREE
        assert buffer.new == {EMPTY_TREE: EMPTY_TREE_BLOCK}


def test_edits_without_effect_write_nothing() -> None:
    entries = random_entries(random.Random(4), 5000)
    top, blocks = stored(entries)
    key = next(iter(entries))
    for edits in ({}, {bytes(16): None}, {key: entries[key]}, dict(entries)):
        buffer = WriteBatch(Recorder(blocks))
        assert mutate(top, edits, buffer) == top
        assert not buffer.new


def test_a_changed_value_writes_one_block_a_level() -> None:
    entries = random_entries(random.Random(5), 20_000)
    top, blocks = stored(entries)
    height = Tree(Recorder(blocks), top).height
    for key in list(entries)[:50]:
        source = Recorder(blocks)
        buffer = WriteBatch(source)
        mutate(top, {key: cid(1)}, buffer)
        assert len(buffer.new) == height
        assert len(source.reads) == height


def test_inserts_and_deletes_touch_little_more_than_the_path() -> None:
    rng = random.Random(6)
    entries = random_entries(rng, 20_000)
    top, blocks = stored(entries)
    height = Tree(Recorder(blocks), top).height
    written, read = 0, 0
    edits = [{rng.randbytes(16): cid(1)} for _ in range(50)]
    edits += [{key: None} for key in list(entries)[:50]]
    for edit in edits:
        source = Recorder(blocks)
        buffer = WriteBatch(source)
        mutate(top, edit, buffer)
        written += len(buffer.new)
        read += len(source.reads)
    assert written <= 100 * (height + 2)
    assert read <= 100 * (height + 2)


def test_keys_of_another_width_are_refused() -> None:
    top, blocks = stored(random_entries(random.Random(7), 3))
    buffer = WriteBatch(Recorder(blocks))
    with pytest.raises(InvalidInputError, match="expected 16"):
        mutate(top, {b"short": cid(1)}, buffer)
    with pytest.raises(InvalidInputError, match="expected 1"):
        mutate(EMPTY_TREE, {b"a": cid(1), b"bc": cid(1)}, buffer)
    assert not buffer.new
