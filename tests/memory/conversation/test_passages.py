"""Passages of long messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ibidem
from ibidem.ingest.chunks import chunks
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.passages import best_passage
from ibidem.repo.repository import Repository

QUIET = "The day passed quietly. " * 200
LONG = f"{QUIET}At noon the old gate broke.\n\n{QUIET}"


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init("memory:", clock=lambda: 1) as repository:
        yield repository


def test_the_passage_of_a_question_stands_for_a_long_message(repo: Repository) -> None:
    memory = Conversations(repo)
    memory.append("a", [("user", LONG), ("user", "a short gate"), ("user", "last")])
    chosen = memory.select("which gate broke", thread="a", limit=2)
    long = next(one for one in chosen.messages if one.ord == 0)
    passage = chosen.passages[long.id]
    assert long.text[passage.start : passage.stop] == passage.text
    assert "old gate broke" in passage.text
    assert len(passage.text) <= 1000
    assert list(chosen.passages) == [long.id]
    assert passage.text in chosen.text
    assert QUIET not in chosen.text
    [item] = [item for item in chosen.to_dict()["items"] if "passage" in item]
    assert item["passage"] == {"start": passage.start, "stop": passage.stop}
    assert chosen.to_messages()[chosen.messages.index(long)]["content"] == LONG


def test_a_context_shows_the_passage_with_its_range(repo: Repository) -> None:
    memory = Conversations(repo)
    memory.append("a", [("user", LONG), *(("user", f"more {place}") for place in range(9))])
    context = memory.context("which gate broke", thread="a", token_budget=600, recent=2)
    assert "old gate broke" in context.text
    passage = best_passage(LONG, "which gate broke", "english-1")
    assert passage is not None
    assert f"user, characters {passage.start} to {passage.stop}\n" in context.text
    assert context.tokens_used <= 600
    whole = memory.context("which gate broke", thread="a", token_budget=None, recent=10)
    assert LONG in whole.text
    assert ", characters " not in whole.text


def test_a_message_that_is_not_long_has_none() -> None:
    text = "gate " * 400  # 2,000 characters
    assert best_passage(text, "gate", "english-1") is None
    assert best_passage(text + "s", "gate", "english-1") is not None
    assert best_passage(LONG, "mill", "english-1") is None
    assert best_passage(LONG, "", "english-1") is None


def test_it_is_the_one_that_the_definition_gives() -> None:
    """Against a count by hand, over all passages."""
    words = ["mill" if n % 97 == 0 else "gate" if n % 31 == 0 else "way" for n in range(900)]
    text = " ".join(f"{word} {n}." for n, word in enumerate(words))
    ranges = chunks(text)
    pieces = [text[start:stop] for start, stop in ranges]
    having = {word: sum(word in piece for piece in pieces) for word in ("mill", "gate")}
    worth = [
        (
            sum(1 + len(pieces) - having[word] for word in having if word in piece),
            sum(piece.count(word) for word in having),
            -index,
        )
        for index, piece in enumerate(pieces)
    ]
    best = worth.index(max(worth))
    passage = best_passage(text, "mill gate", "english-1")
    assert passage is not None
    assert (passage.start, passage.stop) == ranges[best]
