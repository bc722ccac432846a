"""Where segments are kept: in memory, or as files named by their hash.

A file is written under a temporary name and renamed, so a name always has a complete file, or none.
A large segment is written when it is put. A small one stays in memory until a snapshot that has it
is written, since the next commits will merge it with their rows. Large files are flushed before the
rename. Small ones are not: after a power cut they may hold anything, so their columns are compared
with their checksums when a process first opens them; those of large files when they are read.
Either way a file that is missing or damaged means "build again", never a wrong answer.
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

from ibidem.index.arrays import Columns
from ibidem.index.segments.segment import (
    Piece,
    Segment,
    SegmentFile,
    check_digest,
    read_segment,
)
from ibidem.objects.errors import CorruptError, StorageError
from ibidem.store import files

SMALL_BYTES = 2 << 20
"""Files up to this size are written with their snapshot, are not flushed, and are compared in whole
at open: 0.1 ms at most."""


class SegmentStore(Protocol):
    """Keeps segments by name."""

    def put(self, columns: Columns, meta: Mapping[str, Any] | None = None) -> Segment:
        """Keeps the columns and returns them as a segment."""
        ...


class RemoteSegments(Protocol):
    """Has segments that are not in the directory of an index."""

    def open(self, name: str) -> Segment:
        """Returns a segment; raises `CorruptError` if it is not there."""
        ...

    def verify(self, name: str) -> None:
        """Reads and hashes a whole segment; raises as `open` does."""
        ...

    def discard(self, names: Iterable[str]) -> None:
        """Forgets segments that turned out to be damaged."""
        ...

    def __contains__(self, name: str) -> bool:
        """Returns whether a segment is there."""
        ...


class MemorySegmentStore:
    """Keeps no references to its segments: they live while a snapshot holds them."""

    def put(self, columns: Columns, meta: Mapping[str, Any] | None = None) -> Segment:
        """Returns the columns as a segment; they must not be changed from then on."""
        for column in columns.values():
            column.flags.writeable = False
        size = sum(column.nbytes for column in columns.values())
        return Segment(f"memory-{next(_memory_names)}", columns, meta or {}, size)


class TemporarySegmentStore:
    """Keeps segments in files without names, which end with their last array, also if the process
    is killed; in memory where the system or the disk has no such file."""

    def __init__(self, directory: Path) -> None:
        """Writes nothing yet.

        Args:
            directory: on the disk that is used; it exists.
        """
        self._directory = directory

    def put(self, columns: Columns, meta: Mapping[str, Any] | None = None) -> Segment:
        """Returns the columns as a segment; they must not be changed from then on."""
        file = SegmentFile.of(columns, meta or {})
        data = self._written(file)
        if data is None:
            return MemorySegmentStore().put(columns, meta)
        return read_segment(file.name, data)

    def _written(self, file: SegmentFile) -> mmap.mmap | None:
        flag: int | None = getattr(os, "O_TMPFILE", None)
        if flag is None:
            return None
        with suppress(OSError):
            handle = os.open(self._directory, flag | os.O_RDWR, 0o600)
            with os.fdopen(handle, "wb") as written:
                written.writelines(file.pieces)
                written.flush()
                return mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
        return None


class FolderSegmentStore:
    """Keeps segments as files in one directory."""

    def __init__(self, directory: Path, *, remote: RemoteSegments | None = None) -> None:
        """Opens nothing yet.

        Args:
            remote: has segments that are not in the directory.
        """
        self.directory = directory
        self.remote = remote
        self.bytes_written = 0
        self._open: weakref.WeakValueDictionary[str, Segment] = weakref.WeakValueDictionary()
        self._unwritten: weakref.WeakKeyDictionary[Segment, SegmentFile]
        self._unwritten = weakref.WeakKeyDictionary()
        self._put: set[str] | None = None
        """Files that may belong to no snapshot: those in the directory when `unused` was first
        called, and the large ones that were put since; None before."""

    def put(self, columns: Columns, meta: Mapping[str, Any] | None = None) -> Segment:
        """Returns the columns as a segment; they must not be changed from then on. A large one is
        written and mapped, a small one written by `write`.

        Raises:
            StorageError: the file could not be written; no part of it remains.
        """
        file = SegmentFile.of(columns, meta or {})
        path = self.directory / file.name
        known = self._open.get(file.name)
        if (
            known is not None
            and not known.is_damaged
            and (self.is_unwritten(known) or path.exists())
        ):
            return known
        segment = None
        if file.size_bytes > SMALL_BYTES:
            self._write(file)
            with suppress(CorruptError):  # another process has removed it: no snapshot names it yet
                segment = read_segment(file.name, map_file(path))
        if segment is None:
            for column in file.columns.values():
                column.flags.writeable = False
            segment = Segment(file.name, file.columns, meta or {}, file.size_bytes)
            self._unwritten[segment] = file
        self._open[file.name] = segment
        if self._put is not None and not self.is_unwritten(segment):
            self._put.add(file.name)
        return segment

    def unused(self) -> set[str]:
        """Returns, once each, the names of files that this process holds no longer and that perhaps
        no snapshot on disk names: the large segments that were put here, and what was in the
        directory before, perhaps left by another process."""
        if self._put is None:
            self._put = {name for name in names_in(self.directory) if name[0] != "."}
        found = {name for name in list(self._put) if name not in self._open}
        self._put -= found
        return found

    def is_unwritten(self, segment: Segment) -> bool:
        """Returns whether a segment is only in memory."""
        return segment in self._unwritten

    def write(self, segment: Segment) -> None:
        """Writes the file of a segment; raises as `put` does."""
        self._write(self._unwritten.get(segment) or SegmentFile.of(segment.columns(), segment.meta))
        self._unwritten.pop(segment, None)

    def _write(self, file: SegmentFile) -> None:
        self.bytes_written += file.size_bytes
        is_large = file.size_bytes > SMALL_BYTES
        write_file(self.directory / file.name, file.pieces, is_flushed=is_large)

    def open(self, name: str) -> Segment:
        """Returns the segment of that name; in a small file, its columns are checked at once.

        Raises:
            CorruptError: missing, cut short or damaged.
        """
        known = self._open.get(name)
        if known is not None:
            return known
        if self.is_remote(name):
            assert self.remote is not None, "BUG: nothing is remote"
            self._open[name] = found = self.remote.open(name)
            return found
        data = map_file(self.directory / name)
        segment = read_segment(name, data)
        if segment.name != name:
            raise CorruptError(f"index file {name}: it holds the segment {segment.name}")
        if len(data) <= SMALL_BYTES:
            segment.columns()
        self._open[name] = segment
        return segment

    def verify(self, name: str) -> None:
        """Hashes the whole file of that name, if it was written.

        Raises:
            CorruptError: missing, cut short or damaged.
        """
        known = self._open.get(name)
        if known is not None and self.is_unwritten(known):
            return
        if self.is_remote(name):
            assert self.remote is not None, "BUG: nothing is remote"
            self.remote.verify(name)
            return
        data = map_file(self.directory / name)
        check_digest(name, data)
        if read_segment(name, data).name != name:
            raise CorruptError(f"index file {name}: it holds another segment")

    def is_remote(self, name: str) -> bool:
        """Returns whether a segment is not in the directory, but remote."""
        remote = self.remote
        return remote is not None and not (self.directory / name).exists() and name in remote

    def __contains__(self, name: str) -> bool:
        """Returns whether this store has opened or written a segment, whether or not its file still
        exists."""
        return name in self._open

    def damaged(self, names: Iterable[str]) -> set[str]:
        """Returns the names of damaged files: those that do not match their names now, or did not
        when they were read. All files are hashed."""
        return {name for name in names if name in self and self._is_damaged(name)}

    def discard(self, names: Iterable[str]) -> bool:
        """Removes files and drops their open segments; returns whether all files are gone."""
        gone = set(names)
        for name in gone:
            self._open.pop(name, None)
        if self.remote is not None:
            self.remote.discard(gone)
        self.unlink(gone)
        return not any((self.directory / name).exists() for name in gone)

    def names(self) -> list[str]:
        """Returns the names of all files, temporary ones included."""
        return sorted(names_in(self.directory))

    def unlink(self, names: Iterable[str]) -> None:
        """Removes files; mapped files stay readable until their last array is released."""
        for name in names:
            unlink(self.directory / name)

    def _is_damaged(self, name: str) -> bool:
        segment = self._open.get(name)
        if segment is not None and segment.is_damaged:
            return True
        if self.is_remote(name):
            return False  # what was read of it was compared
        try:
            self.verify(name)
        except (CorruptError, StorageError):
            return True
        return False


def names_in(directory: Path) -> list[str]:
    """Returns the names of all files; none if the directory does not exist or is not readable."""
    try:
        return os.listdir(directory)  # noqa: PTH208  asked at every commit
    except OSError:
        return []


def make_folder(path: Path) -> None:
    """Creates a folder if it does not exist.

    Raises:
        StorageError: the folder cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"index folder {path}: {error.strerror}") from error


def unlink(path: Path) -> None:
    """Removes a file if possible; a leftover file does no harm."""
    with suppress(OSError):
        path.unlink()


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
    """Writes a file atomically: under its name it is complete or absent.

    Its folder is created if it does not exist, or no longer exists.

    Raises:
        StorageError: the file cannot be written; the temporary file is removed.
    """
    try:
        files.write_file(path, pieces, is_durable=is_flushed)
    except StorageError as error:
        if error.errno != errno.ENOENT:
            raise
        make_folder(path.parent)
        files.write_file(path, pieces, is_durable=is_flushed)


_memory_names = itertools.count()
"""Shared by all stores: a name identifies the same columns everywhere."""
