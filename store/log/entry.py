"""The bytes of log entries and packs, and the names of the objects that hold them.

Both begin alike: eight bytes that name the kind, the bodies of blocks, then a table that says where
each body is. An entry goes on with the CIDs that it drops and with a header; its last bytes
are its own hash. A pack is named by the hash of all its bytes, 16 random ones among them. Entries
are numbered from 0; their names count down, so that the newest comes first in a listing.

Spec: log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from struct import Struct

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.cid import CID_BYTES, Cid
from ibidem.objects.errors import CorruptError, ErrorKind, IbidemError
from ibidem.objects.record import record

REF_BYTES = 32
NONCE_BYTES = 16
INLINE_BYTES_MAX = 256 << 10
"""Blocks of a publish up to this size are part of its entry; more go into packs before it."""
PACK_BYTES = 32 << 20
"""A pack is closed when it reaches this size."""
_ENTRY_MAGIC, _PACK_MAGIC = b"ibidemE1", b"ibidemP1"
_LAST = 10**20 - 1
_LOG_REF = bytes(24)
_ROW = Struct(f"<{CID_BYTES}sII")
_COUNT = Struct("<I")

Span = tuple[bytes, int, int]
"""(object, start, length): the object as 32 bytes, see `object_name`."""


@record
class PackRef:
    """A pack as an entry names it, so that its table can be read without the rest of it."""

    ref: bytes
    """The hash of all its bytes."""
    size: int
    rows: int
    """How many blocks it holds."""
    table_hash: bytes

    @property
    def table_span(self) -> tuple[int, int]:
        """Where the rows of its table are, as (start, length)."""
        length = self.rows * _ROW.size
        return self.size - _COUNT.size - length, length

    def spans(self, table: bytes) -> dict[Cid, Span]:
        """Returns where each block of it lies; raises `CorruptError` for damaged bytes."""
        if blake3(table).digest() != self.table_hash:
            raise _damaged(object_name(self.ref))
        return dict(_rows(table, self.ref))


def pack_ref(data: bytes) -> PackRef:
    """Returns how an entry names a pack."""
    table = _table_in(data, len(data))
    return PackRef(
        blake3(data).digest(), len(data), len(table) // _ROW.size, blake3(table).digest()
    )


@record
class Entry:
    """One step of the log: what it adds, drops and swaps."""

    nonce: bytes
    """Random; tells a writer whether an entry is its own."""
    cells: Mapping[str, bytes | None]
    """The new values of the cells that change; None removes a cell."""
    packs: tuple[PackRef, ...]
    """The packs that become visible."""
    dropped: tuple[Cid, ...]
    """Blocks that are stored no longer."""
    cleaned: tuple[bytes, ...]
    """Objects from which all dropped blocks were removed by now."""
    blocks: Mapping[Cid, bytes]
    """The blocks in the entry itself."""
    collected: tuple[bytes, ...] = ()
    """Packs that no entry named so far, and that none may name from now on."""
    is_redacted: bool = False
    """Whether the blocks were removed from the entry after an erasure."""


def entry_name(number: int) -> str:
    """Returns the name of the object of an entry."""
    return f"log/{_LAST - number:020d}"


def number_in(name: str) -> int:
    """Returns the number in the name of an entry."""
    return _LAST - int(name.rpartition("/")[2])


def entry_ref(number: int) -> bytes:
    """Returns the 32 bytes that stand for an entry in tables."""
    return _LOG_REF + number.to_bytes(8, "big")


def object_name(ref: bytes) -> str:
    """Returns the name of the object for which 32 bytes stand: a pack by its hash, or an entry."""
    if ref.startswith(_LOG_REF):
        return entry_name(int.from_bytes(ref[24:], "big"))
    return f"packs/{ref[:1].hex()}/{ref.hex()}"


def ref_of(name: str) -> bytes:
    """Returns the 32 bytes that stand for a pack in tables, from the name of its object."""
    return bytes.fromhex(name.rpartition("/")[2])


def is_entry(ref: bytes) -> bool:
    """Returns whether an object is a log entry and not a pack."""
    return ref.startswith(_LOG_REF)


def encode_pack(blocks: Iterable[tuple[Cid, bytes]]) -> bytes:
    """Returns the bytes of a pack of blocks in the given order. Random bytes in it make its name
    new: a pack that was collected never comes back."""
    return _with_table(_PACK_MAGIC + os.urandom(NONCE_BYTES), blocks)


def spans_in(data: bytes, ref: bytes) -> dict[Cid, Span]:
    """Returns where each block of a pack lies; raises `CorruptError` for damaged bytes."""
    if blake3(data).digest() != ref or not data.startswith(_PACK_MAGIC):
        raise _damaged(object_name(ref))
    return dict(_rows(_table_in(data, len(data)), ref))


def encode_entry(entry: Entry) -> bytes:
    """Returns the bytes of an entry."""
    table = _with_table(_ENTRY_MAGIC, entry.blocks.items())
    dropped = b"".join(cid.raw for cid in entry.dropped)
    header = codec.encode(
        {
            "nonce": entry.nonce,
            "cells": dict(entry.cells),
            "packs": [[pack.ref, pack.size, pack.rows, pack.table_hash] for pack in entry.packs],
            "cleaned": list(entry.cleaned),
            "collected": list(entry.collected),
            "dropped": len(entry.dropped),
            "redacted": entry.is_redacted,
        }
    )
    data = b"".join((table, dropped, header, _COUNT.pack(len(header))))
    return data + blake3(data).digest()


def decode_entry(data: bytes, number: int) -> tuple[Entry, dict[Cid, Span]]:
    """Returns an entry, and where its own blocks lie.

    Raises:
        CorruptError: damaged bytes.
    """
    name, ref = entry_name(number), entry_ref(number)
    content = data[:-REF_BYTES]
    if blake3(content).digest() != data[-REF_BYTES:] or not data.startswith(_ENTRY_MAGIC):
        raise _damaged(name)
    try:
        header_stop = len(content) - _COUNT.size
        header_start = header_stop - _COUNT.unpack_from(content, header_stop)[0]
        header = codec.decode(content[header_start:header_stop])
        dropped_start = header_start - CID_BYTES * header["dropped"]
        spans = dict(_rows(_table_in(content, dropped_start), ref))
        entry = Entry(
            header["nonce"],
            header["cells"],
            tuple(PackRef(*pack) for pack in header["packs"]),
            tuple(
                Cid(content[at : at + CID_BYTES])
                for at in range(dropped_start, header_start, CID_BYTES)
            ),
            tuple(header["cleaned"]),
            {cid: data[start : start + size] for cid, (_, start, size) in spans.items()},
            tuple(header["collected"]),
            header["redacted"],
        )
    except (KeyError, ValueError, TypeError, IbidemError) as error:
        raise _damaged(name) from error
    return entry, spans


def redacted(entry: Entry) -> Entry:
    """Returns an entry without the blocks in it: the only form in which one is ever replaced."""
    return replace(entry, blocks={}, is_redacted=True)


def _with_table(start: bytes, blocks: Iterable[tuple[Cid, bytes]]) -> bytes:
    parts, rows, at = [start], [], len(start)
    for cid, block in blocks:
        parts.append(block)
        rows.append(_ROW.pack(cid.raw, at, len(block)))
        at += len(block)
    return b"".join((*parts, *rows, _COUNT.pack(len(rows))))


def _table_in(data: bytes, stop: int) -> bytes:
    """Returns the rows of the table that ends at `stop`."""
    last = stop - _COUNT.size
    count = _COUNT.unpack_from(data, last)[0]
    return data[last - count * _ROW.size : last]


def _rows(table: bytes, ref: bytes) -> Iterator[tuple[Cid, Span]]:
    for raw, start, size in _ROW.iter_unpack(table):
        yield Cid(raw), (ref, start, size)


def _damaged(name: str) -> CorruptError:
    return CorruptError(
        f"object {name}: its bytes are not those that were written",
        kind=ErrorKind.HASH_MISMATCH,
        hint="restore it from a copy of the bucket, or clone the repository from another copy",
    )
