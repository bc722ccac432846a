"""Hashes of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ibidem.objects.errors import StorageError


def sha256_of(path: Path) -> str:
    """Returns the hash of a file's bytes, in hexadecimal; raises `StorageError`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
