"""Graph memories in memory, with a clock that advances one second per reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ibidem
from ibidem.memory.graph import GraphMemory, Record
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import TrustPolicy, Viewer

EPOCH = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z."""
SECOND, HOUR, DAY = 1_000_000, 3_600_000_000, 86_400_000_000


def ticking() -> Callable[[], int]:
    now = EPOCH

    def clock() -> int:
        nonlocal now
        now += SECOND
        return now

    return clock


POLICY = TrustPolicy()
LOW = Viewer(level=1, scopes=())
STUBS = Viewer(level=1, scopes=(), reveal="stub")


def record(type_: str = "Semantic", text: str = "a fact", **fields: Any) -> Record:
    return Record(type_, text, **{"scope": "", **fields})  # type: ignore[arg-type]


def hidden(text: str = "hidden", **fields: Any) -> Record:
    return record(text=text, **{"level": 3, **fields})


def seen_from(source: str = "x") -> list[dict[str, str]]:
    return [{"kind": "observation", "ref": source}]


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init("memory:", clock=ticking()) as repository:
        yield repository


@pytest.fixture
def memory(repo: Repository) -> GraphMemory:
    return GraphMemory(repo, author="ada")


@pytest.fixture
def guarded(repo: Repository) -> GraphMemory:
    """A memory whose graph has a trust policy."""
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    return GraphMemory(repo, author="ada")
