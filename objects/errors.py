"""The error tree: one root, grouped by what a caller can do about it.

`kind` is a stable, append-only code; tests, vectors and the command line compare it, never the
text. A message is a lower-case clause that names the field, the value and the expectation. The next
step goes into `hint`.
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
    VIEWER_REQUIRED = "viewer-required"
    UNSIGNED = "unsigned"
    NOT_PERMITTED = "not-permitted"


class IbidemError(Exception):
    """Base class of every error that the library raises deliberately.

    The hint is also added as a note, so a traceback shows it under the message.
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
    """The named object was deliberately destroyed, in this repository or in the one that it came
    from."""

    kind = ErrorKind.ERASED


class ConflictError(IbidemError):
    """Another writer changed the same object first; look at the new state and retry."""

    kind = ErrorKind.CONFLICT


class CorruptError(IbidemError):
    """Bytes do not match their identifier or the format."""

    kind = ErrorKind.CORRUPT


class FormatError(IbidemError):
    """Written by a newer program, or with a feature that this one does not know."""

    kind = ErrorKind.UNSUPPORTED_FORMAT


UNREADABLE = (CorruptError, FormatError, NotFoundError)
"""The errors of a block that is damaged or missing, or that a newer program wrote."""


def unknown_version(
    field: str, version: object, known: Iterable[int], kind: ErrorKind | None = None
) -> FormatError:
    """Returns the error for a version that this program does not support; the message is the same
    everywhere.

    Args:
        field: the field that holds the version.
        known: the versions that this program supports.
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
    """A remote repository could not be reached, or its response was invalid."""

    kind = ErrorKind.REMOTE


class RunMismatchError(ReplayError):
    """A replayed agent did something other than what was recorded."""

    def __init__(
        self, run: str, index: int, recorded: str, replayed: str, details: list[str]
    ) -> None:
        self.step_index = index
        """The index of the step in the run; 0 is its beginning."""
        self.recorded = recorded
        """What the agent did when the run was recorded."""
        self.replayed = replayed
        """What the agent did in the replay."""
        lines = [
            f"run {run!r} no longer does what was recorded, from step {index} on",
            f"  recorded: {recorded}",
            f"  now:      {replayed}",
            *(f"  {line}" for line in details),
        ]
        super().__init__(
            "\n".join(lines),
            hint="if the change is meant, record the run again; if not, the code or prompt that "
            f"leads to step {index} has changed",
        )


class RecordedError(ReplayError):
    """The recorded failure of a tool whose error class is unknown here."""


class UnrecordedError(InvalidInputError, AttributeError):
    """The requested operation is not recorded by runs, so a replay could not return its result."""
