"""Every target on its seeds and on some thousand mutants of them, the same ones in every run."""

from __future__ import annotations

import random

import pytest

from .all_seeds import SEEDS
from .targets import TARGETS

MUTANTS = {
    "block": 10_000,
    "receipt": 10_000,
    "golden": 5000,
    "revision": 5000,
    "ndjson": 3000,
    "http": 150,
    "question": 300,
    "markdown": 300,
}
MUTANTS_DEFAULT = 600


def mutant(chance: random.Random, seeds: list[bytes]) -> bytes:
    """A seed with a few bytes flipped, cut, doubled or taken from another seed."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        stop = min(len(data), at + chance.randint(1, 16))
        match chance.randrange(5):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at:stop]
            case 2:
                data[at:at] = data[at:stop]
            case 3:
                other = chance.choice(seeds)
                data[at:stop] = other[at : at + chance.randint(0, 32)]
            case _:
                data[at:at] = chance.randbytes(chance.randint(1, 8))
    return bytes(data)


def test_every_target_has_seeds() -> None:
    assert TARGETS.keys() == SEEDS.keys()
    assert all(seeds() for seeds in SEEDS.values())


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("share", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_target_survives_its_seeds_and_mutants_of_them(name: str, share: int) -> None:
    seeds, chance = SEEDS[name](), random.Random(f"ibidem {name}")
    for data in (b"", *seeds):
        TARGETS[name](data)
    for _ in range(MUTANTS.get(name, MUTANTS_DEFAULT) // share):
        TARGETS[name](mutant(chance, seeds))
