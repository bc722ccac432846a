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

SLOW = ("hash seed 4242", "far east", "two BLAS threads", "Haswell kernels")
"""Those of which another of their kind is among the quick ones."""
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


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ENVIRONMENTS],
)
def test_environment_changes_no_byte(name: str, folder: Path) -> None:
    assert run([str(PROBE), "0", str(folder)], ENVIRONMENTS[name]) == reference(folder)


@pytest.mark.parametrize("missing", ["cbrrr", "numkong", "simsimd"])
def test_absent_accelerator_changes_no_byte(missing: str, folder: Path) -> None:
    if importlib.util.find_spec(missing) is None:
        pytest.skip(f"{missing} is not installed, so nothing would change")
    code = WITHOUT.format(missing={missing})
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
