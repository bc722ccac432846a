"""Overwrites, in place, what an LMDB file still holds of deleted records.

LMDB writes changed pages to new places and lets the old ones lie; a page that is used again keeps
what its new records do not cover. All of that is slack by the reading of `pages.py`, and nothing
but zeros needs to be there. Live bytes are never written, so being stopped at any moment costs
nothing but the rest of the work.
"""

from __future__ import annotations

import io
import os
import time
from typing import Any

from ibidem.objects.errors import CorruptError, ErrorKind, StorageError
from ibidem.store.files import medium_error
from ibidem.store.lmdb.environment import DATA_FILE, Environment
from ibidem.store.lmdb.layout import TABLES
from ibidem.store.lmdb.pages import Span, check_pages

_CHUNK_BYTES = 1 << 20
_PAUSE_SECONDS = 0.005


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
