"""Help texts keep to the house's form, and the reference page is made from them."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from ibidem.cli.main import COMMANDS, SYNONYMS
from ibidem.cli.reference import commands, reference

from .conftest import Run

HOUSE = Path(__file__).resolve().parents[2]
FOUND = [(path, command) for path, command, _ in commands()]
LEAVES = [(path, command) for path, command in FOUND if not isinstance(command, click.Group)]


def test_the_reference_page_is_the_help_of_today():
    page = (HOUSE / "docs" / "cli-reference.md").read_text(encoding="utf-8")
    # Blanks aside: where lines break depends on the version of click.
    assert page.split() == reference().split(), (
        "run python -m ibidem.cli.reference > docs/cli-reference.md"
    )


def test_every_command_has_a_module_of_its_name():
    names = {path.stem for path in (HOUSE / "cli").glob("*.py")}
    assert {name.replace("-", "_") for name in COMMANDS} <= names


def test_every_command_stands_once_in_the_help(run: Run):
    assert len(set(COMMANDS)) == len(COMMANDS)
    listed = re.findall(r"^  ([a-z][a-z-]*) +[A-Z]", run("--help").stdout, re.MULTILINE)
    assert tuple(listed) == COMMANDS


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["comit"], "no such command: comit; did you mean commit?"),
        (["xyzzy"], "no such command: xyzzy\n"),
        (["search", "x"], "no such command: search; did you mean retrieve?"),
        (["squash"], "did you mean history squash?"),
        (["rebase", "main"], "did you mean history rebase?"),
        (["fetch"], "did you mean remote fetch?"),
        (["integrate", "zed"], "did you mean mcp integrate?"),
        (["settings"], "did you mean config?"),
        (["key", "ada"], "the commands are generate, list, require, revoke, trust, verify; see"),
        (["help", "serch"], "no such command: serch"),
        (["help", "log", "all"], "repo log has no commands, got 'all'"),
        (["retrieve", "x", "--limt", "3"], "--limt'. Did you mean '--limit'?\n"),
        (["prompt", "--frozen"], "put -- before a question that begins with -; see repo prompt"),
        (["retrieve", "--frozen"], "put -- before a question that begins with -; see"),
        (["--limt", "3"], "No such option '--limt'.\n"),
        (["prompt", "x", "--budget"], "requires an argument.\nhint: see repo prompt --help\n"),
        (["embed", "install", "--from"], "hint: see repo embed --help\n"),
        (["--repo"], "hint: see repo --help\n"),
        (["memory", "add", "how", "often"], "put an argument of several words in quotes; see"),
        (["log", "main"], "in quotes, and a revision after --at; see repo log --help"),
        (["branch", "x", "main~1"], "and a revision after --at; see repo branch --help"),
    ],
)
def test_who_types_something_else_is_told_what_is_near(run: Run, arguments: list[str], told: str):
    assert told in run(*arguments, code=2).stderr


def test_help_of_a_command_is_the_same_by_both_ways(run: Run):
    assert run("help").stdout == run("--help").stdout
    assert run("help", "key", "verify").stdout == run("key", "verify", "--help").stdout
    assert run("help", "ask").stdout == run("ask", "--help").stdout


def test_ask_is_retrieve_and_stands_first(notes: Run):
    assert COMMANDS[0] == "retrieve"
    assert (
        notes("ask", "deadline", "--json").stdout == notes("retrieve", "deadline", "--json").stdout
    )
    assert "repo ask" in notes("help", "retrieve").stdout


def test_n_is_short_for_limit_in_every_command():
    with_limit = [
        set(option.opts)
        for _, command, _ in commands()
        for option in command.params
        if "--limit" in option.opts
    ]
    assert len(with_limit) > 10
    assert all("-n" in names for names in with_limit)


def test_the_commands_are_few():
    assert len(COMMANDS) < 58


def test_a_question_needs_no_quotes(notes: Run):
    for name in ("retrieve", "packs", "prompt"):
        assert (
            notes(name, "deadline", "of", "a", "request", "--limit", "2").stdout
            == notes(name, "deadline of a request", "--limit", "2").stdout
        )


def test_every_synonym_leads_to_a_command():
    known = {path.removeprefix("repo ") for path, _ in FOUND}
    assert set(SYNONYMS.values()) <= known | {"--version", "undo --staged"}
    assert not known & SYNONYMS.keys()


def test_options_of_a_question_are_listed_by_subject(run: Run):
    headings = re.findall(r"^([A-Z][a-z ]+):$", run("help", "retrieve").stdout, re.MULTILINE)
    assert headings[:2] == ["Options", "What is returned"]
    assert {"Vectors", "How a text matches", "Graph", "Fusion", "Recall"} <= set(headings)


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[path for path, _ in LEAVES])
def test_help_begins_with_one_imperative_line_and_has_an_example(path: str, command: click.Command):
    lines = (command.help or "").splitlines()
    assert lines[0][0].isupper()
    assert not lines[0].endswith(".")
    assert re.search(rf"^ +.*{path} ?", command.help or "", re.MULTILINE)


@pytest.mark.parametrize(("path", "command"), FOUND, ids=[path for path, _ in FOUND])
def test_options_are_singular_and_explained(path: str, command: click.Command):
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts}"
            assert parameter.help.rstrip("].")[-1] != " "
            assert parameter.help.endswith((".", "].")), f"{path} {parameter.opts}"


READING = {"log", "show", "query", "retrieve", "index stats", "branch", "tag"}


@pytest.mark.parametrize("name", sorted(READING))
def test_every_command_that_reads_a_state_takes_at(name: str):
    (command,) = [command for path, command in FOUND if path == f"repo {name}"]
    assert any("--at" in parameter.opts for parameter in command.params)


def test_every_command_on_a_repository_takes_its_folder():
    elsewhere = {
        "repo init",
        "repo clone",
        "repo demo",
        "repo completion",
        "repo embed install",
        "repo help",
        *("repo config repos list", "repo config repos add", "repo config repos remove"),
        "repo config repos",
    }
    for path, command in LEAVES:
        has_option = any("--repo" in parameter.opts for parameter in command.params)
        assert has_option is (path not in elsewhere), path
