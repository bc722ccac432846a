"""Compares two trees, reading only what differs.

Each side is a stack of subtrees and leaves still to be compared, the next one on top. Equal
subtrees on top of both stacks are dropped unread. Otherwise the higher one, or both, are opened,
until leaves face each other; these are compared up to the smaller of their last keys and what is
left waits for the next round. So trees of unequal height and shifted boundaries need no special
case, and a key is reported once.

Spec: format 6.7.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ibidem.objects.cid import CID_BYTES, Cid, TreeCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.tree.block import check_child, load
from ibidem.objects.tree.columns import Block

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

Change = tuple[bytes, Cid | None, Cid | None]
"""A key with its CID before and after; None where it is absent. The two differ."""

_OPENED = -1


def diff(
    source: Source,
    before: TreeCid,
    after: TreeCid,
    start: bytes | None = None,
    stop: bytes | None = None,
) -> Iterator[Change]:
    """Yields the keys with start <= key < stop whose CIDs differ, in key order.

    Blocks read are proportional to the changes, times the height.

    Raises:
        InvalidInputError: the trees, or the bounds, have keys of different widths.
        NotFoundError: a block on the way is missing.
        CorruptError: a block on the way is not what it should be.

    Spec: format 6.7.
    """
    if before == after:
        return
    left, right = _Side(source, before, start, stop), _Side(source, after, start, stop)
    if left.width and right.width and left.width != right.width:
        raise InvalidInputError(f"tree diff: keys of {left.width} and {right.width} bytes")
    while left.pending and right.pending:
        one, other = left.pending[-1], right.pending[-1]
        if one.level == other.level == _OPENED:
            limit = min(one.last, other.last)
            yield from _compare(left.take(limit), right.take(limit))
        elif one.raw == other.raw and one.raw:
            left.drop()
            right.drop()
        elif left.done is not None and other.last <= left.done:
            yield from right.rest_of_top(added=True)
        elif right.done is not None and one.last <= right.done:
            yield from left.rest_of_top(added=False)
        else:
            if one.level >= other.level:
                left.open()
            if other.level >= one.level:
                right.open()
    while left.pending:
        yield from left.rest_of_top(added=False)
    while right.pending:
        yield from right.rest_of_top(added=True)


class _Pending:
    """A subtree, or at level -1 the entries of a leaf, not yet compared."""

    __slots__ = ("cids", "keys", "last", "level", "raw")

    def __init__(
        self,
        level: int,
        raw: bytes,
        last: bytes,
        keys: tuple[bytes, ...] = (),
        cids: tuple[bytes, ...] = (),
    ) -> None:
        self.level = level
        self.raw = raw
        self.last = last
        self.keys = keys
        self.cids = cids


class _Side:
    """One tree of the two: what is pending, the next on top, and up to which key it is done."""

    def __init__(
        self, source: Source, cid: TreeCid, start: bytes | None, stop: bytes | None
    ) -> None:
        self._source = source
        self._start = start
        self._stop = stop
        self.done: bytes | None = None
        self.pending: list[_Pending] = []
        top = load(source, cid.raw)
        self.width = top.width
        for bound in (start, stop):
            if bound is not None and top.size and len(bound) != top.width:
                raise InvalidInputError(
                    f"tree range bound {bound.hex()}: {len(bound)} bytes, expected {top.width}"
                )
        if top.size:
            self._push(top)

    def open(self) -> None:
        """Replaces the subtree on top by its children, or the leaf by its entries."""
        item = self.pending.pop()
        child = load(self._source, item.raw)
        check_child(child, item.raw, item.level, item.last)
        self._push(child)

    def drop(self) -> None:
        """Drops what is on top."""
        self.done = self.pending.pop().last

    def take(self, limit: bytes) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """Takes the entries up to `limit` from the opened leaf on top."""
        item = self.pending.pop()
        count = bisect_right(item.keys, limit)
        self.done = limit
        if count < len(item.keys):
            rest = _Pending(_OPENED, b"", item.last, item.keys[count:], item.cids[count:])
            self.pending.append(rest)
        return item.keys[:count], item.cids[:count]

    def rest_of_top(self, *, added: bool) -> Iterator[Change]:
        """Opens what is on top; yields its entries when it was an opened leaf."""
        item = self.pending[-1]
        if item.level != _OPENED:
            self.open()
            return
        self.drop()
        for key, raw in zip(item.keys, item.cids, strict=True):
            yield (key, None, Cid(raw)) if added else (key, Cid(raw), None)

    def _push(self, block: Block) -> None:
        """Puts what of `block` lies in the range on top, the first of it uppermost."""
        keys = block.key_list
        low = bisect_left(keys, self._start) if self._start is not None else 0
        high = block.size
        if self._stop is not None:
            high = bisect_left(keys, self._stop)
            if block.level and high < block.size:
                high += 1
        if block.level:
            level = block.level - 1
            for index in range(high - 1, low - 1, -1):
                start = index * CID_BYTES
                self.pending.append(
                    _Pending(level, block.cids[start : start + CID_BYTES], keys[index])
                )
            if high < block.size:
                return
        elif low < high:
            cids = block.cid_list()[low:high]
            self.pending.append(_Pending(_OPENED, b"", keys[high - 1], keys[low:high], cids))


def _compare(
    before: tuple[tuple[bytes, ...], tuple[bytes, ...]],
    after: tuple[tuple[bytes, ...], tuple[bytes, ...]],
) -> Iterator[Change]:
    old = dict(zip(*before, strict=True))
    new = dict(zip(*after, strict=True))
    for key in sorted({key for key, _ in old.items() ^ new.items()}):
        was, now = old.get(key), new.get(key)
        yield key, None if was is None else Cid(was), None if now is None else Cid(now)
