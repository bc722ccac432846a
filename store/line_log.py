"""A log of JSON objects, one per line, limited in size by a second, older file.

When the newer file has reached its maximal size, it replaces the older one. A line is handed to the
operating system in one piece and is not synced: a killed process loses none, a power cut may lose
the newest. A partial line that a killed process left behind is removed by the next writer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ibidem.store.files import append_whole, medium_error, read_file


class LineLog:
    """The log in one file and an older one beside it, which has the suffix `.1`."""

    def __init__(self, path: Path, *, bytes_max: int) -> None:
        """Names the files, neither of which has to exist.

        Args:
            path: the newer file, in a folder that exists when the first line is appended.
            bytes_max: size at which a file is full; its last line may go beyond it.
        """
        self._path = path
        self._bytes_max = bytes_max

    def append(self, line: Mapping[str, Any]) -> None:
        """Appends an object; the caller holds the lock of the folder.

        Raises:
            StorageError: the medium failed; nothing was appended.
        """
        data = json.dumps(line, sort_keys=True).encode() + b"\n"
        try:
            if self._path.exists() and self._path.stat().st_size >= self._bytes_max:
                self._path.replace(self._older)
            _append(self._path, data)
        except OSError as error:
            raise medium_error(self._path, error) from error

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yields the objects, oldest first."""
        for path in (self._older, self._path):
            for line in (read_file(path) or b"").splitlines():
                try:
                    found = json.loads(line)
                except ValueError:  # what a power cut left of a line
                    continue
                if isinstance(found, dict):
                    yield found

    @property
    def _older(self) -> Path:
        return self._path.with_suffix(".1")


def _append(path: Path, line: bytes) -> None:
    """Appends a line, under the lock; if only a part of it can be written, none is kept."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        if size:
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":
                # A process was killed in its line, which must not become the beginning of this one.
                size = path.read_bytes().rfind(b"\n") + 1
                os.ftruncate(descriptor, size)
        append_whole(descriptor, line, size_bytes=size)
    finally:
        os.close(descriptor)
