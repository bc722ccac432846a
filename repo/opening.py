"""Opening and creating the core of a repository, wherever it is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.arguments import checked_path
from ibidem.repo.core import Clock, Core
from ibidem.repo.erasure.quarantines import sweep
from ibidem.repo.state import ERASING_CELL
from ibidem.store.backends import Location, folder_location, is_address, location_at
from ibidem.store.files import built_whole, medium_error
from ibidem.store.protocol import Store

FOLDER = ".ibidem"
LOCKS = "blocks"
"""The folder of locks, which a store in a folder shares."""


def system_clock() -> int:
    """Returns the time, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def location_of(path: str | os.PathLike[str]) -> Location:
    """Returns the location that an address names, a path or a URL, whether or not a repository is
    there.

    Raises:
        InvalidInputError: it is neither, or no backend has its scheme.
    """
    if isinstance(path, str) and is_address(path):
        return location_at(path)
    return folder_location(checked_path("path", path), FOLDER)


def open_core(
    path: str | os.PathLike[str],
    *,
    clock: Clock = system_clock,
    finish_erasing: bool = True,
) -> Core:
    """Opens the repository at an address; see `repo/open.py`."""
    location = location_of(path)
    if not location.is_folder:
        _make_local(location.folder)
    opened = Core(
        location.backend.open(location.address, location.folder), location.folder, clock, location
    )
    state = None
    if not location.is_folder:
        from ibidem.repo.erasure.shared import catch_up

        try:
            state = opened.operation_log.state()
            catch_up(opened, state)
        except BaseException:
            opened.close()
            raise
    if finish_erasing:
        opened.erasing_finisher = _finish_erasing
        if state is not None:
            opened.without_interrupted(state)
        elif opened.store.cell(ERASING_CELL) is not None:
            opened.without_interrupted(opened.operation_log.state())
        sweep(location.folder)
    return opened


def is_taken(location: Location) -> bool:
    """Returns whether there is a repository at a location, or something in its way."""
    if location.is_folder:
        return os.path.lexists(location.folder)
    try:
        location.backend.open(location.address, location.folder).close()
    except NotFoundError:
        return False
    return True


@contextmanager
def created(location: Location) -> Iterator[tuple[Store, Path]]:
    """Yields an empty store at a location and the folder of this machine's files. A repository is
    there once the block has ended; after an error nothing of it is left.

    Raises:
        InvalidInputError: a repository exists there already.
    """
    if not location.is_folder:
        _make_local(location.folder)
        with location.backend.create(location.address, location.folder) as store:
            yield store, location.folder
        return
    if is_taken(location):
        raise InvalidInputError(
            f"path: {location.folder} exists, expected a folder without a repository",
            hint="open the existing one: ibidem.open(path), or any other command of repo",
        )
    with (
        _gone_if_empty(location.folder.parent),
        built_whole(location.folder) as building,
        location.backend.create(location.address, building) as store,
    ):
        yield store, building


def _make_local(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / LOCKS).mkdir(exist_ok=True)
    except OSError as error:
        raise medium_error(folder, error) from error


@contextmanager
def _gone_if_empty(folder: Path) -> Iterator[None]:
    """Removes a folder that did not exist before, if it is still empty."""
    is_new = not folder.exists()
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _finish_erasing(core: Core) -> bool:
    from ibidem.repo.erasure.destroy import finish_on_open

    return finish_on_open(core)
