"""Writes `spec/vectors/format/tree-*.json` from the reference; run it as a module from the root.

    PYTHONPATH=src python -m tests.objects.tree.make_vectors

The engine has no part in it but the hash that mined keys are made for. A change of a vector is a
change of the format.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from .mining import BELOW, keys_with
from .reference import build, key_hash, raw_cid, write_block

FOLDER = Path(__file__).parents[3] / "spec" / "vectors" / "format"
Case = dict[str, Any]


def hash_cases() -> list[Case]:
    keys = [b"\0", b"a", b"abcdefgh", b"abcdefghi", bytes(16), bytes(range(16)), b"\xff" * 64]
    return [
        {
            "name": f"{len(key)} bytes, level {level}",
            "spec": "6.2",
            "input": {"key": key.hex(), "level": level},
            "output": f"{key_hash(key, level):016x}",
        }
        for key in keys
        for level in (0, 1, 64)
    ]


def columns(entries: dict[bytes, bytes]) -> Case:
    return {
        "width": len(next(iter(entries), b"")),
        "keys": b"".join(sorted(entries)).hex(),
        "cids": b"".join(entries[key] for key in sorted(entries)).hex(),
    }


def build_case(name: str, keys: list[bytes], *, hexadecimal: bool = True) -> Case:
    entries = {key: raw_cid(at % 7) for at, key in enumerate(sorted(keys))}
    top, blocks = build(entries)
    output: Case = {"top": top.hex(), "sizes": sorted(len(block) for block in blocks.values())}
    if hexadecimal:
        output["blocks"] = {raw.hex(): blocks[raw].hex() for raw in sorted(blocks)}
    return {"name": name, "spec": "6.4", "input": columns(entries), "output": output}


def mined(hashes: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in keys_with(hashes.astype(np.uint64), 0)]


def build_cases() -> list[Case]:
    rng = random.Random(20)
    every = [at.to_bytes(2, "big") for at in range(1 << 16)]
    plain = [key for key in every if key_hash(key, 0) >= BELOW]
    natural = [key for key in every if key_hash(key, 0) < BELOW]
    above = BELOW + np.arange(300, dtype=np.uint64) * np.uint64(1 << 40)
    return [
        build_case("no entry", []),
        build_case("one entry", [b"k"]),
        build_case("one key of 64 bytes", [bytes(range(64))]),
        build_case("a natural boundary between", [*plain[:3], natural[0], plain[-1]]),
        build_case("natural boundaries only: a block each", natural[:3]),
        build_case("256 entries without a boundary: one block", plain[:256]),
        build_case("257 entries without a boundary: split once", plain[:257]),
        build_case("ascending hashes: forced blocks of one entry", mined(above[:260])),
        build_case("descending hashes: forced blocks of one entry", mined(above[:260][::-1])),
        build_case("equal hashes: the smaller key first", mined(np.full(259, BELOW))),
        build_case(
            "700 keys of 16 bytes, blocks not listed",
            [rng.randbytes(16) for _ in range(700)],
            hexadecimal=False,
        ),
    ]


def block_cases() -> list[Case]:
    one = write_block(0, [b"k"], [raw_cid(1)], [])
    two = write_block(0, [b"k", b"m"], [raw_cid(1), raw_cid(2)], [])
    inner = write_block(1, [b"k", b"m"], [raw_cid(1), raw_cid(2)], [3, 4])
    accept = {
        "empty leaf": (write_block(0, [], [], []), 0, 0),
        "leaf of one": (one, 0, 1),
        "leaf of two": (two, 0, 2),
        "inner block": (inner, 1, 2),
        "level 24 takes two bytes": (write_block(24, [b"k"], [raw_cid(1)], [9]), 24, 1),
    }
    corrupt = {
        "level 65": inner.replace(b"level\x01", b"level\x18\x41"),
        "leaf with counts": inner.replace(b"level\x01", b"level\x00"),
        "level above 0 without counts": one.replace(b"level\x00", b"level\x01"),
        "another kind": one.replace(b"tree", b"node"),
        "a sixth field": b"\xa6\x61a\x00" + one[1:],
        "bytes after the end": one + b"\x00",
        "cut off": one[:-1],
        "keys as text": one.replace(b"\x64keys\x41k", b"\x64keys\x61k"),
        "keys not a multiple of n": two.replace(b"\x64keys\x42km", b"\x64keys\x43kmm"),
        "keys of no width": one.replace(b"\x64keys\x41k", b"\x64keys\x40"),
        "keys of 65 bytes": one.replace(b"\x41k", b"\x58\x41" + bytes(65)),
        "cids not a multiple of 36": one.replace(b"\x58\x24\x01", b"\x58\x23"),
        "counts too short": write_block(1, [b"k", b"m"], [raw_cid(1), raw_cid(2)], [3]),
        "no entries above level 0": write_block(1, [], [], []),
    }
    other_form = {
        "level not in the shortest form": one.replace(b"level\x00", b"level\x18\x00"),
        "length of keys not in the shortest form": one.replace(b"\x41k", b"\x58\x01k"),
        "fields out of order": b"\xa5" + one[4:] + one[1:4],
    }
    cases: list[Case] = [
        {
            "name": name,
            "spec": "6.1",
            "input": block.hex(),
            "output": {"level": level, "size": size},
        }
        for name, (block, level, size) in accept.items()
    ]
    errors = [(name, block, "corrupt") for name, block in corrupt.items()]
    errors += [(name, block, "non-canonical") for name, block in other_form.items()]
    errors.append(
        ("257 entries", write_block(0, [b"k"] * 257, [raw_cid(1)] * 257, []), "limit-exceeded")
    )
    errors.append(("version 2", one.replace(b"\x61v\x01", b"\x61v\x02"), "unsupported-format"))
    cases += [
        {"name": name, "spec": "6.1", "input": block.hex(), "error": kind}
        for name, block, kind in errors
    ]
    return cases


def diff_cases() -> list[Case]:
    rng = random.Random(21)
    cases: list[Case] = []
    for name, size, edits, bounded in (
        ("from nothing", 0, 3, False),
        ("in one leaf", 8, 4, False),
        ("shifted boundaries", 300, 6, False),
        ("shifted boundaries, in a range", 300, 30, True),
    ):
        before = {rng.randbytes(4): raw_cid(rng.randrange(9)) for _ in range(size)}
        after = dict(before)
        for _ in range(edits):
            for key in rng.sample(sorted(after), min(len(after), 2)):
                after[key] = raw_cid(99)
            after[rng.randbytes(4)] = raw_cid(rng.randrange(9))
            if len(after) > 4:
                del after[rng.choice(sorted(after))]
        start, stop = (b"\x40\0\0\0", b"\xa0\0\0\0") if bounded else (bytes(4), b"\xff" * 4)
        changes = [
            [key.hex(), *(side[key].hex() if key in side else None for side in (before, after))]
            for key in sorted(before.keys() | after.keys())
            if before.get(key) != after.get(key) and start <= key < stop
        ]
        values: Case = {"before": columns(before), "after": columns(after)}
        if bounded:
            values |= {"start": start.hex(), "stop": stop.hex()}
        cases.append({"name": name, "spec": "6.7", "input": values, "output": changes})
    return cases


def write(topic: str, cases: list[Case]) -> None:
    path = FOLDER / f"tree-{topic}.json"
    path.write_text(json.dumps(cases, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for topic, cases in (
        ("hash", hash_cases()),
        ("block", block_cases()),
        ("build", build_cases()),
        ("diff", diff_cases()),
    ):
        write(topic, cases)
