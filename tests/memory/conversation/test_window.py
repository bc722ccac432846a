"""How many messages of a thread are searched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ibidem
from ibidem.memory.conversation.conversations import Conversations
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init("memory:", clock=lambda: 1) as repository:
        yield repository


def limited(repo: Repository, window: int) -> Conversations:
    memory = Conversations(repo)
    memory.append("a", [("user", f"needle {index}") for index in range(10)])
    memory.append("b", [("user", f"needle {index}") for index in range(4)])
    with repo.transaction() as tx:
        tx.configure(thread_window=window)
    return memory


def outside(answer: object) -> list[tuple[str | None, int | None]]:
    found = [one for one in answer.warnings if str(one.code) == "outside_window"]  # type: ignore[attr-defined]
    return [(one.subject, one.count) for one in found]


def test_only_the_newest_messages_of_a_thread_are_searched(repo: Repository) -> None:
    memory = limited(repo, 3)
    chosen = memory.select("needle", thread="a", limit=None)
    assert {one.ord for one in chosen.messages} == {7, 8, 9}
    assert outside(chosen) == [("a", 7)]
    every = memory.select("needle", limit=None)
    assert {(one.thread, one.ord) for one in every.messages} == {
        *(("a", index) for index in (7, 8, 9)),
        *(("b", index) for index in (1, 2, 3)),
    }
    assert outside(every) == [("a", 7), ("b", 1)]
    assert repo.receipts.replay(every.result.receipt).cid == every.result.cid
    assert len(memory.select(None, limit=None).messages) == 6
    assert len(memory.messages("a")) == 10


def test_a_window_that_is_given_is_not_greater_than_that_of_the_root(repo: Repository) -> None:
    memory = limited(repo, 4)
    assert len(memory.select("needle", thread="a", limit=None, window=9).messages) == 4
    narrow = memory.select("needle", thread="a", limit=None, window=2)
    assert (len(narrow.messages), outside(narrow)) == (2, [])
    whole = memory.select("needle", thread="b", limit=None)
    assert (len(whole.messages), outside(whole)) == (4, [])


def test_an_older_revision_has_its_own_window(repo: Repository) -> None:
    memory = limited(repo, 3)
    assert len(memory.select("needle", thread="a", limit=None, at="HEAD~1").messages) == 10
    with repo.transaction() as tx:
        tx.configure(thread_window=None)
    assert len(memory.select("needle", thread="a", limit=None).messages) == 10


def test_a_context_searches_the_window_and_shows_summaries(repo: Repository) -> None:
    memory = limited(repo, 3)
    memory.compact("a", 0, 4, "a needle before")
    shown = repo.context("needle", thread="a", recent=0, documents=0, facts=0)
    texts = {pack.text for pack in shown.packs}
    assert texts == {"a needle before", "needle 7", "needle 8", "needle 9"}
    assert outside(shown) == [("a", 7)]
    assert repo.receipts.replay(shown.receipt).cid == shown.packs.cid
    of_b = memory.context("needle", thread="b", token_budget=None, recent=0)
    assert outside(of_b) == [("b", 1)]


def test_a_viewer_has_the_newest_that_he_sees(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        tx.configure(thread_window=2)
    owner = Conversations(repo, viewer=ALL)
    levels = [0, 0, 0, 3, 3]
    owner.append(
        "a",
        [
            ibidem.Message("user", f"needle {place}", props={"level": level})
            for place, level in enumerate(levels)
        ],
    )
    low = Conversations(repo, viewer=Viewer(level=1, scopes=()))
    for thread in ("a", None):
        chosen = low.select("needle", thread=thread, limit=None)
        assert {one.ord for one in chosen.messages} == {1, 2}
        assert outside(chosen) == [("a", 1)]


def test_a_viewer_who_does_not_see_the_thread_has_its_newest_messages(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        tx.configure(thread_window=1)
    owner = Conversations(repo, viewer=ALL)
    for thread in ("a", "b", "é"):
        said = [ibidem.Message("user", f"needle {at}", props={"level": 0}) for at in range(3)]
        owner.append(thread, said)
    with repo.transaction() as tx:
        for node in list(tx.nodes(label="Thread")):
            tx.set_labels(node.id, {"level": 1})
        # Somebody else's, of another form.
        for given in (["z", "a"], 3, ""):
            tx.add_node("Message", summary="x", props={"thread": given, "level": 0}, unique=True)
    public = Conversations(repo, viewer=Viewer(level=0, scopes=()))
    assert public.threads() == []
    chosen = public.select("needle", limit=None)
    assert {(one.thread, one.ord) for one in chosen.messages} == {("a", 2), ("b", 2), ("é", 2)}
    assert outside(chosen) == [("a", 2), ("b", 2), ("é", 2)]


@pytest.mark.parametrize("value", [0, -1, True, "3", 2.5])
def test_a_window_of_another_form_changes_nothing(repo: Repository, value: object) -> None:
    with pytest.raises(InvalidInputError, match="thread_window"), repo.transaction() as tx:
        tx.configure(thread_window=value)
    assert len(list(repo.history.log())) == 0
