"""Every command that takes the id of a node or an edge takes the beginning of one too."""

from __future__ import annotations

import json

import pytest

TEA = "--summary", "green tea", "--key", "tea"
POT = "--summary", "tea pot", "--key", "pot"


@pytest.fixture
def ids(run) -> tuple[str, str, str]:
    """Two nodes and the edge between them, committed, in an empty folder."""
    run("init")
    tea = run("node", "add", "Note", *TEA).stdout.strip()
    pot = run("node", "add", "Note", *POT).stdout.strip()
    edge = run("edge", "add", tea[:6], "in", pot[:6]).stdout.strip()
    run("commit", "-m", "tea")
    return tea, pot, edge


def test_what_only_looks_takes_beginnings(run, data, ids):
    tea, pot, edge = ids
    assert data("show", tea[:4])["value"]["id"] == tea
    assert data("show", tea[:6])["value"]["id"] == tea
    assert data("show", edge[:6])["value"]["id"] == edge
    assert data("blame", tea[:6])["id"] == tea
    assert data("edge", "traverse", tea[:6], "--path", "out:*")["paths"][0]["nodes"] == [tea, pot]
    assert len(data("log", "--node", tea[:6])["commits"]) == 1
    found = data("bisect", "--query", "green", "--expect", tea[:6], code=1)
    assert found == data("bisect", "--query", "green", "--expect", tea, code=1)


def test_a_node_that_is_gone_is_expected_by_its_beginning_where_it_was(run, data, ids):
    tea = ids[0]
    run("tag", "v1")
    run("node", "remove", tea[:6])
    run("commit", "-m", "no tea")
    found = data("bisect", "--query", "green", "--expect", tea[:6], "--good", "v1")
    assert found["cause"]["commit"]["message"] == "no tea"
    run("log", "--node", tea[:6], code=3)
    assert len(data("log", "--node", tea)["commits"]) == 2


def test_what_changes_takes_beginnings_and_answers_with_whole_ids(run, data, ids):
    tea, pot, edge = ids
    assert tea in run("node", "tombstone", tea[:6]).stdout
    assert data("node", "untombstone", tea[:6])["ids"] == [tea]
    assert data("edge", "remove", edge[:6])["ids"] == [edge]
    run("edge", "remove", edge[:6], code=3)
    run("undo", "--staged")
    assert data("node", "remove", tea[:6], pot[:6])["ids"] == [tea, pot]
    run("undo", "--staged")


def test_erasing_asks_about_the_whole_id_and_answers_with_it(run, data, ids):
    tea, pot, _ = ids
    asked = run("erase", tea[:6], stdin="n\n", code=130)
    assert tea in asked.stderr
    assert run("show", tea[:6])
    assert tea in run("erase", tea[:6], "--yes").stdout
    assert data("erase", pot[:6], "--yes")["nodes"] == [pot]


def test_feedback_and_memory_take_beginnings(run, data, ids):
    tea, pot, _ = ids
    run("memory", "recall", "tea", "--session", "s")
    run("memory", "feedback", "vote", tea[:6], "--session", "s")
    run("memory", "feedback", "not-useful", "--useful", tea[:6], "--session", "s")
    run("memory", "feedback", "outcome", pot[:6])
    run("memory", "feedback", "vote", "0123", "--session", "s", code=3)
    said = ("--from", "observation=chat-7")
    (record,) = data("memory", "add", "She likes tea", "--relate", f"about={tea[:6]}")["records"]
    run("memory", "reinforce", record[:6])
    run("memory", "penalize", record[:6], "0.1")
    assert data("memory", "salience", record[:6])["record"] == record
    run("memory", "contest", record[:6])
    (newer,) = data("memory", "supersede", record[:6], "She likes cocoa", *said)["records"]
    # Ids of records begin with the time, which stands still here.
    assert newer in run("memory", "fork", newer[:6], "In winter", *said, code=3).stderr
    (fork,) = data("memory", "fork", newer[:24], "In winter", *said)["records"]
    merged = data("memory", "merge", "Hot drinks", newer[:24], fork[:24], *said)["records"]
    assert data("memory", "retract", merged[0][:24])["records"] == merged


COMMANDS = (
    ("show", "{}"),
    ("blame", "{}"),
    ("show", "{}"),
    ("edge", "traverse", "{}", "--path", "out:*"),
    ("log", "--node", "{}"),
    ("bisect", "--query", "tea", "--expect", "{}"),
    ("node", "remove", "{}"),
    ("edge", "remove", "{}"),
    ("edge", "add", "{}", "in", "{}"),
    ("erase", "{}", "--yes"),
    ("memory", "feedback", "outcome", "{}"),
    ("memory", "feedback", "vote", "{}", "--session", "s"),
    ("memory", "retract", "{}"),
    ("resolve", "{}", "--ours"),
)


def test_a_key_that_is_taken_says_how_to_replace_it(run):
    run("init")
    run("node", "add", "X", "--key", "k", "--summary", "one")
    error = run("node", "add", "X", "--key", "k", "--summary", "two", code=2).stderr
    assert error.endswith("hint: update it, or replace it: replace=True, --replace\n")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_errors_are_the_same_everywhere(run, ids, command):
    run("memory", "recall", "tea", "--session", "s")
    none = run(*(word.format("0123") for word in command), code=3).stderr
    assert "has an id that begins '0123'" in none
    if command[0] != "show":
        short = run(*(word.format("012") for word in command), code=2).stderr
        assert "expected 4 to 32 lower-case hexadecimal digits" in short


@pytest.mark.parametrize("command", [*COMMANDS[:3], *COMMANDS[4:8], *COMMANDS[9:13]], ids=" ".join)
def test_nobody_is_told_of_what_they_may_not_see(run, ids, command, monkeypatch):
    run("memory", "recall", "tea", "--session", "s")
    secret = json.loads(
        run("node", "add", "Note", "--summary", "x", "--prop", "level=4", "--json").stdout
    )["id"]
    hidden = json.loads(run("edge", "add", ids[0], "in", secret, "--json").stdout)["id"]
    run("commit", "-m", "secret")
    run("trust", "enable")
    monkeypatch.setenv("IBIDEM_VIEWER", "low")
    other = "0123456789"
    code = 3 if command[0] in ("get", "show") or "traverse" in command else 2
    for text in (secret[:10], hidden[:10]):
        told = run(*(word.format(text) for word in command), code=code).stderr
        same = run(*(word.format(other) for word in command), code=code).stderr
        assert told.replace(text, other) == same


def test_a_document_is_named_by_its_path(run, data, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\nSteep for three minutes.\n")
    run("init")
    run("commit", "notes", "-m", "tea")
    found = data("show", "notes/tea.md")
    assert (found["kind"], found["location"]["source"]) == ("node", "notes/tea.md")
    assert run("show", "notes/tea.md", "--text").stdout == "# Tea\n\nSteep for three minutes.\n"
    assert data("blame", "notes/tea.md")["id"] == found["value"]["id"]
    assert "expected a document at HEAD" in run("show", "notes/pot.md", code=3).stderr
    run("trust", "enable")
    assert data("show", "notes/tea.md", "--viewer", "low")["value"] == found["value"]
