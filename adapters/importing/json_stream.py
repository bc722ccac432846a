"""The elements of a long JSON array, one at a time, from a file or a part of an archive.

An export of conversations has hundreds of megabytes in one array. Only one element is in memory;
its size is limited, and so are the unpacked bytes of an archive, whatever sizes it states.
"""

from __future__ import annotations

import codecs
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from ibidem import CorruptError, ErrorKind, InvalidInputError
from ibidem.adapters.importing.source import Source

_READ_BYTES = 1 << 20
_BLANKS = " \t\r\n"
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError),
    *(OSError, ValueError),
)
"""The errors of `zipfile` for an archive that is damaged, encrypted or of an unknown method."""


def is_archive(head: bytes) -> bool:
    """Returns whether a file begins as an archive does."""
    return head.startswith(b"PK\x03\x04")


def part_names(source: Source) -> list[str]:
    """Returns the names of the parts of an archive, sorted; none for another file.

    Raises:
        InvalidInputError: it is damaged, or has too many parts.
    """
    with source.open() as stream:
        if not is_archive(stream.read(4)):
            return []
        with _opened(stream) as archive:
            return sorted(archive.namelist())


def elements(source: Source, part: str | None = None) -> Iterator[tuple[int, Any]]:
    """Yields the elements of an array with their index; another value is yielded alone, as 0.

    Args:
        part: the name of a part of the archive; None for the file itself.

    Raises:
        InvalidInputError: it is not JSON; kind `limit-exceeded`.
    """
    with source.open() as stream:
        if part is None:
            yield from _elements(source, stream)
            return
        with _opened(stream) as archive, archive.open(part) as unpacked:
            yield from _elements(source, unpacked)


@contextmanager
def _opened(stream: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(stream) as archive:
            yield archive
    except _BROKEN as error:
        if isinstance(error, InvalidInputError):
            raise
        raise CorruptError(f"archive: {error}, expected a zip file") from error


def _elements(source: Source, stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
    text = _Text(source, stream)
    if text.peek() != "[":
        yield 0, text.value("json")
    else:
        text.skip()
        index = 0
        while (sign := text.peek()) != "]":
            if index:
                text.expect(",", sign)
            yield index, text.value(f"element {index}")
            index += 1
        text.skip()
    if sign := text.peek():
        raise InvalidInputError(f"json: got {sign!r} after the value, expected the end")


class _Text:
    """The text that was read and not taken."""

    def __init__(self, source: Source, stream: IO[bytes]) -> None:
        self._limits = source.limits
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._buffer = ""
        self._start = 0
        self._size_bytes = 0
        self._is_end = False

    def peek(self) -> str:
        """Returns the next character that is not blank, the empty text at the end."""
        while True:
            while self._start < len(self._buffer) and self._buffer[self._start] in _BLANKS:
                self._start += 1
            if self._start < len(self._buffer):
                return self._buffer[self._start]
            if not self._read(_READ_BYTES):
                return ""

    def skip(self) -> None:
        """Takes one character."""
        self._start += 1

    def expect(self, wanted: str, found: str) -> None:
        """Takes one character, which must be the wanted one."""
        if found != wanted:
            raise InvalidInputError(f"json: got {found or 'the end'!r}, expected {wanted!r}")
        self.skip()

    def value(self, position: str) -> Any:
        """Takes one value; more is read until it is whole."""
        self.peek()
        step = _READ_BYTES
        while True:
            try:
                value, stop = json.JSONDecoder().raw_decode(self._buffer, self._start)
            except RecursionError:
                raise InvalidInputError(
                    f"{position}: nested too deep", kind=ErrorKind.LIMIT_EXCEEDED
                ) from None
            except ValueError as error:
                if self._is_end or not self._read(step):
                    raise InvalidInputError(f"{position}: not JSON: {error}") from error
                step *= 2  # so that a long value is not decoded once for each megabyte
                continue
            if stop == len(self._buffer) and self._read(_READ_BYTES):
                continue  # a number may go on
            self._start = stop
            return value

    def _read(self, size: int) -> bool:
        """Reads more; returns whether there was any."""
        data = self._stream.read(size)
        self._size_bytes += len(data)
        if self._size_bytes > self._limits.unpacked_bytes_max:
            raise InvalidInputError(
                f"file: more than {self._limits.unpacked_bytes_max:,} bytes",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        self._is_end = not data
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"json: not UTF-8: {error.reason}") from error
        self._buffer = self._buffer[self._start :] + text
        self._start = 0
        if len(self._buffer) > self._limits.element_bytes_max:
            raise InvalidInputError(
                f"json: an element of more than {self._limits.element_bytes_max:,} characters",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        return bool(data)
