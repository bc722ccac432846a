"""What was computed from a whole snapshot, on disk beside it: one file a value, ROOT.NAME.

A file ends with a hash of its name and the rest; one that is damaged, or of another name, counts as
absent. Files are written and removed by the registry of the snapshots, under its lock.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from blake3 import blake3

from ibidem.index.segments.store import names_in, unlink, write_file

VALUES_MAX = 16
"""Values of one snapshot that are kept; callers and options may be many."""
_HASH_BYTES = 32


class DerivedFiles:
    """The files of one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def get(self, root: str, name: str) -> bytes | None:
        """Returns a value; None if it is not here."""
        try:
            data = (self.directory / f"{root}.{name}").read_bytes()
        except OSError:
            return None
        body = data[:-_HASH_BYTES]
        return body if _digest(root, name, body) == data[-_HASH_BYTES:] else None

    def put(self, root: str, name: str, data: bytes) -> int:
        """Writes a value, in place of another one of the root where there are VALUES_MAX; returns
        the bytes that were written.

        Raises:
            StorageError: it cannot be written.
        """
        for surplus in sorted(self._names({root}))[VALUES_MAX - 1 :]:
            unlink(self.directory / surplus)
        pieces = [data, _digest(root, name, data)]
        write_file(self.directory / f"{root}.{name}", pieces, is_flushed=False)
        return len(data) + _HASH_BYTES

    def roots(self) -> set[str]:
        """Returns the roots that have values."""
        return {name.partition(".")[0] for name in names_in(self.directory)}

    def sizes(self) -> dict[str, int]:
        """Returns the bytes of all values by root."""
        found: dict[str, int] = {}
        for name in names_in(self.directory):
            with suppress(OSError):
                root = name.partition(".")[0]
                size = (self.directory / name).stat().st_size
                found[root] = found.get(root, 0) + size
        return found

    def remove(self, roots: Collection[str]) -> None:
        """Removes all values of some roots."""
        for name in self._names(roots):
            unlink(self.directory / name)

    def _names(self, roots: Collection[str]) -> list[str]:
        if not roots:
            return []
        return [name for name in names_in(self.directory) if name.partition(".")[0] in roots]


def _digest(root: str, name: str, data: bytes) -> bytes:
    return blake3(f"{root}.{name}".encode() + data).digest()
