"""`repo log` with filters and a drawing, `blame`, `squash`, `prune` and `bisect run`."""

from __future__ import annotations

import os
import re
import sys

import pytest


@pytest.fixture
def told(notes, data):
    """The program in a repository with a merge and a node that several edited."""
    node = data("node", "add", "Rule", "--summary", "two sign", "--key", "sign")["id"]
    notes("commit", "-m", "a rule", "--author", "ada")
    notes("branch", "side")
    for place, text in (("main", "three sign"), ("side", "all sign")):
        notes("switch", place)
        key = "sign" if place == "main" else "sign-all"
        notes("node", "add", "Rule", "--summary", text, "--key", key, "--replace")
        notes("commit", "-m", f"on {place}", "--author", place)
    notes("switch", "main")
    notes("merge", "side", "-m", "joined")
    return node


def messages(text: str) -> list[str]:
    return [line.split("  ")[-1].strip() for line in text.splitlines()]


def test_the_log_is_filtered(told, notes, data, tmp_path, monkeypatch):
    # The clock stands still, so commits of one moment come in the order of their CIDs.
    touched = messages(notes("log", "--oneline", "--node", told).stdout)
    assert sorted(touched) == ["a rule", "on main"]
    touched = messages(notes("log", "--oneline", "--label", "Rule").stdout)
    assert sorted(touched) == ["a rule", "on main", "on side"]
    path = "notes/retries.md"
    assert messages(notes("log", "--oneline", "--path", path).stdout) == ["notes on failure"]
    assert data("log", "--path", "nothing.md")["commits"] == []
    assert "no commit touched" in notes("log", "--path", "nothing.md").stderr
    monkeypatch.chdir(tmp_path / "notes")
    assert messages(notes("log", "--oneline", "--path", "retries.md").stdout)
    monkeypatch.chdir(tmp_path)
    notes("log", "--graph", "--path", path, code=2)
    notes("log", "--node", "short", code=2)


def test_the_log_is_drawn(told, notes, data):
    lines = notes("log", "--graph", "--oneline").stdout.splitlines()
    drawing = [re.match(r"[*|\\/_ ]*", line)[0].rstrip() for line in lines]
    assert drawing[:2] == ["*", "|\\"]
    assert sorted(drawing[2:4]) in (["* |", "| *"], ["* |", "| *"])
    assert drawing[4:] == ["|/", "*", "*"]
    full = notes("log", "--graph").stdout.splitlines()
    assert full[0].startswith("*  commit bafy")
    assert full[1].startswith("|  merge   bafy")
    assert len(data("log", "--graph")["commits"]) == 5


def test_blame_names_who_gave_each_value(told, notes):
    lines = [line.split() for line in notes("blame", told).stdout.splitlines()]
    assert [(line[0], line[-1]) for line in lines] == [("ntype", "Rule"), ("summary", "sign")]
    assert ["ada" in lines[0], "main" in lines[1]] == [True, True]
    notes("blame", "0" * 32, code=3)


def test_squash_and_prune_bound_the_history(told, notes, data):
    root = data("log", "-n", "1")["commits"][0]["root"]
    assert "rewritten" in notes("history", "prune", "main~1").stdout
    assert messages(notes("log", "--oneline").stdout) == ["joined", "on main"]
    notes("undo")
    folded = data("history", "squash", "main~2", "-m", "folded")["commit"]
    assert (folded["root"], folded["message"]) == (root, "folded")
    assert messages(notes("log", "--oneline").stdout)[0] == "folded"
    last = data("log", "-n", "1")["commits"][0]["message"]
    assert data("history", "squash")["commit"]["message"] == last
    notes("history", "squash", "side", code=2)
    notes("history", "prune", "nothing", code=3)


def test_bisect_run_finds_the_commit_at_which_a_command_fails(notes, data, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    for number in range(6):
        text = "broken" if number == 3 else f"rule {number}"
        notes("node", "add", "Rule", "--summary", text, "--key", str(number))
        notes("commit", "-m", f"commit {number}")
    program = (
        "import os, sys, ibidem\n"
        "at = ibidem.open(os.environ['IBIDEM_REPO']).at(os.environ['IBIDEM_AT'])\n"
        "count = at.count(label='Rule')\n"
        "print('counted', count)\n"
        "sys.exit(125 if count == 2 else any(n.summary == 'broken' for n in at.nodes()))\n"
    )
    command = ("bisect", "run", "--", sys.executable, "-c", program)
    done = notes(*command)
    assert "first bad" in done.stdout
    assert "commit 3" in done.stdout
    assert "counted" in done.stderr
    assert notes("bisect", "run", "--bad", "main~4", *command[2:], code=1)
    found = data("bisect", "run", "--good", "main~5", "--json", *command[2:])
    assert found["suspects"][0]["message"] == "commit 3"
    assert len(found["steps"]) == found["evaluation_count"] <= 3


def test_bisect_run_says_when_a_command_cannot_tell(notes):
    def ending(code: int) -> tuple[str, ...]:
        return ("bisect", "run", "--", sys.executable, "-c", f"raise SystemExit({code})")

    notes("node", "add", "Rule", "--summary", "x")
    notes("commit", "-m", "second")
    assert "at no commit that was tested" in notes(*ending(125), code=1).stdout
    assert "expected 0 to 125" in notes(*ending(127), code=1).stderr
    notes("bisect", "run", "--", "./not-there", code=2)
    notes("bisect", "run", code=2)
    notes("bisect", code=2)


def test_the_history_can_be_read_after_an_erasure(notes, tmp_path):
    page = tmp_path / "notes" / "timeouts.md"
    page.write_text("# Timeouts\n\nEvery call has a deadline of nine seconds.\n", encoding="utf-8")
    notes("commit", ".", "-m", "nine")
    notes("erase", "notes/timeouts.md", "--yes")
    assert "notes on failure" in notes("log", "--path", "notes/retries.md").stdout
    assert "notes on failure" in notes("log", "--label", "Passage").stdout
    assert notes("log", "--path", "notes/timeouts.md").stdout == ""
    assert "(erased)" in notes("show", "main~1").stdout
    assert "(erased)" in notes("diff", "main~2", "main~1", "--nodes").stdout
    assert "(erased)" in notes("diff", "main~2", "main", "--nodes").stdout
    notes("diff", "main~2", "main")
    notes("diff", "main~2", "main~1", "--json")
    notes("checkout", ".", "--at", "main~2")
    page.unlink()
    assert "0 files restored, 1 unchanged" in notes("checkout", "notes", "--at", "main~1").stdout
    assert not page.exists()
