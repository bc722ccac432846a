"""A program to call in a folder of its own, with a fixed author and a clock that stands still."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result

from ibidem.cli.main import cli

from .every_command import session

RETRIES = """# Retries

## Backoff

A failed request is tried again after one second, then two, then four.

## Idempotency

Only requests that carry an idempotency key are retried.
"""
TIMEOUTS = """# Timeouts

Every call has a deadline of thirty seconds. A deadline that has passed is not retried.
"""

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Calls the program in an empty folder; fails the test unless it ends with `code`."""
    monkeypatch.chdir(tmp_path)
    for name in ("IBIDEM_REPO", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IBIDEM_AUTHOR", "ada")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")

    def call(*arguments: str, code: int = 0, stdin: bytes | str | None = None) -> Result:
        result = CliRunner().invoke(cli, arguments, input=stdin, prog_name="repo")
        assert result.exit_code == code, (
            f"repo {' '.join(arguments)} ended with {result.exit_code}\n"
            f"{result.output}\n{result.exception!r}"
        )
        return result

    return call


@pytest.fixture
def notes(run: Run, tmp_path: Path) -> Run:
    """The program in a repository with two committed notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "retries.md").write_text(RETRIES, encoding="utf-8")
    (folder / "timeouts.md").write_text(TIMEOUTS, encoding="utf-8")
    run("init")
    run("commit", "notes", "-m", "notes on failure")
    return run


@pytest.fixture
def data(run: Run) -> Callable[..., dict[str, Any]]:
    """Calls the program with --json and returns the one object that it printed."""

    def call(*arguments: str, code: int = 0, stdin: bytes | str | None = None) -> dict[str, Any]:
        found = json.loads(run(*arguments, "--json", code=code, stdin=stdin).stdout_bytes)
        assert isinstance(found, dict)
        return found

    return call


class EveryCommand(NamedTuple):
    """A repository on which every command was called; it is not to be changed."""

    folder: Path
    printed: dict[str, list[dict[str, Any]]]
    """The objects that were printed, by schema."""


@pytest.fixture(scope="session")
def every_command(tmp_path_factory: pytest.TempPathFactory) -> EveryCommand:
    folder = tmp_path_factory.mktemp("every_command")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("IBIDEM_AUTHOR", "ada")
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("SOURCE_DATE_EPOCH", "1767225600")
        return EveryCommand(folder, session(folder))
