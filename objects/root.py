"""Roots: one state of the graph and nothing else.

No time, no author: the same facts give the same root whatever the order of writing.

Spec: format 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import RootCid, TreeCid
from ibidem.objects.fields import ROOT
from ibidem.objects.record import record
from ibidem.objects.tree.block import EMPTY_TREE


@record
class Family:
    """One kind of tree in a root."""

    name: str
    """The field of the root."""
    kind: str
    """The kind of the values."""
    noun: str
    """The noun for a value in messages."""
    is_named: bool = False
    """Whether there is one tree per model or vocabulary, by name."""
    is_attached: bool = False
    """Whether a value belongs to the node whose id is its key."""


TreeName = tuple[str, str]
"""The name of a tree of a root: its family, and its model or vocabulary, "" if the family has only
one tree."""
NODES: TreeName = ("nodes", "")
EDGES: TreeName = ("edges", "")
TOMBSTONES: TreeName = ("tombstones", "")
CONFLICTS: TreeName = ("conflicts", "")

FAMILIES = (
    Family("nodes", "node", "node"),
    Family("edges", "edge", "edge"),
    Family("tombstones", "tombstone", "tombstone", is_attached=True),
    Family("conflicts", "conflict", "conflict"),
    Family("vectors", "vector", "vector", is_named=True, is_attached=True),
    Family("sparse", "sparse", "sparse vector", is_named=True, is_attached=True),
)
"""Every tree that a root has, in the order in which they are listed."""
VECTOR_FAMILIES = tuple(family for family in FAMILIES if family.is_named)
"""The families with one tree per model or vocabulary."""
NOUNS = {family.name: family.noun for family in FAMILIES}
VALUE_KINDS = {family.name: family.kind for family in FAMILIES}
"""The kind of the values of each tree of a root."""


@block_of(ROOT)
class Root(Block):
    """The trees of one state; each maps ids to blocks of the kind that the field names."""

    CID: ClassVar[type[RootCid]] = RootCid

    nodes: TreeCid
    edges: TreeCid
    tombstones: TreeCid
    conflicts: TreeCid
    vectors: Mapping[str, TreeCid] = field(default_factory=empty)
    """Model name to tree; the code that builds a root omits empty trees."""
    sparse: Mapping[str, TreeCid] = field(default_factory=empty)
    """Vocabulary name to tree, likewise."""
    config: Mapping[str, Any] = field(default_factory=empty)
    """Settings on which an answer depends; `config.Config` reads them."""
    requires: tuple[str, ...] = ()
    """Features without which the root must not be read, ascending."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> RootCid:
        """The identity of the state: the hash of its bytes."""
        return RootCid.of(self.encode())

    def tree(self, family: str, name: str = "") -> TreeCid:
        """Returns a tree of a family, the empty tree if there is none with that name.

        Args:
            family: the name of one of FAMILIES.
            name: the model or vocabulary, "" in a family that has only one tree.
        """
        trees = getattr(self, family)
        if isinstance(trees, TreeCid):
            return trees
        return trees.get(name, EMPTY_TREE)  # type: ignore[no-any-return]

    def trees(self) -> dict[TreeName, TreeCid]:
        """Returns every tree by its name, in the order of FAMILIES and of names."""
        return {
            (family.name, name): self.tree(family.name, name)
            for family in FAMILIES
            for name in (sorted(getattr(self, family.name)) if family.is_named else ("",))
        }

    def with_trees(self, trees: Mapping[TreeName, TreeCid]) -> Root:
        """Returns the root with some of its trees replaced.

        Args:
            trees: the new trees by family and name; an empty tree of a model or vocabulary removes
                that name.
        """
        changes: dict[str, Any] = {}
        for (family, name), tree in trees.items():
            if not name:
                changes[family] = tree
                continue
            named = changes.setdefault(family, dict(getattr(self, family)))
            if tree == EMPTY_TREE:
                named.pop(name, None)
            else:
                named[name] = tree
        return replace(self, **changes)
