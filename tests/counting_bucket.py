"""A bucket that counts the requests to it, by their kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ibidem.store.log.objects import Bucket, Created, Listed

if TYPE_CHECKING:
    from obstore.store import MemoryStore


class CountingBucket(Bucket):
    """Counts requests by their kind."""

    def __init__(self, objects: MemoryStore) -> None:
        super().__init__(objects)
        self.counts: dict[str, int] = {}

    def get(self, name: str) -> bytes | None:
        self._count("get")
        return super().get(name)

    def get_ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes] | None:
        self._count("ranges")
        return super().get_ranges(name, spans)

    def create(self, name: str, body: bytes) -> Created:
        self._count("create")
        return super().create(name, body)

    def put(self, name: str, body: bytes) -> str | None:
        self._count("put")
        return super().put(name, body)

    def listed(self, prefix: str) -> dict[str, Listed]:
        self._count("list")
        return super().listed(prefix)

    def _count(self, kind: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def taken(self) -> dict[str, int]:
        """Returns the counts since the last call."""
        found, self.counts = self.counts, {}
        return found
