"""Erasures: records of which blocks of a node were deliberately destroyed.

An erasure holds ids and CIDs but none of the erased text. The CIDs are a column rather than links:
the blocks are no longer needed and must not be restored.

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
    """A signature over the block without this field, as in a commit."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> ErasureCid:
        """The identity of the erasure: the hash of its bytes."""
        return ErasureCid.of(self.encode())

    @property
    def key(self) -> bytes:
        """The key in `View.erasures`: the first 16 bytes of the block's hash."""
        return self.cid.raw[4 : 4 + ID_BYTES]
