"""Conversation memory in a budget: the checks CM13 to CM15, CM18 and CM20 of docs/seeds.md."""

from __future__ import annotations

import random

import pytest

from ibidem.ingest.chunks import chunks
from ibidem.memory.conversation.context import Source, compose
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message
from ibidem.memory.conversation.units import Unit, effective_budget, fit, shares, units
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve.tokens import HEURISTIC

from .talking import said, texts


def test_cm13_budgets_are_divided_by_the_largest_remainder():
    assert shares(100, [6, 4]) == [60, 40]
    assert shares(10, [1, 1, 1]) == [4, 3, 3]
    rng = random.Random(1)
    for _ in range(500):
        total = rng.randrange(1000)
        weights = [rng.randrange(1, 20) for _ in range(rng.randrange(1, 8))]
        assert sum(shares(total, weights)) == total
    for weights in ([0], [-1, 2], [1.5], []):
        with pytest.raises(InvalidInputError, match="weight"):
            shares(10, weights)


def test_cm13_each_source_spends_its_part(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", "needle " * 7 + f"{place:03}") for place in range(40)])
    cost = HEURISTIC.estimate("needle " * 7 + "000")
    context = memory.context("needle", thread="a", token_budget=cost * 10, similar=40, recent=40)
    assert [part.token_budget for part in context.parts] == [cost * 4, cost * 6]
    assert [len(part.units) for part in context.parts] == [4, 6]
    assert len({one.ord for one in context.messages}) == 10
    assert context.tokens_used == cost * 10


def test_what_a_context_shows_is_an_answer_with_a_receipt(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", f"needle {place}") for place in range(12)])
    memory.compact("a", 0, 4, "the first five")
    context = memory.context("needle", thread="a", token_budget=None, recent=3, similar=2)
    answer = context.answer
    assert {item.id for item in answer.items} == {one.id for one in context.messages}
    everything = memory.context(None, thread="a", token_budget=None, recent=20)
    assert "Summary" in {item.node.ntype for item in everything.answer.items}
    assert len(everything.answer) == len(everything.messages) == 8
    kept = repo.receipts.keep(answer.receipt)
    memory.append("a", [("user", "needle again")])
    assert repo.receipts.replay(kept).to_bytes() == answer.to_bytes()
    assert memory.context("needle", thread="a", token_budget=0).answer is None


TOOLS = [
    Message("user", "what is the weather"),
    Message("assistant", "let me look", tool_calls=("c1", "c2")),
    Message("tool", "sunny " * 10, tool_call_id="c1"),
    Message("tool", "windy", tool_call_id="c2"),
    Message("assistant", "sunny and windy"),
]


def test_cm14_a_call_and_its_answers_are_in_or_out_together(repo):
    memory = Conversations(repo)
    memory.append("a", TOOLS)
    found = units(memory.messages("a"))
    assert [len(unit.messages) for unit in found] == [1, 3, 1]
    total = sum(HEURISTIC.estimate(one.text) for one in TOOLS)
    sizes = set()
    for budget in range(total + 1):
        context = memory.context(None, thread="a", token_budget=budget, weights=(1, 1))
        shown = {one.ord for one in context.messages}
        assert not shown & {1, 2, 3} or shown >= {1, 2, 3}
        assert context.tokens_used <= budget
        sizes.add(len(shown))
    assert {0, 5} <= sizes
    chosen = memory.select("windy", thread="a", limit=5)
    assert [len(unit.messages) for unit in chosen.units] in ([1, 3], [3, 1])


def test_cm14_an_exchange_is_a_question_and_what_follows(repo):
    memory = Conversations(repo)
    for place in range(3):
        memory.append("a", [("user", f"needle {place}"), ("assistant", "ok"), ("assistant", "x")])
    chosen = memory.select(None, thread="a", limit=2, unit="exchange")
    assert [one.ord for one in chosen.messages] == [3, 4, 5, 6, 7, 8]
    [unit] = memory.select("1", thread="a", limit=1, unit="exchange").units
    assert [one.ord for one in unit.messages] == [3, 4, 5]


def test_cm15_what_is_required_fits_or_is_an_error(repo):
    memory = Conversations(repo)
    memory.append("a", said(6))
    cost = HEURISTIC.estimate("message 0")
    with pytest.raises(InvalidInputError) as caught:
        memory.context(None, thread="a", token_budget=2 * cost - 1, require_last=2)
    assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED
    context = memory.context(None, thread="a", token_budget=3 * cost, require_last=2)
    assert [one.ord for one in context.messages] == [3, 4, 5]
    assert context.dropped == 3
    made = units(memory.messages("a"))
    costs = {unit.key: cost for unit, cost in zip(made, (5, 50, 4, 1, 1, 1), strict=True)}
    taken, used, left = fit(made[:3], lambda unit: costs[unit.key], 10)
    assert ([unit.key[1] for unit in taken], used, left) == ([0, 2], 9, 1)
    must = [Unit(made[1].messages, is_required=True), made[0], made[2]]
    assert fit(must, lambda unit: costs[unit.key], 54)[1:] == (54, 1)
    assert effective_budget(100, output=40, overhead=70) == 0
    assert effective_budget(100, output=40, overhead=10) == 50
    with pytest.raises(InvalidInputError, match="window"):
        effective_budget("model")


def test_cm18_tokens_are_counted_as_everywhere():
    assert HEURISTIC.estimate("") == 0
    assert HEURISTIC.estimate("abcde") == 2
    assert HEURISTIC.estimate("机器学") == 2
    rng = random.Random(5)
    for _ in range(300):
        one, other = ("".join(rng.choices("ab机é ", k=rng.randrange(9))) for _ in range(2))
        joined = HEURISTIC.estimate(one + other)
        assert joined >= max(HEURISTIC.estimate(one), HEURISTIC.estimate(other))


def test_cm20_chunks_overlap_and_lose_nothing():
    rng = random.Random(2)
    for _ in range(200):
        text = "".join(
            rng.choices(["word ", "x", "\n", "\n\n", "End. ", "机"], k=rng.randrange(90))
        )
        size = rng.randrange(1, 40)
        overlap = rng.randrange(size)
        made = chunks(text, size=size, overlap=overlap)
        assert all(0 < stop - start <= size for start, stop in made)
        rebuilt = ""
        for start, stop in made:
            assert len(rebuilt) - overlap <= start <= len(rebuilt) < stop
            rebuilt += text[len(rebuilt) : stop]
        assert rebuilt == text
    for size, overlap in ((10, 10), (10, 11), (0, 0), (10, -1), (1.5, 0)):
        with pytest.raises(InvalidInputError, match=r"size|overlap"):
            chunks("text", size=size, overlap=overlap)
    assert chunks("", size=10, overlap=2) == []


def test_a_source_shows_nothing_that_an_earlier_one_showed(repo):
    memory = Conversations(repo)
    memory.append("a", said(3))
    made = tuple(units(memory.messages("a")))
    context = compose(
        [Source("one", made[:2]), Source("other", made)], token_budget=None, estimator=HEURISTIC
    )
    assert [len(part.units) for part in context.parts] == [2, 1]


def test_long_messages_and_answers_of_tools(repo):
    memory = Conversations(repo)
    long = "x" * 20_000
    memory.append("a", [("user", long), Message("tool", long, tool_call_id="c")])
    assert texts(memory.messages("a")) == [long, long]
    context = memory.context(None, thread="a", token_budget=None)
    assert len(context.text) < 25_000
    assert len(memory.context(None, thread="a", token_budget=None, tool_chars=30_000).text) > 40_000


def test_a_part_skips_or_stops_where_a_unit_does_not_fit(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", "first"), ("user", "long " * 100), ("user", "last")])
    shown = {
        overflow: texts(
            memory.context(None, thread="a", token_budget=20, overflow=overflow).messages
        )
        for overflow in ("skip", "stop")
    }
    assert shown == {"skip": ["first", "last"], "stop": ["last"]}
