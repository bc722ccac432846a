"""Operations: the local log of views, which is what undo walks.

Spec: format 5.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import Block, Map, empty, frozen_extra, require, require_text, typed_link
from ibidem.objects.cid import OperationCid, ViewCid
from ibidem.objects.commit import checked_links, read_links, require_time
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.record import record

_KNOWN = frozenset(("view", "parents", "author", "time", "description"))


@record(eq=False)
class Operation(Block):
    """One change of the view of a repository."""

    KIND: ClassVar[str] = "operation"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("parents", "author", "description"))
    CID: ClassVar[type[OperationCid]] = OperationCid

    view: ViewCid
    """The view after the operation."""
    parents: tuple[OperationCid, ...] = ()
    author: str = ""
    time: int = 0
    """Microseconds since 1970 UTC."""
    description: str = ""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(type(self.view) is ViewCid, "operation", "view", self.view, "a ViewCid")
        put = object.__setattr__
        put(self, "parents", checked_links("operation", "parents", self.parents, OperationCid))
        require_text("operation", "author", self.author)
        require_time("operation", self.time)
        require_text("operation", "description", self.description)
        put(self, "extra", frozen_extra(Operation, _KNOWN, self.extra))

    @property
    def cid(self) -> OperationCid:
        """The identity of the operation: the hash of its bytes."""
        return OperationCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "kind": "operation", "time": self.time}
        fields["view"] = self.view
        if self.author:
            fields["author"] = self.author
        if self.parents:
            fields["parents"] = self.parents
        if self.description:
            fields["description"] = self.description
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        return cls(
            view=typed_link("operation", "view", take("view"), ViewCid),
            parents=read_links("operation", "parents", take("parents", []), OperationCid),
            author=take("author", ""),
            time=take("time"),
            description=take("description", ""),
            extra=fields,
        )
