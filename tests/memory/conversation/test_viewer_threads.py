"""Threads that viewers and the owner both write: the viewer goes on after what he sees, the owner
after everything.

Spec: trust [6-f], [6-g], [6-h], [6-i]. What a viewer learns is `tests/oracle/test_viewer.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer

LOW = Viewer(level="low", scopes=())
HIGH = Viewer(level="high", scopes=())
SECRET = {"level": 3}


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init("memory:") as made:
        with made.transaction() as tx:
            tx.set_trust_policy(TrustPolicy())
        yield made


def owner_of(repo: Repository) -> Conversations:
    return Conversations(repo, viewer=ALL)


def texts(conversations: Conversations, thread: str = "a") -> list[str]:
    return [one.text for one in conversations.messages(thread)]


def test_a_thread_of_a_viewer_is_one_that_the_owner_reads_and_goes_on_with(repo: Repository):
    low, owner = repo.as_viewer(LOW).conversations, owner_of(repo)
    assert low.append("a", [("user", "one"), ("assistant", "two")]).ords == (0, 1)
    assert (owner.thread("a").next_ord, [one.name for one in owner.threads()]) == (2, ["a"])
    assert owner.append("a", [("user", "three")]).ords == (2,)
    assert low.append("a", [("user", "four")]).ords == (3,)
    assert owner.append("a", [("user", "five")]).ords == (4,)
    assert texts(owner) == texts(low) == ["one", "two", "three", "four", "five"]
    assert owner.thread("a") == low.thread("a")
    given = [*(("user" if n % 2 == 0 else "assistant", "x") for n in range(5)), ("user", "six")]
    assert owner.save("b", given).ords == tuple(range(6))
    whole = [(one.role, one.text) for one in low.messages("a")]
    assert low.save("a", whole).commit is None
    assert low.save("a", [*whole, ("user", "six")]).ords == (5,)


def test_messages_that_do_not_see_each_other_have_one_ord_and_both_are_shown(repo: Repository):
    low, owner = repo.as_viewer(LOW).conversations, owner_of(repo)
    owner.append("a", [("user", "zero")], time=1)
    owner.append("a", [Message("user", f"secret {n}", props=SECRET) for n in range(3)], time=2)
    assert low.append("a", [("user", "mine"), ("user", "again")], time=3).ords == (1, 2)
    assert texts(low) == ["zero", "mine", "again"]
    assert texts(owner) == ["zero", "secret 0", "mine", "secret 1", "again", "secret 2"]
    assert owner.append("a", [("user", "last")], time=4).ords == (4,)
    found = owner.select(None, thread="a", limit=None)
    assert [one.text for one in found.messages] == texts(owner)
    context = owner.context("secret", thread="a", token_budget=None, recent=9)
    assert {one.text for one in context.items} == set(texts(owner))
    asked = repo.context("mine", thread="a", recent=9, token_budget=900, viewer=ALL)
    assert all(one in str(asked) for one in texts(owner))


def test_a_summary_covers_what_it_was_made_of_and_has_its_level(repo: Repository):
    high, owner = repo.as_viewer(HIGH).conversations, owner_of(repo)
    low = repo.as_viewer(LOW).conversations
    high.append("a", [Message("user", "the code is 4711", props=SECRET), ("user", "thanks")])
    owner.compact("a", 0, 1, "a code was told")
    assert [one.text for one in owner.view("a")] == ["a code was told"]
    assert [one.text for one in high.view("a")] == ["a code was told"]
    assert [one.text for one in low.view("a")] == ["thanks"]
    assert low.append("a", [("user", "hm")]).ords == (2,)
    low.append("b", [("user", "early")])
    owner.append("b", [Message("user", "hidden", props=SECRET)])
    owner.compact("b", 0, 1, "all of it")
    assert low.append("b", [("user", "later")]).ords == (1,)
    assert [one.text for one in owner.view("b")] == ["all of it", "later"]


def test_each_clears_what_he_sees(repo: Repository):
    low, owner = repo.as_viewer(LOW).conversations, owner_of(repo)
    owner.append("a", [("user", "one"), Message("user", "secret", props=SECRET), ("user", "two")])
    assert low.purge("a", 1).ords == (0,)
    assert low.clear("a").ords == (2,)
    assert (texts(low), texts(owner)) == ([], ["secret"])
    assert low.save("a", [("user", "anew")]).ords == (3,)
    assert low.save("a", [("user", "anew"), ("user", "more")]).ords == (4,)
    assert owner.clear("a").ords == (1, 3, 4)
    low.append("c", [("user", "only mine")])
    assert owner.clear("c").ords == (0,)
    assert owner.save("c", [("user", "anew")]).ords == (1,)


def test_a_message_under_an_id_is_stored_once_for_who_sees_it(repo: Repository):
    low, owner = repo.as_viewer(LOW).conversations, owner_of(repo)
    hidden = Message("user", "secret", id="m1", props=SECRET)
    owner.append("a", [hidden, Message("user", "seen", id="m2")])
    assert low.append("a", [Message("user", "mine", id="m1")]).ords == (2,)
    assert low.append("a", [Message("user", "again", id="m2")]).ords == (1,)
    assert owner.append("a", [Message("user", "mine", id="m1")]).commit is None


def test_one_transaction_of_a_viewer_goes_on_after_what_it_has_staged(repo: Repository):
    face = repo.as_viewer(LOW, author="eve")
    with face.transaction(message="two steps") as tx:
        assert tx.conversations.append("a", [("user", "one")]).ords == (0,)
        assert tx.conversations.append("a", [("user", "two")]).ords == (1,)
        assert texts(tx.conversations) == ["one", "two"]
        for ask in (tx.at().retrieve, tx.at().packs, tx.at().records):
            with pytest.raises(InvalidInputError, match="got a ranked question"):
                ask("one")
        for other in (ALL, HIGH):
            with pytest.raises(InvalidInputError, match="another viewer is refused"):
                tx.at(viewer=other)
    assert texts(face.conversations) == ["one", "two"]
    assert [one.name for one in face.conversations.threads()] == ["a"]
    assert repo.commit_at().author == "eve"


def test_a_thread_is_hidden_as_long_as_all_of_its_messages_are(repo: Repository):
    low, owner = repo.as_viewer(LOW), owner_of(repo)
    owner.append("layoffs", [Message("user", "the plan", props=SECRET)] * 70)
    assert (low.at().count(), low.conversations.threads()) == (0, [])
    with repo.transaction() as tx:
        for node in [*tx.nodes(label="Thread"), *tx.nodes(label="ThreadPart")]:
            tx.set_labels(node.id, {"level": 4})
    owner.append("layoffs", [Message("user", "more", props=SECRET)])
    assert low.at().count() == 0
    assert repo.as_viewer(HIGH).conversations.thread("layoffs").next_ord == 71
    owner.append("layoffs", [("user", "for all")])
    assert sorted(node.ntype for node in low.query()) == ["Message", "Thread", "ThreadPart"]
    assert texts(low.conversations, "layoffs") == ["for all"]


def test_what_hides_all_of_a_thread_does_not_show_its_name(repo: Repository):
    high, owner = repo.as_viewer(HIGH).conversations, owner_of(repo)
    for name in ("a", "b"):
        high.append(name, [Message("user", "the plan", props=SECRET)])
    owner.append("c", [Message("user", "the plan", props=SECRET)])
    owner.clear("a")
    owner.compact("b", 0, 0, "a plan")
    high.clear("c")
    assert repo.as_viewer(LOW).at().count() == 0
    assert [one.name for one in high.threads()] == ["a", "b", "c"]


def test_an_ord_that_no_thread_has_stops_nobody(repo: Repository):
    with repo.as_viewer(LOW).transaction() as tx:
        for far in ((1 << 62), (1 << 63) - 1):
            props = {"thread": "a", "ord": far, "role": "user", "created_at": 1}
            tx.add_node("Message", summary="far", props=props)
    assert repo.as_viewer(LOW).conversations.append("a", [("user", "x")]).ords == (0,)
    assert owner_of(repo).append("a", [("user", "y")]).ords == (1,)


def test_the_command_appends_and_clears_for_a_viewer(tmp_path: Path):
    with ibidem.init(tmp_path, author="ada") as made, made.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())

    def run(*arguments: str) -> dict[str, object]:
        done = CliRunner().invoke(cli, ["-R", str(tmp_path), *arguments, "--json"])
        assert done.exit_code == 0, done.output
        found: dict[str, object] = json.loads(done.stdout)
        return found

    assert run("thread", "append", "a", "hello", "--viewer", "low")["ords"] == [0]
    assert run("thread", "append", "a", "again", "--viewer", "all")["ords"] == [1]
    assert run("thread", "clear", "a", "--viewer", "low")["ords"] == [0, 1]
