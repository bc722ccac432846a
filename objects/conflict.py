"""Conflicts: differences about one node or edge that a merge could not resolve, kept next to the
graph.

The trees of a root always hold one value for an id, so the graph stays usable; a conflict records
the values that were merged and their base. It has no author, and its only order is that of CIDs, so
two merges of the same sides write the same bytes.

Spec: format 5.13, merge 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty, require
from ibidem.objects.cid import Cid, ConflictCid
from ibidem.objects.fields import CONFLICT

NODE = "node"
EDGE = "edge"


@block_of(CONFLICT)
class Conflict(Block):
    """A difference between the sides of a merge about one node or edge."""

    CID: ClassVar[type[ConflictCid]] = ConflictCid

    what: str
    """NODE or EDGE: the kind of the linked values."""
    sides: tuple[Cid, ...]
    """The values of the sides on which it exists, 1 to CONFLICT_LINKS_MAX, ascending."""
    base: Cid | None = None
    """The value in the merge base, if there was one."""
    fields: tuple[str, ...] = ()
    """Names of the fields that the sides changed differently, ascending; `props.NAME` for a
    property. Empty if the conflict is not about fields, or is about the whole value."""
    deleted: bool = False
    """Whether one side deleted the node or edge."""
    nodes: tuple[Cid, ...] = ()
    """For an edge that is not in the graph because one side deleted a node that it connects: the
    nodes before their deletion, at most CONFLICT_LINKS_MAX, ascending."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(self.what in (NODE, EDGE), "conflict", "what", self.what, f"{NODE!r} or {EDGE!r}")
        is_conflict = self.sides and (len(self.sides) > 1 or self.deleted or self.nodes)
        require(is_conflict, "conflict", "sides", self.sides, "something that is in conflict")
        require(
            not self.nodes or self.what == EDGE, "conflict", "nodes", self.nodes, "none on a node"
        )

    @property
    def cid(self) -> ConflictCid:
        """The identity of the conflict: the hash of its bytes."""
        return ConflictCid.of(self.encode())
