"""Edits a tree, rewriting the paths to the edits and the neighbours whose boundaries move.

Levels are edited from the leaves up. On each level, the blocks that an edit falls into are members.
A member that gains or loses keys may move boundaries near it, so it is joined with its neighbours
on either side, up to a natural boundary that stays or up to 2 x 256 entries of context; boundaries
further away depend on nothing that changed. The joined blocks are cut again and written; the
difference between the old and the new last keys is the edit of the level above. The result equals a
fresh build.

Spec: format 6.6.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from blake3 import blake3

from ibidem.objects.cid import CID_BYTES, DAG_CBOR_PREFIX, Cid, TreeCid
from ibidem.objects.constants import TREE_ENTRIES_MAX
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.tree.block import (
    EMPTY_TREE,
    EMPTY_TREE_BLOCK,
    check_child,
    decode,
    encode,
    load,
)
from ibidem.objects.tree.boundary import natural_flags
from ibidem.objects.tree.build import Rows, build, write_blocks, write_levels
from ibidem.objects.tree.columns import COUNT_BYTES, Block
from ibidem.objects.tree.read import load_many
from ibidem.objects.tree.rebuild import is_rewritten, rebuild
from ibidem.objects.tree.region import Edits, Member, Region, apply_edits, region_cuts

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch

CONTEXT_ENTRIES = 2 * TREE_ENTRIES_MAX


def mutate(tree: TreeCid, edits: Mapping[bytes, Cid | None], buffer: WriteBatch) -> TreeCid:
    """Returns the tree with each key of `edits` set to its CID, or deleted where that is None.

    Deleting an absent key changes nothing. Only new blocks are put.

    Raises:
        InvalidInputError: a key has another width than the tree's keys.

    Spec: format 6.6.
    """
    if tree == EMPTY_TREE:
        return build(((key, cid) for key, cid in edits.items() if cid is not None), buffer)
    if not edits:
        return tree
    top = load(buffer, tree.raw)
    for key in edits:
        if len(key) != top.width:
            raise InvalidInputError(
                f"tree key {key.hex()}: {len(key)} bytes, expected {top.width} as in this tree"
            )
    payloads = {key: None if cid is None else cid.raw for key, cid in edits.items()}
    if is_rewritten(top, len(edits)):
        return rebuild(tree.raw, top, payloads, buffer)
    editor = _Editor(buffer, tree.raw, top)
    raw = editor.edit(payloads)
    for written, block in editor.written.items():
        buffer.put(TreeCid(written), block)
    return TreeCid(raw)


class _Editor:
    """One run of `mutate`: the blocks that it has read and written, by raw CID."""

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
            if not any(member.moves_keys for member in members.values()):
                edits = self._replace(members)
                continue
            regions = _regions(_join(members, level, self), level)
            rows = self._write(level, regions)
            if level == self._top.level:
                return self._finish(level, rows)
            edits = {member.block.last: None for region in regions for member in region.members}
            if rows is not None:
                edits.update(_payloads(rows))
        (payload,) = edits.values()
        assert payload is not None, "BUG: the top is deleted by _finish only"
        return payload[:CID_BYTES]

    def _members(self, level: int, edits: Edits) -> dict[bytes, Member]:
        """Finds the blocks of `level` that edits have an effect on, by last key, ascending."""
        keys = sorted(edits)
        reached = [(Member(self._top, self._top_raw, None, is_last=True), 0, len(keys))]
        for _ in range(self._top.level - level):
            below = [
                (parent, *child)
                for parent, start, stop in reached
                for child in _descend(parent, keys, start, stop)
            ]
            if len(below) > 1:
                self._read_ahead([(parent.block, index) for parent, index, _, _ in below])
            reached = [
                (self._child(parent, index), start, stop) for parent, index, start, stop in below
            ]
        return {
            member.block.last: member
            for member, start, stop in reached
            if member.take(keys[start:stop], edits)
        }

    def _read_ahead(self, children: list[tuple[Block, int]]) -> None:
        """Reads the children, each (parent, index), of one level at once, unless they were read."""
        found = {parent.cid(index): (parent, index) for parent, index in children}
        raws = [raw for raw in found if raw not in self._read]
        for raw, child in zip(raws, load_many(self._source, raws), strict=True):
            parent, index = found[raw]
            check_child(child, raw, parent.level - 1, parent.key_list[index])
            self._read[raw] = child

    def _child(self, parent: Member, index: int) -> Member:
        block = parent.block
        raw = block.cid(index)
        if raw not in self._read:
            self._read_ahead([(block, index)])
        low = block.key_list[index - 1] if index else parent.low
        return Member(self._read[raw], raw, low, is_last=parent.is_last and index == block.size - 1)

    def before(self, low: bytes, level: int) -> Member:
        """Returns the block of `level` that ends at the key `low`."""
        member = Member(self._top, self._top_raw, None, is_last=True)
        while member.block.level > level:
            member = self._child(member, member.block.find(low))
        return member

    def after(self, last: bytes, level: int) -> Member:
        """Returns the block of `level` that follows the one that ends at the key `last`."""
        member = Member(self._top, self._top_raw, None, is_last=True)
        while member.block.level > level:
            member = self._child(member, bisect_right(member.block.key_list, last))
        return member

    def _replace(self, members: dict[bytes, Member]) -> Edits:
        """Writes members whose keys, and therefore boundaries, do not change; returns the edits one
        level up."""
        edits: Edits = {}
        for last, member in members.items():
            block = member.replaced()
            encoded = encode(block.level, block.keys, block.cids, block.counts)
            raw = DAG_CBOR_PREFIX + blake3(encoded).digest()
            self.written[raw] = encoded
            edits[last] = raw + block.entry_count.to_bytes(COUNT_BYTES, "big")
        return edits

    def _write(self, level: int, regions: list[Region]) -> Rows | None:
        """Cuts and writes the regions; returns their blocks' entries one level up, if any."""
        import numpy as np

        rows, sizes = apply_edits(level, regions)
        if not len(rows.keys):
            return None
        stops = np.flatnonzero(region_cuts(level, rows, regions, sizes)) + 1
        old = {member.raw for region in regions for member in region.members}

        def put(raw: bytes, block: bytes) -> None:
            if raw not in old:
                self.written[raw] = block

        return write_blocks(level, rows, stops, put)

    def _finish(self, level: int, rows: Rows | None) -> bytes:
        """Completes the top: the tree may be empty, may have grown, or may have lost its upper
        levels."""
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


