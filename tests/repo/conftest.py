"""Repositories in memory and on disk, with a clock that advances one second per reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ibidem
from ibidem.repo.repository import Repository

EPOCH = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z."""


def ticking() -> Callable[[], int]:
    now = EPOCH

    def clock() -> int:
        nonlocal now
        now += 1_000_000
        return now

    return clock


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init("memory:", clock=ticking()) as repository:
        yield repository


@pytest.fixture
def disk_repo(tmp_path: Path) -> Iterator[Repository]:
    with ibidem.init(tmp_path, clock=ticking()) as repository:
        yield repository
