"""The entries that `mutate` cuts again on one level: members, joined into regions, with their edits
applied.

All regions of a level form one set of arrays, so a hundred edits and a hundred thousand take the
same few array operations. No entry moves between regions.

Spec: format 6.6.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from ibidem.objects.cid import CID_BYTES
from ibidem.objects.constants import TREE_ENTRIES_MAX
from ibidem.objects.tree.boundary import cut_flags
from ibidem.objects.tree.build import Rows
from ibidem.objects.tree.columns import COUNT_BYTES, Block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Edits = dict[bytes, bytes | None]
"""By key: the new payload (CID, then count above level 0), None to delete."""


class Member:
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
        """Whether the member is cut together with the block after it."""
        self.inserts: list[tuple[int, bytes, bytes]] = []
        self.replaces: list[tuple[int, bytes, bytes]] = []
        self.deletes: list[int] = []

    @property
    def moves_keys(self) -> bool:
        """Whether the edits insert or delete, so that boundaries may move."""
        return bool(self.inserts or self.deletes)

    @property
    def keeps_last(self) -> bool:
        """Whether the block's last key stays."""
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

    def replaced(self) -> Block:
        """Returns the block with its `replaces` applied; only for members whose keys do not
        change."""
        cids, counts = bytearray(self.block.cids), bytearray(self.block.counts)
        for index, _, payload in self.replaces:
            cids[index * CID_BYTES : (index + 1) * CID_BYTES] = payload[:CID_BYTES]
            counts[index * COUNT_BYTES : (index + 1) * COUNT_BYTES] = payload[CID_BYTES:]
        return Block(self.block.level, self.block.size, self.block.keys, bytes(cids), bytes(counts))


class Region:
    """Neighbouring members that are cut together, and for each end whether its natural span
    continues."""

    __slots__ = ("members", "open_left", "open_right")

    def __init__(self, members: list[Member], *, open_left: bool, open_right: bool) -> None:
        self.members = members
        self.open_left = open_left
        """Whether entries before the region belong to the same natural span."""
        self.open_right = open_right

    @property
    def moves_keys(self) -> bool:
        """Whether any member gains or loses keys."""
        return any(member.moves_keys for member in self.members)


def apply_edits(level: int, regions: list[Region]) -> tuple[Rows, list[int]]:
    """Applies the edits of all regions at once.

    Returns:
        The entries of all regions after the edits, and how many each region has.
    """
    import numpy as np

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


def _column(merged: bytes, width: int) -> NDArray[np.uint8]:
    import numpy as np

    return np.frombuffer(merged, np.uint8).reshape(-1, width)


def region_cuts(
    level: int, rows: Rows, regions: list[Region], sizes: list[int]
) -> NDArray[np.bool_]:
    """Marks the entries that end a block in the regions, which follow each other in `rows`."""
    import numpy as np

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
    """Restores the old boundaries within 256 entries of an open end of a region.

    The neighbourhoods of these entries are cut off, so `cut_flags` may be wrong about them. The
    edits are at least 512 entries away, so the boundaries have not changed.
    """
    flags[start : start + TREE_ENTRIES_MAX] = False
    at = 0
    for size in sizes:
        at += size
        if at > TREE_ENTRIES_MAX:
            return
        flags[start + at - 1] = True
