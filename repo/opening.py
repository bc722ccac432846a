"""Opening the folder of a repository."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from ibidem.objects.errors import CorruptError, ErrorKind, NotFoundError, unknown_version
from ibidem.repo.arguments import checked_path
from ibidem.repo.core import Clock, Core
from ibidem.repo.erasure.quarantines import sweep
from ibidem.repo.state import ERASING_CELL
from ibidem.store.files import medium_error, write_file

FOLDER = ".ibidem"
LAYOUT_VERSION = 1
_FORMAT_FILE = "format"


def system_clock() -> int:
    """Returns the time, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def open_core(
    path: str | os.PathLike[str],
    *,
    clock: Clock = system_clock,
    finish_erasing: bool = True,
) -> Core:
    """Opens the repository in the folder `path`; see `repository.open`."""
    from ibidem.store.lmdb.store import LmdbStore

    folder = checked_path("path", path) / FOLDER
    check_format(folder)
    opened = Core(LmdbStore.open(folder / "blocks"), folder, clock)
    if finish_erasing:
        opened.erasing_finisher = _finish_erasing
        if opened.store.cell(ERASING_CELL) is not None:
            opened.without_interrupted(opened.operation_log.state())
        sweep(folder)
    return opened


def _finish_erasing(core: Core) -> bool:
    from ibidem.repo.erasure.destroy import finish_on_open

    return finish_on_open(core)


def write_format(folder: Path) -> None:
    """Writes the file with the layout version of a new repository."""
    write_file(folder / _FORMAT_FILE, (json.dumps({"version": LAYOUT_VERSION}) + "\n").encode())


def check_format(folder: Path) -> None:
    """Raises as `open` does unless the folder is a repository that this program can read."""
    try:
        found = json.loads((folder / _FORMAT_FILE).read_bytes())["version"]
    except PermissionError as error:
        raise medium_error(folder, error) from error
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptError(
            f"format: {folder / _FORMAT_FILE} does not say a version",
            hint=f'restore it from a copy; this release writes {{"version": {LAYOUT_VERSION}}}',
        ) from error
    except OSError as error:
        raise NotFoundError(
            f"path: {folder.parent} has no repository in it",
            kind=ErrorKind.REPOSITORY_NOT_FOUND,
            hint="create one with 'repo init'",
        ) from error
    if found != LAYOUT_VERSION:
        raise unknown_version("format", found, (LAYOUT_VERSION,))
