"""The error tree: one root, grouped by what a caller can do about it.

`kind` is a stable, append-only code; tests, vectors and the command line compare it, never the
text. A message is a lower-case clause that names the field, the value and the expectation. What to
do next goes into `hint`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class ErrorKind(StrEnum):
    """Stable codes, append-only; each is raised by a class below or a subclass of one."""

    INVALID_INPUT = "invalid-input"
    ID_COLLISION = "id-collision"
    FORGOTTEN = "forgotten"
    DANGLING_REFERENCE = "dangling-reference"
    DIMENSION_MISMATCH = "dimension-mismatch"
    UNKNOWN_MODEL = "unknown-model"
    NOT_FOUND = "not-found"
    BLOCK_NOT_FOUND = "block-not-found"
    REVISION_NOT_FOUND = "revision-not-found"
    REPOSITORY_NOT_FOUND = "repository-not-found"
    AMBIGUOUS = "ambiguous"
    CONFLICT = "conflict"
    HEAD_MOVED = "head-moved"
    LOCKED = "locked"
    CORRUPT = "corrupt"
    NON_CANONICAL = "non-canonical"
    HASH_MISMATCH = "hash-mismatch"
    LIMIT_EXCEEDED = "limit-exceeded"
    UNSUPPORTED_FORMAT = "unsupported-format"
    UNSUPPORTED_SEMANTICS = "unsupported-semantics"
    ERASED = "erased"
    INDEX_UNAVAILABLE = "index-unavailable"
    STORAGE = "storage"
    REPLAY_MISMATCH = "replay-mismatch"
    MODEL_MISMATCH = "model-mismatch"
    MISSING_PACKAGE = "missing-package"
    NOT_FAST_FORWARD = "not-fast-forward"
    UNAUTHORIZED = "unauthorized"
    REMOTE = "remote"
    TRUST_REQUIRED = "trust-required"
    UNSIGNED = "unsigned"
    NOT_PERMITTED = "not-permitted"


class IbidemError(Exception):
    """Root of every error that the library raises on purpose.

    The hint is a note too, so a traceback shows it under the message.
    """

    kind: ErrorKind = ErrorKind.INVALID_INPUT

    def __init__(
        self, message: str, *, kind: ErrorKind | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind
        self.hint = hint
        if hint is not None:
            self.add_note(f"hint: {hint}")


class InvalidInputError(IbidemError, ValueError):
    """The caller's argument is wrong; nothing was changed."""

    kind = ErrorKind.INVALID_INPUT


class NotFoundError(IbidemError, LookupError):
    """The object, revision, label or repository that was named does not exist."""

    kind = ErrorKind.NOT_FOUND


class ErasedError(NotFoundError):
    """What was named was destroyed on purpose, here or where it came from."""

    kind = ErrorKind.ERASED


class ConflictError(IbidemError):
    """Someone else changed the same thing first; look at the new state and try again."""

    kind = ErrorKind.CONFLICT


class CorruptError(IbidemError):
    """Bytes are not what their identifier or the format says."""

    kind = ErrorKind.CORRUPT


class FormatError(IbidemError):
    """Written by a newer program, or with a feature that this one does not know."""

    kind = ErrorKind.UNSUPPORTED_FORMAT


def unknown_version(
    field: str, version: object, known: Iterable[int], kind: ErrorKind | None = None
) -> FormatError:
    """Returns the error for a version that this program does not have, the same wherever it stands.

    Args:
        field: where the version was read.
        known: the versions that this program has.
        kind: None for `unsupported-format`.
    """
    return FormatError(
        f"{field}: got version {version!r:.80}, expected one of {sorted(known)}",
        kind=kind,
        hint="upgrade: a newer release of ibidem may read it",
    )


class IndexUnavailableError(IbidemError):
    """The index is missing or damaged and could not be rebuilt."""

    kind = ErrorKind.INDEX_UNAVAILABLE


class StorageError(IbidemError, OSError):
    """The medium failed: full, read-only, locked, or an input/output error."""

    kind = ErrorKind.STORAGE


class ReplayError(IbidemError):
    """A receipt cannot be replayed, or its replay gave other bytes."""

    kind = ErrorKind.REPLAY_MISMATCH


class RemoteError(IbidemError):
    """A repository elsewhere could not be reached, or did not answer as it must."""

    kind = ErrorKind.REMOTE
