"""Reads a tree: single keys, batches, ranges, whole columns.

A `Tree` keeps the inner blocks it has decoded, up to a bound, for as long as it lives. It is bound
to one source and one CID, both immutable, so nothing it remembers can become wrong; a source that
loses a block is noticed by the next `Tree`.

Spec: format 6.5.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ibidem.objects.cid import CID_BYTES, Cid, TreeCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.tree.block import check_child, load
from ibidem.objects.tree.columns import Block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ibidem.objects.blocks import Source

KEPT_BLOCKS_MAX = 4096


class Tree:
    """The sorted map from keys to CIDs whose top block is `cid`."""

    __slots__ = ("_kept", "_leaves", "_leaves_kept", "_source", "_top", "cid")

    def __init__(self, source: Source, cid: TreeCid, *, leaves_kept: int = 0) -> None:
        """Reads nothing yet.

        Args:
            leaves_kept: how many leaves to keep too, for those who ask for key after key.
        """
        self.cid = cid
        self._source = source
        self._kept: dict[bytes, Block] = {}
        self._leaves: dict[bytes, Block] = {}
        self._leaves_kept = leaves_kept
        self._top: Block | None = None

    def get(self, key: bytes) -> Cid | None:
        """Returns the CID at `key`, None when there is none.

        Raises:
            InvalidInputError: `key` has another width than the tree's keys.
            NotFoundError: a block on the way is missing.
            CorruptError: a block on the way is not what it should be.
        """
        block = self._top or self._load_top()
        if len(key) != block.width:
            if not block.size:
                return None
            raise _wrong_width(key, block)
        while block.level:
            index = bisect_left(block.key_list, key)
            if index == block.size:
                return None
            raw = block.cids[index * CID_BYTES : (index + 1) * CID_BYTES]
            block = self._kept.get(raw) or self._leaves.get(raw) or self._read(block, index, raw)
        index = block.place(key)
        if index < 0:
            return None
        return Cid(block.cids[index * CID_BYTES : (index + 1) * CID_BYTES])

    def __contains__(self, key: bytes) -> bool:
        """Tells whether there is an entry at `key`."""
        return self.get(key) is not None

    def get_many(self, keys: Sequence[bytes]) -> list[Cid | None]:
        """Returns what `get` returns for each of `keys`, in their order.

        The keys are looked up in ascending order, so each block is read once.
        """
        top = self._top or self._load_top()
        found: list[Cid | None] = [None] * len(keys)
        for key in keys:
            if len(key) != top.width and top.size:
                raise _wrong_width(key, top)
        if not top.size:
            return found
        order = sorted(range(len(keys)), key=keys.__getitem__)
        self._collect(top, [keys[index] for index in order], order, found)
        return found

    def __len__(self) -> int:
        """Counts the entries, from the counts in the top block."""
        return (self._top or self._load_top()).entry_count

    @property
    def last(self) -> bytes | None:
        """The greatest key, None in the empty tree."""
        top = self._top or self._load_top()
        return top.last if top.size else None

    @property
    def height(self) -> int:
        """How many levels of blocks there are, at least 1."""
        return (self._top or self._load_top()).level + 1

    @property
    def width(self) -> int:
        """Bytes in a key, 0 for the empty tree."""
        return (self._top or self._load_top()).width

    def range(
        self, start: bytes | None = None, stop: bytes | None = None
    ) -> Iterator[tuple[bytes, Cid]]:
        """Yields the entries with start <= key < stop in key order; None leaves an end open."""
        for leaf, low, high in self._spans(start, stop):
            yield from zip(
                leaf.key_list[low:high], map(Cid, leaf.cid_list()[low:high]), strict=True
            )

    def items(self) -> Iterator[tuple[bytes, Cid]]:
        """Yields every entry in key order."""
        return self.range()

    def keys(self) -> Iterator[bytes]:
        """Yields every key in order."""
        for leaf, low, high in self._spans(None, None):
            yield from leaf.key_list[low:high]

    __iter__ = keys

    def arrays(
        self, start: bytes | None = None, stop: bytes | None = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Returns the entries with start <= key < stop as two parallel, read-only arrays.

        Returns:
            keys (n, width) uint8 ascending, and cids (n, 36) uint8. Without entries the width is
            the tree's, 16 for the empty tree.
        """
        import numpy as np

        keys: list[bytes] = []
        cids: list[bytes] = []
        width = self.width or ID_BYTES
        for leaf, low, high in self._spans(start, stop):
            keys.append(leaf.keys[low * width : high * width])
            cids.append(leaf.cids[low * CID_BYTES : high * CID_BYTES])
        return (
            np.frombuffer(b"".join(keys), np.uint8).reshape(-1, width),
            np.frombuffer(b"".join(cids), np.uint8).reshape(-1, CID_BYTES),
        )

    def _spans(self, start: bytes | None, stop: bytes | None) -> Iterator[tuple[Block, int, int]]:
        """Yields the leaves that hold the range, each with the half-open span of entries in it."""
        top = self._top or self._load_top()
        for bound in (start, stop):
            if bound is not None and top.size and len(bound) != top.width:
                raise _wrong_width(bound, top)
        pending: list[tuple[Block, int]] = [(top, top.find(start) if start and top.size else 0)]
        while pending:
            block, index = pending.pop()
            if block.level == 0:
                high = block.size if stop is None or not block.size else block.find(stop)
                if index < high:
                    yield block, index, high
                if high < block.size:
                    return
                continue
            if index == block.size:
                continue
            pending.append((block, index + 1))
            if stop is not None and index and block.key_list[index - 1] >= stop:
                return
            raw = block.cid(index)
            child = self._kept.get(raw) or self._read(block, index, raw)
            pending.append((child, child.find(start) if start else 0))

    def _collect(
        self, block: Block, keys: list[bytes], order: list[int], found: list[Cid | None]
    ) -> None:
        """Looks up ascending `keys` in one subtree; the i-th answer goes to found[order[i]]."""
        if block.level == 0:
            for key, slot in zip(keys, order, strict=True):
                index = block.place(key)
                if index >= 0:
                    found[slot] = Cid(block.cid(index))
            return
        start = 0
        while start < len(keys):
            index = block.find(keys[start])
            if index == block.size:
                return
            stop = bisect_right(keys, block.key_list[index], start)
            raw = block.cid(index)
            child = self._kept.get(raw) or self._read(block, index, raw)
            self._collect(child, keys[start:stop], order[start:stop], found)
            start = stop

    def _load_top(self) -> Block:
        self._top = load(self._source, self.cid.raw)
        return self._top

    def _read(self, parent: Block, index: int, raw: bytes) -> Block:
        """Reads a child, and keeps it when it is an inner block: few are, and all share them."""
        child = load(self._source, raw)
        check_child(child, raw, parent.level - 1, parent.key_list[index])
        if child.level:
            if len(self._kept) >= KEPT_BLOCKS_MAX:
                self._kept.clear()
            self._kept[raw] = child
        elif self._leaves_kept:
            if len(self._leaves) >= self._leaves_kept:
                self._leaves.clear()
            self._leaves[raw] = child
        return child


def _wrong_width(key: bytes, block: Block) -> InvalidInputError:
    return InvalidInputError(
        f"tree key {key.hex()}: {len(key)} bytes, expected {block.width} as in this tree"
    )
