"""Tombstones: a node that is hidden in the root that carries one, and onward.

Time and author are those of its commit. Older roots answer as before.

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
