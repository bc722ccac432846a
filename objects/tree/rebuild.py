"""Applies so many edits that most blocks change: all entries are laid out and cut as in a new
build.

If hardly a block stays unchanged, finding the edits for each block costs more than cutting all
blocks again. The tree is the same as with `mutate`, and so are the blocks that are put: those that
the old tree does not have.

Spec: format 6.4, 6.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.cid import CID_BYTES, TreeCid
from ibidem.objects.tree.block import EMPTY_TREE, EMPTY_TREE_BLOCK, check_child, load
from ibidem.objects.tree.build import Rows, as_strings, write_levels
from ibidem.objects.tree.columns import Block

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.objects.tree.region import Edits

EDITS_MIN = 1_024
"""Minimum number of edits; for fewer, reading the whole tree does not pay."""
ENTRIES_PER_EDIT = 64
"""Maximum number of entries per edit. A block holds about seventy entries: at one edit per block,
two of three blocks change."""


def is_rewritten(top: Block, edit_count: int) -> bool:
    """Returns whether `edit_count` edits, spread over the tree with that top block, change most of
    its blocks."""
    return edit_count >= EDITS_MIN and edit_count * ENTRIES_PER_EDIT >= top.entry_count


def rebuild(raw: bytes, top: Block, edits: Edits, buffer: WriteBatch) -> TreeCid:
    """Returns the same tree as `mutate`, after reading the whole old tree.

    Args:
        raw: the CID of the tree, which must not be empty.
        top: the top block of the tree.
        edits: by key, all of the tree's width: the bytes of a CID, or None to delete the key.
    """
    leaves, old = _leaves(raw, top, buffer)
    rows = _edited(leaves, top.width, edits)
    if not len(rows.keys):
        buffer.put(EMPTY_TREE, EMPTY_TREE_BLOCK)
        return EMPTY_TREE

    def put(raw: bytes, block: bytes) -> None:
        if raw not in old:
            buffer.put(TreeCid(raw), block)

    return TreeCid(write_levels(0, rows, put))


def _leaves(raw: bytes, top: Block, buffer: WriteBatch) -> tuple[list[Block], set[bytes]]:
    """Returns the leaves in order, and the raw CIDs of all blocks."""
    blocks, raws = [top], {raw}
    while blocks[0].level:
        below = []
        for block in blocks:
            for child_raw, last in zip(block.cid_list(), block.key_list, strict=True):
                child = load(buffer, child_raw)
                check_child(child, child_raw, block.level - 1, last)
                below.append(child)
                raws.add(child_raw)
        blocks = below
    return blocks, raws


def _edited(leaves: list[Block], width: int, edits: Edits) -> Rows:
    """Returns the entries of the leaves with the edits applied."""
    import numpy as np

    keys = np.frombuffer(b"".join([leaf.keys for leaf in leaves]), np.uint8).reshape(-1, width)
    cids = np.frombuffer(b"".join([leaf.cids for leaf in leaves]), np.uint8).reshape(-1, CID_BYTES)
    ordered = sorted(edits)
    changed = np.frombuffer(b"".join(ordered), np.uint8).reshape(-1, width)
    payloads = [edits[key] for key in ordered]
    is_put = np.array([payload is not None for payload in payloads])
    new = np.frombuffer(
        b"".join([payload for payload in payloads if payload is not None]), np.uint8
    ).reshape(-1, CID_BYTES)
    position = np.searchsorted(as_strings(keys), as_strings(changed))
    inside = np.minimum(position, len(keys) - 1)
    is_there = (keys[inside] == changed).all(axis=1)
    # Entries are numbered: the old ones first, then those that are put, in key order.
    size, number = len(keys), len(keys) + np.cumsum(is_put) - 1
    order = np.arange(size)
    replaced, inserted = is_there & is_put, ~is_there & is_put
    order[position[replaced]] = number[replaced]
    order[position[is_there & ~is_put]] = -1
    order = np.insert(order, position[inserted], number[inserted])
    order = order[order >= 0]
    return Rows(
        np.concatenate((keys, changed[is_put]))[order], np.concatenate((cids, new))[order], None
    )
