"""`repo trust` and `--viewer`, and `repo memory` as a person uses it."""

from __future__ import annotations

import json

import pytest

from ibidem.cli.options.viewer import viewer_of
from ibidem.cli.session import Session
from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.access.policy import ALL, ALL_SCOPES, Viewer


def test_with_a_policy_every_question_says_who_asks(run):
    run("init")
    secret = json.loads(
        run("node", "add", "Note", "--summary", "secret tea", "--prop", "level=3", "--json").stdout
    )["id"]
    run("node", "add", "Note", "--summary", "plain tea")
    run("commit", "-m", "tea")
    run("trust", "enable")
    for command in (
        ("retrieve", "tea"),
        ("query", "--label", "Note"),
        ("packs", "tea"),
        ("prompt", "tea"),
        ("edge", "traverse", secret, "--path", "out:*"),
        ("show", secret),
        ("memory", "recall", "tea"),
        ("memory", "graph", "tea"),
    ):
        asked = run(*command, code=2)
        assert "who asks" in asked.stderr
        run(*command, "--viewer", "all")
    low = run("retrieve", "tea", "--viewer", "low").stdout
    assert "plain tea" in low
    assert "secret" not in low
    missing = run("show", "07" * 16, "--viewer", "low", code=3).stderr
    denied = run("show", secret, "--viewer", "low", code=3).stderr
    assert denied.replace(secret, "ID") == missing.replace("07" * 16, "ID")
    assert "sees 1 node" in run("trust", "show", "--viewer", "low").stdout
    assert "sees 2 nodes" in run("trust", "show", "--viewer", "high").stdout
    run("trust", "disable")
    assert "everybody" in run("trust", "show").stdout
    assert "secret" in run("retrieve", "tea").stdout


def test_threads_are_read_as_a_caller_sees_them(run):
    run("init")
    run("trust", "enable")
    said = [
        {"role": "user", "text": "the printer is on fire"},
        {"role": "user", "text": "the printer code is 4711", "props": {"level": 3}},
        {"role": "assistant", "text": "the fire is out"},
    ]
    run("thread", "append", "a", "--stdin", stdin="\n".join(map(json.dumps, said)))
    run("thread", "compact", "a", "0", "1", "the printer with code 4711 burnt")
    reading = (
        ("thread", "list"),
        ("thread", "show", "a"),
        ("thread", "show", "a", "--raw"),
        ("thread", "select", "a", "printer"),
        ("thread", "select", "a"),
    )
    for command in reading:
        assert "who asks" in run(*command, code=2).stderr
        owner = run(*command, "--viewer", "all").stdout
        low = run(*command, "--viewer", "low").stdout
        assert "4711" not in low
        if command[1] != "list":
            assert "4711" in owner
            assert "printer is on fire" in low
    assert run("thread", "list", "--viewer", "low").stdout.startswith("a ")


def test_history_and_blocks_are_for_who_may_see_everything(run):
    run("init")
    run("trust", "enable")
    run("node", "add", "Note", "--summary", "secret tea", "--prop", "level=3")
    run("commit", "-m", "tea")
    secret = json.loads(run("query", "--viewer", "all", "--json").stdout)["nodes"][0]
    for name in ("HEAD", "main", secret["cid"]):
        asked = run("show", name, "--viewer", "low", code=2)
        assert "no level" in asked.stderr
        assert "secret" not in asked.output
        for owner in ((), ("--viewer", "all")):
            assert "secret tea" in run("show", name, *owner).stdout
    run("diff", "HEAD", "--viewer", "low", code=2)
    run("diff", "HEAD")
    run("blame", secret["id"])
    run("index", "stats")


def test_answers_of_two_revisions_are_compared_by_the_owner(run, tmp_path):
    run("init")
    run("trust", "enable")
    plain = json.loads(run("node", "add", "Note", "--summary", "plain tea", "--json").stdout)["id"]
    run("commit", "-m", "plain")
    run("node", "add", "Note", "--summary", "secret tea", "--prop", "level=3")
    run("commit", "-m", "secret")
    compare = ("diff", "--query", "tea", "HEAD~1", "HEAD", "--exit-code")
    run(*compare, code=2)
    assert "refused" in run(*compare, "--viewer", "low", code=2).stderr
    run(*compare, "--viewer", "all", code=1)
    bisect = ("bisect", "--query", "tea", "--expect", plain, "--rank-max", "1")
    run(*bisect, code=2)
    assert "refused" in run(*bisect, "--viewer", "low", code=2).stderr
    run(*bisect, "--viewer", "all", code=1)
    file = str(tmp_path / "tea.golden")
    run("snapshot", "record", file, "tea", code=2)
    run("snapshot", "record", file, "tea", "--viewer", "low")
    run("snapshot", "check", file)
    assert "secret" not in (tmp_path / "tea.golden").read_text("utf-8")


def test_the_environment_can_say_who_asks(run, monkeypatch):
    run("init")
    run("trust", "enable")
    run("query", code=2)
    monkeypatch.setenv("IBIDEM_VIEWER", "low:a,b")
    run("query")
    run("query", "--viewer", "extreme", code=2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all", ALL),
        ("medium", Viewer(level=2, scopes=())),
        ("2:a", Viewer(level=2, scopes=("a",))),
        ("low:team:x,b", Viewer(level=1, scopes=("b", "team:x"))),
        ("hyper:*", Viewer(level=4, scopes=ALL_SCOPES)),
        (None, None),
    ],
)
def test_what_a_person_writes_is_a_context(text: str | None, expected: Viewer | None):
    assert viewer_of(Session(viewer=text, environment={})) == expected


def test_another_level_is_refused():
    for text in ("9", "odd", ":a", "-1"):
        with pytest.raises(InvalidInputError, match=r"^viewer"):
            viewer_of(Session(viewer=text, environment={}))


def test_records_are_kept_asked_for_and_revised(run):
    run("init")
    ada = run("memory", "add", "Ada", "--type", "Entity", "--name", "Ada").stdout.strip()
    tea = run("memory", "add", "likes tea", "--relate", f"subject_entity={ada}").stdout.strip()
    shown = run("memory", "graph", "what does Ada like").stdout
    assert "likes tea" in shown
    assert f"{tea} subject_entity {ada}" in shown
    run("memory", "supersede", tea, "likes cocoa", "--from", "observation=chat")
    shown = run("memory", "graph", "what does Ada like").stdout
    assert "likes tea" not in shown
    run("memory", "supersede", tea, "x", "--from", "nonsense", code=2)
    run("memory", "supersede", tea, "likes water", "--from", "observation=chat", code=2)
    assert run("memory", "salience", ada).stdout == "1.000000\n"


def test_help_says_that_the_caller_is_a_courtesy_and_what_is_the_boundary(run):
    for command in (("retrieve",), ("thread", "show"), ("memory", "graph")):
        words = " ".join(run(*command, "--help").stdout.split())
        assert "Not a security boundary: whoever can read" in words
        assert "IBIDEM_VIEWER" in words


def test_nodes_that_are_no_records_are_named_by_prune_and_consolidate(run):
    run("init")
    broken = json.loads(
        run("node", "add", "Working", "--summary", "w", "--prop", "salience=9", "--json").stdout
    )["id"]
    run("node", "add", "Entity", "--summary", "Ada")
    run("commit", "-m", "plain nodes")
    for command in ("prune", "consolidate"):
        told = run("memory", command).stderr
        assert f"left out: node {broken} is no record: salience" in told
