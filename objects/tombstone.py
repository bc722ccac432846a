"""Tombstones: marks that hide a node from the root that contains them onwards.

Time and author of a tombstone are those of its commit. Answers from older roots do not change.

Spec: format 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import TombstoneCid
from ibidem.objects.fields import TOMBSTONE


@block_of(TOMBSTONE)
class Tombstone(Block):
    """Why a node is hidden."""

    CID: ClassVar[type[TombstoneCid]] = TombstoneCid

    reason: str = ""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> TombstoneCid:
        """The identity of the tombstone: the hash of its bytes."""
        return TombstoneCid.of(self.encode())
