"""Repairs the faults found by a check: blocks are copied from another repository, other files
dropped.

A copied block is verified by its hash alone, so it does not matter whose repository it comes from.
Index, embedding cache and receipt log are never needed for an answer; damaged parts of them are
removed. A damaged layout of the store's file cannot be repaired in place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.index import audit
from ibidem.objects.cid import Cid
from ibidem.objects.errors import IbidemError, InvalidInputError
from ibidem.objects.verify import verify_block
from ibidem.repo.erasure.destroy import finish
from ibidem.repo.maintenance.file_checks import blank_damaged
from ibidem.repo.maintenance.fsck import fsck
from ibidem.repo.maintenance.report import FETCHED, Fault, FaultKind, FsckReport
from ibidem.store.files import medium_error

if TYPE_CHECKING:
    from ibidem.objects.blocks import BlockReader
    from ibidem.repo.core import Core


def repair(
    repository: Core,
    report: FsckReport,
    source: BlockReader | None = None,
) -> FsckReport:
    """Repairs the faults in a report and returns a new report, which lists the repairs.

    A restored block may show that others are missing, so repair continues as long as it makes
    progress.

    Args:
        source: contains the blocks, such as the store of another copy; None repairs only faults
            that need no blocks.
    """
    if report.faults and any(fault.kind is FaultKind.PAGE for fault in report.faults):
        raise InvalidInputError("report: it has faults of the file's layout, expected none")
    mended: list[str] = []
    while not report.is_clean:
        done = [*_fetch(repository, report, source), *_let_go(repository, report)]
        if not done:
            break
        mended += done
        report = fsck(repository)
    return replace(report, repaired=tuple(mended))


def _fetch(repository: Core, report: FsckReport, source: BlockReader | None) -> list[str]:
    mended = []
    for fault in report.faults:
        if fault.kind not in FETCHED or fault.cid is None or source is None:
            continue
        block = _verified(source, fault.cid)
        if block is not None:
            repository.store.delete([fault.cid])
            repository.store.put({Cid(fault.cid.raw): block})
            mended.append(f"{fault.where}: taken from the other copy")
    return mended


def _verified(source: BlockReader, cid: Cid) -> bytes | None:
    try:
        block = source.get(cid)
        verify_block(cid, block)
    except IbidemError:
        return None
    return block


def _let_go(repository: Core, report: FsckReport) -> list[str]:
    mended = []
    if _of(report, FaultKind.UNFINISHED) and finish(repository):
        mended.append("erasure: carried on to its end")
    if repository.folder is None:
        return mended
    index = [fault.where.removeprefix("index/") for fault in _of(report, FaultKind.INDEX)]
    if index and repository.search_index.folder is not None:
        audit.forget(repository.search_index.folder, index)
        repository.drop_derived()
        mended += [f"index/{file}: removed, to be made again" for file in index]
    for fault in _of(report, FaultKind.CACHE):
        path = repository.folder / fault.where
        try:
            path.unlink()
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                raise medium_error(path, error) from error
        else:
            mended.append(f"{fault.where}: removed")
    if _of(report, FaultKind.RECEIPT):
        mended += [f"receipts/{name}: blanked" for name in blank_damaged(repository.folder)]
    for fault in report.faults:
        is_spare = fault.kind is FaultKind.DAMAGED and not fault.needed_by
        if is_spare and fault.cid is not None and repository.store.delete([fault.cid]):
            mended.append(f"{fault.where}: removed, nothing needs it")
    return mended


def _of(report: FsckReport, kind: FaultKind) -> list[Fault]:
    return [fault for fault in report.faults if fault.kind is kind]
