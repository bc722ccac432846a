"""Writes documents back into the working folder.

A document from a stranger's repository decides only what is inside of a file, never where it lies:
hidden paths, links and paths through links are refused. A file that was changed is replaced only if
the caller insists.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.ingest.document import check_path
from ibidem.ingest.stat_table import UNKNOWN, stat_of
from ibidem.ingest.walk import opened, read
from ibidem.ingest.working_folder import Difference, WorkingFolder
from ibidem.objects.constants import DOCUMENT_BYTES_MAX
from ibidem.objects.errors import ConflictError, InvalidInputError, StorageError
from ibidem.store.files import whole_file

if TYPE_CHECKING:
    from ibidem.objects.errors import IbidemError


def restore(folder: WorkingFolder, path: str, text: str, *, overwrite: bool = False) -> bool:
    """Writes the source of a document to its file; returns False if the file has it already.

    Args:
        folder: the working folder, whose table is updated.
        path: of the document.
        text: its source at some revision.
        overwrite: replace a file that was changed.

    Raises:
        InvalidInputError: no file may be written there.
        ConflictError: the file was changed, and `overwrite` is not set.
        StorageError: the medium failed; the file is as it was.
    """
    check_writable(folder.path, path)
    file = folder.path / path
    data = text.encode("utf-8")
    if os.path.lexists(file):
        if _current(folder, path) == data:
            return False
        if not overwrite and is_changed(folder, path):
            raise ConflictError(
                f"{path}: the file was changed, expected one that can be replaced",
                hint="commit it first, or pass --force to lose its changes",
            )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(path, error) from error
    with whole_file(file, is_durable=False) as target:
        target.write(data)
    folder.restored(path, stat_of(file.stat()), data)
    return True


def is_changed(folder: WorkingFolder, path: str) -> bool:
    """Returns whether a file has something that would be lost with it."""
    folder.learn([path])
    read_changed(folder, path)
    return folder.difference(path) not in (Difference.SAME, Difference.BEHIND)


def has_source(folder: WorkingFolder, path: str, digest: str) -> bool:
    """Returns whether the file of a document is there, with bytes of this SHA-256."""
    if not os.path.lexists(folder.path / path):
        return False
    folder.learn([path])
    read_changed(folder, path)
    return folder.row(path).file.hex() == digest


def check_writable(folder: Path, path: str) -> None:
    """Raises InvalidInputError if a document may not be written to, or removed from, its path."""
    check_path(path)
    parts = path.split("/")
    if any(part.startswith(".") for part in parts):
        raise InvalidInputError(f"path: got {path!r}, expected no hidden file or folder")
    at = folder
    for part in parts:
        at = at / part
        if at.is_symlink():
            raise InvalidInputError(f"path: got {path!r}, expected no symbolic link on the way")
    if at.exists() and not at.is_file():
        raise InvalidInputError(f"path: got {path!r}, expected a regular file, or none")


def read_changed(folder: WorkingFolder, path: str) -> None:
    """Reads a file of the working folder if its numbers have changed."""
    file = folder.path / path
    found = stat_of(file.stat()) if os.path.lexists(file) else UNKNOWN
    if found != UNKNOWN and not folder.is_read(path, found):
        with opened(folder.path, path) as descriptor:
            stat = stat_of(os.fstat(descriptor))
            try:
                folder.saw(path, stat, read(descriptor, DOCUMENT_BYTES_MAX))
            except ValueError as error:
                folder.skipped(path, stat, str(error))


def _current(folder: WorkingFolder, path: str) -> bytes | None:
    """Returns the bytes of a file, None if it is too large for a document."""
    try:
        with opened(folder.path, path) as descriptor:
            return read(descriptor, DOCUMENT_BYTES_MAX)
    except ValueError:
        return None
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: str, error: OSError) -> IbidemError:
    return StorageError(f"{path}: {error.strerror or error}")
