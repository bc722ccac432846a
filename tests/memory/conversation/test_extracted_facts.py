"""Facts that a language model proposes are staged with their sources, and accepted by a commit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.embed.test_remote import Server
from tests.memory.conversation.test_summary import KEY, MESSAGES, model, wrote

import ibidem
from ibidem.cli.main import cli
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


@pytest.fixture
def repo() -> ibidem.Repository:
    found = ibidem.init("memory:", clock=iter(range(10**15, 10**16, 10**6)).__next__)
    found.conversations.append("desk", MESSAGES)
    return found


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("- The printer burnt.\n* A new one comes.\n", ("The printer burnt.", "A new one comes.")),
        ("1. One.\n\n2) Two.\n1. One.", ("One.", "Two.")),
        ("None.", ()),
        ("12 printers burnt.", ("12 printers burnt.",)),
    ],
)
def test_each_line_is_a_fact(server: Server, repo: Any, answer: str, expected: tuple[str, ...]):
    server.answers = [wrote(answer)]
    assert (
        ibidem.facts_from_messages(repo.conversations.messages("desk"), model(server)) == expected
    )
    assert "never instructions" in server.asked[0][2]["messages"][0]["content"]


def test_too_many_facts_are_refused(server: Server, repo: Any):
    lines = [f"fact {one}" for one in range(101)]
    server.answers = [wrote("\n".join(lines[:100])), wrote("\n".join(lines))]
    messages = repo.conversations.messages("desk")
    assert len(ibidem.facts_from_messages(messages, model(server))) == 100
    with pytest.raises(InvalidInputError) as error:
        ibidem.facts_from_messages(messages, model(server))
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED


def test_a_fact_has_its_messages_and_is_one_however_often_it_is_proposed(repo: Any):
    talk = repo.conversations
    first = talk.add_facts("desk", 0, 1, ["The printer burnt."], model="m")
    head = repo.head
    assert talk.add_facts("desk", 0, 1, ["The printer burnt."], model="m") == first
    assert repo.head == head
    props = repo.at().node(first[0]).props
    messages = talk.messages("desk")
    assert props["sources"] == [repo.at().node(one.id).cid for one in messages[:2]]
    assert (props["thread"], props["model"]) == ("desk", "m")
    assert props["time"] == messages[1].created_at


@pytest.mark.parametrize(
    "given",
    [
        {"first": 7, "last": 9},
        {"first": -1},
        {"facts": [""]},
        {"facts": [5]},
        {"model": ""},
        {"thread": "none"},
    ],
)
def test_bad_input_is_an_error_and_changes_nothing(repo: Any, given: dict[str, Any]):
    values = {"thread": "desk", "first": 0, "last": 1, "facts": ["x"], "model": "m"} | given
    head = repo.head
    with pytest.raises((InvalidInputError, NotFoundError)):
        repo.conversations.add_facts(**values)
    assert repo.head == head


def test_a_fact_is_as_secret_as_its_messages(repo: Any):
    with repo.transaction(author="ada") as tx:
        tx.set_trust_policy(ibidem.TrustPolicy())
    repo.conversations.append("secret", [ibidem.Message("user", "x", props={"level": 4})])
    [fact] = repo.conversations.add_facts("secret", 0, 0, ["Gold."], model="m")
    node = repo.at(viewer=ibidem.ALL).node(fact)
    [message] = ibidem.Conversations(repo, viewer=ibidem.ALL).messages("secret")
    source = repo.at(viewer=ibidem.ALL).node(message.id)
    assert node.props["level"] == source.props["level"] == 4
    viewer = repo.as_viewer(ibidem.Viewer(level="low", scopes=()), author="eve")
    with pytest.raises(InvalidInputError) as error:
        viewer.conversations.add_facts("secret", 0, 0, ["Gold."], model="m")
    assert error.value.kind is ErrorKind.NOT_PERMITTED


def test_the_command_stages_and_a_commit_accepts(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server.answers = [wrote("- The printer burnt.\n- A new one was sent.")]
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("IBIDEM_REPO", str(tmp_path))
    monkeypatch.setenv("IBIDEM_AUTHOR", "ada")
    with ibidem.init(tmp_path) as repo:
        repo.conversations.append("desk", MESSAGES)
        head = repo.head

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, [*arguments], prog_name="repo")

    for wrong in (
        ("desk", "0", "1"),
        ("desk", "0", "1", "text"),
        ("desk", "0", "1", "text", "--made-by", "me", "--model", "openai:m"),
        ("desk", "0", "1", "--made-by", "me"),
        ("desk", "7", "9", "--model", "openai:m"),
    ):
        assert run("thread", "extract", *wrong).exit_code == 2, wrong
    assert server.asked == []
    done = run("thread", "extract", "desk", "0", "2", "--model", "openai:m", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.output)["facts"]
    assert [one["text"] for one in facts] == ["The printer burnt.", "A new one was sent."]
    assert run("node", "remove", facts[0]["id"]).exit_code == 0
    with ibidem.open(tmp_path) as repo:
        assert repo.head == head
    assert run("commit", "-m", "facts").exit_code == 0
    with ibidem.open(tmp_path) as repo:
        found = [node.summary for node in repo.query(label="Semantic")]
        assert found == ["A new one was sent."]
        assert repo.at().node(facts[1]["id"]).props["model"] == "openai:m"
    assert len(server.asked) == 1
