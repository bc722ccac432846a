"""Files of copies: written whole or not at all; and tokens in files, for their owner only."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ibidem.objects.errors import InvalidInputError, NotFoundError, StorageError
from ibidem.store.files import medium_error, whole_file


def new_file(path: Path) -> AbstractContextManager[BinaryIO]:
    """Yields a file that gets its name when it is whole; what has the name already is kept.

    Raises:
        InvalidInputError: there is something of that name.
        StorageError: the disk refuses; nothing is left.
    """
    return whole_file(path, is_new=True)


@contextmanager
def existing_file(path: Path) -> Iterator[BinaryIO]:
    """Yields a file for reading.

    Raises:
        NotFoundError: there is none.
        InvalidInputError: it is not a plain file, such as a folder or a pipe.
        StorageError: it cannot be read.
    """
    try:
        # A pipe that nobody writes to must not hold us up, and a folder can be opened too.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with ExitStack() as stack:
            stack.callback(os.close, descriptor)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InvalidInputError(f"file: {path} is not a plain file")
            yield stack.enter_context(os.fdopen(descriptor, "rb", closefd=False))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"file: there is no {path}") from error
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise medium_error(path, error) from error


_TOKEN_BYTES = 32


def token_in(path: Path) -> str:
    """Returns the token in a file, which is made, for its owner only, where it is missing.

    Raises:
        InvalidInputError: others may read the file, or it holds no token.
        StorageError: it can be neither made nor read.
    """
    if not os.path.lexists(path):
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        # Who was first made the token, and it is read below.
        with suppress(InvalidInputError), whole_file(path, mode=0o600, is_new=True) as file:
            file.write(f"{token}\n".encode("ascii"))
    return read_token(path)


def read_token(path: Path) -> str:
    """Returns the token in a file.

    Raises:
        NotFoundError: there is no such file.
        InvalidInputError: others may read the file, or it holds no token.
        StorageError: it cannot be read.
    """
    with existing_file(path) as file:
        if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
            raise InvalidInputError(
                f"token file: {path} may be read by others", hint=f"chmod 600 {path}"
            )
        token = file.read(1024).decode("utf-8", "replace").strip()
    if not token:
        raise InvalidInputError(f"token file: {path} is empty")
    return token
