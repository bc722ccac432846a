"""`.ci/run` ends with 0 when all that it runs does, and with another code when one does not."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parent.parent
COMMANDS = ("lint-imports", "mkdocs", "mypy", "pip", "pytest", "python", "repo", "ruff")

# Stands for every program of an environment: does nothing, and fails where the test says so.
PROGRAM = """#!/bin/sh
echo "ran: $(basename "$0") $*"
case "$(basename "$0") $*" in ${FAILING:-nothing}) exit 3 ;; esac
"""
PYTHON3 = """#!/bin/sh
if [ "$1" = -c ]; then echo 1; exit; fi
for environment; do :; done
mkdir -p "$environment/bin"
for name in NAMES; do cp "$(dirname "$0")/program" "$environment/bin/$name"; done
"""
README = """
<!-- ci: test -->
```
python3 -m venv .venv-test
```

<!-- ci: demo -->
```
echo demo
```
"""


def ci_run(folder: Path, failing: str = "nothing") -> subprocess.CompletedProcess[str]:
    checkout, programs, temporary = folder / "checkout", folder / "programs", folder / "tmp"
    for made in (checkout / ".ci", programs, temporary):
        made.mkdir(parents=True)
    shutil.copy(HOUSE / ".ci" / "run", checkout / ".ci" / "run")
    (checkout / "README.md").write_text(README)
    scripts = {
        "program": PROGRAM,
        "npm": PROGRAM,
        "python3": PYTHON3.replace("NAMES", " ".join(COMMANDS)),
    }
    for name, text in scripts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(temporary),
        "FAILING": failing,
    }
    ended = subprocess.run(
        ["bash", ".ci/run"], cwd=checkout, env=environment, capture_output=True, text=True
    )
    assert list(temporary.iterdir()) == []
    return ended


@pytest.mark.skipif(
    not (HOUSE / ".ci" / "run").exists(), reason="a source distribution has no .ci/run"
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
class TestExitCode:
    def test_all_good(self, tmp_path: Path):
        ended = ci_run(tmp_path)
        assert ended.stdout.rstrip().splitlines()[-1].startswith("== all good"), ended.stderr
        assert ended.returncode == 0, ended.stderr

    @pytest.mark.parametrize(
        "failing", ["mypy*", "pytest*slow*", "pytest*tests/adapters*", "pytest*tests/objects*"]
    )
    def test_a_failing_step_is_the_last(self, tmp_path: Path, failing: str):
        ended = ci_run(tmp_path, failing)
        assert ended.returncode == 3, ended.stderr
        assert "all good" not in ended.stdout

    def test_without_the_packages_of_interfaces_their_suites_are_left_out(self, tmp_path: Path):
        ended = ci_run(tmp_path, "pip*interfaces*")
        assert ended.returncode == 0, ended.stderr
        assert "these suites are left out" in ended.stdout
        assert "tests/adapters" not in ended.stdout
