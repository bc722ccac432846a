"""Failures say what is wrong and what to do next, in words or as JSON, never with a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ibidem.cli.main import cli

Run = Callable[..., Result]
SOURCE = Path(__file__).resolve().parents[2] / "src"


def test_no_repository_says_how_to_make_one(run: Run):
    result = run("status", code=10)
    assert result.stdout == ""
    assert result.stderr.startswith("error: repository: no .ibidem/ in ")
    assert "hint: run `repo init`" in result.stderr


def test_json_errors_are_one_object_on_standard_error(run: Run):
    result = run("status", "--json", code=10)
    assert result.stdout == ""
    found = json.loads(result.stderr)
    assert found["schema"] == "ibidem/error/1"
    assert found["kind"] == "repository-not-found"
    assert set(found) == {"schema", "kind", "message", "hint"}


@pytest.mark.parametrize("arguments", [["log", "--nonsense"], ["nonsense"], ["cat", "a", "b"]])
def test_wrong_options_are_usage(run: Run, arguments: list[str]):
    result = run(*arguments, code=2)
    assert "error: " in result.stderr
    found = json.loads(run(*arguments, "--json", code=2).stderr)
    assert found["kind"] == "usage"


def test_no_command_shows_help(run: Run):
    assert "Exit codes" in run(code=2).output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["log", "--at", "nothing"], 3, "revision 'nothing'"),
        (["blame", "xyz"], 2, "expected 4 to 32 lower-case hexadecimal digits"),
        (["erase", "no-such.md", "--yes"], 3, "expected a document at HEAD, or the id of a node"),
        (["resolve", "notes/retries.md"], 2, "expected the path of a document in conflict"),
        (["show", "0" * 32], 3, "is not in the graph"),
        (["show", "bafyr4inothing"], 3, "revision"),
        (["retrieve", "x", "--budget", "-1"], 2, "--budget"),
        (["retrieve", "x", "--where", "nonsense"], 2, "--where"),
        (["retrieve", "x", "--vector", "m=none.npy"], 2, "there is no file 'none.npy'"),
        (["switch", "nothing"], 3, "nothing"),
        (["replay", "bafyr4inothing"], 3, "receipt"),
        (["edge", "add", "0" * 32, "x", "1" * 32], 2, "0" * 32),
        (["node", "add", "Note", "--prop", "nonsense"], 2, "expected NAME=VALUE"),
        (["commit", "no-such-file"], 1, "no-such-file"),
        (["node", "add", "Note", "--content", "@no-such-file"], 2, "no-such-file"),
        (["branch", "-d"], 2, "--delete needs"),
        (["tag", "../escape"], 2, "../escape"),
    ],
)
def test_failure(notes: Run, arguments: list[str], code: int, message: str):
    result = notes(*arguments, code=code)
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_name_cannot_steer_the_terminal(notes: Run):
    result = notes("log", "--at", "\x1b[2Jevil", code=3)
    assert "\x1b" not in result.output


def test_wrong_clock_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert "SOURCE_DATE_EPOCH: got 'yesterday'" in run("init", code=2).stderr


def test_a_closed_pipe_ends_quietly(notes: Run, tmp_path: Path):
    program = [sys.executable, "-m", "ibidem", "log"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        program, cwd=tmp_path, env=environment, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 0


@pytest.mark.parametrize("closing", ["log >&-", "add - <&-", "log 2>&-"])
def test_a_closed_stream_is_as_an_empty_one(run: Run, tmp_path: Path, closing: str) -> None:
    run("init")
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m ibidem {closing}', sys.executable],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupt_has_its_code(run: Run, monkeypatch: pytest.MonkeyPatch):
    from ibidem.cli import session

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session.Session, "address", interrupted)
    assert CliRunner().invoke(cli, ["status"]).exit_code == 130


@pytest.mark.parametrize(
    ("environment", "arguments", "colored"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
        ({"FORCE_COLOR": "0"}, [], False),
    ],
)
def test_color(
    notes: Run, tmp_path: Path, environment: dict[str, str], arguments: list[str], colored: bool
):
    program = [sys.executable, "-m", "ibidem", "log", *arguments]
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.run(
        program,
        cwd=tmp_path,
        env={**clean, "PYTHONPATH": str(SOURCE), **environment},
        capture_output=True,
        check=True,
    )
    assert (b"\x1b[" in done.stdout) is colored
