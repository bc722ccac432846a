"""A store in memory: the reference, and the strictest of all backends.

It rejects everything that any backend may reject, so that code tested on it runs on the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ibidem.objects.cid import Cid
from ibidem.objects.forking import ForkLock
from ibidem.store.closing import Closing
from ibidem.store.protocol import (
    NO_CELLS,
    Guard,
    StoreStats,
    Swap,
    Unguarded,
    check_block,
    check_cell,
    check_hash,
    closed_store,
    moved_cell,
)


class MemoryStore(Closing):
    """Blocks and cells in dictionaries; lost with the process."""

    def __init__(self) -> None:
        self._blocks: dict[Cid, bytes] = {}
        self._cells: dict[str, bytes] = {}
        self._lock = ForkLock()
        self._is_closed = False
        self.guard: Guard = Unguarded()

    def get(self, cid: Cid) -> bytes:
        """Returns the block after checking its hash, as a store on disk does."""
        self._check_open()
        block = self._blocks.get(cid)
        if block is None:
            raise self.guard.missing(cid)
        check_hash(cid, block)
        return block

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`."""
        return [self.get(cid) for cid in cids]

    def has(self, cid: Cid) -> bool:
        """Returns whether the block is stored."""
        self._check_open()
        return cid in self._blocks

    def put(self, blocks: Mapping[Cid, bytes]) -> None:
        """Stores the blocks, all or none."""
        self.publish(blocks, {})

    def cell(self, name: str) -> bytes | None:
        """Returns the value of a cell, None if there is no such cell."""
        self._check_open()
        check_cell(name)
        return self._cells.get(name)

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        """Puts the blocks and swaps every cell in one step, or changes nothing."""
        self._check_open()
        needed = list(needs)
        for cid, block in blocks.items():
            check_block(cid, block)
        for name, swap in cells.items():
            check_cell(name, *swap)
        expected = {name: old for name, (old, _) in cells.items()}
        self.guard.refuse(blocks, cells=expected)
        with self._lock:
            for name, old in expected.items():
                if self._cells.get(name) != old:
                    raise moved_cell(name)
            for cid in needed:
                if cid not in self._blocks and cid not in blocks:
                    raise self.guard.missing(cid)
            for cid, block in blocks.items():
                self._blocks.setdefault(Cid(cid.raw), block)
            swapped = {**self._cells, **{name: new for name, (_, new) in cells.items()}}
            # Replaced as a whole: a child of a fork has all swaps or none.
            self._cells = {name: value for name, value in swapped.items() if value is not None}

    def cells(self) -> dict[str, bytes]:
        """Returns all cells, by name ascending."""
        self._check_open()
        return dict(sorted(self._cells.items()))

    def cids(self, start: bytes = b"") -> Iterator[Cid]:
        """Yields the CIDs from `start` on, ascending."""
        self._check_open()
        with self._lock:
            found = sorted(cid for cid in self._blocks if cid.raw >= start)
        yield from found

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Deletes blocks, provided that the cells hold the expected values; returns how many were
        stored."""
        self._check_open()
        with self._lock:
            for name, expected in cells.items():
                if self._cells.get(name) != expected:
                    raise moved_cell(name)
            return sum(self._blocks.pop(cid, None) is not None for cid in cids)

    def renew(self) -> None:
        """Does nothing: there are no buffers."""
        self._check_open()

    def scrub(self) -> int:
        """Overwrites nothing: deleted blocks are not kept in memory."""
        self._check_open()
        return 0

    def stats(self) -> StoreStats:
        """Returns the counts and sizes of the store."""
        self._check_open()
        with self._lock:
            size_bytes = sum(map(len, self._blocks.values())) + sum(map(len, self._cells.values()))
            return StoreStats(len(self._blocks), len(self._cells), size_bytes)

    def close(self) -> None:
        """Ends the use of this store."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise closed_store()
