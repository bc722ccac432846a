"""Exit codes: one total table from errors to numbers. The class of an error says what a caller can
do about it and so determines the code; a few kinds have a code of their own. `docs/exit-codes.md`
shows the same table and a test compares them.
"""

from __future__ import annotations

from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErasedError,
    ErrorKind,
    FormatError,
    IbidemError,
    IndexUnavailableError,
    InvalidInputError,
    NotFoundError,
    RecordedError,
    RemoteError,
    ReplayError,
    RunMismatchError,
    StorageError,
    UnrecordedError,
)

OK = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
NO_REPOSITORY = 10
CONFLICT = 11
CORRUPT = 12
UNSUPPORTED = 13
NO_INDEX = 14
STORAGE = 15
REMOTE = 16
INTERRUPTED = 130

MEANINGS: dict[int, str] = {
    OK: "done",
    FAILED: "a check failed, a merge left conflicts, a replay differs, or another failure",
    USAGE: "wrong options or invalid input",
    NOT_FOUND: "no such object or revision, or the prefix is ambiguous",
    NO_REPOSITORY: "no repository here",
    CONFLICT: "somebody else changed the same thing first",
    CORRUPT: "stored bytes are damaged",
    UNSUPPORTED: "written by a newer version",
    NO_INDEX: "the index is missing and could not be rebuilt",
    STORAGE: "the medium failed: full, read-only, locked, or an I/O error",
    REMOTE: "a remote repository cannot be reached, or refuses access",
    INTERRUPTED: "interrupted",
}

BY_CLASS: dict[type[IbidemError], int] = {
    IbidemError: FAILED,
    InvalidInputError: USAGE,
    NotFoundError: NOT_FOUND,
    ErasedError: NOT_FOUND,
    ConflictError: CONFLICT,
    CorruptError: CORRUPT,
    FormatError: UNSUPPORTED,
    IndexUnavailableError: NO_INDEX,
    StorageError: STORAGE,
    ReplayError: FAILED,
    RunMismatchError: FAILED,
    RecordedError: FAILED,
    UnrecordedError: USAGE,
    RemoteError: REMOTE,
}

BY_KIND: dict[ErrorKind, int] = {
    ErrorKind.REPOSITORY_NOT_FOUND: NO_REPOSITORY,
    ErrorKind.LOCKED: STORAGE,
    ErrorKind.UNSUPPORTED_FORMAT: UNSUPPORTED,
    ErrorKind.UNSUPPORTED_SEMANTICS: UNSUPPORTED,
}
"""Kinds with a code of their own, whatever their class."""


def exit_code(error: IbidemError) -> int:
    """Returns the code of `error`: its kind's, else that of its nearest class in the table."""
    if error.kind in BY_KIND:
        return BY_KIND[error.kind]
    return next(BY_CLASS[parent] for parent in type(error).__mro__ if parent in BY_CLASS)


def exit_code_help() -> str:
    """Returns the table as the help prints it."""
    rows = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())
    return f"\b\nExit codes:\n{rows}"
