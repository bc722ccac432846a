"""Which snapshots of an index stay on disk, and the order in which they were used.

Idea: switching among branches must not index anything twice, so the snapshot of every head stays,
within a budget of bytes. Beyond it the least recently used one is removed first. Heads come before
other roots, of which only the last few stay. What the current head needs is not counted and always
stays; a segment that several snapshots name is counted once.

The order is in the file `uses`: one root a line, appended when a snapshot is used after another
one; the last line of a root counts. No clock is read. A line that a crash cut off is no root, and
without the file the order is that of writing: both cost time at most, as every loss of a snapshot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path

from ibidem.index.manifest import Manifest
from ibidem.objects.cid import RootCid
from ibidem.objects.errors import StorageError
from ibidem.objects.record import record
from ibidem.store.files import write_file

SNAPSHOTS_MAX = 16
"""Snapshots of roots that are no heads, including the one just written."""
USES = "uses"
"""The file with the order of use."""
LINES_MAX = 256
"""With more lines than these, and two a snapshot, the file is written anew."""


@record
class Retention:
    """What stays, for one repository."""

    current: frozenset[RootCid] = frozenset()
    """Always stay, whatever they occupy."""
    heads: Callable[[], Collection[RootCid]] = frozenset
    """Returns the roots of all branches and tags; called only if something may have to go."""
    budget_bytes: int | None = None
    """What all others may occupy together; None for any number."""

    def surplus(
        self,
        found: Sequence[Manifest],
        uses: Callable[[], dict[str, int]],
        size_of: Callable[[str], int],
        manifest_size: Callable[[Manifest], int],
    ) -> list[Manifest]:
        """Returns the manifests to be removed.

        Args:
            found: all that there are.
            uses: returns the rank of each root in the order of use.
            size_of: returns the size of a segment by its name, 0 if it is not here.
            manifest_size: returns the size of a manifest.
        """
        names = {name for one in found for name in one.names()}
        size = sum(map(size_of, names)) + sum(map(manifest_size, found))
        budget = inf if self.budget_bytes is None else self.budget_bytes
        if len(found) <= SNAPSHOTS_MAX and size <= budget:
            return []
        heads, ranks = frozenset(self.heads()), uses()

        def key(one: Manifest) -> tuple[bool, bool, int, int, RootCid]:
            rank = ranks.get(str(one.root), -1)
            return one.root in self.current, one.root in heads, rank, one.sequence, one.root

        counted: set[str] = set()
        gone: list[Manifest] = []
        size = other_count = 0
        is_full = False
        for one in sorted(found, key=key, reverse=True):
            added = one.names() - counted
            if one.root in self.current:
                counted |= added
                continue
            if one.root not in heads:
                other_count += 1
            cost = sum(map(size_of, added)) + manifest_size(one)
            is_full = is_full or size + cost > budget
            if is_full or other_count >= SNAPSHOTS_MAX:
                gone.append(one)
                continue
            counted |= added
            size += cost
        return gone


class UseLog:
    """The order in which the snapshots in one directory were used."""

    def __init__(self, directory: Path) -> None:
        """Reads nothing yet."""
        self._path = directory / USES
        self._last: str | None = None
        self._count = 0
        """Lines, as far as this object knows."""
        self._count_max = LINES_MAX

    def note(self, name: str) -> None:
        """Puts a root at the end of the order; does nothing if the disk is full or read-only."""
        if self._last is None:
            lines = self._lines()
            self._last, self._count = next(reversed(lines), ""), len(lines)
        if name == self._last:
            return
        self._last = name
        self._count += 1
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(descriptor, f"{name}\n".encode())
            finally:
                os.close(descriptor)

    @property
    def is_long(self) -> bool:
        """Whether the file may have many more lines than there are snapshots."""
        return self._count > self._count_max

    def ranks(self) -> dict[str, int]:
        """Returns the rank of each root: the last used one has the highest."""
        return {line: rank for rank, line in enumerate(self._lines())}

    def shorten(self, names: Collection[str]) -> None:
        """Writes the file anew, with one line for each of some roots, if it has many more."""
        lines = self._lines()
        self._count, self._count_max = len(lines), 2 * len(names) + LINES_MAX
        if not self.is_long:
            return
        self._count = len(names)
        ranks = {line: rank for rank, line in enumerate(lines) if line in names}
        ordered = sorted(ranks, key=lambda name: ranks[name])
        with suppress(StorageError):
            data = "".join(f"{name}\n" for name in ordered).encode()
            write_file(self._path, [data], is_durable=False)

    def clear(self) -> None:
        """Forgets the order."""
        self._last = None
        with suppress(OSError):
            self._path.unlink()

    def _lines(self) -> list[str]:
        try:
            return self._path.read_bytes().decode("ascii", "replace").splitlines()
        except OSError:
            return []
