"""Keeping a repository: checking all of it, collecting garbage, erasing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.repo.reader import Reader

if TYPE_CHECKING:
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
