"""Merges two trees that were edited apart, with the tree they came from.

A key changed on one side takes that side's CID; changed alike on both, it is agreed; changed
differently, the caller decides. Only the two differences are read, and only `theirs` is applied to
`ours`, so the cost follows what changed and not what there is.

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
        resolve: called in key order for each key that both sides changed, and changed differently.
            None, as argument and as answer, stands for an absent key. What it raises passes
            through.

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
