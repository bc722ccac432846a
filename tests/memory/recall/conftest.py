"""A repository in memory whose clock stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ibidem
from ibidem.repo.repository import Repository

from .helpers import NOW


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init(clock=lambda: NOW) as made:
        yield made
