"""Writes the vectors of logs: python -m tests.conformance.make_log_vectors.

The objects are put together by hand from parts, so that what is wrong in one is wrong in one way.
"""

from __future__ import annotations

import json
from pathlib import Path
from struct import pack as packed

from .mini_blake3 import blake3
from .mini_codec import cid_of, cid_text, encode
from .mini_log import LAST

FILE = Path(__file__).parents[2] / "spec" / "vectors" / "log" / "log.json"
A, B, C = b"first", b"second", b"third"
NONCE = bytes(range(16))


def raw(block: bytes) -> bytes:
    return cid_of(block, raw=True)


def body(start: bytes, blocks: tuple[bytes, ...]) -> bytes:
    rows, at = b"", len(start)
    for block in blocks:
        rows += packed("<36sII", raw(block), at, len(block))
        at += len(block)
    return start + b"".join(blocks) + rows + packed("<I", len(blocks))


def entry(number: int, *blocks: bytes, dropped: tuple[bytes, ...] = (), **fields: object) -> bytes:
    empty = {"cells": {}, "packs": [], "cleaned": [], "collected": [], "redacted": False}
    nonce = blake3(bytes([number]))[:16]
    header = encode({**empty, "nonce": nonce, "dropped": len(dropped), **fields})
    data = body(b"ibidemE1", blocks) + b"".join(map(raw, dropped))
    data += header + packed("<I", len(header))
    return data + blake3(data)


def pack_of(*blocks: bytes) -> tuple[str, bytes, list]:
    data = body(b"ibidemP1" + NONCE, blocks)
    rows = data[len(data) - 4 - 44 * len(blocks) : -4]
    ref = blake3(data)
    name = f"packs/{ref[:1].hex()}/{ref.hex()}"
    return name, data, [ref, len(data), len(blocks), blake3(rows)]


def table(refs: list[bytes], rows: dict[bytes, tuple[int, int, int] | None]) -> bytes:
    data = b"ibidemT1" + packed("<II", len(refs), len(rows)) + b"".join(refs)
    for cid, place in sorted(rows.items()):
        data += packed("<36sIII", cid, *(place or (0xFFFFFFFF, 0, 0)))
    return data


def checkpoint(number: int, cells: dict, tables: list[str], recent: bytes) -> bytes:
    header = encode({"number": number, "cells": cells, "tables": tables, "dirty": []})
    data = b"ibidemC1" + packed("<I", len(header)) + header + recent
    return data + blake3(data)


def ref_of(number: int) -> bytes:
    return bytes(24) + number.to_bytes(8, "big")


def log(*entries: bytes, version: int = 1, **others: bytes) -> dict[str, bytes]:
    identity = blake3(bytes([0]))[:16].hex()
    described = {"format": "ibidem log", "version": version, "id": identity}
    found = {"ibidem.json": (json.dumps(described) + "\n").encode()}
    for number, data in enumerate((entry(0), *entries), start=0):
        found[f"log/{LAST - number:020d}"] = data
    return {**found, **others}


def cases() -> list[dict]:
    name, data, named = pack_of(A, B)
    second, moved, moved_named = pack_of(B)
    older = table([ref_of(1)], {raw(A): (0, 8, 5), raw(B): (0, 13, 6)})
    older_name = f"tables/{blake3(older).hex()}"
    recent = table([ref_of(2)], {raw(B): None, raw(C): (0, 8, 5)})
    both = (entry(1, A, B, cells={"head": b"1"}), entry(2, C, dropped=(B,), cells={"head": b"2"}))
    short = {"checkpoint": checkpoint(2, {"head": b"2"}, [older_name], recent), older_name: older}
    flipped = bytearray(both[0])
    flipped[9] ^= 1
    wrong_block = body(b"ibidemE1", (A,)).replace(b"first", b"fir5t")
    header = entry(1, A)[len(wrong_block) : -32]
    damaged = wrong_block + header
    found = [
        ("an empty log", "3", log(), (0, {}, [])),
        ("blocks and cells", "3-a", log(*both), (2, {"head": b"2"}, [A, C])),
        (
            "a removed cell",
            "3-a",
            log(entry(1, cells={"a": b"1", "b": b"2"}), entry(2, cells={"a": None})),
            (2, {"b": b"2"}, []),
        ),
        ("a pack", "3-a", log(entry(1, packs=[named]), **{name: data}), (1, {}, [A, B])),
        (
            "a moved block",
            "3-b 5-b",
            log(
                entry(1, dropped=(), redacted=True),
                entry(2, dropped=(A,)),
                entry(3, packs=[moved_named]),
                entry(4, cleaned=[ref_of(1)]),
                **{second: moved},
            ),
            (4, {}, [B]),
        ),
        (
            "a pack of which nothing is left",
            "3-c",
            log(entry(1, packs=[named]), entry(2, dropped=(A, B))),
            (2, {}, []),
        ),
        (
            "a checkpoint and an entry after it",
            "4-a 4-b",
            log(*both, entry(3, cells={"head": b"3"}), **short),
            (3, {"head": b"3"}, [A, C]),
        ),
        (
            "a checkpoint that lacks a table",
            "4-c",
            log(*both, checkpoint=short["checkpoint"]),
            (2, {"head": b"2"}, [A, C]),
        ),
        (
            "a damaged checkpoint",
            "4-c",
            log(*both, checkpoint=short["checkpoint"][:-1] + b"x"),
            (2, {"head": b"2"}, [A, C]),
        ),
        ("another version", "1-a", log(version=2), "unsupported-format"),
        ("a damaged entry", "2-a", log(bytes(flipped)), "hash-mismatch"),
        (
            "damaged rows of a pack",
            "2-b",
            log(entry(1, packs=[[*named[:3], bytes(32)]]), **{name: data}),
            "hash-mismatch",
        ),
        ("a damaged block", "2-c", log(damaged + blake3(damaged)), "hash-mismatch"),
    ]
    return [
        {
            "name": title,
            "spec": spec,
            "input": {name: data.hex() for name, data in sorted(objects.items())},
            **(
                {"error": expected}
                if isinstance(expected, str)
                else {
                    "output": {
                        "number": expected[0],
                        "cells": {key: value.hex() for key, value in expected[1].items()},
                        "blocks": {cid_text(raw(block)): block.hex() for block in expected[2]},
                    }
                }
            ),
        }
        for title, spec, objects, expected in found
    ]


if __name__ == "__main__":
    FILE.write_text(json.dumps(cases(), indent=1) + "\n", "ascii")
