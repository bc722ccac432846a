"""The tree as `spec/format.md` section 6 words it: pure Python, recursive, without the engine.

Blocks are written here byte by byte, so nothing of the engine is trusted but the hash function.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from blake3 import blake3

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, TreeCid

MASK = (1 << 64) - 1
SPAN_MAX = 256

Entries = dict[bytes, bytes]


def key_hash(key: bytes, level: int) -> int:
    state = 0x9E3779B97F4A7C15 * (level + 1) & MASK
    key += bytes(-len(key) % 8)
    for at in range(0, len(key), 8):
        state ^= int.from_bytes(key[at : at + 8], "little")
        state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ state >> 27) * 0x94D049BB133111EB) & MASK
        state ^= state >> 31
    return state


def split(span: list[bytes], level: int) -> list[list[bytes]]:
    if len(span) <= SPAN_MAX:
        return [span]
    smallest = min(range(len(span) - 1), key=lambda at: (key_hash(span[at], level), span[at]))
    return split(span[: smallest + 1], level) + split(span[smallest + 1 :], level)


def cut(keys: list[bytes], level: int) -> list[list[bytes]]:
    spans: list[list[bytes]] = [[]]
    for at, key in enumerate(keys):
        spans[-1].append(key)
        if key_hash(key, level) < 2**64 // 64 and at + 1 < len(keys):
            spans.append([])
    return [piece for span in spans for piece in split(span, level)]


def byte_string(value: bytes) -> bytes:
    size = len(value)
    if size < 24:
        return bytes([0x40 + size]) + value
    if size < 256:
        return b"\x58" + bytes([size]) + value
    return b"\x59" + size.to_bytes(2, "big") + value


def write_block(level: int, keys: list[bytes], cids: list[bytes], counts: list[int]) -> bytes:
    fields = b"\x61v\x01\x64cids" + byte_string(b"".join(cids))
    fields += b"\x64keys" + byte_string(b"".join(keys)) + b"\x64kind\x64tree"
    fields += b"\x65level" + (bytes([level]) if level < 24 else bytes([0x18, level]))
    if level == 0:
        return b"\xa5" + fields
    columns = b"".join(count.to_bytes(8, "big") for count in counts)
    return b"\xa6" + fields + b"\x66counts" + byte_string(columns)


def build(entries: Entries) -> tuple[bytes, dict[bytes, bytes]]:
    """Returns the top's raw CID and all blocks by raw CID."""
    blocks: dict[bytes, bytes] = {}
    rows = [(key, entries[key], 1) for key in sorted(entries)]
    level = 0
    while True:
        by_key = {key: (cid, count) for key, cid, count in rows}
        above = []
        for keys in cut([key for key, _, _ in rows], level):
            cids, counts = [by_key[key][0] for key in keys], [by_key[key][1] for key in keys]
            block = write_block(level, keys, cids, counts)
            raw = b"\x01\x71\x1e\x20" + blake3(block).digest()
            blocks[raw] = block
            above.append((keys[-1] if keys else b"", raw, sum(counts)))
        if len(above) == 1:
            return above[0][1], blocks
        rows, level = above, level + 1


def raw_cid(number: int) -> bytes:
    return b"\x01\x71\x1e\x20" + number.to_bytes(32, "big")


def cid(number: int) -> Cid:
    return Cid(raw_cid(number))


def random_entries(rng: random.Random, size: int, width: int = 16) -> dict[bytes, Cid]:
    return {rng.randbytes(width): cid(rng.randrange(1 << 40)) for _ in range(size)}


def random_edits(
    rng: random.Random, entries: dict[bytes, Cid], size: int, width: int = 16
) -> dict[bytes, Cid | None]:
    """Changes, deletes, inserts, and deletes of what is not there."""
    known = list(entries)
    edits: dict[bytes, Cid | None] = {}
    for _ in range(size):
        key = rng.choice(known) if known and rng.random() < 0.6 else rng.randbytes(width)
        edits[key] = None if rng.random() < 0.5 else cid(rng.randrange(1 << 40))
    return edits


def edited(entries: dict[bytes, Cid], edits: dict[bytes, Cid | None]) -> dict[bytes, Cid]:
    merged = {**entries, **edits}
    return {key: value for key, value in merged.items() if value is not None}


class Recorder:
    """A source that counts the blocks read from it, and the calls."""

    def __init__(self, blocks: dict[Cid, bytes]) -> None:
        self.blocks = blocks
        self.reads: list[Cid] = []
        self.calls = 0

    def get(self, cid: Cid) -> bytes:
        return self.get_many([cid])[0]

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        self.calls += 1
        wanted = list(cids)
        self.reads += wanted
        return [self.blocks[cid] for cid in wanted]


def stored(entries: dict[bytes, Cid]) -> tuple[TreeCid, dict[Cid, bytes]]:
    """Returns a freshly built tree and its blocks."""
    from ibidem.objects.tree import build as engine_build

    buffer = WriteBatch()
    return engine_build(entries.items(), buffer), buffer.new
