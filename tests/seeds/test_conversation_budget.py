"""Conversation memory in a budget: the checks CM13 to CM15, CM18 and CM20 of docs/seeds.md."""

from __future__ import annotations

import random

import pytest

import ibidem
from ibidem.ingest.chunks import chunks
from ibidem.memory.conversation.context import Source, compose
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message
from ibidem.memory.conversation.units import effective_budget, units
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.retrieve.tokens import HEURISTIC

from .talking import said, texts


def test_cm13_each_source_has_its_share(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", "needle " * 7 + f"{place:03}") for place in range(40)])
    context = memory.context("needle", thread="a", token_budget=230, recent=40)
    recent, similar = (len(part.units) for part in context.parts)
    assert abs(3 * recent - 2 * similar) <= 3
    assert len({one.ord for one in context.messages}) == recent + similar
    assert 210 < context.tokens_used <= 230


def test_of_ten_units_four_are_recent(repo):
    """[13-b]"""
    memory = Conversations(repo)
    lines = [("user", f"gate {place:03}") for place in range(30)]
    memory.append("a", [*lines, *(("user", f"mill {place:03}") for place in range(30))])
    whole = memory.context("gate", thread="a", token_budget=None, recent=30)
    cost = whole.parts[0].tokens_used // len(whole.parts[0].units)
    budget = 20 * cost + HEURISTIC.estimate(f"{whole.fence} end")
    context = memory.context("gate", thread="a", token_budget=budget, recent=30)
    assert [len(part.units) for part in context.parts] == [8, 12]


def test_four_units_are_recent_and_ten_selected_by_default(repo):
    """[13-a] [13-b]"""
    memory = Conversations(repo)
    memory.append("a", [("user", f"gate {place:03}") for place in range(12)])
    assert len(memory.context(None, thread="a", token_budget=None).messages) == 4
    assert len(memory.select("gate", thread="a").units) == 10


def test_cm13_what_one_source_leaves_the_other_has(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", f"needle {place:03}") for place in range(40)])
    context = memory.context("needle", thread="a", token_budget=200, recent=2)
    assert len(context.parts[0].units) == 2
    assert 180 < context.tokens_used <= 200
    without = memory.context("absent", thread="a", token_budget=200, recent=99)
    assert 180 < without.tokens_used <= 200


def shown_by(context) -> dict[NodeId, str]:
    """Returns what a context shows of each message."""
    blocks = context.text.split(f"{context.fence} ")[1:-1]
    shown = [block.split("\n", 1)[1].removesuffix("\n\n") for block in blocks]
    return dict(zip((one.id for one in context.messages), shown, strict=True))


def thread_of(rng: random.Random) -> list[Message]:
    """Returns short and long messages, some of them calls of tools and what came of them."""
    words = ["needle", "mill.", "of", "é,", "机器。", "\n", "x" * 30]
    made = []
    for place in range(rng.randint(1, 12)):
        text = " ".join(rng.choices(words, k=rng.choice((1, 5, 30, 90, 700))))
        made.append(Message("user", text if text.strip() else "mill"))
        if rng.random() < 0.2:
            call = f"c{place}"
            made.append(Message("assistant", "let me look", tool_calls=(call,)))
            made.append(Message("tool", made[0].text, tool_call_id=call))
    return made


@pytest.mark.parametrize("unit", ["message", "exchange"])
@pytest.mark.parametrize("seed", range(4))
def test_more_budget_never_shows_less_of_a_conversation(repo, seed, unit):
    """[13-d]"""
    memory = Conversations(repo)
    rng = random.Random(seed)
    memory.append("a", thread_of(rng))
    memory.compact("a", 0, 0, "what was said first " * rng.randint(1, 50))
    options = {"recent": rng.randint(0, 6), "similar": rng.choice((None, 2)), "unit": unit}
    before: dict[NodeId, str] = {}
    for budget in [*range(0, 90, 5), *range(90, 3000, 150)]:
        context = memory.context("needle", thread="a", token_budget=budget, **options)
        assert HEURISTIC.estimate(context.text) == context.tokens_used <= budget
        now = shown_by(context)
        assert all(now.get(one, "").startswith(text) for one, text in before.items())
        before = now


def test_a_single_long_message_fills_the_budget(repo):
    """[13-d]"""
    memory = Conversations(repo)
    memory.append("a", [("user", "parcels " * 3000)])
    least = HEURISTIC.estimate("01234567 user\np\n\n") + HEURISTIC.estimate("01234567 end")
    for budget in [*range(least, 60), *range(60, 4000, 333)]:
        used = memory.context(None, thread="a", token_budget=budget).tokens_used
        assert budget - 4 <= used <= budget


def test_those_after_a_long_message_have_what_it_leaves(repo):
    """[13-d]"""
    memory = Conversations(repo)
    memory.append("a", [("user", f"{name} " * 900) for name in ("first", "second", "third")])
    halves = memory.context(None, thread="a", token_budget=600)
    assert [one.ord for one in halves.messages] == [1, 2]
    assert 590 < halves.tokens_used <= 600
    memory.append("a", [("user", "short")])
    context = memory.context(None, thread="a", token_budget=600, recent=2)
    assert [one.ord for one in context.messages] == [2, 3]
    assert 590 < context.tokens_used <= 600


def test_a_unit_is_cut_in_its_longest_message(repo):
    """[13-d]"""
    memory = Conversations(repo)
    memory.append("a", [("user", "which " * 40), ("assistant", "that " * 300)])
    asked, told = memory.messages("a")
    for budget in range(0, 500, 9):
        shown = shown_by(memory.context(None, thread="a", token_budget=budget, unit="exchange"))
        assert not shown or shown[asked.id] == asked.text
        assert told.text.startswith(shown.get(told.id, ""))


def test_a_message_counts_with_those_beside_it(repo):
    """[13-a]"""
    memory = Conversations(repo)
    said = ["the needle", "nothing", "of it", "needle in the hay", "needle and needle", "far away"]
    memory.append("a", [("user", text) for text in said])
    chosen = memory.select("needle hay", thread="a", limit=5)
    assert [one.ord for one in chosen.messages][:2] == [3, 4]
    assert set(chosen.scores) >= {one.id for one in chosen.messages}
    memory.append("b", [("user", "first"), ("user", "second")])
    [best] = memory.select("first", thread="b", limit=1).messages
    scores = memory.select("first", thread="b", limit=2).scores
    assert sorted(scores.values()) == [scores[best.id] / 2, scores[best.id]]


def test_what_a_context_shows_is_an_answer_with_a_receipt(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", f"needle {place}") for place in range(12)])
    memory.compact("a", 0, 4, "the first five")
    context = memory.context("needle", thread="a", token_budget=None, recent=3, similar=2)
    answer = context.result
    assert {item.id for item in answer.items} == {one.id for one in context.messages}
    everything = memory.context(None, thread="a", token_budget=None, recent=20)
    assert "Summary" in {item.node.ntype for item in everything.result.items}
    assert len(everything.result) == len(everything.messages) == 8
    kept = repo.receipts.keep(answer.receipt)
    memory.append("a", [("user", "needle again")])
    assert repo.receipts.replay(kept).to_bytes() == answer.to_bytes()
    empty = memory.context("needle", thread="a", token_budget=0)
    assert (empty.messages, len(empty.result)) == ((), 0)
    assert repo.receipts.replay(empty.receipt).to_bytes() == empty.result.to_bytes()


def test_the_answer_of_a_context_holds_all_that_it_shows(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", f"needle {place}") for place in range(6)])
    memory.purge("a", 3)
    with repo.transaction() as tx:
        tx.configure(token_budget=5)
    context = memory.context("needle", thread="a", token_budget=100, include_tombstoned=True)
    assert {item.id for item in context.result.items} == {one.id for one in context.messages}
    assert [one.ord for one in context.messages] == [0, 1, 2, 3, 4, 5]
    assert len(memory.select("needle", thread="a").messages) == 3
    assert len(memory.select(None, thread="a").result) == 3


def test_a_context_says_how_the_question_ranked_and_what_it_warned_of(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", "needle"), ("assistant", "hay")])
    context = memory.context("needle", thread="a", token_budget=100)
    assert context.warnings == ()
    assert context.selection == memory.select("needle", thread="a", limit=None)
    assert context.explain().startswith("recent: 1 units, ")
    assert context.explain().endswith(context.selection.explain())
    blank = memory.context("!?", thread="a", token_budget=100)
    assert [one.code for one in blank.warnings] == [ibidem.WarningCode.NO_QUERY_TERMS]
    assert blank.to_dict()["warnings"] == [one.to_dict() for one in blank.warnings]
    last = memory.context(None, thread="a", token_budget=100)
    assert (last.selection, last.warnings) == (None, ())
    assert last.explain().startswith("recent: 2 units, ")


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
    total = memory.context(None, thread="a", token_budget=None, recent=9).tokens_used + 9
    sizes = set()
    for budget in range(total + 1):
        context = memory.context(None, thread="a", token_budget=budget, recent=9)
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
    memory.compact("a", 0, 8, "needles")
    context = memory.context(None, thread="a", token_budget=99, unit="exchange")
    assert texts(context.messages) == ["needles"]


def test_cm15_what_is_required_fits_or_is_an_error(repo):
    memory = Conversations(repo)
    memory.append("a", said(6))
    two = memory.context(None, thread="a", token_budget=None, recent=2).tokens_used
    with pytest.raises(InvalidInputError) as caught:
        memory.context(None, thread="a", token_budget=two - 2, require_last=2)
    assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED
    context = memory.context(None, thread="a", token_budget=two + 2, require_last=2)
    assert [one.ord for one in context.messages] == [4, 5]
    assert context.dropped == 2
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
    sources = [Source("one", made[:2]), Source("other", made)]
    context = compose(memory.at(), sources, token_budget=None, estimator=HEURISTIC)
    assert [len(part.units) for part in context.parts] == [1, 2]


def test_long_messages_and_answers_of_tools(repo):
    """[13-c]"""
    memory = Conversations(repo)
    long = "x" * 20_000
    memory.append("a", [("user", long), Message("tool", long, tool_call_id="c")])
    assert texts(memory.messages("a")) == [long, long]
    context = memory.context(None, thread="a", token_budget=None)
    assert f"{'x' * 4_000} <...+16000 chars>" in context.text
    assert len(context.text) < 25_000
    assert len(memory.context(None, thread="a", token_budget=None, tool_chars=30_000).text) > 40_000


def test_a_part_skips_or_stops_where_a_unit_does_not_fit(repo):
    memory = Conversations(repo)
    memory.append("a", [("user", "first"), ("user", "long " * 100), ("user", "last")])
    shown = {
        overflow: texts(
            memory.context(None, thread="a", token_budget=40, overflow=overflow).messages
        )
        for overflow in ("skip", "stop")
    }
    assert shown == {"skip": ["first", "last"], "stop": ["last"]}
    cut = memory.context(None, thread="a", token_budget=40)
    assert texts(cut.messages)[::2] == ["first", "last"]
    assert cut.text.count("long") == 17
    assert cut.tokens_used == 39


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("token_budget", ["100", -5, float("nan"), 10.5, True, float("inf")]),
        (
            "shares",
            [(1,), (1, 2, 3), (1.5, 2), ("a", "b"), {}, None, (0.4, 0.6), (-1, 1)],
        ),
        ("tool_chars", ["x", None, 1.5, -5]),
        ("text", [5, b"gate"]),
    ],
)
def test_what_is_no_option_of_a_context_is_named(repo, name, values):
    memory = Conversations(repo)
    memory.append("a", [("user", "gate"), ("tool", "gates")])
    for value in values:
        options = {"text": "gate", "thread": "a", "token_budget": 100, name: value}
        with pytest.raises(InvalidInputError, match=rf"^{name}"):
            memory.context(**options)
