"""A repository whose clock steps, for conversations."""

from __future__ import annotations

import pytest

import ibidem

from .talking import Clock


@pytest.fixture
def repo():
    with ibidem.init("memory:", clock=Clock()) as repository:
        yield repository