def _descend(
    parent: Member, keys: list[bytes], start: int, stop: int
) -> Iterator[tuple[int, int, int]]:
    """Splits keys[start:stop] among the children of `parent` that they belong to; yields the index
    of each of these, and its range."""
    last = parent.block.size - 1
    while start < stop:
        index = min(parent.block.find(keys[start]), last)
        end = stop
        if index < last:
            end = bisect_right(keys, parent.block.key_list[index], start, stop)
        yield index, start, end
        start = end


def _join(members: dict[bytes, Member], level: int, editor: _Editor) -> list[Member]:
    """Joins members that gain or lose keys with their neighbours; returns all members,
    ascending."""
    moving = [member for member in members.values() if member.moves_keys]
    lows = natural_flags([member.low or member.block.last for member in moving], level)
    lasts = natural_flags([member.block.last for member in moving], level)
    for member, low_is_natural, last_is_natural in zip(moving, lows, lasts, strict=True):
        if not low_is_natural:
            _join_before(member, members, level, editor)
        if not (last_is_natural and member.keeps_last):
            _join_after(member, members, level, editor)
    return [members[last] for last in sorted(members)]


def _join_before(member: Member, members: dict[bytes, Member], level: int, editor: _Editor) -> None:
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


def _join_after(member: Member, members: dict[bytes, Member], level: int, editor: _Editor) -> None:
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


def _regions(members: list[Member], level: int) -> list[Region]:
    """Groups ascending members into regions, separated where members are not joined."""
    groups: list[list[Member]] = []
    merged = False
    for member in members:
        if merged:
            groups[-1].append(member)
        else:
            groups.append([member])
        merged = member.joined
    return [
        Region(
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
