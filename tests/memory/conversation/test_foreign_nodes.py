"""Nodes that bear the labels of a conversation and are none: somebody else chose what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ibidem
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import thread_id
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository

HUGE = 1 << 62


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init(clock=lambda: 1_700_000_000_000_000) as made:
        talk = Conversations(made)
        talk.append("good", [("user", "pour tea"), ("assistant", "done")])
        talk.append("bad", [("user", "tea again")])
        yield made


def spoil(repo: Repository, **changes: Any) -> None:
    """Changes the properties of the thread `bad`; None takes one away."""
    with repo.transaction() as tx:
        gone = [name for name, value in changes.items() if value is None]
        kept = {name: value for name, value in changes.items() if value is not None}
        tx.update_node(thread_id("bad"), set_props=kept, unset_props=gone)


SPOILT: list[dict[str, Any]] = [
    *({name: None} for name in ("name", "next", "cleared")),
    {"name": "another"},
    {"next": "many"},
    {"next": -1},
    {"next": True},
    {"cleared": 2},
    {"summaries": 7},
    {"summaries": [[1, 2, 3]]},
    {"summaries": [["a", "b"]]},
]


@pytest.mark.parametrize("changes", SPOILT, ids=str)
def test_a_thread_that_is_none_hides_no_other(repo: Repository, changes: dict[str, Any]) -> None:
    spoil(repo, **changes)
    talk = Conversations(repo)
    assert [info.name for info in talk.threads()] == ["good"]
    asked: list[Callable[[], object]] = [
        lambda: talk.thread("bad"),
        lambda: talk.messages("bad"),
        lambda: talk.append("bad", [("user", "more")]),
        lambda: talk.save("bad", [("user", "tea again"), ("user", "more")]),
        lambda: talk.compact("bad", 0, 0, "tea"),
        lambda: talk.clear("bad"),
    ]
    for ask in asked:
        with pytest.raises(InvalidInputError, match=f"node {thread_id('bad')} is no thread"):
            ask()


@pytest.mark.parametrize(
    "props",
    [
        {},
        {"ord": "1"},
        {"ord": 1.5},
        {"role": 3},
        {"created_at": b""},
        {"created_at": True},
        {"valid_to": "soon"},
        {"message_id": 3},
        {"tool_calls": "call"},
        {"tool_calls": [1]},
        {"tool_call_id": [1]},
    ],
    ids=str,
)
def test_a_message_that_is_none_hides_no_other(repo: Repository, props: dict[str, Any]) -> None:
    whole = {"thread": "good", "ord": 5, "role": "user", "created_at": 1}
    with repo.transaction() as tx:
        said = {**whole, **props} if props else {"thread": "good"}
        tx.add_node("Message", summary="tea", props=said, unique=True)
    talk = Conversations(repo)
    kept = ["pour tea", "done"]
    assert [one.text for one in talk.messages("good")] == kept
    assert [one.text for one in talk.view("good")] == kept
    for thread in ("good", None):
        for query in ("tea", None):
            chosen = talk.select(query, thread=thread)
            assert "pour tea" in [one.text for unit in chosen.units for one in unit.messages]
    assert talk.clear("good").ords == (0, 1)


def test_huge_places_cost_no_time(repo: Repository) -> None:
    spoil(repo, next=HUGE)
    with repo.transaction() as tx:
        props = {"thread": "good", "first": 0, "last": HUGE, "created_at": 1}
        tx.add_node("Summary", summary="all", props=props, unique=True)
    talk = Conversations(repo)
    assert [one.text for one in talk.view("good")] == ["pour tea", "done"]
    assert talk.append("bad", [("user", "more")]).ords == (HUGE,)
    assert talk.clear("bad").ords == (0, HUGE)
