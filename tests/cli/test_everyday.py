"""What a person meets in the first hours: a second init, a skipped file, a date, indented JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ibidem.cli.main import cli
from ibidem.cli.options import dates
from ibidem.cli.render import output
from ibidem.cli.session import Session

from .conftest import Run

Data = Callable[..., dict[str, Any]]
NEW_YEAR = 1_767_225_600  # 2026-01-01T00:00:00Z


def test_a_second_init_changes_nothing(notes: Run, data: Data):
    before = data("log")
    said = notes("init").stdout
    assert "already; nothing was changed" in said
    assert data("init")["is_new"] is False
    assert data("log") == before


def test_init_creates_the_repository_that_stands_before_it(run: Run, tmp_path: Path):
    run("-R", "kb", "init")
    assert [one.name for one in tmp_path.iterdir()] == ["kb"]
    run("-R", "kb", "status")
    assert "exclude each other" in run("-R", "kb", "init", "other", code=2).stderr


def test_a_first_init_says_that_it_is_one(data: Data):
    assert data("init", "new")["is_new"] is True


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("latin.txt", b"caf\xe9", "not UTF-8 at byte 3); convert it first"),
        ("picture.bin", b"ab\0cd", "binary (NUL at byte 2)"),
        (".env", b"TOKEN=1", "nothing of it may be stored"),
    ],
)
def test_a_skipped_file_that_was_named_is_an_error_with_a_next_step(
    notes: Run, tmp_path: Path, name: str, content: bytes, told: str
):
    (tmp_path / name).write_bytes(content)
    for command in (["commit", name, "-m", "x"], ["add", name]):
        assert told in notes(*command, code=1).stderr
    found = notes("commit", ".", "-m", "x")
    assert f"skipped: {name}" in found.stderr
    assert ".ibidem" not in found.stderr


def test_a_branch_merged_into_itself_or_again_is_up_to_date(notes: Run, data: Data):
    assert notes("merge", "main").stdout == (
        "main is up to date: main is the head itself, nothing to merge\n"
    )
    notes("branch", "side")
    notes("node", "add", "Note", "--summary", "x")
    notes("commit", "-m", "more")
    assert "side is contained in it" in notes("merge", "side").stdout
    assert data("merge", "main")["outcome"] == "unchanged"


def test_json_is_indented_on_a_terminal_and_one_line_in_a_pipe(
    notes: Run, monkeypatch: pytest.MonkeyPatch
):
    piped = notes("status", "--json").stdout
    assert piped.count("\n") == 1
    value = {"b": [1, "\x9b2J"], "a": {}}
    text = output.canonical_json(value, is_indented=True)
    assert text.startswith(b'{\n  "a": {},\n')
    assert json.loads(text) == value
    assert b"\\u009b" in text


@pytest.mark.parametrize(
    ("text", "absolute"),
    [
        ("now", "2026-01-01T00:00:00Z"),
        ("today", "2026-01-01"),
        ("Yesterday", "2025-12-31"),
        ("2 hours ago", "2025-12-31T22:00:00Z"),
        ("1 week ago", "2025-12-25T00:00:00Z"),
        ("5 min ago", "2025-12-31T23:55:00Z"),
        ("30s ago", "2025-12-31T23:59:30Z"),
        ("main", "main"),
        ("hours ago", "hours ago"),
    ],
)
def test_words_for_times_are_replaced_by_the_clock_of_the_run(text: str, absolute: str):
    session = Session(environment={"SOURCE_DATE_EPOCH": str(NEW_YEAR)})
    assert dates.absolute(session.clock(), text) == absolute
    assert dates.revision(session.clock(), f"main@{{{text}}}~1") == f"main@{{{absolute}}}~1"


def test_an_unknown_unit_of_time_is_refused_with_those_that_are_known(notes: Run):
    stderr = notes("retrieve", "deadline", "--at", "3 months ago", code=2).stderr
    assert "got '3 months ago', expected seconds, minutes, hours, days or weeks ago" in stderr


def test_a_wrong_value_is_refused_by_its_flag(notes: Run):
    for command in (("query",), ("retrieve", "deadline")):
        for flag in ("--as-of", "--created-after", "--updated-before"):
            for value in ("nonsense", "3 months ago"):
                assert f"{flag}: got {value!r}" in notes(*command, flag, value, code=2).stderr
    for flag, form in (("--relate", "TYPE=NODE"), ("--from", "KIND=REF")):
        told = notes("memory", "add", "x", flag, "foo", code=2).stderr
        assert f"{flag}: got 'foo', expected {form}" in told


@pytest.mark.parametrize(
    "rev",
    ["2026-01-01", "2026-01-02", "today", "now", "main@{2026-01-01}", "main@{today}"],
)
def test_a_revision_may_be_a_date(notes: Run, data: Data, rev: str):
    assert data("retrieve", "deadline", "--at", rev)["items"]
    assert data("diff", rev, "main")["changes"] == []


@pytest.mark.parametrize("rev", ["2025-12-31", "yesterday", "1 minute ago"])
def test_a_date_before_the_first_commit_says_so(notes: Run, rev: str):
    stderr = notes("retrieve", "deadline", "--at", rev, code=3).stderr
    assert "Z': the repository is younger than that: it began at 2026-01-01T00:00:00Z" in stderr
    assert ".999999" not in stderr


@pytest.mark.parametrize("rev", ["2026-13-01", "2026-02-30"])
def test_a_date_that_is_none_is_refused(notes: Run, rev: str):
    assert "expected such as 2026-01-31" in notes("retrieve", "x", "--at", rev, code=2).stderr


def test_a_branch_named_as_a_date_is_that_branch(notes: Run, data: Data):
    notes("branch", "2026-01-01")
    notes("node", "add", "Note", "--summary", "x")
    notes("commit", "-m", "more")
    assert data("retrieve", "x", "--at", "2026-01-01")["items"] == []


def test_a_moment_may_be_a_date(notes: Run, data: Data):
    line = {"ntype": "Fact", "summary": "a fee", "props": {"valid_from": NEW_YEAR * 1_000_000}}
    notes("add", "-", stdin=json.dumps({"node": line}) + "\n")
    notes("commit", "-m", "a fact")
    for moment, count in (("2025-12-31", 0), ("2026-01-01", 1), ("yesterday", 0), ("today", 1)):
        asked = data("query", "--label", "Fact", "--as-of", moment)
        assert len(asked["nodes"]) == count, moment
        found = data("retrieve", "fee", "--label", "Fact", "--as-of", moment)
        assert len(found["items"]) == count, moment


def test_a_source_is_asked_for_by_the_name_of_the_help(run: Run):
    run("init")
    assert "expected KIND=REF" in run("memory", "add", "x", "--from", "web", code=2).stderr


def test_records_say_how_far_away_they_are(notes: Run):
    one = notes("memory", "add", "Ada drinks tea").stdout.strip()
    notes("memory", "add", "The tea is green", "--relate", f"about={one}")
    said = notes("memory", "graph", "drinks").stdout
    assert "score" in said
    assert "1 step away" in said


def test_an_empty_message_is_refused_and_a_shown_one_has_its_id(run: Run, data: Data):
    run("init")
    assert "got an empty text" in run("thread", "append", "t", " ", code=2).stderr
    run("thread", "append", "t", "my printer is on fire")
    (message,) = data("thread", "show", "t")["messages"]
    assert run("thread", "show", "t").stdout == f"0 user: my printer is on fire  {message['id']}\n"


def test_a_pull_without_a_remote_says_how_to_add_one(notes: Run):
    error = notes("pull", code=3).stderr
    assert "hint: add it: repo remote add origin LOCATION\n" in error
    assert "repo push origin main" in notes("push", "main", code=3).stderr


def test_a_log_has_whole_seconds(notes: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    notes("node", "add", "Note", "--summary", "x")
    notes("commit", "-m", "now")
    for options in ([], ["--oneline"]):
        assert re.search(r"T\d\d:\d\d:\d\dZ", notes("log", "-n", "1", *options).stdout)


def test_a_folder_that_the_locale_cannot_spell_is_opened(tmp_path: Path):
    folder = tmp_path / "em\U0001f600ji"
    folder.mkdir()
    environment = {**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    program = [sys.executable, "-m", "ibidem", "--quiet"]
    for command in (["init"], ["status"]):
        done = subprocess.run(
            [*program, *command], cwd=folder, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_a_closed_pipe_of_a_terminal_is_no_concern_of_json():
    result = CliRunner().invoke(cli, ["doctor", "--json"], prog_name="repo")
    assert result.stdout.count("\n") == 1
