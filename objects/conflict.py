"""Conflicts: what a merge could not settle about one node or edge, kept beside the graph.

The trees of a root always hold one value for an id, so that everything works; a conflict records
the values that were merged and what they came from. It has no author and no order but that of
CIDs, so two merges of the same sides write the same bytes.

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
    """One node or edge that the sides of a merge left differently."""

    CID: ClassVar[type[ConflictCid]] = ConflictCid

    what: str
    """NODE or EDGE: of which kind the linked values are."""
    sides: tuple[Cid, ...]
    """The values of the sides that have one, 1 to CONFLICT_LINKS_MAX, ascending."""
    base: Cid | None = None
    """What they were made from, where there was something."""
    fields: tuple[str, ...] = ()
    """Names of the fields that the sides changed differently, ascending; `props.NAME` for a
    property. None where that is not the question, or where it is about the whole."""
    deleted: bool = False
    """Whether a side deleted it."""
    nodes: tuple[Cid, ...] = ()
    """Of an edge that is not in the graph because a side deleted a node it needs: the nodes as
    they were, at most CONFLICT_LINKS_MAX, ascending."""
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
