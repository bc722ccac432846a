"""The documentation as a repository: built from the pages once a session, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ibidem
from ibidem import Repository
from ibidem.ingest.ingest import ingest

DOCS = Path(__file__).resolve().parents[1] / "docs"
MOMENT = 1_767_225_600_000_000
"""A fixed time, so that the same pages give the same commit."""


@pytest.fixture(scope="session")
def retrieval_repository() -> Iterator[Repository]:
    with ibidem.init("memory:", clock=lambda: MOMENT) as repo:
        with repo.transaction(author="docs", message="the pages") as tx:
            ingest(tx, [DOCS], root=DOCS)
        yield repo
