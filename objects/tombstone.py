"""Tombstones: a node that is hidden in the root that carries one, and onward.

Time and author are those of its commit. Older roots answer as before.

Spec: format 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import Block, Map, empty, frozen_extra, require_text
from ibidem.objects.cid import TombstoneCid
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.record import record

_KNOWN = frozenset(("reason",))


@record(eq=False)
class Tombstone(Block):
    """Why a node is hidden."""

    KIND: ClassVar[str] = "tombstone"
    OPTIONAL: ClassVar[frozenset[str]] = _KNOWN
    CID: ClassVar[type[TombstoneCid]] = TombstoneCid

    reason: str = ""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require_text("tombstone", "reason", self.reason)
        object.__setattr__(self, "extra", frozen_extra(Tombstone, _KNOWN, self.extra))

    @property
    def cid(self) -> TombstoneCid:
        """The identity of the tombstone: the hash of its bytes."""
        return TombstoneCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "kind": "tombstone"}
        if self.reason:
            fields["reason"] = self.reason
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        return cls(fields.pop("reason", ""), fields)
