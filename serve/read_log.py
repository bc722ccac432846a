"""The audit log of a server: one line for each request with a valid token.

A line says when, which token, which viewer, which route, with which result, and for a question also
its root and its digest. It has no text: the digest is keyed with a key of the repository's folder,
so it only shows whether two questions are equal. The line is written before the answer is sent; if
it cannot be written, nothing is answered. The log is limited in size, and is never copied.

Spec: trust 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibidem.memory.recall.query_log import QueryLog
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.store.files import folder_lock
from ibidem.store.line_log import LineLog

if TYPE_CHECKING:
    from ibidem.objects.cid import RootCid
    from ibidem.retrieve.query.query import Query
    from ibidem.serve.tokens import Token

FILE = Path("local") / "reads.jsonl"
LOG_BYTES_MAX = 4 << 20
"""Size in bytes at which the log is rotated; one older part is kept."""
_LINES_MAX = 1000


class Subject:
    """What a question was about; filled in while it is answered."""

    root: RootCid | None = None
    query: Query | None = None


@record
class Read:
    """One line of the log."""

    time: int
    """Microseconds since 1970 UTC."""
    token: str
    """Its name."""
    viewer: dict[str, Any]
    """The canonical form of its viewer."""
    route: str
    """The path of the request, or `unknown`."""
    result: str
    """`ok`, or the kind of the error."""
    root: str | None
    query: str | None
    """The digest of the resolved query, 32 digits."""


_FIELDS = {one.name for one in fields(Read)}


class ReadLog:
    """The audit log of one repository; in memory if it has no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._log = None if folder is None else LineLog(folder / FILE, bytes_max=LOG_BYTES_MAX)
        self._folder = None if folder is None else (folder / FILE).parent
        self._in_memory: list[Read] = []
        self._digests = QueryLog(folder)
        self._lock = ForkLock()
        """Threads wait for it without polling, unlike for the lock of the folder."""

    def append(self, token: Token, route: str, *, time: int, result: str, subject: Subject) -> None:
        """Appends one line.

        Raises:
            StorageError: it cannot be written.
        """
        query = None if subject.query is None else self._digests.digest(subject.query.encode())
        root = None if subject.root is None else str(subject.root)
        line = Read(time, token.name, token.viewer.form(), route, result, root, query)
        with self._lock:
            if self._log is None or self._folder is None:
                self._in_memory = [*self._in_memory[1 - _LINES_MAX :], line]
                return
            with folder_lock(self._folder, mode=0o700):
                self._log.append(line_json(line))

    def lines(self) -> Iterator[Read]:
        """Yields the lines, oldest first."""
        if self._log is None:
            yield from self._in_memory
            return
        for line in self._log.lines():
            if line.keys() == _FIELDS:
                yield Read(**line)


def line_json(line: Read) -> dict[str, Any]:
    """Returns the JSON shape of a line."""
    return asdict(line)
