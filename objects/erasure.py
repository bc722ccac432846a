"""Erasures: the record that blocks of a node were destroyed on purpose, and which.

It holds ids and CIDs and no word of what was there. The CIDs stand in a column and not as links:
nothing needs the blocks any more, and nobody may bring them back.

Spec: format 5.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import (
    Block,
    Map,
    empty,
    frozen_extra,
    require,
    require_text,
    typed_id,
)
from ibidem.objects.cid import CID_BYTES, Cid, ErasureCid
from ibidem.objects.commit import require_time
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.errors import CorruptError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.record import record

_KNOWN = frozenset(("node", "cids", "reason", "author", "time", "signature"))


@record(eq=False)
class Erasure(Block):
    """Blocks of one node that were erased."""

    KIND: ClassVar[str] = "erasure"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("reason", "author", "signature"))
    CID: ClassVar[type[ErasureCid]] = ErasureCid

    node: NodeId
    cids: tuple[Cid, ...]
    """The erased blocks, one or more, ascending."""
    reason: str = ""
    author: str = ""
    time: int = 0
    """Microseconds since 1970 UTC."""
    signature: bytes | None = None
    """As that of a commit."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(type(self.node) is NodeId, "erasure", "node", self.node, "a NodeId")
        object.__setattr__(self, "cids", _ascending(self.cids))
        require_text("erasure", "reason", self.reason)
        require_text("erasure", "author", self.author)
        require_time("erasure", self.time)
        valid = self.signature is None or type(self.signature) is bytes
        require(valid, "erasure", "signature", self.signature, "bytes")
        object.__setattr__(self, "extra", frozen_extra(Erasure, _KNOWN, self.extra))

    @property
    def cid(self) -> ErasureCid:
        """The identity of the erasure: the hash of its bytes."""
        return ErasureCid.of(self.encode())

    @property
    def key(self) -> bytes:
        """The key in `View.erasures`: the first 16 bytes of the block's hash."""
        return self.cid.raw[4 : 4 + ID_BYTES]

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "cids": b"".join(cid.raw for cid in self.cids)}
        fields["kind"] = "erasure"
        fields["node"] = self.node.raw
        fields["time"] = self.time
        if self.author:
            fields["author"] = self.author
        if self.reason:
            fields["reason"] = self.reason
        if self.signature:
            fields["signature"] = self.signature
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        return cls(
            node=typed_id("erasure", "node", take("node"), NodeId),
            cids=_read_cids(take("cids")),
            reason=take("reason", ""),
            author=take("author", ""),
            time=take("time"),
            signature=take("signature", None),
            extra=fields,
        )


def _ascending(cids: Iterable[Cid]) -> tuple[Cid, ...]:
    found = tuple(cids)
    valid = all(isinstance(cid, Cid) for cid in found) and found == tuple(sorted(set(found)))
    require(found and valid, "erasure", "cids", found, "one or more CIDs, ascending, each once")
    return found


def _read_cids(column: object) -> tuple[Cid, ...]:
    if type(column) is not bytes or len(column) % CID_BYTES:
        raise CorruptError(
            f"erasure.cids: got {column!r:.80}, expected a multiple of {CID_BYTES} bytes"
        )
    starts = range(0, len(column), CID_BYTES)
    return tuple(Cid(column[start : start + CID_BYTES]) for start in starts)
