"""Reading: a tree answers as the dict it was built from, and reads no more than the path."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.objects.tree.block import EMPTY_TREE_BLOCK

from .reference import Recorder, cid, random_entries, stored


@settings(max_examples=examples(60), deadline=None)
@given(st.sets(st.binary(min_size=2, max_size=2), max_size=600), st.data())
def test_tree_answers_as_a_dict(keys: set[bytes], data: st.DataObject) -> None:
    entries = {key: cid(int.from_bytes(key, "big")) for key in keys}
    top, blocks = stored(entries)
    tree = Tree(Recorder(blocks), top)
    probes = data.draw(st.lists(st.binary(min_size=2, max_size=2), max_size=30)) + sorted(keys)[:9]
    assert [tree.get(key) for key in probes] == [entries.get(key) for key in probes]
    assert tree.get_many(probes) == [entries.get(key) for key in probes]
    assert [key in tree for key in probes] == [key in entries for key in probes]
    assert len(tree) == len(entries)
    assert list(tree) == list(tree.keys()) == sorted(entries)
    assert dict(tree.items()) == entries


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 3000), st.integers(0, 2**32), st.data())
def test_range_is_half_open(size: int, seed: int, data: st.DataObject) -> None:
    entries = random_entries(random.Random(seed), size, 3)
    top, blocks = stored(entries)
    tree = Tree(Recorder(blocks), top)
    bound = st.none() | st.binary(min_size=3, max_size=3)
    if entries:
        bound |= st.sampled_from(sorted(entries))
    start, stop = data.draw(bound), data.draw(bound)
    expected = [
        (key, entries[key])
        for key in sorted(entries)
        if (start is None or start <= key) and (stop is None or key < stop)
    ]
    assert list(tree.range(start, stop)) == expected
    keys, cids = tree.arrays(start, stop)
    assert keys.tobytes() == b"".join(key for key, _ in expected)
    assert cids.tobytes() == b"".join(value.raw for _, value in expected)


def test_get_reads_one_block_a_level_and_inner_blocks_once() -> None:
    entries = random_entries(random.Random(7), 20_000)
    top, blocks = stored(entries)
    source = Recorder(blocks)
    tree = Tree(source, top)
    tree.get(min(entries))
    assert len(source.reads) == tree.height == 3
    source.reads.clear()
    tree.get(min(entries))
    assert len(source.reads) == 1


def test_get_many_reads_each_block_once() -> None:
    entries = random_entries(random.Random(8), 20_000)
    top, blocks = stored(entries)
    source = Recorder(blocks)
    keys = list(entries)
    assert Tree(source, top).get_many(keys) == list(entries.values())
    assert len(source.reads) == len(set(source.reads)) == len(blocks)


def test_whole_trees_and_many_keys_are_read_in_batches() -> None:
    entries = random_entries(random.Random(8), 10_000)
    top, blocks = stored(entries)
    height = Tree(Recorder(blocks), top).height
    for ask, calls_max in (
        (lambda tree: tree.get_many(list(entries)), height),
        (lambda tree: tree.arrays(), height),
        (lambda tree: list(tree.items()), 4 * height),
        (lambda tree: next(tree.items()), height),
    ):
        source = Recorder(blocks)
        ask(Tree(source, top))
        assert source.calls <= calls_max
    assert len(source.reads) == height


def test_range_reads_only_blocks_that_overlap_it() -> None:
    entries = random_entries(random.Random(9), 20_000)
    top, blocks = stored(entries)
    source = Recorder(blocks)
    ordered = sorted(entries)
    assert [key for key, _ in Tree(source, top).range(ordered[500], ordered[502])] == ordered[
        500:502
    ]
    assert len(source.reads) <= 5


def test_empty_tree_needs_no_block() -> None:
    tree = Tree(Recorder({}), EMPTY_TREE)
    assert (len(tree), tree.height, tree.width, list(tree.items())) == (0, 1, 0, [])
    assert tree.get(b"any") is None
    assert tree.get_many([b"a", b"bb"]) == [None, None]
    keys, cids = tree.arrays()
    assert (keys.shape, cids.shape) == ((0, 16), (0, 36))
    assert list(tree.range(b"a", b"b")) == []
    assert EMPTY_TREE_BLOCK.startswith(b"\xa5")


def test_key_of_another_width_is_refused() -> None:
    top, blocks = stored(random_entries(random.Random(10), 3))
    tree = Tree(Recorder(blocks), top)
    for call in (
        lambda: tree.get(b"short"),
        lambda: tree.get_many([b"short"]),
        lambda: list(tree.range(b"short")),
    ):
        with pytest.raises(InvalidInputError, match="expected 16"):
            call()


def test_missing_block_is_reported() -> None:
    top, _ = stored(random_entries(random.Random(11), 3))
    with pytest.raises(NotFoundError):
        Tree(WriteBatch(), top).get(bytes(16))


def test_child_that_is_not_what_its_parent_says_is_refused() -> None:
    entries = random_entries(random.Random(12), 2000)
    top, blocks = stored(entries)
    for victim in set(blocks) - {top}:
        other = next(key for key in blocks if key not in (top, victim))
        broken = Recorder({**blocks, victim: blocks[other]})
        with pytest.raises(CorruptError, match=str(victim)):
            list(Tree(broken, top).items())
