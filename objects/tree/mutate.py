"""Edits a tree, touching the paths to the edits and the neighbours whose boundaries they move.

Levels are edited from the leaves up. On each, the blocks an edit falls into are members. A member
that gains or loses keys may move boundaries near it, so it is joined with its neighbours, on either
side, up to a natural boundary that stays or up to twice 256 entries of context; boundaries further
out depend on nothing that changed. What was joined is cut again and written; the difference between
the old and the new last keys is the edit of the level above. The result equals a fresh build.

Spec: format 6.6.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ibidem.objects.cid import CID_BYTES, Cid, TreeCid
from ibidem.objects.constants import TREE_ENTRIES_MAX
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.tree.block import (
    COUNT_BYTES,
    EMPTY_TREE,
    EMPTY_TREE_BLOCK,
    Block,
    check_child,
    decode,
    load,
)
from ibidem.objects.tree.boundary import cut_flags, natural_flags
from ibidem.objects.tree.build import Rows, build, write_blocks, write_levels

if TYPE_CHECKING:
    from ibidem.objects.blocks import Buffer, Source

CONTEXT_ENTRIES = 2 * TREE_ENTRIES_MAX

Edits = dict[bytes, bytes | None]
"""By key: the new payload (CID, then count above level 0), None to delete."""


def mutate(tree: TreeCid, edits: Mapping[bytes, Cid | None], buffer: Buffer) -> TreeCid:
    """Returns the tree with each key of `edits` set to its CID, or deleted where that is None.

    Deleting an absent key changes nothing. Only blocks that are new are put.

    Raises:
        InvalidInputError: a key has another width than the tree's keys.

    Spec: format 6.6.
    """
    if tree == EMPTY_TREE:
        return build([(key, cid) for key, cid in edits.items() if cid is not None], buffer)
    if not edits:
        return tree
    top = load(buffer, tree.raw)
    for key in edits:
        if len(key) != top.width:
            raise InvalidInputError(
                f"tree key {key.hex()}: {len(key)} bytes, expected {top.width} as in this tree"
            )
    editor = _Editor(buffer, tree.raw, top)
    raw = editor.edit({key: None if cid is None else cid.raw for key, cid in edits.items()})
    for written, block in editor.written.items():
        buffer.put(TreeCid(written), block)
    return TreeCid(raw)


class _Member:
    """A block of the level being edited, with the edits that fall into it.

    `low` is the last key of the block before it, None for the first of the level. `inserts` and
    `replaces` hold (index, key, payload), `deletes` indexes, all ascending.
    """

    __slots__ = ("block", "deletes", "inserts", "is_last", "joined", "low", "raw", "replaces")

    def __init__(self, block: Block, raw: bytes, low: bytes | None, *, is_last: bool) -> None:
        self.block = block
        self.raw = raw
        self.low = low
        self.is_last = is_last
        self.joined = False
        """Whether it is cut together with the block after it."""
        self.inserts: list[tuple[int, bytes, bytes]] = []
        self.replaces: list[tuple[int, bytes, bytes]] = []
        self.deletes: list[int] = []

    @property
    def moves_keys(self) -> bool:
        return bool(self.inserts or self.deletes)

    @property
    def keeps_last(self) -> bool:
        return not self.deletes or self.deletes[-1] != self.block.size - 1

    def take(self, keys: list[bytes], edits: Edits) -> bool:
        """Sorts the edits of `keys` into kinds; returns whether any has an effect."""
        block, present = self.block, self.block.key_list
        for key in keys:
            payload = edits[key]
            index = bisect_left(present, key)
            if index < block.size and present[index] == key:
                if payload is None:
                    self.deletes.append(index)
                elif block.payload(index) != payload:
                    self.replaces.append((index, key, payload))
            elif payload is not None:
                self.inserts.append((index, key, payload))
        return bool(self.inserts or self.deletes or self.replaces)


class _Editor:
    """One run of `mutate`: the blocks it has read and those it has written, by raw CID."""

    def __init__(self, source: Source, raw: bytes, top: Block) -> None:
        self._source = source
        self._top_raw = raw
        self._top = top
        self._read: dict[bytes, Block] = {}
        self.written: dict[bytes, bytes] = {}

    def edit(self, edits: Edits) -> bytes:
        """Applies the edits level by level; returns the raw CID of the new top."""
        for level in range(self._top.level + 1):
            members = self._members(level, edits)
            if not members:
                return self._top_raw
            regions = _regions(_join(members, level, self), level)
            rows = self._write(level, regions)
            if level == self._top.level:
                return self._finish(level, rows)
            edits = {member.block.last: None for region in regions for member in region.members}
            if rows is not None:
                edits.update(_payloads(rows))
        raise AssertionError("BUG: a tree without a top level")

    def _members(self, level: int, edits: Edits) -> dict[bytes, _Member]:
        """Finds the blocks of `level` that edits have an effect on, by their last key, ascending."""
        keys = sorted(edits)
        reached = [(_Member(self._top, self._top_raw, None, is_last=True), 0, len(keys))]
        for _ in range(self._top.level - level):
            reached = [
                below
                for parent, start, stop in reached
                for below in self._descend(parent, keys, start, stop)
            ]
        return {
            member.block.last: member
            for member, start, stop in reached
            if member.take(keys[start:stop], edits)
        }

    def _descend(
        self, parent: _Member, keys: list[bytes], start: int, stop: int
    ) -> list[tuple[_Member, int, int]]:
        """Splits keys[start:stop] among the children of `parent` that they belong to."""
        found = []
        last = parent.block.size - 1
        while start < stop:
            index = min(parent.block.find(keys[start]), last)
            end = stop
            if index < last:
                end = bisect_right(keys, parent.block.key_list[index], start, stop)
            found.append((self._child(parent, index), start, end))
            start = end
        return found

    def _child(self, parent: _Member, index: int) -> _Member:
        block = parent.block
        raw = block.cid(index)
        child = self._read.get(raw)
        if child is None:
            child = self._read[raw] = load(self._source, raw)
            check_child(child, raw, block.level - 1, block.key_list[index])
        low = block.key_list[index - 1] if index else parent.low
        return _Member(child, raw, low, is_last=parent.is_last and index == block.size - 1)

    def before(self, low: bytes, level: int) -> _Member:
        """Returns the block of `level` that ends at the key `low`."""
        member = _Member(self._top, self._top_raw, None, is_last=True)
        while member.block.level > level:
            member = self._child(member, member.block.find(low))
        return member

    def after(self, last: bytes, level: int) -> _Member:
        """Returns the block of `level` that follows the one that ends at the key `last`."""
        member = _Member(self._top, self._top_raw, None, is_last=True)
        while member.block.level > level:
            member = self._child(member, bisect_right(member.block.key_list, last))
        return member

    def _write(self, level: int, regions: list[_Region]) -> Rows | None:
        """Cuts and writes the regions; returns the entries for the level above, None without any."""
        rows, sizes = _apply(level, regions)
        if not len(rows.keys):
            return None
        stops = np.flatnonzero(_cut(level, rows, regions, sizes)) + 1
        old = {member.raw for region in regions for member in region.members}

        def put(raw: bytes, block: bytes) -> None:
            if raw not in old:
                self.written[raw] = block

        return write_blocks(level, rows, stops, put)

    def _finish(self, level: int, rows: Rows | None) -> bytes:
        """Ends at the top: an empty tree, a higher one, or one that lost its upper levels."""
        if rows is None:
            self.written = {EMPTY_TREE.raw: EMPTY_TREE_BLOCK}
            return EMPTY_TREE.raw
        if len(rows.keys) > 1:
            return write_levels(level + 1, rows, self.written.__setitem__)
        raw = rows.cids.tobytes()
        while True:
            block = self.written.get(raw)
            top = load(self._source, raw) if block is None else decode(block)
            if top.level == 0 or top.size > 1:
                return raw
            self.written.pop(raw, None)
            raw = top.cid(0)


class _Region:
    """Neighbouring members that are cut together, and how far each end is from being certain."""

    __slots__ = ("members", "open_left", "open_right")

    def __init__(self, members: list[_Member], *, open_left: bool, open_right: bool) -> None:
        self.members = members
        self.open_left = open_left
        """Whether more entries before it belong to the same natural span."""
        self.open_right = open_right

    @property
    def moves_keys(self) -> bool:
        return any(member.moves_keys for member in self.members)


def _join(members: dict[bytes, _Member], level: int, editor: _Editor) -> list[_Member]:
    """Joins members that move keys with their neighbours; returns all members, ascending."""
    moving = [member for member in members.values() if member.moves_keys]
    lows = natural_flags([member.low or member.block.last for member in moving], level)
    lasts = natural_flags([member.block.last for member in moving], level)
    for member, low_is_natural, last_is_natural in zip(moving, lows, lasts, strict=True):
        if not low_is_natural:
            _join_before(member, members, level, editor)
        if not (last_is_natural and member.keeps_last):
            _join_after(member, members, level, editor)
    return [members[last] for last in sorted(members)]


def _join_before(
    member: _Member, members: dict[bytes, _Member], level: int, editor: _Editor
) -> None:
    context = 0
    while context < CONTEXT_ENTRIES and member.low is not None:
        if natural_flags([member.low], level)[0]:
            return
        if member.low not in members:
            members[member.low] = editor.before(member.low, level)
        member = members[member.low]
        member.joined = True
        if member.moves_keys:
            return
        context += member.block.size


def _join_after(
    member: _Member, members: dict[bytes, _Member], level: int, editor: _Editor
) -> None:
    context = 0
    while context < CONTEXT_ENTRIES and not member.is_last:
        if member.keeps_last and natural_flags([member.block.last], level)[0]:
            return
        member.joined = True
        following = editor.after(member.block.last, level)
        member = members.setdefault(following.block.last, following)
        if member.moves_keys:
            return
        context += member.block.size


def _regions(members: list[_Member], level: int) -> list[_Region]:
    """Groups ascending members into regions, at the places where they are not joined."""
    groups: list[list[_Member]] = []
    joined = False
    for member in members:
        if joined:
            groups[-1].append(member)
        else:
            groups.append([member])
        joined = member.joined
    return [
        _Region(
            group,
            open_left=len(group) > 1 and _is_open(group[0].low, level),
            open_right=len(group) > 1
            and not group[-1].is_last
            and _is_open(group[-1].block.last, level),
        )
        for group in groups
    ]


def _is_open(key: bytes | None, level: int) -> bool:
    return key is not None and not natural_flags([key], level)[0]


def _apply(level: int, regions: list[_Region]) -> tuple[Rows, list[int]]:
    """Applies the edits of all regions at once.

    Returns:
        The entries of all regions after the edits, and how many each region has.
    """
    members = [member for region in regions for member in region.members]
    width = members[0].block.width
    old_keys = b"".join([member.block.keys for member in members])
    old_cids = b"".join([member.block.cids for member in members])
    old_counts = b"".join([member.block.counts for member in members])
    size = len(old_keys) // width
    deletes: list[int] = []
    inserts: list[int] = []
    replaces: list[int] = []
    new_keys: list[bytes] = []
    inserted: list[bytes] = []
    replaced: list[bytes] = []
    base = 0
    for member in members:
        deletes += [base + index for index in member.deletes]
        for index, key, payload in member.inserts:
            inserts.append(base + index)
            new_keys.append(key)
            inserted.append(payload)
        for index, _, payload in member.replaces:
            replaces.append(base + index)
            replaced.append(payload)
        base += member.block.size
    payload_width = CID_BYTES + (COUNT_BYTES if level else 0)
    payloads = np.frombuffer(b"".join(inserted + replaced), np.uint8).reshape(-1, payload_width)
    order = np.arange(size)
    order[replaces] = np.arange(size + len(inserts), size + len(payloads))
    if inserts or deletes:
        keep = np.ones(size + len(payloads), np.bool_)
        keep[deletes] = False
        order = np.insert(order, inserts, np.arange(size, size + len(inserts)))
        order = order[keep[order]]
    replaced_keys = b"".join([old_keys[at * width : (at + 1) * width] for at in replaces])
    keys = _column(old_keys + b"".join(new_keys) + replaced_keys, width)[order]
    cids = np.concatenate((_column(old_cids, CID_BYTES), payloads[:, :CID_BYTES]))[order]
    counts = None
    if level:
        column = np.concatenate((_column(old_counts, COUNT_BYTES), payloads[:, CID_BYTES:]))[order]
        counts = np.ascontiguousarray(column).view(">u8").reshape(-1).astype(np.uint64)
    sizes = [
        sum(m.block.size + len(m.inserts) - len(m.deletes) for m in region.members)
        for region in regions
    ]
    return Rows(keys, cids, counts), sizes


def _column(joined: bytes, width: int) -> NDArray[np.uint8]:
    return np.frombuffer(joined, np.uint8).reshape(-1, width)


def _cut(level: int, rows: Rows, regions: list[_Region], sizes: list[int]) -> NDArray[np.bool_]:
    """Marks the entries that end a block in the regions, one after the other in `rows`."""
    stops = np.cumsum(sizes).tolist()
    fences = [stop - 1 for stop, size in zip(stops, sizes, strict=True) if size]
    if not any(region.moves_keys for region in regions):
        flags = np.zeros(len(rows.keys), np.bool_)
        flags[fences] = True
        return flags
    flags = cut_flags(rows.keys, level, fences)
    for region, stop, size in zip(regions, stops, sizes, strict=True):
        if region.open_left:
            _restore(flags, stop - size, [member.block.size for member in region.members])
        if region.open_right:
            backward = flags[:stop][::-1]
            _restore(backward[1:], 0, [member.block.size for member in region.members[::-1]])
            flags[stop - 1] = True
    return flags


def _restore(flags: NDArray[np.bool_], start: int, sizes: list[int]) -> None:
    """Puts back the old boundaries within 256 entries of an end that is not certain.

    The neighbourhoods of these entries are cut off, so `cut_flags` may be wrong about them; as the
    edits are at least 512 entries away, their boundaries have not changed.
    """
    flags[start : start + TREE_ENTRIES_MAX] = False
    at = 0
    for size in sizes:
        at += size
        if at > TREE_ENTRIES_MAX:
            return
        flags[start + at - 1] = True


def _payloads(rows: Rows) -> Edits:
    assert rows.counts is not None, "BUG: the entries above level 0 have counts"
    width = rows.keys.shape[1]
    keys, cids = rows.keys.tobytes(), rows.cids.tobytes()
    counts = rows.counts.astype(">u8").tobytes()
    return {
        keys[at * width : (at + 1) * width]: cids[at * CID_BYTES : (at + 1) * CID_BYTES]
        + counts[at * COUNT_BYTES : (at + 1) * COUNT_BYTES]
        for at in range(len(rows.keys))
    }
