"""One state of the log: the cells, and where every block is.

A state is replaced as a whole, so that no reader pairs parts of two. It follows from the entries
alone; a checkpoint is a state written down, which saves reading the entries before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from types import MappingProxyType

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError, IbidemError
from ibidem.objects.record import record
from ibidem.store.log.entry import REF_BYTES, Entry, Span
from ibidem.store.log.table import Table, folded

RECENT_ROWS_MAX = 4096
"""Rows since the newest table, 200 kB; more become a table."""
_MAGIC = b"ibidemC1"
_COUNT = Struct("<I")


@record
class LogState:
    """The log after one of its entries."""

    number: int
    """Of the entry; -1 before the first."""
    cells: Mapping[str, bytes]
    recent: dict[bytes, Span | None]
    """Where blocks of the entries since the tables are. Following states share it until the next
    table, so it may know more than this state."""
    tables: tuple[Table, ...]
    dirty: frozenset[bytes]
    """Objects that still hold dropped blocks."""

    def span(self, cid: Cid) -> Span | None:
        """Returns where a block is, None if it is not stored."""
        raw = cid.raw
        if raw in self.recent:
            return self.recent[raw]
        for table in self.tables:
            row = table.find(raw)
            if row is not None:
                return row[1]
        return None

    def refs(self) -> set[bytes]:
        """Returns the objects in which blocks may be."""
        found = {span[0] for span in list(self.recent.values()) if span is not None}
        return found.union(self.dirty, *(table.refs() for table in self.tables))

    def after(self, entry: Entry, placed: Mapping[Cid, Span]) -> LogState:
        """Returns the state after the next entry.

        Args:
            placed: where the blocks are that it adds, its own and those in packs.
        """
        dirty = set(self.dirty)
        for cid in entry.dropped:
            span = self.span(cid)
            if span is not None:
                dirty.add(span[0])
        for cid, span in placed.items():
            older = self.span(cid)
            if older is not None and older != span:
                dirty.add(older[0])  # a second copy, which nothing names any more
        recent, tables = self.recent, self.tables
        recent.update((cid.raw, span) for cid, span in placed.items())
        recent.update((cid.raw, None) for cid in entry.dropped)
        if len(recent) > RECENT_ROWS_MAX:
            tables, recent = folded(recent, tables), {}
        cells = dict(self.cells)
        for name, value in entry.cells.items():
            if value is None:
                cells.pop(name, None)
            else:
                cells[name] = value
        cleaned = frozenset(dirty - set(entry.cleaned))
        return LogState(self.number + 1, MappingProxyType(cells), recent, tables, cleaned)


def first_state() -> LogState:
    """Returns the state before the first entry."""
    return LogState(-1, MappingProxyType({}), {}, (), frozenset())


def encode_checkpoint(state: LogState) -> bytes:
    """Returns a state as bytes, which name its tables."""
    header = codec.encode(
        {
            "number": state.number,
            "cells": dict(state.cells),
            "tables": [table.name for table in state.tables],
            "dirty": sorted(state.dirty),
        }
    )
    recent = Table.of(sorted(state.recent.items())).data
    data = b"".join((_MAGIC, _COUNT.pack(len(header)), header, recent))
    return data + blake3(data).digest()


@record
class Checkpoint:
    """A state of which the tables are elsewhere."""

    state: LogState
    table_names: tuple[str, ...]


def decode_checkpoint(data: bytes) -> Checkpoint:
    """Returns the state in a checkpoint, without its tables; raises `CorruptError`."""
    content = data[:-REF_BYTES]
    if blake3(content).digest() != data[-REF_BYTES:] or not data.startswith(_MAGIC):
        raise CorruptError("checkpoint: its bytes are not those that were written")
    try:
        start = len(_MAGIC) + _COUNT.size
        stop = start + _COUNT.unpack_from(content, len(_MAGIC))[0]
        header = codec.decode(content[start:stop])
        state = LogState(
            header["number"],
            MappingProxyType(header["cells"]),
            dict(Table(content[stop:]).rows()),
            (),
            frozenset(header["dirty"]),
        )
        return Checkpoint(state, tuple(header["tables"]))
    except (KeyError, TypeError, ValueError, IbidemError) as error:
        raise CorruptError("checkpoint: it does not say a state") from error
