"""Answers are sequences of what they hold, and an empty one is false."""

from __future__ import annotations

import pytest
from blake3 import blake3

import ibidem
from ibidem.repo.repository import Repository
from ibidem.retrieve.answer.answer import AnswerKind


@pytest.fixture
def repo():
    with ibidem.init("memory:") as repository:
        with repository.transaction(author="ada") as tx:
            for number in range(4):
                tx.add_node("Note", summary=f"green tea {number}", key=number)
        yield repository


def answers(repo: Repository, text: str, label: str):
    result, packs = repo.retrieve(text, label=label), repo.packs(text, label=label)
    page = repo.at().page(label=label)
    return ((result, result.items), (packs, packs.packs), (page, page.nodes))


def test_an_answer_is_a_sequence_of_what_it_holds(repo: Repository) -> None:
    for answer, held in answers(repo, "tea", "Note"):
        assert answer
        assert len(answer) == 4
        assert tuple(answer) == held
        assert answer[0] is held[0]
        assert answer[-1] is held[-1]
        assert answer[1:3] == held[1:3]
        assert held[2] in answer
        with pytest.raises(IndexError):
            answer[4]


def test_an_answer_says_what_its_items_are(repo: Repository) -> None:
    result, packs = repo.retrieve("tea"), repo.packs("tea")
    assert (result.kind, packs.kind) == (AnswerKind.NODES, AnswerKind.PACKS)
    assert (result.packs, packs.packs) == ((), packs.items)
    for answer in (result, packs):
        assert answer.tokens_used == sum(item.tokens for item in answer)
        assert answer.receipt is not None
        for item, kept in zip(answer, answer.receipt.items, strict=True):
            best = item.hits[0]
            assert (kept.id, kept.cid, kept.score) == (best.id, best.cid, item.score)
            assert kept.digest == blake3(item.rendered.encode()).digest()


def test_an_empty_answer_is_false_and_still_an_answer(repo: Repository) -> None:
    for answer, held in answers(repo, "tea", "Nobody"):
        assert not answer
        assert answer is not None
        assert len(answer) == 0
        assert list(answer) == []
        assert held == ()


def test_answers_are_compared_by_all_that_they_say(repo: Repository) -> None:
    two, other = repo.retrieve("tea", limit=2), repo.retrieve("green tea", limit=2)
    assert {one.id for one in two} & {one.id for one in other}
    assert two == repo.retrieve("tea", limit=2)
    assert two != other
