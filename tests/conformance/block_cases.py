"""Blocks of every kind: accepted ones, and ones that break one rule of section 5 or 8 each."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Any

from . import mini_reader as reader
from .mini_codec import Link, cid_of

Fields = dict[str, Any]

A, B = reader.node_id("", "a"), reader.node_id("", "b")
LINK = Link(cid_of(b"\xa0"))
OTHER = Link(cid_of(b"\x80"))
BLOB = Link(cid_of(b"part", raw=True))
PAIR = [LINK, OTHER]
TREES = dict.fromkeys(("nodes", "edges", "tombstones", "conflicts"), LINK)
ONE = struct.pack("<f", 1.0)
NAN, INFINITY = struct.pack("<f", float("nan")), struct.pack("<f", float("inf"))

NODE: Fields = {"kind": "node", "v": 1, "id": A, "ntype": "Passage"}
EDGE: Fields = {
    "kind": "edge",
    "v": 1,
    "id": reader.edge_id(A, "cites", B),
    "etype": "cites",
    "src": A,
    "dst": B,
}
VECTOR: Fields = {
    "kind": "vector",
    "v": 1,
    "dtype": "f32",
    "dim": 2,
    "of": bytes(32),
    "data": ONE * 2,
}
SPARSE: Fields = {
    "kind": "sparse",
    "v": 1,
    "indices": struct.pack("<2I", 3, (1 << 32) - 1),
    "weights": ONE * 2,
    "of": bytes(32),
}
TOMBSTONE: Fields = {"kind": "tombstone", "v": 1}
COLUMN = b"".join(sorted((LINK.raw, OTHER.raw, BLOB.raw)))
ERASURE: Fields = {"kind": "erasure", "v": 1, "node": A, "cids": COLUMN, "time": 0}
ROOT: Fields = {"kind": "root", "v": 1, **TREES}
COMMIT: Fields = {"kind": "commit", "v": 1, "root": LINK, "time": 0}
REF: Fields = {"kind": "ref", "v": 1, "name": "branch/main", "target": LINK, "seq": 0}
VIEW: Fields = {"kind": "view", "v": 1, "refs": LINK, "head": "", "erasures": LINK, "seq": 0}
OPERATION: Fields = {"kind": "operation", "v": 1, "view": LINK, "time": 0}
RECEIPT: Fields = {
    "kind": "receipt",
    "v": 1,
    "semantics": 1,
    "root": LINK,
    "query": {},
    "models": {},
    "result": OTHER,
    "items": [],
}
CONFLICT: Fields = {"kind": "conflict", "v": 1, "what": "edge", "sides": PAIR}
STEP: Fields = {"kind": "step", "v": 1, "action": "begin", "index": 0, "time": 0}
SMALLEST = [
    *(NODE, EDGE, VECTOR, SPARSE, TOMBSTONE, ROOT, COMMIT, REF, VIEW, OPERATION),
    *(RECEIPT, STEP, CONFLICT, ERASURE),
]
HEADER = hashlib.sha256(b"| a |\n|---|").hexdigest()
ROW = [A, OTHER, 0.5, bytes(32), {"lexical": [1, 2.5, 0.5]}]

OPTIONAL: dict[str, Fields] = {
    "node": {
        "summary": "s",
        "context_sentence": "c",
        "props": {"n": 1, "link": LINK},
        "content": [BLOB],
        "key": ["", "a"],
        "children": [[B, "\n", 4, 1]],
        "tail": "\n",
    },
    "edge": {"weight": 0.5, "props": {"n": 1}, "key": 0},
    "tombstone": {"reason": "wrong"},
    "erasure": {"reason": "asked", "author": "ada", "signature": bytes(96)},
    "root": {
        "vectors": {"m": LINK},
        "sparse": {"v": OTHER},
        "config": {"semantics": 1, "note": OTHER},
    },
    "commit": {
        "parents": [LINK, OTHER],
        "author": "ada",
        "message": "why",
        "agent": "a",
        "task": "t",
        "signature": b"\x00",
    },
    "ref": {"previous": OTHER},
    "view": {"previous": OTHER},
    "operation": {"parents": [OTHER], "author": "ada", "description": "commit"},
    "receipt": {
        "commit": OTHER,
        "notes_head": LINK,
        "rerank": {"status": "ok"},
        "text_digest": bytes(32),
        "agent": "a",
        "task": "b",
    },
    "conflict": {"base": OTHER, "fields": ["props.due", "summary"], "deleted": True, "nodes": PAIR},
    "step": {
        "name": "nightly",
        "receipt": LINK,
        "commit": b"\xa0",
        "root": OTHER,
        "request": b"\xa0",
        "answer": [BLOB],
    },
}


def accepted_blocks() -> Iterator[tuple[str, str, Fields]]:
    """Yields (name, spec, fields)."""
    for smallest in SMALLEST:
        kind = smallest["kind"]
        yield f"{kind}, the smallest", "5-a 5-c", smallest
        full = {**smallest, **OPTIONAL.get(kind, {})}
        if kind == "edge":
            full["id"] = reader.edge_id(A, "cites", B, full["key"])
        yield f"{kind}, every field", "5-a 5-c", full
        yield f"{kind}, unknown fields", "5-d", {**full, "later": {"a": [1.5, None]}, "x": None}
    trusted = {"level": "level", "scope": "scope", "default_level": 1, "anonymous_level": 0}
    policy = {"trust": {**trusted, "unscoped": "allow"}}
    yield "root, requires trust", "8-b", {**ROOT, "config": policy, "requires": ["trust"]}
    yield "node, content of 4096 bytes", "5.1-a", {**NODE, "content": bytes(4096)}
    yield "node, content of 16 raw blocks", "7-a", {**NODE, "content": [BLOB] * 16}
    table = {
        "context_sentence": "| a |\n|---|",
        "props": {"format": "table", "header_sha256": HEADER},
    }
    yield "node, further rows of a table", "5.1-g", {**NODE, "summary": "| b |", **table}
    yield "node, parts of 2^26 bytes", "5.1-e", {**NODE, "children": [[B, "", 1 << 26, 0]]}
    yield "edge, weight 0.0", "5.2-a", {**EDGE, "weight": 0.0}
    for name, key in (("false", False), ("empty text", ""), ("an empty list", [])):
        derived = reader.edge_id(A, "cites", B, key)
        yield f"edge, key {name}", "5.2-b 5-b", {**EDGE, "key": key, "id": derived}
    yield "vector, f16", "5.3-a", {**VECTOR, "dtype": "f16", "data": struct.pack("<2e", 1, -2)}
    yield "vector, i8", "5.3-a", {**VECTOR, "dtype": "i8", "data": b"\x80\x7f"}
    yield "vector, -0.0", "5.3-a", {**VECTOR, "data": struct.pack("<2f", -0.0, 1e-45)}
    yield "sparse, empty", "5.4-a", {**SPARSE, "indices": b"", "weights": b""}
    yield "commit, earliest time", "5-c", {**COMMIT, "time": -(1 << 63)}
    yield "receipt, an item", "9-a", {**RECEIPT, "items": [ROW], "models": {"m": bytes(32)}}
    bases = {"created_after": OTHER, "updated_before": None}
    yield "receipt, bases in its query", "9-a", {**RECEIPT, "query": {"history": bases}}
    yield "receipt, roots in its query", "9-a", {**RECEIPT, "query": {"union": [OTHER]}}
    yield "receipt, an item of one of several roots", "9-a", {**RECEIPT, "items": [[*ROW, 1]]}
    yield "receipt, links in its query", "9-a", {**RECEIPT, "query": {"where": [OTHER]}}
    yield "conflict, against a deletion", "5.13-a", {**CONFLICT, "sides": [OTHER], "deleted": True}
    yield "conflict, of a node", "5.13-a", {**CONFLICT, "what": "node"}
    yield (
        "conflict, an edge without its node",
        "5.13-a",
        {**CONFLICT, "sides": [OTHER], "nodes": PAIR},
    )
    yield "erasure, one block", "5.14-a", {**ERASURE, "cids": COLUMN[:36]}
    yield "step, a later one", "5.12-a", {**STEP, "index": 1, "previous": LINK}
    yield (
        "step, one that overlaps",
        "5.12-c",
        {**STEP, "index": 2, "previous": LINK, "start": 1},
    )
    yield "ref to a step", "5-c", {**REF, "name": "runs/nightly/1"}
    yield "ref to a receipt", "5-c", {**REF, "name": "receipts/a", "seq": 1, "previous": OTHER}
    yield "result", "9-a", {"kind": "result", "v": 1, "root": LINK, "items": [{"cid": OTHER}]}


def refused_blocks() -> Iterator[tuple[str, str, str, Fields]]:
    """Yields (name, spec, kind of the refusal, fields); fields may be no map at all."""
    corrupt, form, newer = "corrupt", "non-canonical", "unsupported-format"
    yield "a list", "5-a", corrupt, [1]  # type: ignore[misc]
    yield "an empty map", "5-a", corrupt, {}
    for smallest in SMALLEST:
        kind = smallest["kind"]
        yield f"{kind}, version 2", "8-a", newer, {**smallest, "v": 2}
        yield f"{kind}, version 0", "8-a", newer, {**smallest, "v": 0}
        yield f"{kind}, version true", "5-a", corrupt, {**smallest, "v": True}
        for name in smallest:
            rest = {field: value for field, value in smallest.items() if field != name}
            yield f"{kind} without {name}", "5-c", corrupt, rest
            yield f"{kind}, {name} is 1.5", "5-c", corrupt, {**smallest, name: 1.5}
        for name in OPTIONAL.get(kind, {}):
            if (kind, name) != ("edge", "key"):
                yield f"{kind}, {name} is 2", "5-c", corrupt, {**smallest, name: 2}
            yield f"{kind}, {name} is null", "5-b", form, {**smallest, name: None}
        for name, value in OPTIONAL.get(kind, {}).items():
            if isinstance(value, (str, bytes, list, dict)):
                empty = type(value)()
                yield f"{kind}, {name} is empty", "5-b", form, {**smallest, name: empty}
    for place, value in ((0, bytes(15)), (1, BLOB), (2, 1), (3, bytes(31)), (4, [])):
        row = [*ROW[:place], value, *ROW[place + 1 :]]
        yield (
            f"receipt, item with {value!r:.12} at {place}",
            "5-c",
            corrupt,
            {**RECEIPT, "items": [row]},
        )
    yield "receipt, item of four", "5-c", corrupt, {**RECEIPT, "items": [ROW[:4]]}
    yield "receipt, semantics 0", "5-c", corrupt, {**RECEIPT, "semantics": 0}
    yield "receipt, model without a digest", "5-c", corrupt, {**RECEIPT, "models": {"m": b""}}
    yield "conflict, one side", "5.13-a", corrupt, {**CONFLICT, "sides": [LINK]}
    yield "conflict, no side", "5.13-a", corrupt, {**CONFLICT, "sides": []}
    yield "conflict, a field twice", "5-c", corrupt, {**CONFLICT, "fields": ["a", "a"]}
    yield "conflict, a field without a name", "5-c", corrupt, {**CONFLICT, "fields": [""]}
    yield "conflict, sides descending", "5-c", corrupt, {**CONFLICT, "sides": PAIR[::-1]}
    yield "conflict, a side twice", "5-c", corrupt, {**CONFLICT, "sides": [LINK, LINK]}
    yield "conflict, of something else", "5-c", corrupt, {**CONFLICT, "what": "commit"}
    yield "conflict, not deleted", "5-c", corrupt, {**CONFLICT, "deleted": False}
    yield "conflict, deleted by a number", "5-c", corrupt, {**CONFLICT, "deleted": 1}
    yield (
        "conflict, a node without nodes",
        "5-c",
        corrupt,
        {**CONFLICT, "what": "node", "nodes": PAIR},
    )
    yield "erasure of nothing", "5.14-a", corrupt, {**ERASURE, "cids": b""}
    yield "erasure, half a CID", "5.14-a", corrupt, {**ERASURE, "cids": COLUMN[:40]}
    yield "erasure, descending", "5.14-a", corrupt, {**ERASURE, "cids": COLUMN[36:] + COLUMN[:36]}
    yield "erasure, a CID twice", "5.14-a", corrupt, {**ERASURE, "cids": COLUMN[:36] * 2}
    yield "erasure, no CID", "5.14-a", corrupt, {**ERASURE, "cids": bytes(36)}
    yield "step, empty action", "5-c", corrupt, {**STEP, "action": ""}
    yield "step, the first after another", "5.12-a", corrupt, {**STEP, "previous": LINK}
    yield "step, a later one after nothing", "5.12-a", corrupt, {**STEP, "index": 1}
    second = {**STEP, "index": 2, "previous": LINK}
    yield "step, started before all", "5.12-c", corrupt, {**second, "start": 0}
    yield "step, started at itself", "5.12-c", corrupt, {**second, "start": 2}
    yield "step, started at a fraction", "5.12-c", corrupt, {**second, "start": 1.0}
    yield "step, request of 4097 bytes", "5-c", corrupt, {**STEP, "request": bytes(4097)}
    yield "step, answer in DAG-CBOR", "5-c", corrupt, {**STEP, "answer": [LINK]}
    yield "an unknown kind", "8-a", newer, {"kind": "novel", "v": 1}
    yield "node, empty label", "5-c", corrupt, {**NODE, "ntype": ""}
    yield "node, id of 15 bytes", "5-c", corrupt, {**NODE, "id": bytes(15)}
    yield "node, content of 4097 bytes", "5.1-a", corrupt, {**NODE, "content": bytes(4097)}
    yield "node, content in DAG-CBOR", "5.1-a", corrupt, {**NODE, "content": [LINK]}
    yield "node, key of three", "5-c", corrupt, {**NODE, "key": ["", 1, 2]}
    yield "node, key without text", "5-c", corrupt, {**NODE, "key": [1, 2]}
    for index, wrong in enumerate(([B, "", 1], [b"", "", 1, 0], [B, "", -1, 0], [B, None, 1, 0])):
        yield f"node, child {index}", "5-c", corrupt, {**NODE, "children": [wrong]}
    limit = "limit-exceeded"
    yield "node, content of 17 raw blocks", "7-a", limit, {**NODE, "content": [BLOB] * 17}
    yield "step, answer of two raw blocks", "7-a", limit, {**STEP, "answer": [BLOB] * 2}
    row = [B, "", 1 << 26, 0]
    yield "node, a part twice", "5.1-e", corrupt, {**NODE, "children": [[B, "", 1, 0]] * 2}
    parts = [row, [bytes(16), "", 1, 0]]
    yield "node, parts of 2^26 + 1 bytes", "5.1-e", limit, {**NODE, "children": parts}
    yield "node, id of another key", "5.1-c", corrupt, {**NODE, "key": ["", "b"]}
    yield "node, id of another namespace", "5.1-c", corrupt, {**NODE, "key": ["x", "a"]}
    yield "edge, id without its key", "5.2-b", corrupt, {**EDGE, "key": 0}
    yield "edge, id of another type", "5.2-b", corrupt, {**EDGE, "etype": "refutes"}
    yield "edge, turned around", "5.2-b", corrupt, {**EDGE, "src": B, "dst": A}
    yield "edge, weight 1.0", "5-b", form, {**EDGE, "weight": 1.0}
    yield "vector, f64", "5-c", corrupt, {**VECTOR, "dtype": "f64"}
    yield "vector, dim 0", "5-c", corrupt, {**VECTOR, "dim": 0, "data": b""}
    yield "vector, dim 65537", "5-c", corrupt, {**VECTOR, "dim": 65537}
    yield "vector, a component short", "5.3-a", corrupt, {**VECTOR, "data": ONE}
    yield "vector, NaN", "5.3-a", corrupt, {**VECTOR, "data": ONE + NAN}
    yield "vector, infinity", "5.3-a", corrupt, {**VECTOR, "data": INFINITY + ONE}
    half = {**VECTOR, "dtype": "f16", "data": b"\x00\x7c\x00\x00"}
    yield "vector, infinity in f16", "5.3-a", corrupt, half
    yield "sparse, repeated index", "5.4-a", corrupt, {**SPARSE, "indices": bytes(8)}
    descending = struct.pack("<2I", 2, 1)
    yield "sparse, descending", "5.4-a", corrupt, {**SPARSE, "indices": descending}
    yield "sparse, a weight short", "5.4-a", corrupt, {**SPARSE, "weights": ONE}
    yield "sparse, three bytes", "5.4-a", corrupt, {**SPARSE, "indices": b"abc", "weights": b"abc"}
    yield "sparse, NaN", "5.4-a", corrupt, {**SPARSE, "weights": NAN + ONE}
    yield "root, a raw tree", "5-c", corrupt, {**ROOT, "nodes": BLOB}
    yield "root, a model without name", "5-c", corrupt, {**ROOT, "vectors": {"": LINK}}
    yield "root, requires a feature", "8-b", newer, {**ROOT, "requires": ["novel"]}
    yield "root, requires out of order", "8-b", corrupt, {**ROOT, "requires": ["b", "a"]}
    yield "view, requires a feature", "8-b", newer, {**VIEW, "requires": ["novel"]}
    yield "commit, a parent twice", "5-c", corrupt, {**COMMIT, "parents": [LINK, LINK]}
    yield "commit, time out of range", "5-c", corrupt, {**COMMIT, "time": 1 << 63}
    yield "ref, negative sequence", "5-c", corrupt, {**REF, "seq": -1}
