"""Laying a tree out anew gives what editing its blocks gives: the same tree and new blocks."""

import random
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.errors import CorruptError
from ibidem.objects.tree import Tree, mutate, rebuild

from .reference import Recorder, cid, edited, random_edits, random_entries, stored


@contextmanager
def rebuilt_from(edits_min):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rebuild, "EDITS_MIN", edits_min)
        patch.setattr(rebuild, "ENTRIES_PER_EDIT", 1 << 40)
        yield


def both(top, blocks, edits):
    found = []
    for least in (1, 1 << 40):
        buffer = WriteBatch(Recorder(blocks))
        with rebuilt_from(least):
            found.append((mutate(top, edits, buffer), buffer.new))
    return found


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from([1, 2, 3, 16, 24]),
    st.sampled_from([1, 60, 300, 2500]),
    st.sampled_from([1, 2, 20, 300, 3000]),
    st.integers(0, 2**32),
)
def test_it_gives_what_editing_gives(width: int, size: int, edits: int, seed: int) -> None:
    rng = random.Random(seed)
    entries = random_entries(rng, size, width)
    top, blocks = stored(entries)
    changes = random_edits(rng, entries, edits, width)
    anew, edit_by_edit = both(top, blocks, changes)
    assert anew == edit_by_edit
    assert anew[0] == stored(edited(entries, changes))[0]


@pytest.mark.parametrize("size", [1, 300, 5000])
def test_edits_at_the_ends_and_without_effect(size: int) -> None:
    entries = random_entries(random.Random(size), size)
    top, blocks = stored(entries)
    key = next(iter(entries))
    for edits in (
        dict.fromkeys(entries),
        {bytes(16): cid(1), b"\xff" * 16: cid(2)},
        {bytes(16): None},
        {key: entries[key]},
        dict(entries),
    ):
        anew, edit_by_edit = both(top, blocks, edits)
        assert anew == edit_by_edit


def test_it_is_chosen_where_most_blocks_change_and_only_there() -> None:
    rng = random.Random(7)
    entries = random_entries(rng, 100_000)
    top, blocks = stored(entries)
    whole = Tree(Recorder(blocks), top)
    assert len(whole) == 100_000
    some, many = (
        {rng.randbytes(16): cid(number) for number in range(count)} for count in (1_500, 2_000)
    )
    for edits, is_anew in ((some, False), (many, True)):
        source = Recorder(blocks)
        new = mutate(top, edits, WriteBatch(source))
        assert new == stored(edited(entries, edits))[0]
        assert (len(source.reads) == len(blocks)) is is_anew


def test_a_block_in_the_wrong_place_is_refused() -> None:
    entries = random_entries(random.Random(8), 3_000)
    top, blocks = stored(entries)
    leaves = [one for one in blocks if one != top]
    swapped = blocks | {leaves[0]: blocks[leaves[1]]}
    edits = {random.Random(9).randbytes(16): cid(number) for number in range(1)}
    with rebuilt_from(1), pytest.raises(CorruptError):
        mutate(top, edits, WriteBatch(Recorder(swapped)))
