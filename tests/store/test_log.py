"""The store in object storage passes the suite, over a folder, memory and a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'ibidem[s3]'")
from obstore.store import MemoryStore as MemoryObjects

from ibidem.store.log.objects import Bucket
from ibidem.store.log.store import LogStore
from ibidem.store.testing import StoreSuite


class TestInMemory(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[LogStore]:
        with LogStore(Bucket(MemoryObjects())) as store:
            yield store
