"""Type checkers over the sample programs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
CHECKERS = [["mypy", "--strict", "--no-incremental"], ["pyright"]]


def assert_typed(checker: list[str], sample: Path) -> None:
    """Asserts that a type checker finds nothing in a program; skips if it is not installed."""
    if importlib.util.find_spec(checker[0]) is None:
        pytest.skip(f"{checker[0]} is not installed")
    command = [sys.executable, "-m", *checker, str(sample)]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
