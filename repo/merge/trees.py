"""The values of three trees under changed keys, and the merged tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, Tree, diff, mutate

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch

Triple = tuple[Cid | None, Cid | None, Cid | None]
"""The CIDs in base, ours and theirs; None if there is none."""


class Triples:
    """One tree on three sides; only differences and requested keys are read."""

    def __init__(self, buffer: WriteBatch, base: TreeCid, ours: TreeCid, theirs: TreeCid) -> None:
        self._buffer = buffer
        self._base = Tree(buffer, base)
        self._ours = ours
        self._theirs = theirs
        self.is_one = base in (ours, theirs)
        """Whether at most one side differs from the base."""
        self._stored: dict[bytes, Cid | None] = {}
        """Under keys whose values were replaced, what `ours` has."""
        self.changed: dict[bytes, Triple] = {
            key: (before, after, before) for key, before, after in diff(buffer, base, ours)
        }
        """The values under the keys that a side changed."""
        for key, before, after in diff(buffer, base, theirs):
            known = self.changed.get(key)
            self.changed[key] = (before, before if known is None else known[1], after)

    def at(self, key: bytes) -> Triple:
        """Returns the values under any key."""
        found = self.changed.get(key)
        if found is not None:
            return found
        cid = self._base.get(key)
        return cid, cid, cid

    def replace(self, key: bytes, triple: Triple) -> None:
        """Merges other values under a key than the trees have."""
        self._stored.setdefault(key, self.at(key)[1])
        self.changed[key] = triple

    def merged(self, values: Mapping[bytes, Cid | None]) -> TreeCid:
        """Returns the tree with these values; all other keys are the same on all sides."""
        edits = {key: value for key, value in values.items() if self._in_ours(key) != value}
        if not edits:
            return self._ours
        tree = mutate(self._ours, edits, self._buffer)
        if tree == EMPTY_TREE:
            self._buffer.put(EMPTY_TREE, EMPTY_TREE_BLOCK)
        return tree

    def _in_ours(self, key: bytes) -> Cid | None:
        return self._stored[key] if key in self._stored else self.at(key)[1]


def three_way(triple: Triple) -> tuple[Cid | None, bool]:
    """Returns (value, False), or (one of the two values, True) if both sides changed it
    differently.
    """
    base, ours, theirs = triple
    if ours == theirs or theirs == base:
        return ours, False
    if ours == base:
        return theirs, False
    return ours, True


def lowest(cids: Iterable[Cid | None]) -> Cid | None:
    """Returns the lowest of the CIDs, ignoring None."""
    return min((cid for cid in cids if cid is not None), default=None)
