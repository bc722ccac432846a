"""Where blocks come from and where new ones are collected.

`Source` is what reading needs; a store is one. `WriteBatch` lets the trees and
transactions write without a store: what they make is collected by CID and handed over in one piece.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind, NotFoundError


class BlockReader(Protocol):
    """Reads blocks, one at a time."""

    def get(self, cid: Cid) -> bytes:
        """Returns the block; raises `NotFoundError` (`block-not-found`) where there is none."""
        ...


class Source(BlockReader, Protocol):
    """Reads blocks, one or many at a time."""

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`; raises as `get` does."""
        ...


class WriteBatch:
    """Reads through to a source and collects what is put; the source is never changed."""

    __slots__ = ("new", "source")

    new: dict[Cid, bytes]
    """What was put, in order; owned by the caller of `put` and free to be cleared."""

    def __init__(self, source: Source | None = None) -> None:
        self.source = source
        self.new = {}

    def get(self, cid: Cid) -> bytes:
        """Returns the block, new ones first.

        Raises:
            NotFoundError: neither the buffer nor its source has it (`block-not-found`).
        """
        block = self.new.get(cid)
        if block is not None:
            return block
        if self.source is None:
            raise NotFoundError(
                f"block: got {cid}, expected one that was put", kind=ErrorKind.BLOCK_NOT_FOUND
            )
        return self.source.get(cid)

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`, those of the source read in one batch."""
        wanted = list(cids)
        if self.source is None:
            return [self.get(cid) for cid in wanted]
        stored = [cid for cid in wanted if cid not in self.new]
        found = dict(zip(stored, self.source.get_many(stored), strict=True)) if stored else {}
        return [self.new[cid] if cid in self.new else found[cid] for cid in wanted]

    def put(self, cid: Cid, block: bytes) -> None:
        """Keeps a block under its CID, which the caller has computed from it."""
        self.new[cid] = block
