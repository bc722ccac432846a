"""Roots: the state of the graph and nothing else.

No time, no author: the same facts give the same root whatever the order of writing.

Spec: format 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
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
    is_named: bool = False
    """Whether there is one tree for each model or vocabulary, by its name."""
    attached: str | None = None
    """What a value is to the node that it stands under; None where it belongs to none."""


FAMILIES = (
    Family("nodes", "node"),
    Family("edges", "edge"),
    Family("tombstones", "tombstone", attached="tombstone of"),
    Family("conflicts", "conflict"),
    Family("vectors", "vector", is_named=True, attached="vector of"),
    Family("sparse", "sparse", is_named=True, attached="sparse vector of"),
)
"""Every tree that a root has, in the order in which they are listed."""


@block_of(ROOT)
class Root(Block):
    """The trees of one state: from ids to blocks of the kind that the field names."""

    CID: ClassVar[type[RootCid]] = RootCid

    nodes: TreeCid
    edges: TreeCid
    tombstones: TreeCid
    conflicts: TreeCid
    vectors: Mapping[str, TreeCid] = field(default_factory=empty)
    """Model name to tree; a tree that is empty is left out by whoever makes the root."""
    sparse: Mapping[str, TreeCid] = field(default_factory=empty)
    """Vocabulary name to tree, likewise."""
    config: Mapping[str, Any] = field(default_factory=empty)
    """What an answer depends on; `config.Config` reads it."""
    requires: tuple[str, ...] = ()
    """Features without which the root must not be read, ascending."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> RootCid:
        """The identity of the state: the hash of its bytes."""
        return RootCid.of(self.encode())

    def tree(self, family: str, name: str = "") -> TreeCid:
        """Returns the tree of a family, the empty one where there is none under that name.

        Args:
            family: the name of one of FAMILIES.
            name: of the model or vocabulary, "" in a family that has one tree.
        """
        trees = getattr(self, family)
        if isinstance(trees, TreeCid):
            return trees
        return trees.get(name, EMPTY_TREE)  # type: ignore[no-any-return]

    def families(self) -> dict[tuple[str, str], TreeCid]:
        """Returns every tree by its family and name, in the order of FAMILIES and of names."""
        return {
            (family.name, name): self.tree(family.name, name)
            for family in FAMILIES
            for name in (sorted(getattr(self, family.name)) if family.is_named else ("",))
        }
