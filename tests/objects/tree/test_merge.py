"""Merging: the three-way rule key by key, at the cost of the two differences."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import by_suite
from tests.examples import examples

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid
from ibidem.objects.tree import Tree, merge

from .reference import Recorder, cid, edited, random_edits, random_entries, stored

Entries = dict[bytes, Cid]
Question = tuple[bytes, Cid | None, Cid | None, Cid | None]


def answer(key: bytes, base: Cid | None, ours: Cid | None, theirs: Cid | None) -> Cid | None:
    """Some rule whose answer may be any of the three, or another."""
    return (base, ours, theirs, cid(77))[key[-1] % 4]


def expected(base: Entries, ours: Entries, theirs: Entries) -> tuple[Entries, list[Question]]:
    merged: dict[bytes, Cid | None] = {}
    asked: list[Question] = []
    for key in sorted(base.keys() | ours.keys() | theirs.keys()):
        was, one, other = base.get(key), ours.get(key), theirs.get(key)
        if one == other or other == was:
            merged[key] = one
        elif one == was:
            merged[key] = other
        else:
            asked.append((key, was, one, other))
            merged[key] = answer(key, was, one, other)
    return {key: value for key, value in merged.items() if value is not None}, asked


def check(base: Entries, ours: Entries, theirs: Entries) -> None:
    base_top, blocks = stored(base)
    our_top, our_blocks = stored(ours)
    their_top, their_blocks = stored(theirs)
    buffer = WriteBatch(Recorder(blocks | our_blocks | their_blocks))
    asked: list[Question] = []

    def resolve(key: bytes, was: Cid | None, one: Cid | None, other: Cid | None) -> Cid | None:
        asked.append((key, was, one, other))
        return answer(key, was, one, other)

    merged, questions = expected(base, ours, theirs)
    assert merge(base_top, our_top, their_top, buffer, resolve) == stored(merged)[0]
    assert asked == questions


def random_case(seed: int, sizes: tuple[int, ...], edit_counts: tuple[int, ...]) -> None:
    rng = random.Random(seed)
    base = random_entries(rng, rng.choice(sizes))
    ours = random_edits(rng, base, rng.choice(edit_counts))
    theirs = random_edits(rng, base, rng.choice(edit_counts))
    theirs |= {key: value for key, value in ours.items() if rng.random() < 0.3}
    theirs |= {key: cid(5) for key in ours if rng.random() < 0.3}
    check(base, edited(base, ours), edited(base, theirs))


@pytest.mark.parametrize("seed", range(10))
def test_merge_follows_the_three_way_rule(seed: int) -> None:
    for case in range(15):
        random_case(seed * 1000 + case, (0, 1, 70, 700, 3000), (1, 3, 30, 1000))


@pytest.mark.parametrize("seed", by_suite(range(17), slow=5))
def test_merge_follows_the_three_way_rule_up_to_100_000_keys(seed: int) -> None:
    for case in range(50):
        sizes = (100_000,) if case == 0 else (20_000,) if case < 5 else (300, 2000, 5000)
        random_case(10**6 + seed * 1000 + case, sizes, (1, 10, 100, 3000))


SMALL = st.dictionaries(st.binary(min_size=1, max_size=1), st.integers(0, 2), max_size=12)


@settings(max_examples=examples(80), deadline=None)
@given(SMALL, SMALL, SMALL)
def test_merge_of_small_trees(
    base: dict[bytes, int], ours: dict[bytes, int], theirs: dict[bytes, int]
) -> None:
    sides = [{key: cid(value) for key, value in side.items()} for side in (base, ours, theirs)]
    check(*sides)


def test_merge_reads_what_differs_and_no_more() -> None:
    rng = random.Random(1)
    base = random_entries(rng, 30_000)
    known = list(base)
    base_top, blocks = stored(base)
    height = Tree(Recorder(blocks), base_top).height
    our_top, our_blocks = stored(edited(base, {known[0]: cid(1), rng.randbytes(16): cid(2)}))
    their_top, their_blocks = stored(edited(base, {known[1]: None, known[2]: cid(3)}))
    source = Recorder(blocks | our_blocks | their_blocks)
    buffer = WriteBatch(source)
    merge(base_top, our_top, their_top, buffer, answer)
    assert len(source.reads) <= 10 * (height + 2)
    assert len(buffer.new) <= 2 * (height + 2)


def test_what_the_resolver_raises_passes_through_and_nothing_is_put() -> None:
    tops = [stored({b"k": cid(number)}) for number in (1, 2, 3)]
    buffer = WriteBatch(Recorder({**tops[0][1], **tops[1][1], **tops[2][1]}))

    def refuse(key: bytes, base: Cid | None, ours: Cid | None, theirs: Cid | None) -> Cid | None:
        raise LookupError(key)

    with pytest.raises(LookupError):
        merge(tops[0][0], tops[1][0], tops[2][0], buffer, refuse)
    assert not buffer.new
