"""Where segments are kept: in memory, or as files named by their hash.

A file is written under a temporary name and renamed, so a name is a whole file or nothing. Large
files are flushed before the rename. Small ones are not, because every commit writes some: after a
power cut they may hold anything, so they are hashed when a process first opens them. Hashing a
large one would take longer than an answer; it is done when somebody wrote to the file since, which
its time of modification tells: ours is made from the name. Either way a file that is missing or
damaged means "build again", never a wrong answer.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from blake3 import blake3

from ibidem.index.arrays import Columns
from ibidem.index.segments.segment import ALIGNMENT, Piece, Segment, read_segment, segment_pieces
from ibidem.objects.errors import CorruptError, StorageError
from ibidem.store import files

SMALL_BYTES = 2 << 20
"""Files up to this size are not flushed and are hashed at open: 0.2 ms at most."""


class SegmentStore(Protocol):
    """Keeps segments by name."""

    def put(self, columns: Columns, meta: Mapping[str, Any] | None = None) -> Segment:
        """Keeps the columns and returns them as a segment."""
        ...


class MemorySegmentStore:
    """Keeps nothing beyond the segments themselves: they live while a snapshot holds them."""

    def put(self, columns: Columns, meta: Mapping[str, Any] | None = None) -> Segment:
        """Returns the columns as a segment; they must not be changed from then on."""
        for column in columns.values():
            column.flags.writeable = False
        size = sum(column.nbytes for column in columns.values())
        return Segment(f"memory-{next(_memory_names)}", columns, meta or {}, size)


class FolderSegmentStore:
    """Keeps segments as files in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.bytes_written = 0
        self._open: weakref.WeakValueDictionary[str, Segment] = weakref.WeakValueDictionary()

    def put(self, columns: Columns, meta: Mapping[str, Any] | None = None) -> Segment:
        """Writes the columns as a file and returns it, mapped.

        Raises:
            StorageError: the file could not be written; nothing is left of it.
        """
        size, pieces = segment_pieces(columns, meta or {})
        hasher = blake3()  # one thread: the pool of its library does not survive a fork
        for piece in pieces:
            hasher.update(piece)
        name = hasher.hexdigest()
        path = self.directory / name
        known = self._open.get(name)
        if known is not None and path.exists():
            return known
        self.bytes_written += size
        if size > SMALL_BYTES:
            write_file(path, pieces, is_flushed=True)
            _stamp(path)
            segment = read_segment(name, map_file(path))
        else:
            data = _aligned(pieces, size)
            write_file(path, [data], is_flushed=False)
            segment = read_segment(name, data)
        self._open[name] = segment
        return segment

    def open(self, name: str, *, verify: bool = False) -> Segment:
        """Returns the segment of that name; small files are hashed, and large ones that somebody
        wrote to, and all when `verify`.

        Raises:
            CorruptError: missing, cut short or damaged.
        """
        known = self._open.get(name)
        if known is not None and not verify:
            return known
        path = self.directory / name
        data = map_file(path)
        is_large = len(data) > SMALL_BYTES
        if verify or not is_large or not _is_stamped(path):
            if file_hash(data) != name:
                raise CorruptError(f"index file {name}: the bytes do not have that hash")
            if is_large:
                _stamp(path)
        segment = read_segment(name, data)
        self._open[name] = segment
        return segment

    def __contains__(self, name: str) -> bool:
        """Tells whether a segment came from here, whatever became of its file."""
        return name in self._open

    def damaged(self, names: Iterable[str]) -> set[str]:
        """Returns those of the files of this shelf that are not what their names say; all are
        hashed."""
        return {
            name for name in names if name in self and not _has_hash(self.directory / name, name)
        }

    def discard(self, names: Iterable[str]) -> bool:
        """Removes files and forgets that they were open; tells whether all of them are gone."""
        gone = set(names)
        for name in gone:
            self._open.pop(name, None)
        self.unlink(gone)
        return not any((self.directory / name).exists() for name in gone)

    def names(self) -> list[str]:
        """Returns the names of all files, temporary ones included."""
        return sorted(names_in(self.directory))

    def unlink(self, names: Iterable[str]) -> None:
        """Removes files; those that are mapped stay readable until their last array is gone."""
        for name in names:
            unlink(self.directory / name)


def names_in(directory: Path) -> list[str]:
    """Returns the names of all files; none where it is not there yet, or not readable."""
    try:
        return os.listdir(directory)  # noqa: PTH208  asked at every commit
    except OSError:
        return []


def make_folder(path: Path) -> None:
    """Makes a folder where there is none.

    Raises:
        StorageError: the medium refused.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"index folder {path}: {error.strerror}") from error


def unlink(path: Path) -> None:
    """Removes a file if that is possible; a file too many is no harm."""
    with suppress(OSError):
        path.unlink()


def _stamp(path: Path) -> None:
    """Gives a file the time that says that nobody wrote to it after us."""
    with suppress(OSError):  # then it is hashed at the next open too
        os.utime(path, (_stamped_seconds(path.name),) * 2)


def _is_stamped(path: Path) -> bool:
    try:
        return path.stat().st_mtime_ns == _stamped_seconds(path.name) * 1_000_000_000
    except OSError:
        return False


def _stamped_seconds(name: str) -> int:
    """Returns an even number, below 2^31, of seconds since 1970: what every file system can
    keep."""
    return int(name[:7], 16) * 2


def _has_hash(path: Path, name: str) -> bool:
    try:
        return file_hash(map_file(path)) == name
    except (CorruptError, StorageError):
        return False


def _aligned(pieces: Iterable[Piece], size_bytes: int) -> memoryview:
    """Returns the pieces in one buffer, aligned as a mapping is."""
    room = np.empty(size_bytes + ALIGNMENT, dtype=np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    target = room[start : start + size_bytes].data
    place = 0
    for piece in pieces:
        target[place : place + len(piece)] = piece
        place += len(piece)
    return target


def file_hash(data: bytes | mmap.mmap) -> str:
    """Returns the blake3 of the bytes as 64 hexadecimal digits."""
    return blake3(data).hexdigest()


def map_file(path: Path) -> mmap.mmap:
    """Returns the file as a read-only mapping.

    Raises:
        CorruptError: it is missing or empty.
    """
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, ValueError) as error:
        raise CorruptError(f"index file {path.name}: it is missing or empty") from error
    except OSError as error:
        raise StorageError(f"index file {path}: {error.strerror}") from error


def write_file(path: Path, pieces: Sequence[Piece], *, is_flushed: bool) -> None:
    """Writes a file in one step: under its name it is whole, or not there.

    Its folder is made where there is none, or no more.

    Raises:
        StorageError: the medium refused; the temporary file is removed.
    """
    try:
        files.write_file(path, pieces, is_durable=is_flushed)
    except StorageError as error:
        if error.errno != errno.ENOENT:
            raise
        make_folder(path.parent)
        files.write_file(path, pieces, is_durable=is_flushed)


_memory_names = itertools.count()
"""Over all shelves: a name stands for the same columns wherever it is met."""
