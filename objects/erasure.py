"""Erasures: the record that blocks of a node were destroyed on purpose, and which.

It holds ids and CIDs and no word of what was there. The CIDs stand in a column and not as links:
nothing needs the blocks any more, and nobody may bring them back.

Spec: format 5.14.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import Cid, ErasureCid
from ibidem.objects.fields import ERASURE
from ibidem.objects.ids import ID_BYTES, NodeId


@block_of(ERASURE)
class Erasure(Block):
    """Blocks of one node that were erased."""

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

    @property
    def cid(self) -> ErasureCid:
        """The identity of the erasure: the hash of its bytes."""
        return ErasureCid.of(self.encode())

    @property
    def key(self) -> bytes:
        """The key in `View.erasures`: the first 16 bytes of the block's hash."""
        return self.cid.raw[4 : 4 + ID_BYTES]
