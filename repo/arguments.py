"""Arguments that the repository's calls share: who commits and when, paths, ids made at random."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.revision import microseconds

if TYPE_CHECKING:
    from ibidem.repo.sign.key import SigningKey


@record
class Signature:
    """Who commits, when, and why."""

    author: str
    message: str
    time: int | None
    agent: str | None = None
    task: str | None = None
    key: SigningKey | None = None
    """Signs the commit."""


def signature(
    author: str,
    message: str,
    time: int | datetime | None,
    agent: str | None,
    task: str | None,
    key: SigningKey | None = None,
) -> Signature:
    """Returns who commits, when and why, each of its type."""
    for field, value in (
        ("author", author),
        ("message", message),
        ("agent", agent),
        ("task", task),
    ):
        if not isinstance(value, str) and not (value is None and field in ("agent", "task")):
            raise InvalidInputError(f"{field}: got {value!r:.80}, expected text")
    return Signature(author, message, checked_time(time), agent, task, key)


def checked_time(time: int | datetime | None) -> int | None:
    """Returns a time in microseconds since 1970 UTC, None for the clock's."""
    if isinstance(time, datetime):
        return microseconds(time)
    if time is not None and type(time) is not int:
        raise InvalidInputError(
            f"time: got {time!r:.80}, expected microseconds since 1970 UTC, or a datetime"
        )
    return time


def checked_path(field: str, path: object) -> Path:
    """Returns a path that a caller gave.

    Raises:
        InvalidInputError: it is neither text nor a path, is empty, or no system can have it.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInputError(f"{field}: got {path!r:.80}, expected a path")
    return Path(text)


def random_id(time: int) -> NodeId:
    """Returns an id in the form of a UUID version 7: milliseconds first, then random bits."""
    value = (time // 1000 & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    return NodeId(value.to_bytes(16, "big"))
