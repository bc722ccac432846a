"""Removes from the objects what no state of the log needs any more.

Everything that goes is first given up by an entry. Dropped blocks: the blocks that stay are copied
and an entry says where they are, then the objects go, and another entry says so; an entry of the
log is replaced by itself without its blocks.

Packs that no entry ever named, of writers that died: an entry says that they are collected, then
they go. A writer has read all entries before its own, so that none can name a pack that was
collected: it puts another one. So no clock and no lease decides what is safe; a pack is only left
alone for an hour because its writer may be at work.

A process that dies in between leaves objects dirty or unnamed, never missing.
"""

from __future__ import annotations

from contextlib import suppress

from ibidem.objects.errors import ConflictError, IbidemError
from ibidem.store.log.entry import (
    decode_entry,
    encode_entry,
    encode_pack,
    is_entry,
    number_in,
    object_name,
    pack_ref,
    redacted,
    ref_of,
    spans_in,
)
from ibidem.store.log.log import CHECKPOINT, Log
from ibidem.store.log.state import decode_checkpoint
from ibidem.store.log.writer import LogChange, Writer
from ibidem.store.protocol import check_blocks

ORPHAN_SECONDS = 3600.0
"""How old, by the clock of the service, a pack without an entry is when a deletion collects it."""
_REFS_AT_ONCE = 10_000


class Cleaning:
    """Cleans the objects of one log."""

    def __init__(self, log: Log, writer: Writer) -> None:
        self._log = log
        self._writer = writer
        self._bucket = log.bucket

    def clean(self, dead_share: float) -> int:
        """Removes dropped blocks from the objects that hold more than this share of them; returns
        their bytes."""
        size = 0
        cleaned = []
        for ref in sorted(self._log.refreshed().dirty):
            try:
                found = self._clean_object(ref, dead_share)
            except ConflictError:
                continue  # something was deleted meanwhile, by whom the object is cleaned
            if found is not None:
                cleaned.append(ref)
                size += found
        if cleaned:
            self._writer.submit(LogChange({}, relocates=True, cleaned=tuple(cleaned)))
        return size

    def _clean_object(self, ref: bytes, dead_share: float) -> int | None:
        """Removes the dropped blocks from an object and returns their bytes; None if it holds too
        few of them."""
        name = object_name(ref)
        data = self._bucket.get(name)
        if data is None:
            return 0
        entry = None
        if is_entry(ref):
            entry, spans = decode_entry(data, number_in(name))
        else:
            spans = spans_in(data, ref)
        state = self._log.state()
        live = {cid for cid, span in spans.items() if state.span(cid) == span}
        dead_bytes = sum(span[2] for cid, span in spans.items() if cid not in live)
        total = sum(span[2] for span in spans.values())
        if live and dead_bytes <= dead_share * total:
            return None
        if live:
            blocks = [(cid, data[spans[cid][1] :][: spans[cid][2]]) for cid in sorted(live)]
            check_blocks(dict(blocks))
            packed = encode_pack(blocks)
            pack = pack_ref(packed)
            self._bucket.put(object_name(pack.ref), packed)
            moved = {pack: spans_in(packed, pack.ref)}
            self._writer.submit(LogChange({}, relocates=True, packs=moved))
        if entry is None:
            self._bucket.delete([name])
        else:
            self._bucket.put(name, encode_entry(redacted(entry)))
        return dead_bytes

    def has_orphans(self) -> bool:
        """Returns whether there are packs that no entry names."""
        named = self._log.state().refs()
        return any(ref_of(name) not in named for name in self._bucket.listed("packs/"))

    def collect(self, age_seconds: float) -> int:
        """Deletes packs that no entry names, and tables that no checkpoint needs; returns the bytes
        of the packs.

        Args:
            age_seconds: of the packs, by the clock of the service; 0 for all: then writers that are
                at work put theirs again.
        """
        # Listed before the newest state is read: whatever that state names stays.
        packs = self._older("packs/", age_seconds)
        tables = self._older("tables/", ORPHAN_SECONDS)
        self._log.refreshed()
        size = 0
        if packs:
            named = self._log.state().refs()
            orphans = sorted(ref for ref in map(ref_of, packs) if ref not in named)
            for at in range(0, len(orphans), _REFS_AT_ONCE):
                chosen = tuple(orphans[at : at + _REFS_AT_ONCE])
                try:
                    self._writer.submit(LogChange({}, relocates=True, collected=chosen))
                except ConflictError:
                    continue  # one of them was named meanwhile
                self._bucket.delete(map(object_name, chosen))
                size += sum(packs[object_name(ref)] for ref in chosen)
        if tables:
            with suppress(IbidemError):
                self._log.save_checkpoint()
                data = self._bucket.get(CHECKPOINT)
                if data is not None:
                    needed = decode_checkpoint(data).table_names
                    self._bucket.delete(name for name in tables if name not in needed)
        return size

    def _older(self, prefix: str, age_seconds: float) -> dict[str, int]:
        """Returns the sizes of the objects below a prefix that are at least so old."""
        found = self._bucket.listed(prefix)
        if not found:
            return {}
        if age_seconds == 0:
            return {name: row.size for name, row in found.items()}
        now = self._bucket.now()
        return {
            name: row.size
            for name, row in found.items()
            if (now - row.modified).total_seconds() >= age_seconds
        }
