"""Operations: the local log of views, along which undo walks.

Spec: format 5.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import OperationCid, ViewCid
from ibidem.objects.fields import OPERATION


@block_of(OPERATION)
class Operation(Block):
    """One change of the view of a repository."""

    CID: ClassVar[type[OperationCid]] = OperationCid

    view: ViewCid
    """The view after the operation."""
    parents: tuple[OperationCid, ...] = ()
    author: str = ""
    time: int = 0
    """Microseconds since 1970 UTC."""
    description: str = ""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> OperationCid:
        """The identity of the operation: the hash of its bytes."""
        return OperationCid.of(self.encode())
