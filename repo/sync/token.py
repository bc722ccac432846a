"""Tokens in files: made at random, for their owner only, never on a command line."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ibidem.objects.errors import InvalidInputError

_TOKEN_BYTES = 32


def token_in(path: Path) -> str:
    """Returns the token in a file, which is made, for its owner only, where it is missing.

    Raises:
        InvalidInputError: others may read the file, or it holds no token.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_token(path)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


def read_token(path: Path) -> str:
    """Returns the token in a file; raises `InvalidInputError` when others may read the file."""
    with path.open(encoding="utf-8", errors="replace") as file:
        if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
            raise InvalidInputError(
                f"token file: {path} may be read by others", hint=f"chmod 600 {path}"
            )
        token = file.read(1024).strip()
    if not token:
        raise InvalidInputError(f"token file: {path} is empty")
    return token
