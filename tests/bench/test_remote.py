"""The bench of remote stores runs: every row has a figure, and a store without server is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "remote.py"


@pytest.mark.slow
def test_every_row_has_a_figure_for_every_store() -> None:
    sizes = ["--nodes", "50", "--delay", "1", "--seconds", "0.5", "--writers", "2"]
    command = [sys.executable, str(SCRIPT), *sizes, "--stores", "folder", "ministack"]
    table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for row in ("cold process", "warm retrieve", "commit", "2 processes", "2 threads"):
        (line,) = [line for line in table.splitlines() if line.startswith(f"| {row} |")]
        assert line.count(" / ") == 2
    assert "| new machine | - | " in table
    assert "| with a shared index | - | " in table
