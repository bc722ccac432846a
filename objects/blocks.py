"""Sources of blocks, and a buffer that collects new ones.

Reading requires a `Source`; a store is one. `WriteBatch` lets trees and transactions write without
a store: new blocks are collected by CID and handed to the store together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind, NotFoundError


class BlockReader(Protocol):
    """Reads blocks, one at a time."""

    def get(self, cid: Cid) -> bytes:
        """Returns the block; raises `NotFoundError` (`block-not-found`) if there is none."""
        ...


class Source(BlockReader, Protocol):
    """Reads blocks, one or many at a time."""

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`; raises as `get` does."""
        ...


class WriteBatch:
    """A buffer of new blocks over a source, which it reads through to and never changes."""

    __slots__ = ("new", "source")

    new: dict[Cid, bytes]
    """The new blocks, in the order in which they were put; owned by the caller of `put`, who may
    clear it."""

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
        """Returns the blocks in the order of `cids`; those from the source are read in one
        batch."""
        wanted, new = list(cids), self.new
        if self.source is None:
            return [self.get(cid) for cid in wanted]
        stored = [cid for cid in wanted if cid not in new]
        found = dict(zip(stored, self.source.get_many(stored), strict=True)) if stored else {}
        return [new[cid] if cid in new else found[cid] for cid in wanted]

    def put(self, cid: Cid, block: bytes) -> None:
        """Keeps a block under its CID, which the caller computed from the block."""
        self.new[cid] = block


class LayeredBlocks(Mapping[Cid, bytes]):
    """The blocks of two mappings as one mapping, which copies neither: they may exceed memory."""

    def __init__(self, upper: Mapping[Cid, bytes], lower: Mapping[Cid, bytes]) -> None:
        self._upper = upper
        self._lower = lower

    def __getitem__(self, cid: Cid) -> bytes:
        block = self._upper.get(cid)
        return self._lower[cid] if block is None else block

    def __contains__(self, cid: object) -> bool:
        return cid in self._upper or cid in self._lower

    def __iter__(self) -> Iterator[Cid]:
        yield from self._upper
        yield from (cid for cid in self._lower if cid not in self._upper)

    def __len__(self) -> int:
        return sum(1 for _ in self)
