"""Type checkers over the sample programs."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
CHECKERS = ["mypy", "pyright"]


def assert_typed(checker: str, sample: Path, scratch: Path) -> None:
    """Asserts that a type checker finds nothing in a program; skips if it is not installed.

    Pyright takes its settings from the nearest folder above that has some, whoever's it is, so it
    is given its own: strict, with the packages of this interpreter.
    """
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    program = [sys.executable, "-m", checker]
    if subprocess.run([*program, "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{checker} does not start here")
    copy = scratch / sample.name
    copy.write_bytes(sample.read_bytes())
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(HOUSE / "src")]}
    (scratch / "pyrightconfig.json").write_text(json.dumps(settings))
    options = {
        "mypy": ["--strict", "--no-incremental", str(copy)],
        "pyright": ["--project", str(scratch), "--pythonpath", sys.executable],
    }[checker]
    done = subprocess.run(
        [*program, *options], cwd=HOUSE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
