"""Repositories in a folder of this machine: a file with the version of the layout, and LMDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ibidem.objects.errors import CorruptError, ErrorKind, NotFoundError, unknown_version
from ibidem.store.files import medium_error, write_file
from ibidem.store.lmdb.store import LmdbStore
from ibidem.store.protocol import LayoutReport, Store

LAYOUT_VERSION = 1
_FORMAT_FILE = "format"
_BLOCKS = "blocks"


class FolderBackend:
    """Creates and opens stores in a folder."""

    @contextmanager
    def create(self, address: str, folder: Path) -> Iterator[Store]:
        """Yields a new store in a folder, which is a repository once the block has ended."""
        with LmdbStore.create(folder / _BLOCKS) as store:
            yield store
        write_file(folder / _FORMAT_FILE, (json.dumps({"version": LAYOUT_VERSION}) + "\n").encode())

    def open(self, address: str, folder: Path) -> Store:
        """Opens the store in a folder; see `Backend`."""
        check_format(folder)
        return LmdbStore.open(folder / _BLOCKS)

    def check(self, address: str, folder: Path) -> LayoutReport:
        """Checks the pages of the store's file: opening a file with a damaged layout can crash the
        process."""
        from ibidem.store.lmdb.file import layout_report

        check_format(folder)
        return layout_report(folder / _BLOCKS)


FOLDER = FolderBackend()


def check_format(folder: Path) -> dict[str, object]:
    """Returns what the file of the format says; raises as `open` does unless the folder is a
    repository that this program can read."""
    try:
        content: dict[str, object] = json.loads((folder / _FORMAT_FILE).read_bytes())
        found = content["version"]
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
            hint="create one with 'repo init', or ibidem.open(path, create=True)",
        ) from error
    if found != LAYOUT_VERSION:
        raise unknown_version("format", found, (LAYOUT_VERSION,))
    return content
