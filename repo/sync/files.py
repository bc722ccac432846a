"""Files of copies, written completely or not at all; and token files, for their owner only."""

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
    """Yields a file that gets its name once it is complete; an existing file of that name is kept.

    Raises:
        InvalidInputError: the name exists already.
        StorageError: a disk error; no file is left.
    """
    return whole_file(path, is_new=True)


@contextmanager
def existing_file(path: Path) -> Iterator[BinaryIO]:
    """Yields a file for reading.

    Raises:
        NotFoundError: there is none.
        InvalidInputError: it is not a regular file, such as a folder or a pipe.
        StorageError: it cannot be read.
    """
    try:
        # Opening a pipe without a writer must not block; folders can be opened too.
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
    """Returns the token in a file, which is created, readable by its owner only, if it is missing.

    Raises:
        InvalidInputError: others may read the file, or it holds no token.
        StorageError: it can be neither created nor read.
    """
    if not os.path.lexists(path):
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        # If another process created it first, its token is read below.
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
