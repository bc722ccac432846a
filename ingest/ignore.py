"""Decides which files `.gitignore` excludes; of nested ones, the deeper one takes precedence."""

from __future__ import annotations

from collections.abc import Sequence

from pathspec import GitIgnoreSpec

from ibidem.objects.record import record

IGNORE_NAME = ".gitignore"
IGNORE_BYTES_MAX = 1 << 20


@record
class Ignore:
    """The patterns of one `.gitignore`, for the files below `folder` (POSIX, "" for the root)."""

    folder: str
    spec: GitIgnoreSpec


def parse_ignore(folder: str, data: bytes) -> Ignore:
    """Returns the patterns in the bytes of a `.gitignore` in `folder`.

    Raises:
        ValueError: a line is not a pattern, or the bytes are not UTF-8.
    """
    return Ignore(folder, GitIgnoreSpec.from_lines(data.decode("utf-8-sig").splitlines()))


def is_ignored(path: str, ignores: Sequence[Ignore], *, folder: bool) -> bool:
    """Whether the innermost of `ignores` (outermost first) with a matching pattern excludes
    `path`."""
    for ignore in reversed(ignores):
        below = path[len(ignore.folder) + 1 :] if ignore.folder else path
        verdict = ignore.spec.check_file(below + "/" if folder else below).include
        if verdict is not None:
            return bool(verdict)
    return False
