"""Edits that only add to the graph, which need no merge: they are applied to the newer root.

The result is the same as that of the three-way merge, at a cost that does not depend on what other
writers changed, because no rule of the merge can concern both sides: each thing that is added is
absent on the other side, nothing that it refers to has changed there, and no tombstone, conflict or
setting differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.edge import Edge, is_derived_link
from ibidem.objects.root import CONFLICTS, EDGES, NODES, TOMBSTONES, Root, TreeName
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.repo.transaction.changeset import ChangeSet, applied

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch

_CHILDREN = b"children"
"""A byte string in the block of every node that lists children."""


class Additions:
    """The edits of a transaction, as far as they only add."""

    def __init__(self, source: Source, base: Root, root: Root, edits: ChangeSet) -> None:
        """Looks at the edits.

        Args:
            base: the root that the edits begin on.
            root: that root with the edits applied.
        """
        self._source = source
        self._base = base
        self._edits = edits
        self._ends: set[bytes] = set()
        """The nodes that exist already and that new edges join."""
        self._is_possible = _settings(root) == _settings(base) and all(
            self._adds(tree_name) for tree_name in edits.trees
        )

    def on(self, now: Root, buffer: WriteBatch) -> Root | None:
        """Returns a newer root with the edits applied; None if that need not equal a merge.

        Args:
            now: the newer root.
            buffer: receives the new blocks of trees.
        """
        base = self._base
        if not self._is_possible or _settings(now) != _settings(base):
            return None
        if any(now.tree(*name) != base.tree(*name) for name in (TOMBSTONES, CONFLICTS)):
            return None
        if not all(self._is_absent(now, tree_name) for tree_name in self._edits.trees):
            return None
        if base.conflicts != EMPTY_TREE and not all(map(self._is_undisputed, self._edits.trees)):
            return None
        if base.nodes != now.nodes:
            ends = sorted(self._ends)
            before, after = (Tree(self._source, root.nodes).get_many(ends) for root in (base, now))
            if before != after:
                return None
        return applied(now, self._edits, buffer)

    def _adds(self, tree_name: TreeName) -> bool:
        """Returns whether the edits of one tree only add, and notes what they refer to."""
        entries, nodes = self._edits.trees[tree_name], self._edits.trees.get(NODES, {})
        if tree_name in (TOMBSTONES, CONFLICTS):
            return not entries
        cids = [cid for cid in entries.values() if cid is not None]
        if len(cids) < len(entries):
            return False
        if tree_name == NODES:
            if any(_CHILDREN in self._source.get(cid) for cid in cids):
                return False
        elif tree_name == EDGES:
            for edge in (Edge.decode(self._source.get(cid)) for cid in cids):
                if is_derived_link(edge):
                    return False
                self._ends |= {edge.src.raw, edge.dst.raw} - nodes.keys()
        elif not entries.keys() <= nodes.keys():
            return False
        return self._is_absent(self._base, tree_name)

    def _is_absent(self, root: Root, tree_name: TreeName) -> bool:
        """Returns whether nothing that the edits add to a tree is in it."""
        keys = sorted(self._edits.trees[tree_name])
        return not any(Tree(self._source, root.tree(*tree_name)).get_many(keys))

    def _is_undisputed(self, tree_name: TreeName) -> bool:
        """Returns whether there is no conflict about anything that the edits add to a tree."""
        keys = sorted(self._edits.trees[tree_name])
        return not any(Tree(self._source, self._base.conflicts).get_many(keys))


def _settings(root: Root) -> tuple[object, ...]:
    return root.config, root.requires, root.extra
