"""Quarantine: received blocks wait outside the store until all of them are checked; no reader sees
them.

A block is accepted only if its hash, its form and its kind are right. A small quarantine is held in
memory, a large one in a store of its own in a temporary folder, so memory stays bounded whatever is
received. Nothing of it outlives the import: accepted blocks are published in one step, and refused
ones leave no trace.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind, NotFoundError
from ibidem.objects.verify import verify_block
from ibidem.repo.erasure.quarantines import claimed
from ibidem.store.backends import temporary_store
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.core import Core
    from ibidem.store.protocol import Store

MEMORY_BYTES_MAX = 32 << 20
"""Above this, blocks wait on disk."""
_ENTRY_BYTES = 200
"""Memory overhead of one block."""


class Quarantine(Closing, Mapping[Cid, bytes]):
    """Blocks that were checked one by one; a context manager that drops the rest on exit."""

    def __init__(self, repository: Core, *, memory_bytes_max: int = MEMORY_BYTES_MAX) -> None:
        self._guard = repository.guard
        self._parent = repository.folder
        self._memory_bytes_max = memory_bytes_max
        self._pending: dict[Cid, bytes] = {}
        self._pending_bytes = 0
        self._spilled: Store | None = None
        self._folder: Path | None = None
        self._lock = ExitStack()
        self._count = 0

    def take(self, blocks: Iterable[tuple[Cid, bytes]]) -> None:
        """Adds blocks, each after its check; leaves out erased ones.

        Raises:
            CorruptError, FormatError: a block does not match its CID, or violates the format.
            InvalidInputError: kind `forgotten`: a new version of a node that was erased here.
        """
        erased = self._guard.erased()
        for cid, block in blocks:
            verify_block(cid, block)
            if cid in self or cid.raw in erased.cids:
                continue
            if erased.nodes:
                self._guard.refuse({cid: block})
            self._pending[cid] = block
            self._pending_bytes += len(block) + _ENTRY_BYTES
            self._count += 1
            if self._pending_bytes > self._memory_bytes_max:
                self._spill()

    def __getitem__(self, cid: Cid) -> bytes:
        block = self._pending.get(cid)
        if block is not None:
            return block
        if self._spilled is not None:
            try:
                return self._spilled.get(cid)
            except NotFoundError:
                pass
        raise KeyError(cid)

    def __contains__(self, cid: object) -> bool:
        if cid in self._pending:
            return True
        return self._spilled is not None and isinstance(cid, Cid) and self._spilled.has(cid)

    def __iter__(self) -> Iterator[Cid]:
        yield from list(self._pending)
        if self._spilled is not None:
            yield from self._spilled.cids()

    def __len__(self) -> int:
        return self._count

    def over(self, source: Source) -> Layered:
        """Returns a source that reads here first and then in `source`."""
        return Layered(self, source)

    def close(self) -> None:
        """Drops everything."""
        self._pending = {}
        if self._spilled is not None:
            self._spilled.close()
            self._spilled = None
        self._lock.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _spill(self) -> None:
        if self._spilled is None:
            self._folder = claimed(self._parent, self._lock)
            self._spilled = temporary_store(self._folder / "blocks")
        self._spilled.put(self._pending)
        self._pending = {}
        self._pending_bytes = 0


class Layered:
    """Blocks in quarantine first, then those of the store."""

    def __init__(self, quarantine: Mapping[Cid, bytes], source: Source) -> None:
        self._quarantine = quarantine
        self._source = source

    def get(self, cid: Cid) -> bytes:
        """Returns the block; raises `NotFoundError` where neither has it."""
        try:
            return self._quarantine[cid]
        except KeyError:
            return self._source.get(cid)

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`."""
        return [self.get(cid) for cid in cids]


class Chosen(Mapping[Cid, bytes]):
    """Some blocks of a mapping: those of a quarantine to publish."""

    def __init__(self, blocks: Mapping[Cid, bytes], cids: Iterable[Cid]) -> None:
        self._blocks = blocks
        self._cids = dict.fromkeys(cid for cid in cids if cid in blocks)

    def __getitem__(self, cid: Cid) -> bytes:
        if cid not in self._cids:
            raise KeyError(cid)
        return self._blocks[cid]

    def __iter__(self) -> Iterator[Cid]:
        return iter(self._cids)

    def __len__(self) -> int:
        return len(self._cids)


def missing_from_pack(cid: Cid, what: str) -> NotFoundError:
    """Returns the error for a required block that was not sent."""
    return NotFoundError(
        f"{what} {cid} is not among what was sent",
        kind=ErrorKind.BLOCK_NOT_FOUND,
        hint="it is incomplete; or it was erased there, by no key that may erase here",
    )
