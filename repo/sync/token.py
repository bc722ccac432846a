"""Tokens in files: made at random, for their owner only, never on a command line."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from ibidem.objects.errors import InvalidInputError
from ibidem.repo.sync.files import existing_file
from ibidem.store.files import whole_file

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
