"""The block of a receipt: the fields that every receipt has, whatever version answered.

The query and the items are interpreted in `retrieve`, which knows the semantics; this module has
what is needed to keep, copy and verify a receipt.

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
    """A receipt in the form in which it is kept and copied."""

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
    """Keyed blake3 of the query's text, which is then omitted."""
    agent: str | None = None
    task: str | None = None
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> ReceiptCid:
        """The identity of the receipt."""
        return ReceiptCid.of(self.encode())
