"""Doing again: receipts that are kept, runs that are recorded."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.repo.core import Core

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid, ReceiptCid, StepCid
    from ibidem.repo.receipts.kept import KeptReceipt
    from ibidem.repo.runs.recorder import Run
    from ibidem.repo.runs.recording import Recording, RunSummary
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.sealed import SealedReceipt


class RunsApi(Core):
    """The methods of `Repository` about what can be done again."""

    def replay(self, receipt: Receipt | SealedReceipt | Cid | str, **options: Any) -> Answer[Item]:
        """Asks again what a receipt says was asked; raises `ReplayError` unless the bytes agree.

        `estimator=` gives the one that counted, where its recorded name does not find it; `text=`
        and `key=` open a sealed receipt; `at=` asks another revision. See
        `repo/receipts/replay.py`.
        """
        from ibidem.repo.receipts import replay

        return replay.replay(self, receipt, **options)

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
        from ibidem.repo.receipts import kept

        return kept.keep(self, self.operation_log, receipt, key=key, author=author, time=time)

    def kept_receipts(self) -> list[KeptReceipt]:
        """Returns the receipts that are kept, by CID."""
        from ibidem.repo.receipts import kept

        return self.operation_log.retry_if_collected(
            lambda state: list(kept.listed(self, state.view))
        )

    def find_receipt(self, receipt: Cid | str) -> tuple[ReceiptCid, Receipt | SealedReceipt]:
        """Returns a receipt by its CID or the beginning of that: a kept one, or one of the log."""
        from ibidem.repo.receipts import kept

        return kept.found(self, receipt)

    def drop_receipt(
        self, receipt: Cid | str, *, author: str = "", time: int | datetime | None = None
    ) -> ReceiptCid:
        """Stops keeping a receipt; returns its CID."""
        from ibidem.repo.receipts import kept

        return kept.drop(self, self.operation_log, receipt, author=author, time=time)

    def run(self, name: str, *, agent: str = "", task: str = "", author: str = "") -> Run:
        """Begins to record a run, and returns a repository for agent code that writes down, in
        order, what the code asks, commits and is told; leaving `with` ends the run.

        Args:
            name: several runs may have it; each gets a number, such as `nightly/2`.
            agent: who runs. task: what for. author: of the operations that record it.
        """
        from ibidem.repo.runs.recorder import Run

        return Run(self, self.operation_log, name, agent=agent, task=task, author=author)

    def recorded(self, name: str) -> Recording:
        """Returns a recorded run; without a number in its name, the newest of the name."""
        from ibidem.repo.runs.recording import Recording

        return Recording(self, name)

    def runs(self) -> list[RunSummary]:
        """Returns what runs are recorded here, by name."""
        from ibidem.repo.runs import recording

        return recording.summaries(self)

    def import_run(self, file: str | os.PathLike[str], *, author: str = "") -> Recording:
        """Takes in a run that `Recording.export` wrote, and returns it.

        Raises:
            CorruptError: a byte of the file was changed. InvalidInputError: it holds no run.
        """
        from ibidem.repo.runs import bundle

        return bundle.read_run(self, file, author=author)

    def drop_run(
        self, name: str, *, author: str = "", time: int | datetime | None = None
    ) -> StepCid:
        """Drops a recorded run, and returns its last step."""
        from ibidem.repo.runs import recording

        return recording.drop(self, self.operation_log, name, author=author, time=time)
