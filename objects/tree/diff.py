"""Compares two trees, reading only the parts that differ.

Each side is a stack of subtrees and leaves still to be compared, the next one on top. Equal
subtrees on top of both stacks are dropped unread. Otherwise the higher one, or both, are opened,
until both tops are leaves; these are compared up to the smaller of their last keys, and the
remaining entries wait for the next round. So trees of unequal height and shifted boundaries need no
special case, and a key is reported once.

When two blocks are opened together, their common first children are skipped, and their common last
children are kept together as one subtree, which both sides will usually drop. Leaves are compared
in runs; those that both sides have are not read.

Spec: format 6.7.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import CID_BYTES, Cid, TreeCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.tree.block import check_child, load
from ibidem.objects.tree.columns import Block, splitter
from ibidem.objects.tree.read import load_many

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ibidem.objects.blocks import Source

Change = tuple[bytes, Cid | None, Cid | None]
"""A key with its CID before and after; None where it is absent. The two differ."""
Changes = Callable[["Source", TreeCid, TreeCid], Iterable[Change]]
"""Finds the differences between two trees: `diff`, or what remembers its results."""

_OPENED = -1
_RUN_MAX = 64
"""Leaves of a run at most. The first run has one, each further one four times as many, which suits
callers that need only the first changes."""
_MANY = 512
"""From this many entries on either side, common entries are found with numpy."""


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
    size = 1
    while left.pending and right.pending:
        one, other = left.pending[-1], right.pending[-1]
        if one.raw == other.raw and one.raw:
            left.drop()
            right.drop()
        elif one.level <= 0 and other.level <= 0:
            some, others = left.run(size), right.run(size)
            limit = min(some[-1].last, others[-1].last)
            common = {item.raw for item in some if item.raw} & {item.raw for item in others}
            yield from _compare(left.take(limit, common), right.take(limit, common))
            size = min(4 * size, _RUN_MAX)
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
    """An item still to be compared: a subtree, entries of a leaf (level -1), or several subtrees of
    one level that are kept together as the children of a subtree one level higher.

    `raw` is the CID of the subtree, or the concatenated CIDs of several.
    """

    __slots__ = ("entries", "keys", "last", "level", "raw")

    def __init__(
        self,
        level: int,
        raw: bytes,
        last: bytes,
        keys: tuple[bytes, ...] = (),
        entries: Block | None = None,
    ) -> None:
        self.level = level
        self.raw = raw
        self.last = last
        self.keys = keys
        self.entries = entries


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

    def run(self, size: int) -> list[_Pending]:
        """Returns the leaves on top, opened or not, at most `size`."""
        found: list[_Pending] = []
        for item in islice(reversed(self.pending), size):
            if item.level > 0:
                break
            found.append(item)
        return found

    def take(self, limit: bytes, common: Container[bytes]) -> list[Block]:
        """Takes the entries up to `limit` from the leaves on top, which reach as far; leaves out
        the leaves with the CIDs `common`."""
        items: list[_Pending] = []
        while self.pending and (self.done is None or self.done < limit):
            item = self.pending.pop()
            self.done = item.last
            if item.raw not in common:
                items.append(item)
        leaves = load_many(self._source, [item.raw for item in items if item.entries is None])
        found: list[Block] = []
        for item in items:
            entries = item.entries
            if entries is None:
                entries = next(leaves)
                check_child(entries, item.raw, item.level, item.last)
                if self.is_bounded:
                    entries = self._in_range(entries)
            found.append(entries)
        if found and found[-1].size and found[-1].last > limit:
            last = found.pop()
            count = bisect_right(last.key_list, limit)
            found.append(_part(last, 0, count))
            self._push_entries(_part(last, count, last.size))
        self.done = limit
        return found

    def rest_of_top(self, *, added: bool) -> Iterator[Change]:
        """Opens the item on top; yields its entries if it was an opened leaf."""
        item = self.pending[-1]
        if item.level != _OPENED:
            self.open()
            return
        self.drop()
        assert item.entries is not None, "BUG: an opened leaf without entries"
        for key, raw in zip(item.entries.key_list, item.entries.cid_list(), strict=True):
            yield (key, None, Cid(raw)) if added else (key, Cid(raw), None)

    def push(self, block: Block) -> None:
        """Pushes the part of `block` that lies in the range, the first item uppermost."""
        if block.level:
            low, high = self._span(block)
            high = min(high + 1, block.size)
            raws = block.cids[low * CID_BYTES : high * CID_BYTES]
            self._push_children(block.level - 1, block.key_list[low:high], raws)
        else:
            self._push_entries(self._in_range(block))

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

    def _push_entries(self, entries: Block) -> None:
        if entries.size:
            self.pending.append(_Pending(_OPENED, b"", entries.last, entries=entries))

    def _in_range(self, leaf: Block) -> Block:
        """Returns the entries of a leaf that lie in the range."""
        return _part(leaf, *self._span(leaf)) if self.is_bounded else leaf

    def _span(self, block: Block) -> tuple[int, int]:
        """Returns the half-open span of the keys that lie in the range."""
        low = 0 if self._start is None else block.find(self._start)
        return low, block.size if self._stop is None else max(low, block.find(self._stop))

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


def _part(leaf: Block, low: int, high: int) -> Block:
    """Returns the entries low to high of a leaf."""
    if high - low == leaf.size:
        return leaf
    keys = leaf.keys[low * leaf.width : high * leaf.width]
    return Block(0, high - low, keys, leaf.cids[low * CID_BYTES : high * CID_BYTES], b"")


def _compare(before: list[Block], after: list[Block]) -> Iterator[Change]:
    """Yields the differences between the entries of some leaves and those of others."""
    one, other = _merged(before), _merged(after)
    if min(one.size, other.size) >= _MANY and one.width == other.width == ID_BYTES:
        one, other = _without_common(one, other)
    old = dict(zip(one.key_list, one.cid_list(), strict=True))
    take = old.pop
    new = dict(zip(other.key_list, other.cid_list(), strict=True))
    found = [(key, was, now) for key, now in new.items() if (was := take(key, None)) != now]
    found += [(key, was, b"") for key, was in old.items()]  # these are absent after
    found.sort(key=itemgetter(0))
    for key, was, now in found:
        yield key, None if was is None else Cid(was), Cid(now) if now else None


def _merged(leaves: list[Block]) -> Block:
    """Returns the entries of consecutive leaves as one block, which may be larger than any that is
    stored."""
    if len(leaves) == 1:
        return leaves[0]
    keys, cids = b"".join([leaf.keys for leaf in leaves]), b"".join([leaf.cids for leaf in leaves])
    return Block(0, len(cids) // CID_BYTES, keys, cids, b"")


def _without_common(one: Block, other: Block) -> tuple[Block, Block]:
    """Returns the entries of either without those that both have; both have keys of `ID_BYTES`.

    Entries whose keys begin alike may remain on both sides though they are equal.
    """
    import numpy as np

    (starts, keys, cids), (other_starts, other_keys, other_cids) = _columns(one), _columns(other)
    at = np.minimum(np.searchsorted(starts, other_starts), one.size - 1)
    is_new = _differ(keys[at], other_keys) | _differ(cids[at], other_cids)
    is_old = np.ones(one.size, np.bool_)
    is_old[at[~is_new]] = False
    return _chosen(keys, cids, is_old), _chosen(other_keys, other_cids, is_new)


def _columns(entries: Block) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Returns the first eight bytes of the keys as numbers of the same order, and the keys and the
    CIDs as rows of numbers: numpy compares numbers in a fraction of the time of strings."""
    import numpy as np

    keys = np.frombuffer(entries.keys, np.uint64).reshape(entries.size, -1)
    starts = keys[:, 0].view(">u8").astype(np.uint64)
    return starts, keys, np.frombuffer(entries.cids, np.uint32).reshape(entries.size, -1)


def _differ(some: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Returns which rows differ."""
    found: NDArray[np.bool_] = some[:, 0] != others[:, 0]
    for column in range(1, some.shape[1]):
        found |= some[:, column] != others[:, column]
    return found


def _chosen(keys: NDArray[Any], cids: NDArray[Any], is_chosen: NDArray[np.bool_]) -> Block:
    import numpy as np

    at = np.flatnonzero(is_chosen)
    return Block(0, len(at), keys[at].tobytes(), cids[at].tobytes(), b"")
