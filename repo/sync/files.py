"""Files of copies: written whole or not at all, read only where they are plain files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ibidem.objects.errors import InvalidInputError, NotFoundError


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Yields a file that gets its name when it is whole; what has the name already is kept.

    Raises:
        InvalidInputError: there is something of that name.
    """
    if path.is_symlink() or path.exists():
        raise InvalidInputError(f"file: {path} exists, expected the name of a new file")
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # A link, unlike a rename, never replaces what somebody else put there meanwhile.
        try:
            os.link(draft, path)
        except FileExistsError as error:
            raise InvalidInputError(f"file: {path} exists by now") from error
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def existing_file(path: Path) -> Iterator[IO[bytes]]:
    """Yields a file for reading.

    Raises:
        NotFoundError: there is none.
        InvalidInputError: it is not a plain file, such as a folder or a pipe.
    """
    try:
        # A pipe that nobody writes to must not hold us up.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError as error:
        raise NotFoundError(f"file: there is no {path}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidInputError(f"file: {path} is not a plain file")
        yield file
