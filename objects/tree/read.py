"""Reads a tree: single keys, batches, ranges and whole columns.

A `Tree` keeps the inner blocks it has decoded, up to a bound, for as long as it lives. It is bound
to one source and one CID, both immutable, so its cache never becomes invalid; if a source loses a
block, the next `Tree` notices.

Spec: format 6.5.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from ibidem.objects.cid import CID_BYTES, Cid, TreeCid
from ibidem.objects.errors import CorruptError, IbidemError, InvalidInputError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.tree.block import check_child, decode, load
from ibidem.objects.tree.columns import Block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ibidem.objects.blocks import Source

KEPT_BLOCKS_MAX = 4096
BATCH_BLOCKS = 256
"""Number of blocks that are read at once: 1 to 3 MB."""


class Tree:
    """The sorted map from keys to CIDs whose top block is `cid`."""

    __slots__ = ("_kept", "_leaves", "_leaves_kept", "_source", "_top", "cid")

    def __init__(self, source: Source, cid: TreeCid, *, leaves_kept: int = 0) -> None:
        """Opens a tree without reading any block.

        Args:
            leaves_kept: how many leaves to cache as well, for callers that read one key after
                another.
        """
        self.cid = cid
        self._source = source
        self._kept: dict[bytes, Block] = {}
        self._leaves: dict[bytes, Block] = {}
        self._leaves_kept = leaves_kept
        self._top: Block | None = None

    def get(self, key: bytes) -> Cid | None:
        """Returns the CID at `key`, None if there is none.

        Raises:
            InvalidInputError: `key` has another width than the tree's keys.
            NotFoundError: a block on the way is missing.
            CorruptError: a block on the way is not valid in its position.
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
        """Returns whether there is an entry at `key`."""
        return self.get(key) is not None

    def get_many(self, keys: Sequence[bytes]) -> list[Cid | None]:
        """Returns the result of `get` for each of `keys`, in their order.

        Each block is read once, those of one level in batches.
        """
        top = self._top or self._load_top()
        found: list[Cid | None] = [None] * len(keys)
        for key in keys:
            if len(key) != top.width and top.size:
                raise _wrong_width(key, top)
        if not top.size:
            return found
        order = sorted(range(len(keys)), key=keys.__getitem__)
        ascending = [keys[index] for index in order]
        leaves: Iterator[Block] = iter((top,))
        for _ in range(top.level):
            leaves = self._children(_children_of(leaves, ascending), BATCH_BLOCKS)
        at = 0
        for leaf in leaves:
            stop = bisect_right(ascending, leaf.last, at)
            for key, slot in zip(ascending[at:stop], order[at:stop], strict=True):
                index = leaf.place(key)
                if index >= 0:
                    found[slot] = Cid(leaf.cid(index))
            at = stop
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
        """Number of levels of blocks, at least 1."""
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

    def leaves(self) -> Iterator[Block]:
        """Yields the blocks with the entries, in key order."""
        return (leaf for leaf, _, _ in self._spans(None, None, at_once=BATCH_BLOCKS))

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
        for leaf, low, high in self._spans(start, stop, at_once=BATCH_BLOCKS):
            keys.append(leaf.keys[low * width : high * width])
            cids.append(leaf.cids[low * CID_BYTES : high * CID_BYTES])
        return (
            np.frombuffer(b"".join(keys), np.uint8).reshape(-1, width),
            np.frombuffer(b"".join(cids), np.uint8).reshape(-1, CID_BYTES),
        )

    def _spans(
        self, start: bytes | None, stop: bytes | None, *, at_once: int = 1
    ) -> Iterator[tuple[Block, int, int]]:
        """Yields the leaves that hold the range, each with the half-open span of entries in it."""
        top = self._top or self._load_top()
        for bound in (start, stop):
            if bound is not None and top.size and len(bound) != top.width:
                raise _wrong_width(bound, top)
        blocks: Iterator[Block] = iter((top,))
        for _ in range(top.level):
            blocks = self._children(_children_between(blocks, start, stop), at_once)
        for leaf in blocks:
            low = 0 if start is None or not leaf.size else leaf.find(start)
            high = leaf.size if stop is None or not leaf.size else leaf.find(stop)
            if low < high:
                yield leaf, low, high

    def _children(self, references: Iterable[tuple[Block, int]], at_once: int) -> Iterator[Block]:
        """Yields the children that parents refer to. The first batch reads `at_once` of them and
        each further batch four times as many, which suits callers that need only the first."""
        rest = iter(references)
        while some := list(islice(rest, at_once)):
            at_once = min(4 * at_once, BATCH_BLOCKS)
            raws = [block.cid(index) for block, index in some]
            known = [self._kept.get(raw) or self._leaves.get(raw) for raw in raws]
            read = load_many(
                self._source,
                [raw for raw, block in zip(raws, known, strict=True) if block is None],
            )
            for (parent, index), raw, child in zip(some, raws, known, strict=True):
                yield child or self._checked(next(read), parent, index, raw)

    def _load_top(self) -> Block:
        self._top = load(self._source, self.cid.raw)
        return self._top

    def _read(self, parent: Block, index: int, raw: bytes) -> Block:
        """Reads a child."""
        return self._checked(load(self._source, raw), parent, index, raw)

    def _checked(self, child: Block, parent: Block, index: int, raw: bytes) -> Block:
        """Checks a child, and caches it if it is an inner block: these are few, and all reads share
        them."""
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


def load_many(source: Source, raws: Sequence[bytes]) -> Iterator[Block]:
    """Yields the blocks with the CIDs `raws`, read in one batch.

    If one of them cannot be read, each is read separately, so the blocks before it are yielded.
    """
    if len(raws) > 1:
        with suppress(IbidemError):
            blocks = source.get_many([TreeCid(raw) for raw in raws])
            return (_decoded(source, raw, block) for raw, block in zip(raws, blocks, strict=True))
    return (load(source, raw) for raw in raws)


def _decoded(source: Source, raw: bytes, block: bytes) -> Block:
    try:
        return decode(block)
    except CorruptError:  # the error of `load` names the block
        return load(source, raw)


def _children_of(blocks: Iterable[Block], keys: Sequence[bytes]) -> Iterator[tuple[Block, int]]:
    """Yields the position (parent, index) of each child that may hold some of the ascending
    `keys`."""
    at = 0
    for block in blocks:
        while at < len(keys) and (index := block.find(keys[at])) < block.size:
            yield block, index
            at = bisect_right(keys, block.key_list[index], at)


def _children_between(
    blocks: Iterable[Block], start: bytes | None, stop: bytes | None
) -> Iterator[tuple[Block, int]]:
    """Yields the position (parent, index) of each child that may hold keys with start <= key <
    stop."""
    for block in blocks:
        low = 0 if start is None else block.find(start)
        high = block.size if stop is None else min(block.size, block.find(stop) + 1)
        for index in range(low, high):
            yield block, index


def _wrong_width(key: bytes, block: Block) -> InvalidInputError:
    return InvalidInputError(
        f"tree key {key.hex()}: {len(key)} bytes, expected {block.width} as in this tree"
    )
