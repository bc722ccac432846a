"""A second reader of CAR files, from `spec/sync.md` alone, with the standard library only.

It reads a whole file of few blocks; what it raises says only that something is wrong.
"""

from __future__ import annotations

from .mini_codec import Link, cid_of, decode, is_cid

HEADER_BYTES_MAX = 1 << 16
BLOCK_BYTES_MAX = {0x71: 1 << 20, 0x55: 1 << 23}


def read_car(data: bytes) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    """Returns the roots and the (cid, block) of every section."""
    header, at = _part(data, 0, HEADER_BYTES_MAX)
    fields = decode(header)
    if not isinstance(fields, dict) or set(fields) != {"roots", "version"}:
        raise ValueError("header")
    version, roots = fields["version"], fields["roots"]
    if type(version) is not int or version != 1 or not roots:
        raise ValueError("version")
    if not all(isinstance(root, Link) for root in roots):
        raise ValueError("roots")
    sections = []
    while at < len(data):
        section, at = _part(data, at, 36 + max(BLOCK_BYTES_MAX.values()))
        cid, block = section[:36], section[36:]
        if not is_cid(cid) or len(block) > BLOCK_BYTES_MAX[cid[1]]:
            raise ValueError("section")
        if cid_of(block, raw=cid[1] == 0x55) != cid:
            raise ValueError("hash")
        sections.append((cid, block))
    return [root.raw for root in roots], sections


def _part(data: bytes, at: int, size_max: int) -> tuple[bytes, int]:
    size = shift = 0
    for index in range(9):
        byte = data[at + index]
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if index and not byte:
                raise ValueError("length")
            break
    else:
        raise ValueError("length")
    start = at + index + 1
    if not 0 < size <= size_max or start + size > len(data):
        raise ValueError("size")
    return data[start : start + size], start + size
