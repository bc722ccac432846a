"""Trees as the second reader has them: their shape, their cuts, their entries; no ibidem here."""

from __future__ import annotations

import struct
from itertools import pairwise

from .mini_codec import RefusedError, cid_of, cid_text, encode
from .mini_reader import UINT64_MAX, read_block


def tree_shape(block: bytes) -> dict:
    """Returns the level and the number of entries of a tree block."""
    fields = read_block(block)
    if fields["kind"] != "tree":
        raise RefusedError("corrupt", fields["kind"])
    return {"level": fields["level"], "size": len(fields["cids"]) // 36}


def tree_hash(level: int, key: bytes) -> int:
    """Section 6.2."""
    state = 0x9E3779B97F4A7C15 * (level + 1) & UINT64_MAX
    for at in range(0, len(key), 8):
        state ^= int.from_bytes(key[at : at + 8], "little")
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & UINT64_MAX
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & UINT64_MAX
        state ^= state >> 31
    return state


def tree_cuts(level: int, keys: list[bytes]) -> list[int]:
    """Returns the indices of the boundaries of a level, by the recursive rule of section 6.3."""
    order = [(tree_hash(level, key), key) for key in keys]
    ends = [at for at, (value, _) in enumerate(order) if value < 1 << 58 or at == len(keys) - 1]
    cuts, start = [], 0
    for end in ends:
        todo = [(start, end)]
        while todo:
            first, last = todo.pop()
            if last - first + 1 > 256:
                split = min(range(first, last), key=order.__getitem__)
                cuts.append(split)
                todo += [(first, split), (split + 1, last)]
        cuts.append(end)
        start = end + 1
    return sorted(cuts)


def tree_build(width: int, keys: bytes, cids: bytes) -> bytes:
    """Returns the CID of the tree of the entries, which are in order, by section 6.4."""
    size = len(cids) // 36
    rows = [(keys[i * width : (i + 1) * width], cids[i * 36 : i * 36 + 36], 1) for i in range(size)]
    level = 0
    while True:
        cuts = tree_cuts(level, [key for key, _, _ in rows])
        above, start = [], 0
        for cut in cuts or [-1]:
            part, start = rows[start : cut + 1], cut + 1
            fields = {
                "v": 1,
                "cids": b"".join(row[1] for row in part),
                "kind": "tree",
                "level": level,
            }
            fields["keys"] = b"".join(row[0] for row in part)
            if level:
                fields["counts"] = struct.pack(f">{len(part)}Q", *(row[2] for row in part))
            last = part[-1][0] if part else b""
            above.append((last, cid_of(encode(fields)), sum(row[2] for row in part)))
        if len(above) == 1:
            return above[0][1]
        rows, level = above, level + 1


def tree_entries(blocks: dict[bytes, bytes], cid: bytes) -> list[tuple[bytes, bytes]]:
    """Returns the (key, CID) pairs of a tree in order, after checking what a reader must."""
    entries, _ = _tree_level(blocks, cid, None)
    if any(a >= b for (a, _), (b, _) in pairwise(entries)):
        raise RefusedError("corrupt", "order of keys")
    return entries


def _tree_level(blocks, cid: bytes, level: int | None) -> tuple[list[tuple[bytes, bytes]], bytes]:
    block = blocks[cid]
    if cid_of(block) != cid:
        raise RefusedError("hash-mismatch", cid_text(cid))
    fields = read_block(block)
    if fields["kind"] != "tree" or (level is not None and fields["level"] != level):
        raise RefusedError("corrupt", "level")
    cids = [fields["cids"][at : at + 36] for at in range(0, len(fields["cids"]), 36)]
    if not cids:
        return [], b""
    width = len(fields["keys"]) // len(cids)
    keys = [fields["keys"][at : at + width] for at in range(0, len(fields["keys"]), width)]
    rows = list(zip(keys, cids, strict=True))
    if fields["level"] == 0:
        return rows, keys[-1]
    entries: list[tuple[bytes, bytes]] = []
    counts = struct.unpack(f">{len(cids)}Q", fields["counts"])
    for (key, child), count in zip(rows, counts, strict=True):
        below, last = _tree_level(blocks, child, fields["level"] - 1)
        if last != key or len(below) != count:
            raise RefusedError("corrupt", "last key or count")
        entries += below
    return entries, keys[-1]
