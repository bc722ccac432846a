"""Files in a schema of a database, such as the segments of a shared index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ibidem.objects.record import record
from ibidem.store.postgres.database import Database
from ibidem.store.protocol import SharedFile

A = TypeVar("A")
R = TypeVar("R")


@record
class FileSize:
    """A file in a listing."""

    size: int


class DatabaseFiles:
    """Files by name, each a row; see `SharedFiles`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_all(self, names: Sequence[str]) -> list[bytes | None]:
        """Returns the bytes of several files, None for one that is not there."""
        rows = self._database.read("select name, body from file where name = any(%s)", list(names))
        found: dict[str, bytes] = dict(rows)
        return [found.get(name) for name in names]

    def get_ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes] | None:
        """Returns parts of a file as (start, length), shorter ones beyond its end; None if there is
        no such file."""
        starts, lengths = zip(*spans, strict=True)
        rows = self._database.read(
            "select substring(body from start + 1 for length) from file, "
            "unnest(%s::integer[], %s::integer[]) with ordinality as span (start, length, position)"
            " where name = %s order by position",
            *(list(starts), list(lengths), name),
        )
        return [part for (part,) in rows] or None

    def put(self, name: str, body: bytes) -> None:
        """Writes a file, replacing one of that name."""
        self._database.change(
            "write a file",
            "insert into file values (%s, %s) on conflict (name) do update set body = "
            "excluded.body",
            *(name, body),
        )

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files; absent ones are no error."""
        self._database.change(
            "delete files", "delete from file where name = any(%s::text[])", list(names)
        )

    def listed(self, prefix: str) -> Mapping[str, SharedFile]:
        """Returns the files whose names begin so, by name ascending."""
        rows = self._database.read(
            "select name, octet_length(body) from file where starts_with(name, %s) order by name",
            prefix,
        )
        return {name: FileSize(size) for name, size in rows}

    def map(self, call: Callable[[A], R], arguments: Sequence[A]) -> list[R]:
        """Calls a function with each argument in turn: there is one connection."""
        return [call(argument) for argument in arguments]
