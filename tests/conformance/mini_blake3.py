"""BLAKE3, the hash alone, from its paper: the standard library has none. Slow and plain."""

from __future__ import annotations

import struct

IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
CHUNK_BYTES, BLOCK_BYTES = 1024, 64
WORD = 0xFFFFFFFF
MIXES = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


def blake3(data: bytes) -> bytes:
    """Returns the 32-byte digest."""
    return struct.pack("<8I", *_subtree(data, 0, ROOT)[:8])


def _subtree(data: bytes, counter: int, flags: int) -> list[int]:
    if len(data) <= CHUNK_BYTES:
        return _chunk(data, counter, flags)
    left_chunks = 1
    while left_chunks * 2 * CHUNK_BYTES < len(data):
        left_chunks *= 2
    split = left_chunks * CHUNK_BYTES
    left = _subtree(data[:split], counter, 0)
    right = _subtree(data[split:], counter + left_chunks, 0)
    return _compress(IV, left[:8] + right[:8], 0, BLOCK_BYTES, PARENT | flags)


def _chunk(data: bytes, counter: int, flags: int) -> list[int]:
    chain: tuple[int, ...] | list[int] = IV
    blocks = [data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES)] or [b""]
    for index, block in enumerate(blocks):
        flag = CHUNK_START if index == 0 else 0
        if index == len(blocks) - 1:
            flag |= CHUNK_END | flags
        words = list(struct.unpack("<16I", block.ljust(BLOCK_BYTES, b"\0")))
        chain = _compress(chain, words, counter, len(block), flag)[:8]
    return list(chain)


def _compress(chain, words: list[int], counter: int, size: int, flags: int) -> list[int]:
    state = [*chain, *IV[:4], counter & WORD, counter >> 32, size, flags]
    for round_index in range(7):
        for index, (a, b, c, d) in enumerate(MIXES):
            _mix(state, a, b, c, d, words[2 * index], words[2 * index + 1])
        if round_index < 6:
            words = [words[source] for source in PERMUTATION]
    return [state[i] ^ state[i + 8] for i in range(8)] + [state[i + 8] ^ chain[i] for i in range(8)]


def _mix(state: list[int], a: int, b: int, c: int, d: int, x: int, y: int) -> None:
    for word, first, second in ((x, 16, 12), (y, 8, 7)):
        state[a] = (state[a] + state[b] + word) & WORD
        state[d] = _rotate(state[d] ^ state[a], first)
        state[c] = (state[c] + state[d]) & WORD
        state[b] = _rotate(state[b] ^ state[c], second)


def _rotate(word: int, bits: int) -> int:
    return ((word >> bits) | (word << (32 - bits))) & WORD
