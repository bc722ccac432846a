"""The commands that compare answers: diff --query, bisect, snapshot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
Data = Callable[..., dict[str, Any]]
QUESTION = "is a failed request tried again"


@pytest.fixture
def edited(notes: Run, tmp_path: Path) -> Run:
    """Two commits: the second takes the answer away."""
    path = tmp_path / "notes" / "retries.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("failed request is tried again", "fault ends"), encoding="utf-8")
    notes("commit", "notes", "-m", "shorter")
    return notes


def test_diff_of_answers_shows_moves_and_the_commit(edited: Run):
    shown = edited("diff", "--query", QUESTION, "--label", "Passage", "HEAD~1").stdout
    assert "1 -> -   left     " in shown
    assert "'shorter' by ada" in shown
    assert "removed: 'A failed request is tried again after" in shown


def test_diff_of_answers_ends_with_1_only_where_asked(edited: Run):
    asked = ("diff", "--query", QUESTION, "--label", "Passage")
    edited(*asked, "HEAD~1")
    edited(*asked, "HEAD~1", "--exit-code", code=1)
    edited(*asked, "HEAD", "--exit-code", code=0)


def test_options_of_a_question_need_a_question(edited: Run):
    assert "--label needs --query" in edited("diff", "HEAD~1", "--label", "Note", code=2).stderr
    assert "needs one or two revisions" in edited("diff", "--query", QUESTION, code=2).stderr
    assert len(edited("diff", "HEAD~1", "--nodes", "--limit", "1").stdout.splitlines()) == 3


def test_bisect_names_the_commit(edited: Run, data: Data):
    wanted = data("retrieve", QUESTION, "--label", "Passage", "--at", "HEAD~1")["items"][0]["id"]
    asked = ("bisect", "--query", QUESTION, "--label", "Passage", "--expect", wanted)
    found = data(*asked)
    assert found["first_bad"]["message"] == "shorter"
    assert found["evaluation_count"] == 2
    assert found["cause"]["changes"][0]["id"] == wanted
    assert "first bad commit" in edited(*asked).stdout
    assert "tested 1 of 1 commit" in edited(*asked, "--good", "HEAD~1").stdout


def test_bisect_without_a_culprit_ends_with_1(edited: Run, data: Data):
    kept = data("retrieve", "idempotency key", "--label", "Passage")["items"][0]["id"]
    asked = ("bisect", "--query", "idempotency key", "--expect", kept)
    assert "at every commit" in edited(*asked, code=1).stdout
    assert (
        "already missing" in edited("bisect", "--query", "zebra", "--expect", kept, code=1).stdout
    )
    edited("bisect", "--query", "zebra", "--expect", "00" * 16, code=2)
    edited("bisect", "--query", "zebra", "--expect", "nonsense", code=2)


def test_snapshot_says_same_then_changed_and_by_whom(notes: Run, tmp_path: Path):
    asked = ("--label", "Passage", "--limit", "3")
    notes("snapshot", "record", "a.golden", QUESTION, "what is a deadline", *asked)
    assert notes("snapshot", "check", "a.golden").stdout.count("same: ") == 2
    path = tmp_path / "notes" / "retries.md"
    path.write_text(path.read_text(encoding="utf-8").replace("failed", "lost"), encoding="utf-8")
    notes("commit", "notes", "-m", "another word")
    shown = notes("snapshot", "check", "a.golden", code=1).stdout
    assert f"changed: {QUESTION}" in shown
    assert "'another word' by ada" in shown
    notes("snapshot", "check", "a.golden", "--at", "HEAD~1")


def test_every_tampered_byte_of_a_snapshot_is_noticed(notes: Run, tmp_path: Path):
    notes("snapshot", "record", "a.golden", QUESTION, "--mode", "ranks")
    path = tmp_path / "a.golden"
    data = path.read_bytes()
    for at in range(0, len(data), 97):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert "checksum" in notes("snapshot", "check", "a.golden", code=12).stderr
    path.write_bytes(data)
    notes("snapshot", "check", "a.golden")
    notes("snapshot", "check", "missing.golden", code=3)


def test_a_snapshot_replaces_no_other_file(notes: Run, tmp_path: Path):
    mine = tmp_path / "mine.txt"
    mine.write_text("my questions\n")
    assert "which has no answers" in notes("snapshot", "record", str(mine), QUESTION, code=2).stderr
    assert mine.read_text() == "my questions\n"
    assert "another kind" in notes("snapshot", "check", str(mine), code=2).stderr
    mine.write_text("")
    notes("snapshot", "record", str(mine), QUESTION)
    notes("snapshot", "check", str(mine))
