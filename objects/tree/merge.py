"""Merges two trees that were edited independently, given their common base.

A key that one side changed gets that side's CID; one that both changed equally gets the common CID;
for one that they changed differently the caller decides. Only the two differences are read, and
only the changes of `theirs` are applied to `ours`, so the cost depends on the number of changes and
not on the size of the trees.

Spec: format 6.8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.tree.diff import diff
from ibidem.objects.tree.mutate import mutate

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch

Resolve = Callable[[bytes, Cid | None, Cid | None, Cid | None], Cid | None]
"""Takes a key with its CID in base, ours and theirs, all different; returns the merged one."""


def merge(
    base: TreeCid, ours: TreeCid, theirs: TreeCid, buffer: WriteBatch, resolve: Resolve
) -> TreeCid:
    """Returns the three-way merge of `ours` and `theirs`.

    Args:
        resolve: called in key order for each key that both sides changed differently. None, as an
            argument or as the result, means an absent key. Its exceptions are passed through.

    Spec: format 6.8.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    changed = {key: after for key, _, after in diff(buffer, base, ours)}
    edits: dict[bytes, Cid | None] = {}
    for key, before, after in diff(buffer, base, theirs):
        if key not in changed:
            edits[key] = after
        elif changed[key] != after:
            edits[key] = resolve(key, before, changed[key], after)
    return mutate(ours, edits, buffer)
