"""The same facts and the same query give the same bytes, whatever the process lives in."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import ibidem

PROBE = Path(__file__).with_name("probe.py")
PACKAGE_PARENT = Path(ibidem.__file__).parent.parent

ENVIRONMENTS = {
    "hash seed 1": {"PYTHONHASHSEED": "1"},
    "hash seed 4242": {"PYTHONHASHSEED": "4242"},
    "far west": {"TZ": "Pacific/Honolulu"},
    "far east": {"TZ": "Pacific/Kiritimati"},
    "plain locale": {"LC_ALL": "C", "PYTHONUTF8": "0"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "one BLAS thread": {"OPENBLAS_NUM_THREADS": "1"},
    "two BLAS threads": {"OPENBLAS_NUM_THREADS": "2"},
    "Prescott kernels": {"OPENBLAS_CORETYPE": "Prescott"},
    "Haswell kernels": {"OPENBLAS_CORETYPE": "Haswell"},
    "no wide SIMD": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
}

WITHOUT = """
import builtins, runpy, sys
real = builtins.__import__
def guarded(name, *rest, **more):
    if name.split(".")[0] in {missing!r}:
        raise ImportError(name)
    return real(name, *rest, **more)
builtins.__import__ = guarded
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from pydoc_data.topics import topics

    path = tmp_path_factory.mktemp("documents")
    for name in sorted(topics)[:6]:
        (path / f"{name}.md").write_text(f"# {name}\n\n{topics[name]}", "utf-8", newline="\n")
    return path


def run(arguments: list[str], environment: dict[str, str]) -> dict[str, str]:
    """Returns what the probe printed in a fresh process."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("IBIDEM")}
    clean["PYTHONPATH"] = str(PACKAGE_PARENT)
    done = subprocess.run(
        [sys.executable, *arguments],
        env=clean | environment,
        capture_output=True,
        check=False,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@cache
def reference(folder: Path | None) -> dict[str, str]:
    return run([str(PROBE), "0", *([str(folder)] if folder else [])], {})


def test_no_environment_changes_a_byte(folder: Path) -> None:
    """One of each kind at once; the slow tests say which it was."""
    kinds = ("hash seed 1", "far west", "Turkish", "one BLAS thread", "Prescott kernels")
    found = {}
    for name in (*kinds, "no wide SIMD"):
        found |= ENVIRONMENTS[name]
    assert run([str(PROBE), "0", str(folder)], found) == reference(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_changes_no_byte(name: str, folder: Path) -> None:
    assert run([str(PROBE), "0", str(folder)], ENVIRONMENTS[name]) == reference(folder)


ACCELERATORS = ("cbrrr", "numkong", "simsimd")
ABSENT = [ACCELERATORS, *(pytest.param((one,), marks=pytest.mark.slow) for one in ACCELERATORS)]
"""All at once; the slow tests say which it was."""


@pytest.mark.parametrize("missing", ABSENT)
def test_absent_accelerators_change_no_byte(missing: tuple[str, ...], folder: Path) -> None:
    if not any(map(importlib.util.find_spec, missing)):
        pytest.skip(f"{missing} is not installed, so nothing would change")
    code = WITHOUT.format(missing=set(missing))
    found = run(["-c", code, str(PROBE), "0", str(folder)], {})
    assert found == reference(folder)


@pytest.mark.parametrize("count", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_insertion_order_changes_no_byte(count: int) -> None:
    """So many shuffles in this process; the reference is another process."""
    probe = runpy.run_path(str(PROBE))
    expected = reference(None)
    for seed in range(1, count + 1):
        order = list(range(probe["NODES"]))
        random.Random(seed).shuffle(order)
        with ibidem.init() as repo:
            probe["fill"](repo, order)
            assert probe["answers"](repo) == expected
