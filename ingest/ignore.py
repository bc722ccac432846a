"""Which files of a folder `.gitignore` leaves out: nested files, the deeper one decides."""

from __future__ import annotations

from collections.abc import Sequence

from pathspec import GitIgnoreSpec

from ibidem.objects.record import record

IGNORE_NAME = ".gitignore"
IGNORE_BYTES_MAX = 1 << 20


@record
class Ignore:
    """The patterns of one `.gitignore`, for what is below `folder` (POSIX, "" for the root)."""

    folder: str
    spec: GitIgnoreSpec


def parse_ignore(folder: str, data: bytes) -> Ignore:
    """Returns the patterns in the bytes of a `.gitignore` that stands in `folder`.

    Raises:
        ValueError: a line is not a pattern, or the bytes are not UTF-8.
    """
    return Ignore(folder, GitIgnoreSpec.from_lines(data.decode("utf-8-sig").splitlines()))


def is_ignored(path: str, ignores: Sequence[Ignore], *, folder: bool) -> bool:
    """Whether `path` is left out by the innermost of `ignores` (outermost first) that has a say."""
    for ignore in reversed(ignores):
        below = path[len(ignore.folder) + 1 :] if ignore.folder else path
        verdict = ignore.spec.check_file(below + "/" if folder else below).include
        if verdict is not None:
            return bool(verdict)
    return False
