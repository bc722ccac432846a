"""Checks the files of a repository other than its blocks: layout, receipts, index, embedding cache.

All of them are verified by checksums when they are used. Here each is read completely, so that
damage is found before the data is needed. An incomplete entry at the end of a log, left by a crash,
is a note and not a fault: it was never acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.embed.cache import damaged_frames
from ibidem.index.audit import audit
from ibidem.objects.commit import Commit
from ibidem.objects.errors import IbidemError, StorageError
from ibidem.objects.verify import read_foreign
from ibidem.repo.maintenance.report import Fault, FaultKind
from ibidem.repo.receipts.log import HEAD_BYTES, MARK, frame_at
from ibidem.repo.signing import keyring
from ibidem.store.files import folder_lock, medium_error, read_file
from ibidem.store.lock import writer_lock

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.store.protocol import LayoutReport

_CUT_OFF = "cut off"
_WAIT_SECONDS = 5.0


def layout_faults(report: LayoutReport) -> list[Fault]:
    """Returns the faults of the structure of the store's file."""
    return [Fault(FaultKind.PAGE, report.where, text) for text in report.faults]


def check_receipts(folder: Path) -> tuple[list[Fault], list[str], int]:
    """Returns the faults and notes of the receipt logs in a folder, and the number of receipts."""
    faults: list[Fault] = []
    notes: list[str] = []
    count = 0
    for path in sorted(folder.glob("log*")):
        where = f"receipts/{path.name}"
        data = read_file(path) or b""  # the log may have been rotated meanwhile
        for start, stop, problem in _log_parts(data):
            if problem is None:
                count += 1
            elif problem == _CUT_OFF:
                notes.append(f"{where}: the last receipt was cut off at byte {start}")
            else:
                detail = f"bytes {start} to {stop}: {problem}"
                faults.append(Fault(FaultKind.RECEIPT, where, detail))
    return faults, notes, count


def blank_damaged(folder: Path) -> list[str]:
    """Overwrites the damaged parts of the receipt logs with zeros; returns the names of those
    files.

    Raises:
        StorageError: a file cannot be written.
    """
    changed = []
    with folder_lock(folder / "receipts"):
        for path in sorted((folder / "receipts").glob("log*")):
            try:
                spans = [
                    (start, stop)
                    for start, stop, problem in _log_parts(path.read_bytes())
                    if problem is not None
                ]
                if spans:
                    blank(path, spans)
                    changed.append(path.name)
            except OSError as error:
                raise medium_error(path, error) from error
    return changed


def blank(path: Path, spans: list[tuple[int, int]]) -> None:
    """Overwrites parts of a file with zeros in place, which does not disturb a process that appends
    to it.
    """
    with path.open("r+b") as file:
        for start, stop in spans:
            file.seek(start)
            file.write(bytes(stop - start))
        file.flush()
        os.fsync(file.fileno())


def log_frames(data: bytes) -> Iterator[tuple[int, int, bytes | None]]:
    """Yields (start, stop, receipt) of every part of a log; the receipt is None for an incomplete
    or damaged frame. Parts overwritten with zeros are left out.
    """
    at = 0
    while at < len(data):
        start, block = at, frame_at(data, at)
        at = _next_frame(data, start) if block is None else at + HEAD_BYTES + len(block)
        if block is not None or data[start:at].strip(b"\0"):
            yield start, at, block


def _log_parts(data: bytes) -> Iterator[tuple[int, int, str | None]]:
    """Yields (start, stop, fault) of every part of a log; the fault is None for a valid receipt."""
    for start, stop, block in log_frames(data):
        if block is not None:
            yield start, stop, _receipt_problem(block)
        else:
            is_end = stop == len(data) and _is_cut_off(data[start:])
            yield start, stop, _CUT_OFF if is_end else "no whole receipt"


def _receipt_problem(block: bytes) -> str | None:
    try:
        read_foreign(block)
    except IbidemError as error:
        return str(error)
    return None


def check_embeddings(folder: Path) -> tuple[list[Fault], int]:
    """Returns the faults of embedding cache files with damaged frames, and the number of frames."""
    faults, count = [], 0
    for path in sorted(folder.glob("*/*")) if folder.is_dir() else ():
        if path.name == "lock":
            continue
        frames = damaged = 0
        with suppress(FileNotFoundError):  # removed meanwhile
            frames, damaged = damaged_frames(path)
            if damaged:
                with _nobody_adding(path.parent):
                    frames, damaged = damaged_frames(path)
        count += frames
        if damaged:
            where = f"embeddings/{path.parent.name}/{path.name}"
            detail = f"{damaged} of its {frames} frames are damaged"
            faults.append(Fault(FaultKind.CACHE, where, detail))
    return faults, count


@contextmanager
def _nobody_adding(folder: Path) -> Iterator[None]:
    """Locks out writers from a folder of the cache, if possible."""
    with ExitStack() as alone:
        with suppress(StorageError):
            alone.enter_context(writer_lock(folder / "lock", timeout_seconds=_WAIT_SECONDS))
        yield


def check_index(repository: Core) -> Iterator[Fault]:
    """Yields the faults of the index files; those of the heads are compared completely."""
    try:
        directory = repository.search_index.folder
        commits = list(repository.branches().values())
    except IbidemError:
        return  # no query can run before that is repaired; the block check reports it
    if directory is None or not directory.is_dir():
        return
    heads = []
    for commit in commits:
        with suppress(IbidemError):
            heads.append(Commit.decode(repository.store.get(commit)).root)
    for file, problem in audit(directory, repository.store, whole=heads):
        yield Fault(FaultKind.INDEX, f"index/{file}", problem)


def check_keys(folder: Path) -> Iterator[Fault]:
    """Yields the faults of the keyring's files."""
    found = keyring.problem(folder)
    if found is not None:
        yield Fault(FaultKind.KEY, "keys", found)


def _next_frame(data: bytes, start: int) -> int:
    at = data.find(MARK, start + 1)
    while at >= 0 and frame_at(data, at) is None:
        at = data.find(MARK, at + 1)
    return len(data) if at < 0 else at


def _is_cut_off(rest: bytes) -> bool:
    """Returns whether bytes are the beginning of a frame that was not completely written."""
    if len(rest) < HEAD_BYTES:
        return rest.startswith(MARK) or MARK.startswith(rest)
    size = int.from_bytes(rest[len(MARK) : len(MARK) + 4], "little")
    return rest.startswith(MARK) and HEAD_BYTES + size > len(rest)
