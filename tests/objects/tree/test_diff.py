"""Comparing: the difference is the set difference, clipped to the range, read at its own cost."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import by_suite
from tests.examples import examples

from ibidem.objects.cid import Cid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.tree import EMPTY_TREE, Change, Tree, diff

from .reference import Recorder, cid, edited, random_edits, random_entries, stored

Entries = dict[bytes, Cid]


def expected(before: Entries, after: Entries) -> list[Change]:
    return [
        (key, before.get(key), after.get(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def check(before: Entries, after: Entries, bounds: list[bytes]) -> None:
    old, old_blocks = stored(before)
    new, new_blocks = stored(after)
    source = Recorder(old_blocks | new_blocks)
    changes = expected(before, after)
    assert list(diff(source, old, new)) == changes
    assert list(diff(source, new, old)) == [(key, now, was) for key, was, now in changes]
    for start in (None, *bounds):
        for stop in (None, *bounds):
            clipped = [
                change
                for change in changes
                if (start is None or start <= change[0]) and (stop is None or change[0] < stop)
            ]
            assert list(diff(source, old, new, start, stop)) == clipped


def random_case(seed: int, sizes: tuple[int, ...], edit_counts: tuple[int, ...]) -> None:
    rng = random.Random(seed)
    before = random_entries(rng, rng.choice(sizes))
    edits = random_edits(rng, before, rng.choice(edit_counts))
    if rng.random() < 0.2:  # a stretch disappears: heights differ, whole subtrees have no partner
        start, stop = sorted(rng.randrange(len(before) + 1) for _ in range(2))
        edits |= dict.fromkeys(sorted(before)[start:stop])
    after = random_entries(rng, 50) if rng.random() < 0.05 else edited(before, edits)
    bounds = [rng.choice(sorted(before | after))] if before | after else []
    check(before, after, [*bounds, rng.randbytes(16)][: 1 if len(before) > 9999 else 2])


@pytest.mark.parametrize("seed", range(10))
def test_diff_equals_set_difference(seed: int) -> None:
    for case in range(15):
        random_case(seed * 1000 + case, (0, 1, 70, 700, 3000), (1, 3, 30, 1000))


@pytest.mark.parametrize("seed", by_suite(range(17), slow=5))
def test_diff_equals_set_difference_up_to_100_000_keys(seed: int) -> None:
    for case in range(50):
        sizes = (100_000,) if case == 0 else (20_000,) if case < 5 else (300, 2000, 5000)
        random_case(10**6 + seed * 1000 + case, sizes, (1, 10, 100, 3000))


@settings(max_examples=examples(80), deadline=None)
@given(
    st.dictionaries(st.binary(min_size=1, max_size=1), st.integers(0, 2)),
    st.dictionaries(st.binary(min_size=1, max_size=1), st.integers(0, 2)),
    st.lists(st.binary(min_size=1, max_size=1), max_size=2),
)
def test_diff_of_small_trees(
    before: dict[bytes, int], after: dict[bytes, int], bounds: list[bytes]
) -> None:
    check(
        {key: cid(value) for key, value in before.items()},
        {key: cid(value) for key, value in after.items()},
        bounds,
    )


def test_shifted_boundaries_give_no_false_changes() -> None:
    """One insert in 2,000 keys: the original reports unchanged keys in a tenth of such cases."""
    rng = random.Random(1)
    before = random_entries(rng, 2000)
    for _ in range(100):
        check(before, edited(before, {rng.randbytes(16): cid(1)}), [])


def test_keys_that_begin_alike_are_told_apart() -> None:
    """Many entries are compared by the first eight bytes of their keys."""
    rng = random.Random(5)
    keys = [bytes([high]) * 8 + number.to_bytes(8) for high in range(9) for number in range(400)]
    before = {key: cid(number) for number, key in enumerate(keys)}
    check(before, edited(before, random_edits(rng, before, 900)), [keys[1000]])


def test_equal_trees_are_not_read() -> None:
    top, _ = stored(random_entries(random.Random(2), 1000))
    assert list(diff(Recorder({}), top, top)) == []
    assert list(diff(Recorder({}), EMPTY_TREE, EMPTY_TREE)) == []


@pytest.mark.parametrize("count", [1, 10, 100])
def test_blocks_read_follow_the_changes(count: int) -> None:
    rng = random.Random(3)
    before = random_entries(rng, 30_000)
    old, old_blocks = stored(before)
    height = Tree(Recorder(old_blocks), old).height
    for _ in range(4):
        after = edited(before, random_edits(rng, before, count))
        new, new_blocks = stored(after)
        source = Recorder(old_blocks | new_blocks)
        changes = list(diff(source, old, new))
        assert len(source.reads) == len(set(source.reads))
        assert len(source.reads) <= 2 * (height + 2) * len(changes)


def test_only_blocks_of_the_range_are_read() -> None:
    rng = random.Random(4)
    before = random_entries(rng, 30_000)
    after = random_entries(rng, 30_000)
    old, old_blocks = stored(before)
    new, new_blocks = stored(after)
    source = Recorder(old_blocks | new_blocks)
    low, high = b"\x40" + bytes(15), b"\x40\x10" + bytes(14)
    assert len(list(diff(source, old, new, low, high))) > 0
    assert len(source.reads) <= 20


def test_leaves_are_read_in_runs_and_common_ones_not_at_all() -> None:
    rng = random.Random(5)
    before = random_entries(rng, 30_000)
    after = edited(before, random_edits(rng, before, 1_000))
    old, old_blocks = stored(before)
    new, new_blocks = stored(after)
    source = Recorder(old_blocks | new_blocks)
    assert list(diff(source, old, new)) == expected(before, after)
    assert len(source.reads) == len(set(source.reads))
    assert not old_blocks.keys() & new_blocks.keys() & set(source.reads)
    assert source.calls < len(source.reads) / 10
    source.calls = 0
    next(diff(source, old, new))
    assert source.calls < 10


def test_widths_that_differ_are_refused() -> None:
    one, one_blocks = stored({b"a": cid(1)})
    two, two_blocks = stored({b"ab": cid(1)})
    source = Recorder(one_blocks | two_blocks)
    with pytest.raises(InvalidInputError, match="keys of 1 and 2"):
        list(diff(source, one, two))
    with pytest.raises(InvalidInputError, match="expected 2"):
        list(diff(source, two, EMPTY_TREE, b"a"))
