"""The memory store passes the suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ibidem.store.memory import MemoryStore
from ibidem.store.testing import StoreSuite


class TestMemoryStore(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        with MemoryStore() as store:
            yield store
