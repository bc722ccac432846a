"""Checks the file of an LMDB store while others may write to it."""

from __future__ import annotations

from pathlib import Path

from ibidem.store.lmdb.environment import DATA_FILE, LOCK_FILE, TIMEOUT_SECONDS
from ibidem.store.lmdb.pages import PageReport, check_pages, metas_of
from ibidem.store.lock import writer_lock

TABLES = ("blocks", "cells")


def check_layout(folder: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> PageReport:
    """Returns what is wrong with the pages of the store in a folder; nothing is changed.

    Nobody is kept from writing unless a write came between and something seems wrong: then it is
    read again while writers wait.

    Raises:
        StorageError: kind `locked`: a writer held the store for too long.
        OSError: there is no such file, or it cannot be read.
    """
    path = folder / DATA_FILE
    before = metas_of(path)
    report = check_pages(path, TABLES)
    if report.faults and metas_of(path) != before:
        with writer_lock(folder / LOCK_FILE, timeout_seconds=timeout_seconds):
            report = check_pages(path, TABLES)
    return report


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
