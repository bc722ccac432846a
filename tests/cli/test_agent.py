"""Every command that commits records the agent and the task, from its options or the
environment."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.objects.codec import decode
from ibidem.objects.commit import Commit
from ibidem.retrieve.answer.sealed import read_receipt

ENVIRONMENT = {"IBIDEM_AUTHOR": "ada", "IBIDEM_AGENT": "scribe", "IBIDEM_TASK": "tidy"}
COMMITTING = {
    *("cherry-pick", "commit", "config set", "config unset", "embed", "history rebase"),
    *("history squash", "import", "mcp", "memory accept", "memory add", "memory consolidate"),
    *("memory contest", "memory feedback not-useful", "memory feedback outcome"),
    *("memory feedback vote", "memory fork", "memory maintain", "memory merge", "memory penalize"),
    *(
        "memory propose",
        "memory prune",
        "memory reinforce",
        "memory retract",
        "memory supersede",
        "merge",
    ),
    *("pull", "resolve", "revert", "run record", "thread append", "thread clear", "thread compact"),
    *("trust disable", "trust enable"),
}


ASKING = {"memory recall", "packs", "prompt", "retrieve"}
WITHOUT_A_COMMIT = {
    *("branch", "clone", "erase", "gc", "history prune", "init", "push", "receipt drop"),
    *("receipt keep", "redo", "remote fetch", "run drop", "switch", "tag", "undo"),
}
"""Commands with an author that move names or delete, and make no commit."""


def commands(group: click.Group, *above: str) -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        found[" ".join((*above, name))] = command
        if isinstance(command, click.Group):
            found |= commands(command, *above, name)
    return found


SELECTING = {"memory list"}
"""Here the options select what an agent wrote."""


def test_the_commands_that_commit_have_the_options() -> None:
    has = {
        name
        for name, command in commands(cli).items()
        if {"agent", "task"} <= {one.name for one in command.params}
    }
    assert has == COMMITTING | ASKING | SELECTING


def test_every_command_with_an_author_is_decided() -> None:
    found = {
        name
        for name, command in commands(cli).items()
        if "author" in {one.name for one in command.params}
    }
    assert found - COMMITTING == WITHOUT_A_COMMIT


def test_a_receipt_names_who_asked_and_what_for(folder: Path) -> None:
    run(folder, "node", "add", "Note", "--summary", "tea at five")
    run(folder, "commit", "-m", "tea")
    asked = json.loads(run(folder, "retrieve", "tea", "--json"))
    other = json.loads(run(folder, "retrieve", "tea", "--agent", "cook", "--json"))
    none = json.loads(run(folder, "retrieve", "tea", "--json", environment={}))
    assert asked["result"] == other["result"] == none["result"]
    assert len({one["receipt"] for one in (asked, other, none)}) == 3
    with ibidem.open(folder) as repo:
        found = [repo.receipts.find(one["receipt"])[1] for one in (asked, other, none)]
        assert [(one.agent, one.task) for one in found] == [
            ("scribe", "tidy"),
            ("cook", "tidy"),
            (None, None),
        ]
        assert "agent" not in decode(found[2].encode())
        for one in found:
            assert repo.receipts.replay(one).receipt == one
            assert read_receipt(one.encode()) == one
        sealed = repo.receipts.find(repo.receipts.keep(found[0], key=bytes(32)))[1]
        assert sealed.open("tea", bytes(32)) == found[0]
    shown = run(folder, "receipt", "show", asked["receipt"])
    assert "agent   scribe" in shown
    assert "task    tidy" in shown
    assert "scribe, tidy" in run(folder, "receipt", "list")


def test_a_pull_that_merges_names_them(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run(folder, "node", "add", "Note", "--summary", "one")
    run(folder, "commit", "-m", "one")
    run(folder, "clone", str(folder), str(other))
    for at in (folder, other):
        run(at, "node", "add", "Note", "--summary", f"in {at.name}")
        run(at, "commit", "-m", "more")
    run(other, "pull", "--agent", "clerk")
    with ibidem.open(other) as repo:
        merged = repo.commit_at()
    assert len(merged.parents) == 2
    assert (merged.agent, merged.task) == ("clerk", "tidy")


def run(folder: Path, *arguments: str, environment: dict[str, str] = ENVIRONMENT) -> str:
    result = CliRunner().invoke(cli, ["-R", str(folder), *arguments], env=environment)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ibidem.init(tmp_path, author="ada"):
        return tmp_path


def history(folder: Path) -> list[Commit]:
    with ibidem.open(folder) as repo:
        commits = [commit for branch in repo.branches() for commit in repo.history.log(branch)]
        head = repo.notes.space().head
        return commits if head is None else [*commits, *repo.history.log(head)]


def test_the_environment_names_agent_and_task(folder: Path) -> None:
    first = {commit.cid for commit in history(folder)}
    (folder / "a.md").write_text("# Tea\n\nTea is at five.\n")
    run(folder, "commit", str(folder / "a.md"), "-m", "tea")
    run(folder, "config", "set", "limit", "5")
    [fact] = json.loads(run(folder, "memory", "add", "Ada likes tea", "--json"))["records"]
    run(folder, "memory", "reinforce", fact)
    run(folder, "thread", "append", "home", "--role", "user", "hello")
    run(folder, "branch", "side")
    run(folder, "node", "add", "Note", "--summary", "main")
    run(folder, "commit", "-m", "on main")
    run(folder, "switch", "side")
    run(folder, "node", "add", "Note", "--summary", "side")
    run(folder, "commit", "-m", "on the side")
    run(folder, "merge", "main")
    run(folder, "revert", "side~1")
    commits = [commit for commit in history(folder) if commit.cid not in first]
    assert len(commits) >= 8
    assert {(commit.agent, commit.task) for commit in commits} == {("scribe", "tidy")}
    assert "agent" in run(folder, "log", "--limit", "1")


def test_an_option_comes_before_the_environment(folder: Path) -> None:
    run(folder, "node", "add", "Note", "--summary", "tea")
    run(folder, "commit", "-m", "tea", "--agent", "clerk", "--task", "count")
    run(folder, "node", "add", "Note", "--summary", "more")
    run(folder, "commit", "-m", "more", environment={"IBIDEM_AUTHOR": "ada"})
    with ibidem.open(folder) as repo:
        last, before = list(repo.history.log())[:2]
    assert (before.agent, before.task) == ("clerk", "count")
    assert (last.agent, last.task) == (None, None)


def test_records_are_listed_by_who_added_them(folder: Path) -> None:
    run(folder, "memory", "add", "tea at five", "--agent", "cook", "--task", "tea")
    run(folder, "memory", "add", "rain", environment={})
    (cooked,) = json.loads(run(folder, "memory", "list", "--agent", "cook", "--json"))["records"]
    assert (cooked["text"], cooked["agent"], cooked["task"]) == ("tea at five", "cook", "tea")
    every = json.loads(run(folder, "memory", "list", "--json"))["records"]
    assert [one["text"] for one in every] == ["rain", "tea at five"]
    assert "by cook for tea" in run(folder, "memory", "list", "--task", "tea")
    assert json.loads(run(folder, "memory", "list", "--task", "none", "--json"))["records"] == []
