"""Keeping a repository: checking all of it, collecting garbage, erasing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.repo.reader import Reader

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.keep.gc import GcReport
    from ibidem.repo.keep.report import FsckReport
    from ibidem.repo.keep.walking import Progress


class Keeping(Reader):
    """The methods of `Repository` about its own health."""

    def fsck(self, *, progress: Progress | None = None) -> FsckReport:
        """Returns everything that is wrong, after reading all of the repository; changes nothing.

        Args:
            progress: called with how many blocks are done, and of how many.
        """
        from ibidem.repo.keep.fsck import fsck

        return fsck(self, progress=progress)

    def repair(
        self,
        report: FsckReport,
        source: Source | None = None,
        *,
        progress: Progress | None = None,
    ) -> FsckReport:
        """Mends what a report of `fsck` names, and returns a new report.

        Args:
            source: has the missing and damaged blocks, such as the store of another copy.
        """
        from ibidem.repo.keep.repair import repair

        return repair(self, report, source, progress=progress)

    def collect_garbage(
        self,
        *,
        keep_operations: int | None = None,
        is_dry_run: bool = False,
        author: str = "",
        time: int | None = None,
    ) -> GcReport:
        """Deletes the blocks that no ref, operation, kept receipt, run or stage needs.

        Args:
            keep_operations: how many of the newest operations can still be undone; None: all.
            is_dry_run: only counts.

        Raises:
            FormatError: a kind or version that this program does not know; nothing was deleted.
            CorruptError: a needed block is missing or damaged; nothing was deleted.
        """
        from ibidem.repo.keep.gc import collect

        return collect(
            self,
            keep_operations=keep_operations,
            is_dry_run=is_dry_run,
            author=author,
            time=time,
        )
