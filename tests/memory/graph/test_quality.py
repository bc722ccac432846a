"""EV1: what is found is measured in every run, typed and untyped questions apart, against gates."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HOUSE = Path(__file__).parents[3]


def test_ev1_a_graph_memory_finds_what_it_is_asked_for():
    done = subprocess.run(
        [sys.executable, HOUSE / "bench" / "memory.py"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(HOUSE / "src")},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    title, untyped, typed = done.stdout.splitlines()
    for name in ("recall", "precision (of at most)", "reciprocal rank", "nDCG"):
        assert name in title
    assert untyped.startswith("untyped")
    assert typed.startswith("typed")
