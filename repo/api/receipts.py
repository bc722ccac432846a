"""Receipts of answers: keeping, finding and replaying them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.repo.local_settings import LogQuestions
from ibidem.repo.receipts import kept
from ibidem.repo.slow_log import has_questions

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
    """Keeps, finds and replays receipts of answers."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def replay(
        self,
        receipt: Receipt | SealedReceipt | Cid | str | None,
        *,
        estimator: str | TokenEstimator | None = None,
        text: str | None = None,
        key: bytes | None = None,
        at: object = None,
    ) -> Answer[Item]:
        """Recomputes the answer of a receipt; raises `ReplayError` unless the bytes agree.

        Args:
            receipt: of an answer, or the CID of a kept one, or a unique prefix; None, which an
                answer with `allow_erased` has for its receipt, is an error.
            estimator: the one that counted tokens, if its recorded name does not resolve.
            text: the query text, if the receipt is sealed.
            key: the key of the seal.
            at: another revision to query instead; a different answer is then the error.
        """
        from ibidem.repo.receipts.replay import replay

        return replay(self._core, receipt, estimator=estimator, text=text, key=key, at=at)

    def keep(
        self,
        receipt: Receipt | SealedReceipt | Cid | str | None,
        *,
        key: bytes | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> ReceiptCid:
        """Keeps a receipt and everything its replay needs, and returns its CID.

        Args:
            receipt: of an answer, or the CID of one in the log, or a unique prefix.
            key: 32 bytes; only a digest of the query text with this key is then kept.
        """
        return kept.keep(self._core, receipt, key=key, author=author, time=time)

    def log_questions(self, value: LogQuestions | str) -> None:
        """Sets where questions are written on this machine, for every program that opens this copy:
        `never`, in the log of `receipts` (the default), or `always`, in that of slow questions too.
        What a log has and would no longer get is removed; receipts that were kept stay. With
        `never`, new vectors of questions are not cached either.

        Raises:
            InvalidInputError: another value, or a repository in memory.
        """
        core = self._core
        core.local.set_log_questions(value)
        if value == LogQuestions.NEVER:
            core.receipts.clear()
        if value == LogQuestions.NEVER or (
            value != LogQuestions.ALWAYS and has_questions(core.folder)
        ):
            core.local.remove_slow_log()

    def list(self) -> Sequence[KeptReceipt]:
        """Returns the kept receipts, by CID."""
        core = self._core
        return core.operation_log.retry_if_collected(lambda state: [*kept.listed(core, state.view)])

    def find(self, receipt: Cid | str) -> tuple[ReceiptCid, Receipt | SealedReceipt]:
        """Returns a receipt by its CID or a unique prefix: a kept one, or one of the log."""
        return kept.found(self._core, receipt)

    def drop(
        self, receipt: Cid | str, *, author: str = "", time: int | datetime | None = None
    ) -> ReceiptCid:
        """Stops keeping a receipt; returns its CID."""
        return kept.drop(self._core, receipt, author=author, time=time)
