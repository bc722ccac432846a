"""A source that keeps the tree blocks that were read last, for work that compares trees repeatedly.

A copy reads each tree several times: to find its new blocks, to find its new values, and to prove
its form; and then again as the base of the next tree. A transaction reads the path to an entry to
check an edit, and again to apply it. Blocks never change and the hash of each was checked when it
was read, so a kept block is as good as one that is read again. Other blocks than those of trees are
passed through: they are read once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ibidem.objects.cid import Cid, TreeCid

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

BYTES_MAX: Final = 64 << 20
"""Bytes of blocks that are kept: the leaves of about a million entries."""
ENTRY_BYTES: Final = 200
"""Memory overhead of one block, which is more than the smallest blocks."""


class TreeCache:
    """A source over another one, for use by one thread as long as no block is deleted.

    The kept blocks are in two halves. A block that is read or used enters the new half; when that
    is full, it becomes the old half, and the former old half is dropped.
    """

    def __init__(self, source: Source, *, bytes_max: int = BYTES_MAX) -> None:
        """Keeps nothing yet.

        Args:
            bytes_max: bytes of blocks that are kept, with `ENTRY_BYTES` for each.
        """
        self._source = source
        self._half_bytes_max = bytes_max // 2
        self._new: dict[bytes, bytes] = {}
        self._new_bytes = 0
        self._old: dict[bytes, bytes] = {}

    def get(self, cid: Cid) -> bytes:
        """Returns the block; raises as the source does."""
        if type(cid) is not TreeCid:
            return self._source.get(cid)
        raw = cid.raw
        block = self._new.get(raw)
        if block is None:
            block = self._old.get(raw)
            if block is None:
                block = self._source.get(cid)
            self._add(raw, block)
        return block

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`; those that are not kept are read together."""
        wanted = list(cids)
        if not any(type(cid) is TreeCid for cid in wanted):
            return self._source.get_many(wanted)
        found = {cid.raw: self._new.get(cid.raw) or self._old.get(cid.raw) for cid in wanted}
        absent = [cid for cid in wanted if found[cid.raw] is None]
        read = {c.raw: b for c, b in zip(absent, self._source.get_many(absent), strict=True)}
        for cid in wanted:
            if type(cid) is TreeCid and cid.raw not in self._new:
                self._add(cid.raw, found[cid.raw] or read[cid.raw])
        return [found[cid.raw] or read[cid.raw] for cid in wanted]

    def _add(self, raw: bytes, block: bytes) -> None:
        self._new[raw] = block
        self._new_bytes += len(block) + ENTRY_BYTES
        if self._new_bytes > self._half_bytes_max:
            self._old, self._new, self._new_bytes = self._new, {}, 0
