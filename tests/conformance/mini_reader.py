"""A second reader of the format, written from `spec/format.md` with the standard library alone.

It is the proof that the page suffices without our code, so nothing here may import ibidem.
Sections of the page stand beside the functions.
"""

from __future__ import annotations

import struct
from itertools import pairwise

from .mini_blake3 import blake3
from .mini_codec import Link, RefusedError, decode, encode

UINT64_MAX = (1 << 64) - 1
EMPTY_VALUES = (None, "", b"", [], {})


# 3 Identifiers


def derived_id(domain: bytes, value) -> bytes:
    return blake3(domain + encode(value))[:16]


def node_id(namespace: str, key) -> bytes:
    return derived_id(b"ibidem:node:1\x00", [namespace, key])


def content_node_id(fields: dict) -> bytes:
    rest = {name: value for name, value in fields.items() if name != "id"}
    return derived_id(b"ibidem:node-content:1\x00", rest)


def act_node_id(root: Link, who: list, time: int, index: int, fields: dict) -> bytes:
    rest = {name: value for name, value in fields.items() if name != "id"}
    digest = derived_id(b"ibidem:node-act:1\x00", [[root, *who], time, index, rest])
    first = min(max(0, time) // 1000, 2**48 - 1).to_bytes(6, "big")
    return first + min(index, 2**16 - 1).to_bytes(2, "big") + digest[:8]


def event_node_id(place: int, head: Link | None, index: int, fields: dict) -> bytes:
    """Memory 1."""
    rest = {name: value for name, value in fields.items() if name != "id"}
    digest = derived_id(b"ibidem:event:1\x00", [head, index, rest])
    return min(place, 2**48 - 1).to_bytes(6, "big") + digest[:10]


def edge_id(src: bytes, etype: str, dst: bytes, *key) -> bytes:
    return derived_id(b"ibidem:edge:1\x00", [src, etype, dst, *key])


def ref_key(name: str) -> bytes:
    return blake3(b"ibidem:ref:1\x00" + name.encode())[:16]


# 5 Blocks: (field, check, required). A field that is not listed is kept, whatever it holds.


def _is_text(value) -> bool:
    return type(value) is str


def _is_name(value) -> bool:
    return type(value) is str and value != ""


def _is_id(value) -> bool:
    return type(value) is bytes and len(value) == 16


def _is_digest(value) -> bool:
    return type(value) is bytes and len(value) == 32


def _is_count(value) -> bool:
    return type(value) is int and 0 <= value <= UINT64_MAX


def _is_time(value) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _is_map(value) -> bool:
    return type(value) is dict


def _is_link(value) -> bool:
    return type(value) is Link and value.raw[1] == 0x71


def _is_links(value) -> bool:
    return type(value) is list and all(map(_is_link, value)) and len(set(value)) == len(value)


def _is_trees(value) -> bool:
    return _is_map(value) and all(name and _is_link(tree) for name, tree in value.items())


def _is_requires(value) -> bool:
    return type(value) is list and all(map(_is_name, value)) and sorted(set(value)) == value


def _is_content(value) -> bool:
    if type(value) is bytes:
        return len(value) <= 4096
    return type(value) is list and all(type(p) is Link and p.raw[1] == 0x55 for p in value)


def _check_limits(kind: str, fields: dict) -> None:
    """5.1 and 7: what a list of raw blocks or of parts may come to."""
    for name, most in (("content", 16), ("request", 1), ("answer", 1)):
        value = fields.get(name)
        if kind in ("node", "step") and type(value) is list and len(value) > most:
            raise RefusedError("limit-exceeded", f"{kind}.{name}")
    if kind == "node" and "children" in fields:
        listed = [row[0] for row in fields["children"]]
        if len(set(listed)) < len(listed):
            raise RefusedError("corrupt", "a part twice")
        if sum(row[2] for row in fields["children"]) > 1 << 26:
            raise RefusedError("limit-exceeded", "node.children")


def _is_key(value) -> bool:
    return type(value) is list and len(value) == 2 and _is_text(value[0])


def _is_children(value) -> bool:
    return type(value) is list and all(
        type(row) is list
        and len(row) == 4
        and _is_id(row[0])
        and _is_text(row[1])
        and _is_count(row[2])
        and _is_count(row[3])
        for row in value
    )


def _is_weight(value) -> bool:
    return type(value) is float


def _is_bytes(value) -> bool:
    return type(value) is bytes


def _is_dim(value) -> bool:
    return type(value) is int and 1 <= value <= 65536


def _is_positive(value) -> bool:
    return _is_count(value) and value > 0


def _is_digests(value) -> bool:
    return _is_map(value) and all(map(_is_digest, value.values()))


def _is_items(value) -> bool:
    return type(value) is list and all(
        type(row) is list
        and len(row) in (5, 6)
        and (len(row) == 5 or (type(row[5]) is int and row[5] >= 0))
        and _is_id(row[0])
        and _is_link(row[1])
        and type(row[2]) is float
        and _is_digest(row[3])
        and _is_map(row[4])
        for row in value
    )


def _is_ascending(value) -> bool:
    return (
        _is_links(value)
        and len(value) <= 64
        and sorted(link.raw for link in value) == [link.raw for link in value]
    )


def _is_column(value) -> bool:
    if type(value) is not bytes or not value or len(value) % 36:
        return False
    cids = [value[at : at + 36] for at in range(0, len(value), 36)]
    return cids == sorted(set(cids)) and all(
        cid[:4] in (b"\x01\x71\x1e\x20", b"\x01\x55\x1e\x20") for cid in cids
    )


REQUIRED = {
    "node": {"id": _is_id, "ntype": _is_name},
    "edge": {"id": _is_id, "etype": _is_name, "src": _is_id, "dst": _is_id},
    "vector": {
        "dtype": lambda value: value in ("f32", "f16", "i8"),
        "dim": _is_dim,
        "of": _is_digest,
        "data": _is_bytes,
    },
    "sparse": {"indices": _is_bytes, "weights": _is_bytes, "of": _is_digest},
    "tombstone": {},
    "erasure": {"node": _is_id, "cids": _is_column, "time": _is_time},
    "conflict": {
        "what": lambda value: value in ("node", "edge"),
        "sides": lambda value: _is_ascending(value) and value != [],
    },
    "root": dict.fromkeys(("nodes", "edges", "tombstones", "conflicts"), _is_link),
    "commit": {"root": _is_link, "time": _is_time},
    "ref": {"name": _is_name, "target": _is_link, "seq": _is_count},
    "view": {"refs": _is_link, "head": _is_text, "erasures": _is_link, "seq": _is_count},
    "operation": {"view": _is_link, "time": _is_time},
    "tree": {},
    "receipt": {
        "semantics": _is_positive,
        "root": _is_link,
        "query": _is_map,
        "models": _is_digests,
        "result": _is_link,
        "items": _is_items,
    },
    "step": {"action": _is_name, "index": _is_count, "time": _is_time},
    "result": {},
}
OPTIONAL = {
    "node": {
        "summary": _is_text,
        "context_sentence": _is_text,
        "props": _is_map,
        "content": _is_content,
        "key": _is_key,
        "children": _is_children,
        "tail": _is_text,
    },
    "edge": {"weight": _is_weight, "props": _is_map, "key": lambda value: True},
    "tombstone": {"reason": _is_text},
    "erasure": {"reason": _is_text, "author": _is_text, "signature": _is_bytes},
    "conflict": {
        "base": _is_link,
        "fields": _is_requires,
        "deleted": lambda value: value is True,
        "nodes": _is_ascending,
    },
    "root": {
        "vectors": _is_trees,
        "sparse": _is_trees,
        "config": _is_map,
        "requires": _is_requires,
    },
    "commit": {
        "parents": _is_links,
        "author": _is_text,
        "message": _is_text,
        "agent": _is_text,
        "task": _is_text,
        "signature": _is_bytes,
    },
    "ref": {"previous": _is_link},
    "view": {"previous": _is_link, "requires": _is_requires},
    "operation": {"parents": _is_links, "author": _is_text, "description": _is_text},
    "receipt": {
        "commit": _is_link,
        "notes_head": _is_link,
        "rerank": _is_map,
        "text_digest": _is_digest,
        "agent": _is_text,
        "task": _is_text,
    },
    "step": {
        "name": _is_text,
        "previous": _is_link,
        "receipt": _is_link,
        "commit": _is_bytes,
        "root": _is_link,
        "request": _is_content,
        "answer": _is_content,
        "start": _is_positive,
    },
}


def read_block(block: bytes) -> dict:
    """Returns the fields of a block of any kind, every one checked by sections 4, 5 and 8."""
    fields = decode(block)
    if type(fields) is not dict or type(fields.get("kind")) is not str:
        raise RefusedError("corrupt", "no kind")
    kind, version = fields["kind"], fields.get("v")
    if type(version) is not int:
        raise RefusedError("corrupt", "no version")
    if kind not in REQUIRED or version != 1:
        raise RefusedError("unsupported-format", f"{kind} {version}")
    for name, check in REQUIRED[kind].items():
        if name not in fields or not check(fields[name]):
            raise RefusedError("corrupt", f"{kind}.{name}")
    for name, check in OPTIONAL.get(kind, {}).items():
        if name in fields:
            _check_optional(kind, name, fields[name], check)
    if set(fields.get("requires", ())) - {"trust"}:
        raise RefusedError("unsupported-format", f"requires {fields['requires']}")
    _check_limits(kind, fields)
    _check_columns(kind, fields)
    return fields


def _check_optional(kind: str, name: str, value, check) -> None:
    is_default = any(type(value) is type(empty) and value == empty for empty in EMPTY_VALUES)
    if (is_default and not (kind == "edge" and name == "key" and value is not None)) or (
        name == "weight" and value == 1.0 and type(value) is float
    ):
        raise RefusedError("non-canonical", f"{kind}.{name} spells out its default")
    if not check(value):
        raise RefusedError("corrupt", f"{kind}.{name}")


def _check_id(kind: str, fields: dict) -> None:
    if kind == "edge":
        rest = [fields["key"]] if "key" in fields else []
        derived = edge_id(fields["src"], fields["etype"], fields["dst"], *rest)
    elif "key" in fields:
        derived = node_id(*fields["key"])
    else:
        return
    if fields["id"] != derived:
        raise RefusedError("corrupt", f"{kind}.id")


def _check_columns(kind: str, fields: dict) -> None:
    if kind == "vector":
        letter, width = {"f32": ("f", 4), "f16": ("e", 2), "i8": ("b", 1)}[fields["dtype"]]
        if len(fields["data"]) != width * fields["dim"]:
            raise RefusedError("corrupt", "vector.data size")
        numbers = struct.unpack(f"<{fields['dim']}{letter}", fields["data"])
    elif kind == "sparse":
        indices, weights = fields["indices"], fields["weights"]
        if len(indices) % 4 or len(indices) != len(weights):
            raise RefusedError("corrupt", "sparse sizes")
        tokens = struct.unpack(f"<{len(indices) // 4}I", indices)
        if any(a >= b for a, b in pairwise(tokens)):
            raise RefusedError("corrupt", "sparse order")
        numbers = struct.unpack(f"<{len(tokens)}f", weights)
    elif kind == "tree":
        _check_tree(fields)
        return
    elif kind in ("node", "edge"):
        _check_id(kind, fields)
        return
    elif kind == "conflict":
        if len(fields["sides"]) == 1 and not fields.keys() & {"deleted", "nodes"}:
            raise RefusedError("corrupt", "conflict of nothing")
        if "nodes" in fields and fields["what"] != "edge":
            raise RefusedError("corrupt", "conflict.nodes")
        return
    elif kind == "step":
        if ("previous" in fields) != (fields["index"] > 0):
            raise RefusedError("corrupt", "step.previous")
        if fields.get("start", 0) >= max(fields["index"], 1):
            raise RefusedError("corrupt", "step.start")
        return
    else:
        return
    if any(number - number != 0 for number in numbers):
        raise RefusedError("corrupt", "a component that is not finite")


# 6 Trees; the rest of it is in mini_tree.py


def _check_tree(fields: dict) -> None:
    level, keys, cids = (fields.get(name) for name in ("level", "keys", "cids"))
    if not (_is_count(level) and level <= 64 and _is_bytes(keys) and _is_bytes(cids)):
        raise RefusedError("corrupt", "tree columns")
    names = ["v", "cids", "keys", "kind", "level"] + (["counts"] if level else [])
    if sorted(fields) != sorted(names) or len(cids) % 36:
        raise RefusedError("corrupt", "tree fields")
    size = len(cids) // 36
    if size > 256:
        raise RefusedError("limit-exceeded", "tree entries")
    if size == 0:
        if level or keys:
            raise RefusedError("corrupt", "empty tree block")
    elif len(keys) % size or not 1 <= len(keys) // size <= 64:
        raise RefusedError("corrupt", "tree keys")
    if level and (not _is_bytes(fields["counts"]) or len(fields["counts"]) != 8 * size):
        raise RefusedError("corrupt", "tree counts")


# 9 Links

LINK_FIELDS = {
    "node": ("content",),
    "root": ("nodes", "edges", "vectors", "sparse", "tombstones", "conflicts"),
    "commit": ("root", "parents"),
    "ref": ("target", "previous"),
    "view": ("refs", "erasures", "previous"),
    "operation": ("view", "parents"),
    "conflict": ("base", "nodes", "sides"),
    "receipt": ("root", "notes_head"),
    "step": ("root", "receipt", "previous", "request", "answer"),
}


def links(block: bytes) -> list[bytes]:
    fields = read_block(block)
    if fields["kind"] == "tree":
        return [fields["cids"][at : at + 36] for at in range(0, len(fields["cids"]), 36)]
    if fields["kind"] == "result":
        return _nested(fields)
    found = [
        cid for name in LINK_FIELDS.get(fields["kind"], ()) for cid in _nested(fields.get(name))
    ]
    if fields["kind"] == "receipt":
        found += _nested([fields["query"].get("history"), fields["query"].get("union")])
    return found


def _nested(value) -> list[bytes]:
    if type(value) is Link:
        return [value.raw]
    if type(value) is dict:
        value = list(value.values())
    return [cid for item in value for cid in _nested(item)] if type(value) is list else []
