"""Compares two trees, reading only the parts that differ.

Each side is a stack of subtrees and leaves still to be compared, the next one on top. Equal
subtrees on top of both stacks are dropped unread. Otherwise the higher one, or both, are opened,
until both tops are leaves; these are compared up to the smaller of their last keys, and the
remaining entries wait for the next round. So trees of unequal height and shifted boundaries need no
special case, and a key is reported once.

When two blocks are opened together, their common first children are skipped, and their common last
children are kept together as one subtree, which both sides will usually drop.

Spec: format 6.7.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from ibidem.objects.cid import CID_BYTES, Cid, TreeCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.tree.block import check_child, load
from ibidem.objects.tree.columns import Block, splitter

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

Change = tuple[bytes, Cid | None, Cid | None]
"""A key with its CID before and after; None where it is absent. The two differ."""
Changes = Callable[["Source", TreeCid, TreeCid], Iterable[Change]]
"""Finds the differences between two trees: `diff`, or what remembers its results."""

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
        CorruptError: a block on the way is not valid in its position.

    Spec: format 6.7.
    """
    if before == after:
        return
    left, right = _Side(source, before, start, stop), _Side(source, after, start, stop)
    if left.width and right.width and left.width != right.width:
        raise InvalidInputError(f"tree diff: keys of {left.width} and {right.width} bytes")
    _push_both(left, left.top, right, right.top)
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
        elif one.level == other.level:
            _open_both(left, right)
        elif one.level > other.level:
            left.open()
        else:
            right.open()
    while left.pending:
        yield from left.rest_of_top(added=False)
    while right.pending:
        yield from right.rest_of_top(added=True)


class _Pending:
    """An item still to be compared: a subtree, the entries of a leaf (level -1), or several
    subtrees of one level that are kept together as the children of a subtree one level higher.

    `raw` is the CID of the subtree, or the concatenated CIDs of several.
    """

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
    """One of the two trees: a stack of pending items, the next on top, and the key up to which it
    is done."""

    def __init__(
        self, source: Source, cid: TreeCid, start: bytes | None, stop: bytes | None
    ) -> None:
        self._source = source
        self._start = start
        self._stop = stop
        self.is_bounded = start is not None or stop is not None
        self.done: bytes | None = None
        self.pending: list[_Pending] = []
        self.top = top = load(source, cid.raw)
        self.width = top.width
        for bound in (start, stop):
            if bound is not None and top.size and len(bound) != top.width:
                raise InvalidInputError(
                    f"tree range bound {bound.hex()}: {len(bound)} bytes, expected {top.width}"
                )

    def open(self) -> None:
        """Replaces the subtree on top by its children, or the leaf by its entries."""
        if self.pending[-1].keys:
            item = self.pending.pop()
            self._push_children(item.level - 1, item.keys, item.raw)
        else:
            self.push(self.read())

    def read(self) -> Block:
        """Takes the single subtree on top and returns its block."""
        item = self.pending.pop()
        child = load(self._source, item.raw)
        check_child(child, item.raw, item.level, item.last)
        return child

    def drop(self) -> None:
        """Drops the item on top."""
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
        """Opens the item on top; yields its entries if it was an opened leaf."""
        item = self.pending[-1]
        if item.level != _OPENED:
            self.open()
            return
        self.drop()
        for key, raw in zip(item.keys, item.cids, strict=True):
            yield (key, None, Cid(raw)) if added else (key, Cid(raw), None)

    def push(self, block: Block) -> None:
        """Pushes the part of `block` that lies in the range, the first item uppermost."""
        keys = block.key_list
        low = bisect_left(keys, self._start) if self._start is not None else 0
        high = block.size
        if self._stop is not None:
            high = bisect_left(keys, self._stop)
            if block.level and high < block.size:
                high += 1
        if block.level:
            raws = block.cids[low * CID_BYTES : high * CID_BYTES]
            self._push_children(block.level - 1, keys[low:high], raws)
        elif low < high:
            cids = block.cid_list()[low:high]
            self.pending.append(_Pending(_OPENED, b"", keys[high - 1], keys[low:high], cids))

    def push_between(self, block: Block, first: int, last: int) -> None:
        """Pushes the children of `block` from `first` on; those from `last` on are pushed as one
        item."""
        keys = block.key_list
        level, low, high = block.level - 1, first * CID_BYTES, last * CID_BYTES
        if first:
            self.done = keys[first - 1]
        if last < block.size:
            rest = _Pending(level + 1, block.cids[high:], keys[-1], keys[last:])
            self.pending.append(rest)
        self._push_children(level, keys[first:last], block.cids[low:high])

    def _push_children(self, level: int, keys: tuple[bytes, ...], raws: bytes) -> None:
        cids = splitter(CID_BYTES, len(keys)).unpack(raws)
        for raw, key in zip(reversed(cids), reversed(keys), strict=True):
            self.pending.append(_Pending(level, raw, key))


def _open_both(old: _Side, new: _Side) -> None:
    """Opens the items on top of both sides, which have the same level."""
    if old.is_bounded or old.pending[-1].keys or new.pending[-1].keys:
        old.open()
        new.open()
    else:
        _push_both(old, old.read(), new, new.read())


def _push_both(old: _Side, one: Block, new: _Side, other: Block) -> None:
    """Pushes a block of either side, without the children that both begin with."""
    if old.is_bounded or not one.level or one.level != other.level:
        old.push(one)
        new.push(other)
        return
    size, stop = min(one.size, other.size), other.size * CID_BYTES

    def begins(count: int) -> bool:
        return one.cids.startswith(other.cids[: count * CID_BYTES])

    def ends(count: int) -> bool:
        return one.cids.endswith(other.cids[stop - count * CID_BYTES :])

    first = _alike(size, begins)
    last = _alike(size - first, ends)
    old.push_between(one, first, one.size - last)
    new.push_between(other, first, other.size - last)


def _alike(most: int, is_alike: Callable[[int], bool]) -> int:
    """Returns the greatest count up to `most` for which `is_alike` holds; it also holds for all
    smaller counts."""
    return bisect_left(range(1, most + 1), True, key=lambda count: not is_alike(count))


def _compare(
    before: tuple[tuple[bytes, ...], tuple[bytes, ...]],
    after: tuple[tuple[bytes, ...], tuple[bytes, ...]],
) -> Iterator[Change]:
    old = dict(zip(*before, strict=True))
    take = old.pop
    new = dict(zip(*after, strict=True))
    found = [(key, was, now) for key, now in new.items() if (was := take(key, None)) != now]
    found += [(key, was, b"") for key, was in old.items()]  # these are absent after
    found.sort(key=itemgetter(0))
    for key, was, now in found:
        yield key, None if was is None else Cid(was), Cid(now) if now else None
