"""Finds the files to read in a folder that a user named: sorted, bounded, and never outside of it.

Folders are opened one below the other without following a link, in the walk and again when a file
is read; so a file that is replaced in between cannot lead out of the tree. A file is opened without
blocking (a pipe cannot hang the walk), and the check that it is a regular file is made after
opening. Each skipped file is reported with its reason; a folder that is left out is reported once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ibidem.ingest.ignore import (
    IGNORE_BYTES_MAX,
    IGNORE_NAME,
    Ignore,
    is_ignored,
    parse_ignore,
)
from ibidem.ingest.secret import is_secret_name
from ibidem.objects.record import record

FOLDER_DEPTH_MAX = 100
REPOSITORY = ".ibidem"
"""The repository's own folder, which is left out without a word."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = _FILE | getattr(os, "O_DIRECTORY", 0)


@record
class Found:
    """A file to read: `path` is its name in the repository, `base / below` its path on disk."""

    path: str
    base: Path
    below: str
    """The path from `base`, with "/" between folders; no link in it is followed."""
    stat: os.stat_result | None = None
    """Its numbers at the time of the walk; None if it could not be asked, and for a stream."""
    follow: bool = False
    """Whether the file itself may be a link: only if the user named it."""

    @property
    def size_bytes(self) -> int:
        """The size at the time of the walk; reading is bounded again."""
        return 0 if self.stat is None else self.stat.st_size


@record
class Skipped:
    """A file or folder that is left out, and the reason."""

    path: str
    reason: str


def walk(folder: Path, prefix: str, ignores: Sequence[Ignore] = ()) -> Iterator[Found | Skipped]:
    """Yields the files in `folder` and below, and the skipped entries, by name in byte order,
    folders and files mixed.

    Args:
        folder: the folder to start from; if it is a link, it is followed, because the user named
            it.
        prefix: name of the folder in the repository, "" for its root.
        ignores: patterns of the folders above, outermost first.

    Raises:
        OSError: `folder` itself cannot be read.
    """
    descriptor = os.open(folder, _FOLDER)
    try:
        yield from _Walk(folder, prefix).entries(descriptor, "", list(ignores), 0)
    finally:
        os.close(descriptor)


def ignores_above(root: Path, folder: Path) -> list[Ignore]:
    """Returns the patterns in the folders from `root` to above `folder`, outermost first."""
    found: list[Ignore] = []
    prefix = ""
    for part in folder.relative_to(root).parts:
        try:
            with opened(root / prefix, IGNORE_NAME) as descriptor:
                found.append(parse_ignore(prefix, read(descriptor, IGNORE_BYTES_MAX)))
        except (OSError, ValueError):
            pass  # a missing or unusable file has no patterns
        prefix = _join(prefix, part)
    return found


@contextmanager
def opened(base: Path, below: str, *, follow: bool = False) -> Iterator[int]:
    """Opens the regular file `base / below` and yields its descriptor.

    Raises:
        OSError: it cannot be opened, or its path contains a link.
        ValueError: it is not a regular file.
    """
    *folders, name = below.split("/")
    held = os.open(base, _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER | _NO_FOLLOW, dir_fd=held)
            os.close(held)
            held = inner
        descriptor = os.open(name, _FILE if follow else _FILE | _NO_FOLLOW, dir_fd=held)
    finally:
        os.close(held)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def is_missing(path: str | os.PathLike[str]) -> bool:
    """Returns whether there is no file of this name; False if that cannot be told, for example in a
    folder that may not be read."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def read(descriptor: int, size_bytes_max: int) -> bytes:
    """Returns the bytes of an open file, rejecting one over the limit before and while reading it.

    Raises:
        OSError: it cannot be read.
        ValueError: it is longer than `size_bytes_max`.
    """
    size_bytes = os.fstat(descriptor).st_size
    if size_bytes > size_bytes_max:
        raise ValueError(f"{size_bytes} bytes, at most {size_bytes_max}")
    pieces: list[bytes] = []
    left = size_bytes_max + 1
    while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise ValueError(f"grew past {size_bytes_max} bytes while it was read")
    return b"".join(pieces)


@record
class _Walk:
    base: Path
    prefix: str

    def entries(
        self, descriptor: int, below: str, ignores: list[Ignore], depth: int
    ) -> Iterator[Found | Skipped]:
        """Yields the entries of the open folder `below`."""
        with os.scandir(descriptor) as listed:
            entries = sorted(listed, key=lambda entry: os.fsencode(entry.name))
        if any(entry.name == IGNORE_NAME for entry in entries):
            yield from self._read_ignore(below, ignores := list(ignores))
        for entry in entries:
            inner = _join(below, entry.name)
            path = _join(self.prefix, inner)
            reason = _reason(entry, path, ignores)
            if reason is not None:
                if entry.name not in (IGNORE_NAME, REPOSITORY):
                    yield Skipped(printable(path), reason)
            elif not entry.is_dir(follow_symlinks=False):
                yield Found(path, self.base, inner, _stat(entry))
            elif depth + 1 >= FOLDER_DEPTH_MAX:
                yield Skipped(path, f"more than {FOLDER_DEPTH_MAX} folders deep")
            else:
                yield from self._below(descriptor, inner, ignores, depth + 1)

    def _below(
        self, descriptor: int, below: str, ignores: list[Ignore], depth: int
    ) -> Iterator[Found | Skipped]:
        name = below.rpartition("/")[2]
        try:
            inner = os.open(name, _FOLDER | _NO_FOLLOW, dir_fd=descriptor)
        except OSError as error:
            yield Skipped(_join(self.prefix, below), f"folder not readable: {error.strerror}")
            return
        try:
            yield from self.entries(inner, below, ignores, depth)
        finally:
            os.close(inner)

    def _read_ignore(self, below: str, ignores: list[Ignore]) -> Iterator[Skipped]:
        """Adds the patterns of the folder's own ignore file."""
        folder = _join(self.prefix, below) if below else self.prefix
        try:
            with opened(self.base, _join(below, IGNORE_NAME)) as descriptor:
                ignores.append(parse_ignore(folder, read(descriptor, IGNORE_BYTES_MAX)))
        except (OSError, ValueError) as error:
            yield Skipped(_join(folder, IGNORE_NAME), f"ignore file not used: {error}")


def printable(path: str) -> str:
    """Returns a path that can be displayed and encoded, for any bytes in the file system."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _reason(entry: os.DirEntry[str], path: str, ignores: Sequence[Ignore]) -> str | None:
    """Returns why an entry is left out, by its name and kind alone, None if it is not."""
    folder = entry.is_dir(follow_symlinks=False)
    if path != printable(path):
        return "name is not UTF-8"
    if is_secret_name(entry.name) and not folder:
        return "looks like a secret (by its name)"
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "symbolic link, not followed"
    if is_ignored(path, ignores, folder=folder):
        return f"ignored ({IGNORE_NAME})"
    if not folder and not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    return None


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:  # it was removed after it was listed: opening it reports that
        return None


def _join(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name
