"""Keys as an attacker would choose them: the hash is public and easy to turn around."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ibidem.objects.tree.boundary import key_hashes
from ibidem.objects.tree.build import as_strings

STEP = 0x9E3779B97F4A7C15
FIRST_INVERSE = np.uint64(pow(0xBF58476D1CE4E5B9, -1, 1 << 64))
SECOND_INVERSE = np.uint64(pow(0x94D049BB133111EB, -1, 1 << 64))
BELOW = 1 << 58


def mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def undo_shift(state: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    found = state.copy()
    for _ in range(64 // bits):
        found = state ^ (found >> np.uint64(bits))
    return found


def unmix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = undo_shift(undo_shift(state, 31) * SECOND_INVERSE, 27)
    return undo_shift(state * FIRST_INVERSE, 30)


def keys_with(hashes: NDArray[np.uint64], level: int) -> NDArray[np.uint8]:
    """Returns one 16-byte key for each hash: ascending keys whose hashes at `level` are these."""
    size = len(hashes)
    first = np.arange(1, size + 1, dtype=">u8").view(np.uint8).reshape(size, 8)
    word = np.ascontiguousarray(first).view("<u8").reshape(-1)
    inner = mix(word ^ np.uint64(STEP * (level + 1) % (1 << 64)))
    second = (unmix(hashes) ^ inner).view(np.uint8).reshape(size, 8)
    keys = np.concatenate((first, second), axis=1)
    assert (key_hashes(keys, level) == hashes).all()
    return keys


def mined(kind: str, size: int) -> NDArray[np.uint8]:
    """Returns (size, 16) ascending keys that are hostile at level 0."""
    rng = np.random.default_rng(1)
    never = rng.integers(BELOW, 1 << 64, size, np.uint64)
    chosen = {
        "never a boundary": never,
        "always a boundary": rng.integers(0, BELOW, size, np.uint64),
        "ascending hashes": np.sort(never),
        "descending hashes": np.sort(never)[::-1],
        "valley": np.concatenate((np.sort(never[::2])[::-1], np.sort(never[1::2]))),
        "equal hashes": np.full(size, BELOW, np.uint64),
    }
    return keys_with(chosen[kind], 0)


def sorted_keys(size: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng(2)
    keys = np.frombuffer(rng.bytes(16 * size), np.uint8).reshape(size, 16)
    return np.sort(as_strings(keys)).view(np.uint8).reshape(size, 16)
