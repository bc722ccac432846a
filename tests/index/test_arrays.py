"""Conversions between numpy and roaring bitmaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap
from tests.examples import examples

from ibidem.index.arrays import bitmap_of_flags, to_ordinals


def check(flags):
    found, expected = bitmap_of_flags(flags), BitMap(np.flatnonzero(flags).tolist())
    assert found == expected
    assert np.array_equal(to_ordinals(found), np.flatnonzero(flags))
    # It takes part in everything as any other does.
    other = BitMap(range(0, len(flags) + 10, 3))
    assert found & other == expected & other
    assert found - other == expected - other
    assert found | other == expected | other
    found.run_optimize()
    expected.run_optimize()
    assert found.serialize() == expected.serialize()


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 200_000), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_flags_become_their_places(count, share, seed):
    check(np.random.default_rng(seed).random(count) < share)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 4096, 4097, 65_535, 65_536, 65_537, 200_001])
@pytest.mark.parametrize("first", [0, 4095, 4096, 4097, 65_535, 65_536])
def test_blocks_that_are_full_empty_or_at_the_limit(count, first):
    flags = np.zeros(count, np.bool_)
    check(flags)
    flags[:first] = True
    check(flags)
    check(~flags)
