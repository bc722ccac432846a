"""A second reader of logs in object storage, from `spec/log.md` alone, with the standard library.

What it raises says only that something is wrong.
"""

from __future__ import annotations

import json
from struct import iter_unpack, unpack_from

from .mini_blake3 import blake3
from .mini_codec import cid_of, decode

LAST = 10**20 - 1


def read_log(objects: dict[str, bytes]) -> tuple[int, dict[str, bytes], dict[bytes, bytes]]:
    """Returns the number of the newest entry, the cells, and the blocks by CID."""
    if json.loads(objects["ibidem.json"])["version"] != 1:
        raise ValueError("version")
    number, cells, places = _checkpoint(objects) or (-1, {}, {})
    while (name := f"log/{LAST - number - 1:020d}") in objects:
        number += 1
        data = objects[name]
        if not data.startswith(b"ibidemE1") or blake3(data[:-32]) != data[-32:]:
            raise ValueError("entry")
        stop = len(data) - 36
        start = stop - unpack_from("<I", data, stop)[0]
        header = decode(data[start:stop])
        dropped_at = start - 36 * header["dropped"]
        for key, value in header["cells"].items():
            cells[key] = value
        _place(places, _rows(data[:dropped_at]), bytes(24) + number.to_bytes(8, "big"))
        for ref, size, count, rows_hash in header["packs"]:
            pack = objects.get(_name(ref))
            if pack is not None:
                rows = pack[size - 4 - 44 * count : size - 4]
                if blake3(rows) != rows_hash:
                    raise ValueError("rows")
                _place(places, rows, ref)
        for at in range(dropped_at, start, 36):
            places.pop(data[at : at + 36], None)
    blocks = {}
    for cid, (ref, offset, size) in sorted(places.items()):
        block = objects[_name(ref)][offset : offset + size]
        if cid_of(block, raw=cid[1] == 0x55) != cid:
            raise ValueError("block")
        blocks[cid] = block
    return number, {key: value for key, value in cells.items() if value is not None}, blocks


def _checkpoint(objects: dict[str, bytes]):
    data = objects.get("checkpoint", b"")
    if not data.startswith(b"ibidemC1") or blake3(data[:-32]) != data[-32:]:
        return None
    start = 12 + unpack_from("<I", data, 8)[0]
    header = decode(data[12:start])
    places: dict[bytes, tuple[bytes, int, int] | None] = {}
    for name in reversed(header["tables"]):
        table = objects.get(name, b"")
        if f"tables/{blake3(table).hex()}" != name:
            return None
        _read_table(table, places)
    _read_table(data[start:-32], places)
    found = {cid: place for cid, place in places.items() if place is not None}
    return header["number"], dict(header["cells"]), found


def _read_table(table: bytes, places: dict) -> None:
    count = unpack_from("<I", table, 8)[0]
    refs = [table[at : at + 32] for at in range(16, 16 + 32 * count, 32)]
    for cid, index, offset, size in iter_unpack("<36sIII", table[16 + 32 * count :]):
        places[cid] = None if index == 0xFFFFFFFF else (refs[index], offset, size)


def _rows(data: bytes) -> bytes:
    stop = len(data) - 4
    return data[stop - 44 * unpack_from("<I", data, stop)[0] : stop]


def _place(places: dict, rows: bytes, ref: bytes) -> None:
    for cid, offset, size in iter_unpack("<36sII", rows):
        places[cid] = ref, offset, size


def _name(ref: bytes) -> str:
    if ref.startswith(bytes(24)):
        return f"log/{LAST - int.from_bytes(ref[24:], 'big'):020d}"
    return f"packs/{ref[:1].hex()}/{ref.hex()}"
