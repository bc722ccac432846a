"""Conflicts: what a merge could not settle about one node or edge, kept beside the graph.

The trees of a root always hold one value for an id, so that everything works; a conflict records
the values that were merged and what they came from. It has no author and no order but that of
CIDs, so two merges of the same sides write the same bytes.

Spec: format 5.13, merge 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from typing import Any, ClassVar, Self

from ibidem.objects.block import Block, Map, empty, frozen_extra, require, typed_link
from ibidem.objects.cid import Cid, ConflictCid
from ibidem.objects.constants import CONFLICT_LINKS_MAX, FORMAT_VERSION
from ibidem.objects.errors import CorruptError
from ibidem.objects.record import record

NODE = "node"
EDGE = "edge"
_KNOWN = frozenset(("what", "base", "sides", "fields", "deleted", "nodes"))


@record(eq=False)
class Conflict(Block):
    """One node or edge that the sides of a merge left differently."""

    KIND: ClassVar[str] = "conflict"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("base", "fields", "deleted", "nodes"))
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
        put = object.__setattr__
        put(self, "sides", _ascending("sides", self.sides))
        put(self, "nodes", _ascending("nodes", self.nodes))
        valid = self.base is None or _is_block(self.base)
        require(valid, "conflict", "base", self.base, "a link to a block, or nothing")
        put(self, "fields", _names(self.fields))
        require(type(self.deleted) is bool, "conflict", "deleted", self.deleted, "true or false")
        is_conflict = self.sides and (len(self.sides) > 1 or self.deleted or self.nodes)
        require(is_conflict, "conflict", "sides", self.sides, "something that is in conflict")
        require(
            not self.nodes or self.what == EDGE, "conflict", "nodes", self.nodes, "none on a node"
        )
        put(self, "extra", frozen_extra(Conflict, _KNOWN, self.extra))

    @property
    def cid(self) -> ConflictCid:
        """The identity of the conflict: the hash of its bytes."""
        return ConflictCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION}
        if self.base is not None:
            fields["base"] = self.base
        fields["kind"] = "conflict"
        fields["what"] = self.what
        if self.nodes:
            fields["nodes"] = self.nodes
        fields["sides"] = self.sides
        if self.fields:
            fields["fields"] = self.fields
        if self.deleted:
            fields["deleted"] = True
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        base = take("base", None)
        if "deleted" in fields and fields["deleted"] is not True:
            raise CorruptError(
                f"conflict.deleted: got {fields['deleted']!r:.80}, expected true, or no field"
            )
        return cls(
            what=take("what"),
            sides=_read_links("sides", take("sides")),
            base=None if base is None else typed_link("conflict", "base", base, Cid),
            fields=_read_names(take("fields", [])),
            deleted=take("deleted", False),
            nodes=_read_links("nodes", take("nodes", [])),
            extra=fields,
        )


def _ascending(name: str, value: object) -> tuple[Cid, ...]:
    """Returns `value` as a tuple of links to blocks, ascending, each once."""
    valid = isinstance(value, (tuple, list)) and all(_is_block(link) for link in value)
    require(valid, "conflict", name, value, "links to blocks")
    links = tuple(Cid(link.raw) for link in value)  # type: ignore[attr-defined]
    valid = len(links) <= CONFLICT_LINKS_MAX and all(a.raw < b.raw for a, b in pairwise(links))
    require(valid, "conflict", name, links, f"at most {CONFLICT_LINKS_MAX} links, ascending")
    return links


def _names(value: object) -> tuple[str, ...]:
    valid = isinstance(value, (tuple, list)) and all(type(name) is str for name in value)
    require(valid, "conflict", "fields", value, "names of fields")
    names: tuple[str, ...] = tuple(value)  # type: ignore[arg-type]
    valid = all(names) and all(a < b for a, b in pairwise(names))
    require(valid, "conflict", "fields", names, "distinct names in ascending order")
    return names


def _read_names(value: object) -> tuple[str, ...]:
    if type(value) is not list:
        raise CorruptError(f"conflict.fields: got {value!r:.80}, expected a list of texts")
    return tuple(value)


def _is_block(link: object) -> bool:
    return isinstance(link, Cid) and not link.is_raw


def _read_links(name: str, value: object) -> tuple[Cid, ...]:
    if type(value) is not list:
        raise CorruptError(f"conflict.{name}: got {value!r:.80}, expected a list of links")
    return tuple(typed_link("conflict", name, link, Cid) for link in value)
