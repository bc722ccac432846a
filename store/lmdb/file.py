"""What is done to LMDB's file itself and not through LMDB: it is checked, and erased bytes are
overwritten in place.

LMDB writes changed pages to new places and lets the old ones lie; a page that is used again keeps
what its new records do not cover. All of that is slack by the reading of `pages.py`, which nothing
but this module uses, and nothing but zeros needs to be there. Live bytes are never written, so
being stopped at any moment costs nothing but the rest of the work.

A compacting copy in its place would not do: a process that has the old file open writes into what
nobody reads any more, unless every call asks whether it is still the same one, and keeps the bytes
on the disk for as long. And damage has to be found before LMDB opens a file.
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

TABLES = ("blocks", "cells")
_CHUNK_BYTES = 1 << 20
_PAUSE_SECONDS = 0.005


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


def scrub(environment: Environment, *, timeout_seconds: float) -> int:
    """Writes zeros over the slack; the caller holds the writer lock.

    Raises:
        CorruptError: the pages are not what they must be.
        StorageError: kind `locked`: a reader of an older state does not end.
    """
    environment.close()  # with the buffers, which are written again as they are
    for _ in range(2):
        # The pages of the last two states stay. So two more are made, of which neither has it.
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
    """Writes zeros over a span where there is anything else; returns how many bytes there were."""
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
