"""The index by which texts that are nearly the same are found. Spec: packs 4.1."""

from __future__ import annotations

import random
from collections.abc import Set as AbstractSet
from typing import Any

from ibidem.retrieve.deduplication import KeyIndex


def test_it_finds_what_a_comparison_with_all_finds():
    rng = random.Random(1)
    for _ in range(300):
        percent = rng.randint(1, 100)
        index, kept = KeyIndex(percent), list[Any]()
        for _ in range(12):
            key = frozenset((str(rng.randint(0, 9)),) for _ in range(rng.randint(1, 12)))
            alike = (
                at
                for at, one in enumerate(kept)
                if one is not None and 100 * len(key & one) >= percent * len(key | one)
            )
            expected = next(alike, None)
            assert index.find(key) == expected
            assert index.find(None) is None
            if expected is None:
                stays = None if rng.random() < 0.1 else key
                index.add(stays)
                kept.append(stays)


def test_texts_are_not_compared_for_what_all_have():
    """The time was that of all pairs where texts share a phrase."""
    compared = []

    class Runs(frozenset[Any]):
        def __and__(self, other: AbstractSet[object]) -> frozenset[Any]:
            compared.append(other)
            return super().__and__(other)

    index = KeyIndex(80)
    shared = [(f"phrase {at}",) for at in range(15)]
    for number in range(100):
        key = Runs([*shared, *((f"{number} {at}",) for at in range(5))])
        assert index.find(key) is None
        index.add(key)
    assert compared == []
    assert index.find(key) == 99
    assert len(compared) == 1
