"""The questions over office files: each answer stands in what is read of its file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_every_question_is_answered_in_a_thousand_tokens() -> None:
    pytest.importorskip("pypdf")
    command = [sys.executable, str(ROOT / "bench" / "formats.py"), "--budget", "1000"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    table = run.stdout
    assert table.splitlines()[-1].split() == ["all", "26", "of", "26"]
