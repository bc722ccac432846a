"""Files to read, from names that a user gave: sorted, bounded, and never outside what was named.

Folders are opened one below the other, without following a link, and files relative to their open
folder; so nothing that is swapped during the walk leads out of the tree. A file is opened without
waiting (a pipe cannot hang the walk) and must be a regular file after it is open, not before.
What is left out is reported with its reason; a folder that is left out is reported once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ibidem.ingest.ignore import IGNORE_BYTES_MAX, IGNORE_NAME, Ignore, is_ignored, parse_ignore
from ibidem.ingest.secret import is_secret_name

FOLDER_DEPTH_MAX = 100
_FILE_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = _FILE_FLAGS | getattr(os, "O_DIRECTORY", 0)


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read: `path` is its name in the repository, `file` where it is on this machine."""

    path: str
    file: Path


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is left out, and why."""

    path: str
    reason: str


def walk(folder: Path, prefix: str, ignores: Sequence[Ignore] = ()) -> Iterator[Found | Skipped]:
    """Yields what is in `folder` and below, by name in byte order, folders and files mixed.

    Args:
        folder: where to begin; a link here is followed, for the user named it.
        prefix: name of the folder in the repository, "" for its root.
        ignores: patterns of the folders above, outermost first.

    Raises:
        OSError: `folder` itself cannot be read.
    """
    descriptor = os.open(folder, _FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        yield from _walk(descriptor, folder, prefix, list(ignores), 0)
    finally:
        os.close(descriptor)


def ignores_above(root: Path, folder: Path) -> list[Ignore]:
    """Returns the patterns that stand in `root` and below it, above `folder`; outermost first."""
    found: list[Ignore] = []
    at, prefix = root, ""
    for part in folder.relative_to(root).parts:
        try:
            data = read_file(at / IGNORE_NAME, size_bytes_max=IGNORE_BYTES_MAX)
            found.append(parse_ignore(prefix, data))
        except (OSError, ValueError):
            pass
        at, prefix = at / part, f"{prefix}/{part}" if prefix else part
    return found


@contextmanager
def opened(file: Path | str, folder: int | None = None, *, follow: bool = False) -> Iterator[int]:
    """Opens a regular file for reading and gives its descriptor; anything else is a ValueError.

    Raises:
        OSError: it cannot be opened; a link counts as one unless `follow`.
        ValueError: it is not a regular file.
    """
    flags = _FILE_FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if follow else _FILE_FLAGS
    descriptor = os.open(file, flags, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def read_file(file: Path | str, folder: int | None = None, *, size_bytes_max: int, follow: bool = False) -> bytes:
    """Returns the bytes of a regular file, refusing one over the limit before and while reading it.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a regular file, or longer than `size_bytes_max`.
    """
    with opened(file, folder, follow=follow) as descriptor:
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


def _walk(
    descriptor: int, folder: Path, prefix: str, ignores: list[Ignore], depth: int
) -> Iterator[Found | Skipped]:
    entries, ignores = _entries(descriptor), list(ignores)
    if any(entry.name == IGNORE_NAME for entry in entries):
        try:
            data = read_file(IGNORE_NAME, descriptor, size_bytes_max=IGNORE_BYTES_MAX)
            ignores.append(parse_ignore(prefix, data))
        except (OSError, ValueError) as error:
            yield Skipped(_join(prefix, IGNORE_NAME), f"ignore file not used: {error}")
    for entry in entries:
        path = _join(prefix, entry.name)
        reason = _reason(entry, path, ignores)
        if reason is not None:
            yield Skipped(path, reason)
        elif not entry.is_dir(follow_symlinks=False):
            yield Found(path, folder / entry.name)
        elif depth + 1 >= FOLDER_DEPTH_MAX:
            yield Skipped(path, f"more than {FOLDER_DEPTH_MAX} folders deep")
        else:
            yield from _walk_below(descriptor, folder / entry.name, path, ignores, depth + 1)


def _walk_below(
    descriptor: int, folder: Path, path: str, ignores: list[Ignore], depth: int
) -> Iterator[Found | Skipped]:
    try:
        below = os.open(folder.name, _FOLDER_FLAGS, dir_fd=descriptor)
    except OSError as error:
        yield Skipped(path, f"folder not readable: {error.strerror}")
        return
    try:
        yield from _walk(below, folder, path, ignores, depth)
    finally:
        os.close(below)


def _entries(descriptor: int) -> list[os.DirEntry[str]]:
    with os.scandir(descriptor) as entries:
        return sorted(entries, key=lambda entry: os.fsencode(entry.name))


def _reason(entry: os.DirEntry[str], path: str, ignores: Sequence[Ignore]) -> str | None:
    """Why an entry is left out, by its name and kind alone."""
    folder = entry.is_dir(follow_symlinks=False)
    if not _is_utf8(path):
        return "name is not UTF-8"
    if is_secret_name(entry.name) and not folder:
        return "looks like a secret (by its name)"
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "symbolic link, not followed"
    if is_ignored(path, ignores, folder=folder):
        return "ignored (.gitignore)"
    if not folder and not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    return None


def _is_utf8(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _join(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name
