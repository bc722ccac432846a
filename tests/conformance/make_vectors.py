"""Writes vectors: `format/{cid,id,codec,block,link,signature}.json` and `memory/event.json`.

Those of trees have a script of their own.

    PYTHONPATH=src python -m tests.conformance.make_vectors

The bytes of accepted blocks are made by the second reader, not by the engine, so that the vectors
are a statement about the page. A change of a vector is a change of the format.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from . import mini_codec as codec
from . import mini_reader as reader
from .block_cases import accepted_blocks, refused_blocks
from .mini_codec import Link
from .signature_cases import signature_cases

FOLDER = Path(__file__).parents[2] / "spec" / "vectors" / "format"
Case = dict[str, Any]


def case(name: str, spec: str, given: Any, **outcome: Any) -> Case:
    return {"name": name, "spec": spec, "input": given, **outcome}


def cid_cases() -> list[Case]:
    blocks = {
        "null": b"\xf6",
        "empty map": b"\xa0",
        "1024 bytes": bytes(1024),
        "1025 bytes": bytes(1025),
    }
    cases = []
    for name, block in blocks.items():
        for kind, raw in (("dag-cbor", False), ("raw", True)):
            cid = codec.cid_of(block, raw=raw)
            output = {"cid": cid.hex(), "text": codec.cid_text(cid)}
            given = {"codec": kind, "block": block.hex()}
            cases.append(case(f"{kind} {name}", "2-a 2-b", given, output=output))
    text = codec.cid_text(codec.cid_of(b"\xf6"))
    digest = bytes(32)
    wrong = {
        "empty": "",
        "prefix alone": "b",
        "upper case": text.upper(),
        "upper-case multibase": "B" + text[1:],
        "one letter in upper case": text[:9] + text[9:].replace("a", "A", 1),
        "padded": text + "=====",
        "a letter short": text[:-1],
        "a letter more": text + "a",
        "unused bits set": text[:-1] + chr(ord(text[-1]) + 1),
        "a letter outside the alphabet": text[:9] + "1" + text[10:],
        "blank before": " " + text,
        "line feed after": text + "\n",
        "base58": "zdj7WWeQ43G6JJvLWQWZpyHuAMq6uYWRjkBXFad11vE2LHhQ7",
        "version 0": "QmbWqxBEKC3P8tqsKc98xmWNzrzDtRLMiMPL8wBuTGsMnR",
        "sha2-256": codec.cid_text(b"\x01\x71\x12\x20" + digest),
        "dag-pb": codec.cid_text(b"\x01\x70\x1e\x20" + digest),
        "version 2": codec.cid_text(b"\x02\x71\x1e\x20" + digest),
        "31 bytes of hash": codec.cid_text(b"\x01\x71\x1e\x1f" + digest[1:]),
        "31 bytes of hash, 32 declared": codec.cid_text(b"\x01\x71\x1e\x20" + digest[1:]),
        "33 bytes of hash": codec.cid_text(b"\x01\x71\x1e\x20" + digest + b"\x00"),
        "64 bytes of hash": codec.cid_text(b"\x01\x71\x1e\x40" + digest * 2),
        "no hash": codec.cid_text(b"\x01\x71\x1e\x00"),
        "identity": codec.cid_text(b"\x01\x55\x00\x04text"),
        "long varint": codec.cid_text(b"\x81\x00\x71\x1e\x20" + digest),
    }
    return cases + [
        case(f"text: {name}", "2-a 2-b", {"text": given}, error="invalid-input")
        for name, given in wrong.items()
    ]


def id_cases() -> list[Case]:
    link = Link(codec.cid_of(b"\xf6"))
    keys = ["", "a", "é", 0, 1, 1.0, True, None, b"a", [], {}, {"b": 1, "a": [link]}, -1 << 64]
    cases = [
        case(
            f"node {namespace!r} {codec.encode(key).hex()}",
            "3-a",
            {"namespace": namespace, "key": codec.encode(key).hex()},
            output=reader.node_id(namespace, key).hex(),
        )
        for namespace in ("", "docs")
        for key in keys
    ]
    for fields in (
        {"kind": "node", "v": 1, "ntype": "Passage"},
        {"kind": "node", "v": 1, "ntype": "Passage", "summary": "s", "props": {"n": 1.5}},
    ):
        block = codec.encode({**fields, "id": bytes(16)}).hex()
        output = reader.content_node_id(fields).hex()
        cases.append(
            case(f"content of {len(fields)} fields", "3-b", {"node": block}, output=output)
        )
    fields = {"kind": "node", "v": 1, "ntype": "Passage", "summary": "s"}
    block = codec.encode({**fields, "id": bytes(16)}).hex()
    for who, time, index in (
        (["", None, None], 0, 0),
        (["ada", "bot", "t-1"], 1_767_225_600_000_999, 1),
        (["ada", None, None], -1, 65_535),
        (["ada", None, None], (1 << 63) - 1, 65_536),
    ):
        given = {"node": block, "root": codec.cid_text(link.raw), "who": who, "time": time}
        cases.append(
            case(
                f"act {index} at {time}",
                "3-f",
                {**given, "index": index},
                output=reader.act_node_id(link, who, time, index, fields).hex(),
            )
        )
    src, dst = reader.node_id("", "a"), reader.node_id("", "b")
    for ends in ((src, dst), (dst, src), (src, src)):
        given = {"src": ends[0].hex(), "etype": "cites", "dst": ends[1].hex()}
        output = reader.edge_id(ends[0], "cites", ends[1]).hex()
        cases.append(case("edge without a key", "3-c", given, output=output))
    for key in ("", 0, False, [1]):
        given = {"src": src.hex(), "etype": "é", "dst": dst.hex(), "key": codec.encode(key).hex()}
        output = reader.edge_id(src, "é", dst, key).hex()
        cases.append(case("edge with a key", "3-d", given, output=output))
    return cases + [
        case(f"ref {name}", "3-e", {"ref": name}, output=reader.ref_key(name).hex())
        for name in ("branch/main", "tag/v1", "é")
    ]


def event_cases() -> list[Case]:
    head = Link(codec.cid_of(b"\xf6"))
    props = {"kind": "vote", "targets": [bytes(16)], "author": "ada", "time": 5, "value": -1.0}
    fields = {"kind": "node", "v": 1, "ntype": "Event", "props": props}
    block = codec.encode({**fields, "id": bytes(16)}).hex()
    return [
        case(
            f"event {index} of a commit, in place {place}",
            "memory 1",
            {
                "place": place,
                "head": None if before is None else codec.cid_text(before.raw),
                "index": index,
                "node": block,
            },
            output=reader.event_node_id(place, before, index, fields).hex(),
        )
        for place, before, index in (
            (0, None, 0),
            (1, None, 1),
            (258, head, 0),
            ((1 << 48) - 1, head, 0),
            (1 << 48, head, 1),
        )
    ]


def codec_cases() -> list[Case]:
    link = Link(codec.cid_of(b"\xf6"))
    raw_link = Link(codec.cid_of(b"", raw=True))
    integers = [0, 1, 23, 24, 255, 256, 65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 64) - 1]
    floats = [0.0, 1.0, -1.5, 0.1, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16]
    accepted = {
        "4-e": [None, False, True],
        "4-k": [[True, 1, 1.0], [False, 0, 0.0]],
        "4-c": [*integers, *[-1 - integer for integer in integers]],
        "4-d": floats,
        "4-f": ["", "a", "é", "€", "𝄞", "\x00", "\ufeffa", "x" * 23, "x" * 24, "x" * 256],
        "4-b": [b"", b"\x00", bytes(23), bytes(24), bytes(256), [], [[]], [0] * 24, {}],
        "4-g": [{"": 0}, {"b": 1, "a": 2}, {"aa": 1, "b": 2}, {"é": 1, "z": 2, "zzz": 3}],
        "4-h": [link, raw_link, [link, {"a": link}], [link.raw, b"\x00" + link.raw]],
        "7-a": [nested(64)],
    }
    cases = [
        case(
            f"accept {index} of {spec}",
            f"4-a {spec}",
            codec.encode(value).hex(),
            output=cid_hex(value),
        )
        for spec, values in accepted.items()
        for index, value in enumerate(values)
    ]
    return cases + [
        case(f"refuse {name}", f"4-a {spec}", block, error=kind)
        for name, spec, kind, block in REFUSED
    ]


def cid_hex(value: Any) -> str:
    return codec.cid_of(codec.encode(value)).hex()


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def link_of(prefix: str, tail: bytes = bytes(32)) -> str:
    content = bytes.fromhex(prefix) + tail
    return "d82a" + codec.encode(content).hex()


N, C, L = "non-canonical", "corrupt", "limit-exceeded"
REFUSED = [
    ("nothing", "4-i", C, ""),
    ("two items", "4-i", C, "0000"),
    ("an array that ends early", "4-i", C, "8200"),
    ("a text that ends early", "4-i", C, "6261"),
    ("an integer that ends early", "4-i", C, "1900"),
    ("a float that ends early", "4-i", C, "fb3ff0"),
    ("bytes that declare 2^64 - 1", "4-i", C, "5bffffffffffffffff"),
    ("an array that declares 2^32 - 1", "4-i", C, "9affffffff"),
    ("a map that declares 2^63", "4-i", C, "bb8000000000000000"),
    ("0 in two bytes", "4-b", N, "1800"),
    ("23 in two bytes", "4-b", N, "1817"),
    ("255 in three bytes", "4-b", N, "1900ff"),
    ("65535 in five bytes", "4-b", N, "1a0000ffff"),
    ("2^32 - 1 in nine bytes", "4-b", N, "1b00000000ffffffff"),
    ("a long head of bytes", "4-b", N, "5800"),
    ("a long head of text", "4-b", N, "780161"),
    ("a long head of an array", "4-b", N, "9800"),
    ("a long head of a map", "4-b", N, "b800"),
    ("an array of indefinite length", "4-b", N, "9fff"),
    ("a map of indefinite length", "4-b", N, "bfff"),
    ("bytes of indefinite length", "4-b", N, "5f4100ff"),
    ("text of indefinite length", "4-b", N, "7f6161ff"),
    ("reserved additional information", "4-b", N, "1c"),
    ("a bignum", "4-c", N, "c249010000000000000000"),
    ("a negative bignum", "4-c", N, "c349010000000000000000"),
    ("a 16-bit float", "4-d", N, "f93c00"),
    ("a 32-bit float", "4-d", N, "fa3f800000"),
    ("NaN", "4-d", N, "fb7ff8000000000000"),
    ("NaN with a payload", "4-d", N, "fbfff0000000000001"),
    ("infinity", "4-d", N, "fb7ff0000000000000"),
    ("minus infinity", "4-d", N, "fbfff0000000000000"),
    ("-0.0", "4-d", N, "fb8000000000000000"),
    ("undefined", "4-e", N, "f7"),
    ("a simple value", "4-e", N, "e0"),
    ("a simple value in two bytes", "4-e", N, "f8ff"),
    ("a break", "4-e", N, "ff"),
    ("text that is not UTF-8", "4-f", C, "61ff"),
    ("text with an overlong form", "4-f", C, "62c080"),
    ("text with a surrogate", "4-f", C, "63eda080"),
    ("text beyond Unicode", "4-f", C, "64f4908080"),
    ("a key that is not UTF-8", "4-f", C, "a161ff00"),
    ("an integer as a key", "4-g", N, "a10000"),
    ("bytes as a key", "4-g", N, "a1416100"),
    ("null as a key", "4-g", N, "a1f600"),
    ("a key twice", "4-g", N, "a2616100616100"),
    ("keys out of order", "4-g", N, "a2616200616100"),
    ("a longer key first", "4-g", N, "a262616100616200"),
    ("inner keys out of order", "4-g", N, "81a2616200616100"),
    ("another tag", "4-h", N, "c000"),
    ("tag 42 in three bytes", "4-h", N, "d9002a" + link_of("0001711e20")[4:]),
    ("a link that is text", "4-h", N, "d82a6100"),
    ("a link without bytes", "4-h", N, "d82a40"),
    ("a link without 00", "4-h", N, link_of("01711e20", bytes(33))),
    ("a link with 01 for 00", "4-h", N, link_of("0101711e20")),
    ("a link by sha2-256", "4-h 2-a", N, link_of("0001711220")),
    ("a link to dag-pb", "4-h 2-a", N, link_of("0001701e20")),
    ("a link of version 0", "4-h 2-a", N, link_of("001220")),
    ("a link of version 2", "4-h 2-a", N, link_of("0002711e20")),
    ("a link with 31 bytes of hash", "4-h 2-a", N, link_of("0001711e1f", bytes(31))),
    ("a link with 64 bytes of hash", "4-h 2-a", N, link_of("0001711e40", bytes(64))),
    ("a link without hash", "4-h 2-a", N, link_of("0001711e00", b"")),
    ("a link with a byte more", "4-h 2-a", N, link_of("0001711e20", bytes(33))),
    ("an identity link", "4-h 2-a", N, link_of("0001550004", b"text")),
    ("a link with a long varint", "4-h 2-a", N, link_of("008100711e20", bytes(31))),
    ("depth 65", "7-a", L, "81" * 65 + "00"),
    ("depth 65 in maps", "7-a", L, "a16161" * 65 + "00"),
]


def block_cases() -> list[Case]:
    cases = [
        case(name, spec, codec.encode(fields).hex(), output=cid_hex(fields))
        for name, spec, fields in accepted_blocks()
    ]
    return cases + [
        case(name, spec, codec.encode(fields).hex(), error=kind)
        for name, spec, kind, fields in refused_blocks()
    ]


def link_cases() -> list[Case]:
    cases = []
    for name, _, fields in accepted_blocks():
        block = codec.encode(fields)
        output = sorted(cid.hex() for cid in reader.links(block))
        cases.append(case(f"links of {name}", "9-a", block.hex(), output=output))
    cids = b"".join(codec.cid_of(struct.pack(">I", index)) for index in range(3))
    tree = {"kind": "tree", "v": 1, "level": 0, "keys": b"abc", "cids": cids}
    block = codec.encode(tree)
    output = sorted(cid.hex() for cid in reader.links(block))
    return [*cases, case("links of a tree", "9-a 9-b", block.hex(), output=output)]


def documents() -> dict[str, str]:
    """Returns the text of each file by its name."""
    made = {
        "cid.json": cid_cases(),
        "id.json": id_cases(),
        "codec.json": codec_cases(),
        "block.json": block_cases(),
        "link.json": link_cases(),
        "../memory/event.json": event_cases(),
        "signature.json": signature_cases(),
    }
    return {
        name: json.dumps(cases, indent=1, ensure_ascii=False) + "\n" for name, cases in made.items()
    }


if __name__ == "__main__":
    for name, text in documents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
