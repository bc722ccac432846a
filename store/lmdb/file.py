"""Direct operations on LMDB's file, without LMDB: checking its pages, and overwriting erased bytes
in place.

LMDB writes changed pages to new positions and leaves the old ones unchanged; a page that is reused
keeps the bytes that its new records do not cover. `pages.py`, which only this module uses, reports
all of these bytes as slack, and they can be overwritten with zeros. Live bytes are never written,
so an interruption at any moment only leaves the work unfinished.

Replacing the file by a compacted copy would not work: a process that has the old file open would
write to a file that no one reads any more, unless every call checks that the file is still the
same, and would keep the old bytes on the disk while it is open. Also, damage must be found before
LMDB opens a file.
"""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from typing import Any

from ibidem.objects.errors import CorruptError, ErrorKind, StorageError
from ibidem.store.files import medium_error
from ibidem.store.lmdb.environment import DATA_FILE, LOCK_FILE, TIMEOUT_SECONDS, Environment
from ibidem.store.lmdb.pages import PageReport, Span, check_pages, metas_of
from ibidem.store.lock import writer_lock
from ibidem.store.protocol import LayoutReport

TABLES = ("blocks", "cells")
_CHUNK_BYTES = 1 << 20
_PAUSE_SECONDS = 0.005


def check_layout(folder: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> PageReport:
    """Checks the pages of the store in a folder and returns a report; nothing is changed.

    Writers are not blocked at first. If a write happened during the check and something seems
    wrong, the file is read again while writers wait.

    Raises:
        StorageError: kind `locked`: a writer held the lock for too long.
        OSError: there is no such file, or it cannot be read.
    """
    path = folder / DATA_FILE
    before = metas_of(path)
    report = check_pages(path, TABLES)
    if report.faults and metas_of(path) != before:
        with writer_lock(folder / LOCK_FILE, timeout_seconds=timeout_seconds):
            report = check_pages(path, TABLES)
    return report


def layout_report(folder: Path) -> LayoutReport:
    """Returns the report of `check_layout`; a file that cannot be read is a fault."""
    where = f"{folder.name}/{DATA_FILE}"
    try:
        report = check_layout(folder)
    except OSError as error:
        return LayoutReport(where, (f"it cannot be read: {error}",))
    return LayoutReport(where, tuple(report.faults), report.page_count)


def unscrubbed_bytes(folder: Path) -> int:
    """Returns how many bytes of the file hold neither live data nor zeros: deleted records.

    Raises:
        OSError: there is no such file, or it cannot be read.
    """
    path = folder / DATA_FILE
    count = 0
    with path.open("rb") as file:
        for start, stop in check_pages(path, TABLES).slack:
            file.seek(start)
            count += sum(map(bool, file.read(stop - start)))
    return count


def scrub(environment: Environment, *, timeout_seconds: float) -> int:
    """Overwrites the slack with zeros; the caller holds the writer lock.

    Raises:
        CorruptError: the pages are damaged.
        StorageError: kind `locked`: a reader of an older state does not finish.
    """
    environment.close()  # discards the buffers, which would be written again with old bytes
    for _ in range(2):
        # LMDB keeps the pages of the last two states, so write two that do not use the old pages.
        environment.write(lambda transaction: _rewrite_a_cell(environment, transaction))
    deadline = time.monotonic() + timeout_seconds
    while environment.has_older_readers():
        if time.monotonic() >= deadline:
            raise StorageError(
                f"{environment.path}: a reader has held an old state for {timeout_seconds} seconds",
                kind=ErrorKind.LOCKED,
                hint="end that process, then run 'repo fsck --repair'",
            )
        time.sleep(_PAUSE_SECONDS)
    path = environment.path / DATA_FILE
    try:
        report = check_pages(path, TABLES)
        if report.faults:
            raise CorruptError(f"{path}: {report.faults[0]}", hint="run 'repo fsck'")
        with path.open("r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            done = sum(_blank(file, span, size) for span in report.slack)
            os.fsync(file.fileno())
    except OSError as error:
        raise medium_error(path, error) from error
    return done


def _rewrite_a_cell(environment: Environment, transaction: Any) -> None:
    cursor = transaction.cursor(environment.cells)
    is_empty = not cursor.first()
    key, value = (b"scrub", b"") if is_empty else cursor.item()
    transaction.put(key, value, db=environment.cells)
    if is_empty:
        transaction.delete(key, db=environment.cells)


def _blank(file: io.FileIO, span: Span, size_bytes: int) -> int:
    """Overwrites a span with zeros where it is not zero; returns how many bytes were not zero."""
    at, stop = span[0], min(span[1], size_bytes)
    done = 0
    while at < stop:
        length = min(stop - at, _CHUNK_BYTES)
        file.seek(at)
        if file.read(length).strip(b"\0"):
            file.seek(at)
            file.write(bytes(length))
            done += length
        at += length
    return done
