"""Checks and repairs the repository at an address, in whatever state it is."""

from __future__ import annotations

import os
from contextlib import ExitStack

from ibidem.objects.errors import CorruptError
from ibidem.objects.progress import Progress, silent
from ibidem.repo.maintenance.file_checks import layout_faults
from ibidem.repo.maintenance.fsck import UNREAD, fsck
from ibidem.repo.maintenance.repair import repair
from ibidem.repo.maintenance.report import FaultKind, FsckReport
from ibidem.repo.opening import location_of, open_core


def fsck_folder(
    path: str | os.PathLike[str], *, deep: bool = False, progress: Progress = silent
) -> FsckReport:
    """Checks the repository at an address, in whatever state it is, and opens it only if that is
    safe.

    Args:
        deep: see `fsck`.

    Raises:
        NotFoundError: kind `repository-not-found`.
        FormatError: it was created by a newer version.
        CorruptError: the file `format` is damaged.
        StorageError: a disk error.
    """
    location = location_of(path)
    layout = location.backend.check(location.address, location.folder)
    if layout.faults:
        return FsckReport(
            tuple(layout_faults(layout)), (UNREAD,), counts={"page": layout.page_count}
        )
    with open_core(path, finish_erasing=False) as opened:
        opened.progress = progress
        return fsck(opened, deep=deep)


def repair_folder(
    path: str | os.PathLike[str],
    report: FsckReport,
    source: str | os.PathLike[str] | None,
    *,
    progress: Progress = silent,
) -> FsckReport:
    """Repairs the repository in a folder, with blocks from the repository in another folder.

    Raises:
        CorruptError: the layout of the store's file is damaged, which cannot be repaired in place.
        NotFoundError: there is no repository in `source`.
    """
    layout = next((fault for fault in report.faults if fault.kind is FaultKind.PAGE), None)
    if layout is not None:
        raise CorruptError(
            f"{layout.where}: its layout is damaged and cannot be mended in place",
            hint="clone the repository again from another copy, or restore a backup",
        )
    with ExitStack() as stack:
        opened = stack.enter_context(open_core(path, finish_erasing=False))
        blocks = None if source is None else stack.enter_context(open_core(source)).store
        opened.progress = progress
        return repair(opened, report, blocks)
