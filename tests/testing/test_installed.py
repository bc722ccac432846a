"""The plugin, installed in a fresh project outside of this one, works from its page alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs import test_samples

HOUSE = Path(__file__).resolve().parents[2]
PAGE = HOUSE / "docs" / "how-to" / "regression-tests.md"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package was installed as users install it."""
    pytest.importorskip("setuptools", "77")
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=HOUSE,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this checkout is not under git, so its files are not known")
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = HOUSE / name
        if path.is_symlink() or not path.is_file() or name.startswith(("tests/", "docs/")):
            continue
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(path.read_bytes())
    arguments = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *arguments, "--target", target, source],
        check=True,
        capture_output=True,
    )
    return target


@pytest.mark.slow
def test_the_page_on_regression_tests_holds_for_an_installed_copy(
    installed: Path, tmp_path: Path
) -> None:
    programs, folder = tmp_path / "programs", tmp_path / "project"
    programs.mkdir()
    folder.mkdir()
    for name, module in {"repo": "ibidem", "pytest": "pytest", "python": None}.items():
        called = "" if module is None else f"-m {module}"
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {called} "$@"\n')
        (programs / name).chmod(0o755)
    environment = {
        "PATH": f"{programs}:{os.environ.get('PATH', '')}",
        # What is installed comes first, whatever else this Python has.
        "PYTHONPATH": str(installed),
        "HOME": str(tmp_path),
        "COLUMNS": "100",
        "IBIDEM_AUTHOR": "ada",
        "SOURCE_DATE_EPOCH": "1767225600",
    }
    place = subprocess.run(
        [sys.executable, "-c", "import ibidem; print(ibidem.__file__)"],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(place.stdout.strip()).is_relative_to(installed)
    ran = 0
    for block in test_samples.blocks(PAGE):
        if block.language != "console":
            continue
        for command in test_samples.commands(block.body):
            done = subprocess.run(
                ["bash", "-c", f"exec 2>&1\n{command.script}"],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
                check=False,
            )
            assert test_samples.matches(command.expected, done.stdout), (
                f"line {block.line}\n$ {command.script}\n{done.stdout}"
            )
            ran += 1
    assert ran > 10
