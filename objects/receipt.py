"""The block of a receipt: what every reader must find in one, whatever version answered.

What the query and the items mean is read in `retrieve`, which knows the semantics; here is what
keeping, copying and verifying a receipt needs.

Spec: format 5.11, retrieval 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import CommitCid, ReceiptCid, ResultCid, RootCid
from ibidem.objects.fields import RECEIPT


@block_of(RECEIPT)
class ReceiptBlock(Block):
    """A receipt as it is kept and copied."""

    CID: ClassVar[type[ReceiptCid]] = ReceiptCid

    semantics: int
    root: RootCid
    query: Mapping[str, Any]
    models: Mapping[str, Any]
    result: ResultCid
    items: tuple[Any, ...]
    """Rows of id, node CID, score, digest of the rendered text, and lanes."""
    commit: CommitCid | None = None
    notes_head: CommitCid | None = None
    rerank: Mapping[str, Any] | None = None
    text_digest: bytes | None = None
    """Keyed blake3 of the query's text, which is then left out."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> ReceiptCid:
        """The identity of the receipt."""
        return ReceiptCid.of(self.encode())
