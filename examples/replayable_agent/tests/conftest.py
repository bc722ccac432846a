"""The recorded run, in an empty repository of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ibidem

FOLDER = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Any]:
    """The run of `recorded.car`; made anew by `python record.py`."""
    with ibidem.init(tmp_path) as repo:
        yield repo.runs.load(FOLDER / "recorded.car")
