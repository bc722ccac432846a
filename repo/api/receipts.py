"""Receipts: the answers that they stand for can be given again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.repo.receipts import kept

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid, ReceiptCid
    from ibidem.repo.core import Core
    from ibidem.repo.receipts.kept import KeptReceipt
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.sealed import SealedReceipt
    from ibidem.retrieve.tokens import TokenEstimator


class Receipts:
    """Receipts of answers: to keep, to find and to replay."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def replay(
        self,
        receipt: Receipt | SealedReceipt | Cid | str,
        *,
        estimator: str | TokenEstimator | None = None,
        text: str | None = None,
        key: bytes | None = None,
        at: object = None,
    ) -> Answer[Item]:
        """Asks again what a receipt says was asked; raises `ReplayError` unless the bytes agree.

        Args:
            receipt: of an answer, or the CID of one that is kept here, or the beginning of that.
            estimator: the one that counted tokens, where its recorded name does not find it.
            text: what was asked, where the receipt is sealed. key: the key that it was sealed with.
            at: another revision to ask instead; that its answer differs is then the error.
        """
        from ibidem.repo.receipts.replay import replay

        return replay(self._core, receipt, estimator=estimator, text=text, key=key, at=at)

    def keep(
        self,
        receipt: Receipt | SealedReceipt | Cid | str,
        *,
        key: bytes | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> ReceiptCid:
        """Keeps a receipt for good, with what its replay reads, and returns its CID.

        Args:
            receipt: of an answer, or the CID of one in the log, or the beginning of that.
            key: 32 bytes; of the text that was asked only a digest with this key is then kept.
        """
        return kept.keep(self._core, receipt, key=key, author=author, time=time)

    def list(self) -> Sequence[KeptReceipt]:
        """Returns the receipts that are kept, by CID."""
        core = self._core
        return core.operation_log.retry_if_collected(lambda state: [*kept.listed(core, state.view)])

    def find(self, receipt: Cid | str) -> tuple[ReceiptCid, Receipt | SealedReceipt]:
        """Returns a receipt by its CID or the beginning of that: a kept one, or one of the log."""
        return kept.found(self._core, receipt)

    def drop(
        self, receipt: Cid | str, *, author: str = "", time: int | datetime | None = None
    ) -> ReceiptCid:
        """Stops keeping a receipt; returns its CID."""
        return kept.drop(self._core, receipt, author=author, time=time)
