"""Writes the vectors of CAR files and bundles: python -m tests.conformance.make_car_vectors.

Cases are put together by hand from sections, so that what is wrong in one is wrong in one way.
"""

from __future__ import annotations

import json
from pathlib import Path

from .mini_codec import Link, cid_of, cid_text, encode

FILE = Path(__file__).parents[2] / "spec" / "vectors" / "sync" / "car.json"
ONE, RAW = encode({"kind": "example", "n": 1}), b"raw bytes"
CIDS = {ONE: cid_of(ONE), RAW: cid_of(RAW, raw=True)}


def length(size: int) -> bytes:
    out = bytearray()
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*out, size])


def section(block: bytes, cid: bytes | None = None) -> bytes:
    cid = CIDS[block] if cid is None else cid
    return length(len(cid) + len(block)) + cid + block


def header(value: object) -> bytes:
    block = encode(value)
    return length(len(block)) + block


def cases() -> list[dict]:
    roots = header({"roots": [Link(CIDS[ONE])], "version": 1})
    sorted_blocks = section(RAW) + section(ONE)
    found = [
        ("two blocks", "2-c", roots + sorted_blocks, [RAW, ONE]),
        ("another order", "2", roots + section(ONE) + section(RAW), [ONE, RAW]),
        ("a block twice", "2", roots + section(ONE) * 2, [ONE, ONE]),
        ("no block", "2", roots, []),
        ("an empty raw block", "2", roots + section(b"", cid_of(b"", raw=True)), [b""]),
        ("no bytes", "2-a", b"", "corrupt"),
        ("a header of no bytes", "2-a", b"\x00", "corrupt"),
        ("no roots", "2-a", header({"roots": [], "version": 1}), "corrupt"),
        ("no list of roots", "2-a", header({"version": 1}), "corrupt"),
        ("a root that is no link", "2-a", header({"roots": [b"x"], "version": 1}), "corrupt"),
        (
            "a further field",
            "2-a",
            header({"roots": [Link(CIDS[ONE])], "version": 1, "more": 1}),
            "corrupt",
        ),
        ("version 2", "2-a", header({"version": 2}), "unsupported-format"),
        ("a header over the limit", "2-a 2-b", length((1 << 16) + 1), "limit-exceeded"),
        ("a length in too many bytes", "2-a", b"\x80" * 9 + b"\x01", "corrupt"),
        ("a length with a needless byte", "2-a", b"\xba\x00" + roots[1:], "non-canonical"),
        ("a section of no bytes", "2-a", roots + b"\x00", "corrupt"),
        ("a section without a whole cid", "2-a", roots + b"\x05" + CIDS[ONE][:5], "corrupt"),
        ("a section that is cut short", "2-a", (roots + section(ONE))[:-1], "corrupt"),
        (
            "a cid of another hash",
            "2-a",
            roots + section(ONE, b"\x01\x55\x12\x20" + bytes(32)),
            "corrupt",
        ),
        ("a cid of another version", "2-a", roots + section(ONE, bytes(36)), "corrupt"),
        ("another block than the cid's", "2-a", roots + section(RAW, CIDS[ONE]), "hash-mismatch"),
        (
            "the same bytes under the other codec",
            "2-a",
            roots + section(ONE, cid_of(RAW, raw=True)),
            "hash-mismatch",
        ),
        (
            "a block over its limit",
            "2-a 2-b",
            roots + length(36 + (1 << 20) + 1) + CIDS[ONE],
            "limit-exceeded",
        ),
        ("a section over any limit", "2-a 2-b", roots + length(1 << 60), "limit-exceeded"),
    ]
    return [
        {
            "name": name,
            "spec": spec,
            "input": data.hex(),
            **({"error": told} if isinstance(told, str) else {"output": output(told)}),
        }
        for name, spec, data, told in found
    ]


def output(blocks: list[bytes]) -> dict:
    cids = [CIDS.get(block) or cid_of(block, raw=True) for block in blocks]
    return {"roots": [cid_text(CIDS[ONE])], "blocks": [cid_text(cid) for cid in cids]}


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases())
    FILE.write_text(f"[\n{lines}\n]\n", encoding="ascii")
