"""A budget counts what is written around an answer and its items. Spec: retrieval 8.6, packs 8."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.node import Node
from ibidem.repo.repository import Repository
from ibidem.retrieve.context.prompt import frame_of_prompt
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.tokens import HEURISTIC

from .test_overflow import filled

BUDGETS = (0, 5, 12, 20, 33, 51, 80, 130, 300)
QUESTION = "mill gate"


def framed(rng: random.Random) -> dict[str, int]:
    return {"answer": rng.choice((0, 7, 30)), "item": rng.randrange(9), "indent": rng.randrange(5)}


def cost(frame: Mapping[str, int], *texts: str) -> int:
    """Returns the tokens of an item by the page."""
    text = "\n".join(texts).replace("\n", "\n" + " " * frame["indent"])
    return HEURISTIC.estimate(text) + frame["item"]


@pytest.mark.parametrize("overflow", ["cut", "excerpt", "stop", "skip"])
def test_a_frame_is_counted(overflow):
    """[8.6-a] Of items, with their titles, as of packs."""
    rng = random.Random(overflow)
    shown = 0
    for seed in range(4):
        repo = filled(seed)
        for budget in BUDGETS:
            frame = {**framed(rng), "item": 1 + rng.randrange(8)}
            asked: dict[str, Any] = {
                "label": "Passage", "overflow": overflow, "token_budget": budget, "frame": frame,
                "limit": rng.choice((None, 2)),
            }  # fmt: skip
            items = repo.retrieve(QUESTION, **asked)
            packs = repo.packs(QUESTION, **asked, per_hit_neighbors=0, dedupe="none")
            assert [one.text for one in packs] == [one.rendered for one in items]
            assert [one.tokens for one in packs] == [one.tokens for one in items]
            for found in (items, packs):
                total = sum(one.tokens for one in found) + frame["answer"] * bool(len(found))
                assert found.tokens_used == total <= budget or not len(found)
                assert repo.receipts.replay(found.receipt).to_bytes() == found.to_bytes()
            assert all(one.tokens == cost(frame, one.title, one.text) for one in packs)
            if not len(items):
                assert items.token_budget_min is None or items.token_budget_min > budget
            shown += len(items)
    assert shown > 10


def test_more_budget_never_gives_less_within_a_frame():
    """[8.6-a]"""
    rng = random.Random(3)
    for seed in range(4):
        repo, frame = filled(seed), framed(rng)
        for ask in (repo.retrieve, repo.packs):
            before: dict[Any, str] = {}
            for budget in range(1, 300, 19):
                found = ask(QUESTION, token_budget=budget, overflow="excerpt", frame=frame)
                now = {getattr(one, "entry", one).id: one.rendered for one in found}
                for key, text in before.items():
                    assert all(line in now[key] for line in text.splitlines())
                before = now
            assert before


def test_what_stands_in_the_line_of_a_title_is_counted():
    """[8.6-a] Where a part of a document stands, and that a record does not hold."""
    repo = ibidem.init("memory:", clock=lambda: 1)
    repo.ingest(text="# Gate\n\nThe gate is green.\n", path="gate.md")
    with repo.transaction(author="a") as tx:
        for status in ("active", "superseded", "a status that is long"):
            tx.add_node("Semantic", summary="The gate is blue.", props={"status": status})
        tx.add_node("Note", summary="The gate is red.", props={"status": "superseded"})
    frame = {"item": 2, "part": 5}
    found = repo.retrieve("gate", token_budget=500, overflow="skip", frame=frame)
    texts = {
        "The gate is green.": ["gate.md > Gate\nThe gate is green."],
        "The gate is red.": ["The gate is red."],
        "The gate is blue.": [
            f"The gate is blue.{status}" for status in ("", " (superseded)", " (a status th…)")
        ],
    }
    for text, shown in texts.items():
        more = 7 if "green" in text else 2
        wanted = sorted(HEURISTIC.estimate(one) + more for one in shown)
        assert sorted(one.tokens for one in found if one.rendered == text) == wanted
    whole = repo.retrieve("gate", label="Document", token_budget=90, frame=frame)
    assert [one.tokens for one in whole] == [HEURISTIC.estimate("gate.md\nGate") + 7]


def test_nothing_is_taken_where_the_frame_exceeds_the_budget():
    """[8.6-a] By a counter of nothing, too."""

    class Zero:
        name, digest = "zero", None

        def estimate(self, text: str) -> int:
            return 0

    repo = filled(1)
    for ask in (repo.retrieve, repo.packs):
        for overflow in ("cut", "excerpt", "skip", "stop"):
            options: dict[str, Any] = {"overflow": overflow, "estimator": Zero()}
            found = ask("mill", token_budget=5, frame={"answer": 6}, **options)
            assert (len(found), found.tokens_used) == (0, 0)
            found = ask("mill", token_budget=6, frame={"answer": 6}, **options)
            assert (len(found) > 0, found.tokens_used) == (True, 6)


def test_what_the_limit_leaves_out_is_counted_as_that():
    """[8.6-a] After more than a thousand that do not fit."""
    repo = ibidem.init("memory:", clock=lambda: 1)
    with repo.transaction(author="a") as tx:
        for number in range(1010):
            tx.add_node("Note", summary="gate " * 40, key=f"{number}")
        tx.add_node("Note", summary="gates, " + "a " * 300 + "but few", key="x")
        few = [tx.add_node("Note", summary="gate " + "of all " * 12, key=f"s{n}") for n in range(9)]
    options: dict[str, Any] = {"limit": 1, "token_budget": 24, "depth": 3000}
    plain = repo.retrieve("gate", **options)
    framed = repo.retrieve("gate", frame={"indent": 1}, **options)
    assert [one.id for one in framed] == [one.id for one in plain]
    assert len(plain) == 1
    assert plain.items[0].id in few
    assert framed.dropped_counts == plain.dropped_counts
    assert framed.dropped_counts["limit"] > 0


def test_records_have_a_frame_too():
    """[8.6-a] The first ones that fit."""
    repo = ibidem.init("memory:", clock=lambda: 1)
    for number in range(9):
        repo.add(f"Ada keeps {number} cups\nand {number} plates")
    frame = {"answer": 9, "item": 3, "indent": 2}
    every = repo.records.retrieve_graph("cups")
    for budget in range(0, 200, 11):
        found = repo.records.retrieve_graph("cups", token_budget=budget, frame=frame)
        costs = [cost(frame, one.rendered) for one in every]
        fit = [size for at, size in enumerate(costs) if sum(costs[: at + 1]) + 9 <= budget]
        assert [one.tokens for one in found.items] == fit
        assert found.tokens_used == sum(fit) + 9 * bool(fit)


def test_a_frame_without_an_effect_is_not_in_the_query():
    repo = filled(1)
    plain = repo.retrieve("mill")
    assert repo.retrieve("mill", frame={"item": 4}).to_bytes() == plain.to_bytes()
    small = repo.retrieve("mill", token_budget=30)
    assert repo.retrieve("mill", token_budget=30, frame={}).to_bytes() == small.to_bytes()
    given = repo.retrieve("mill", token_budget=30, frame={"indent": 2}).query
    assert given.form()["frame"] == {"answer": 0, "item": 0, "part": 0, "indent": 2}
    assert Query.decode(given.encode()) == given
    assert given.counting_like(small.query) == small.query
    assert given.counting_like(given) == given


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (3, r"^frame: got 3, expected a mapping such as \{'item': 4\}"),
        (
            {"items": 3},
            "^frame.items: got an unknown option, expected one of answer, item, part, indent",
        ),
        ({"item": -1}, "^frame.item: "),
        ({"indent": 1001}, "^frame.indent: "),
    ],
)
def test_a_frame_of_another_form_is_refused(frame, message):
    repo = ibidem.init("memory:")
    for ask in (repo.retrieve, repo.packs, repo.records.retrieve_graph):
        with pytest.raises(InvalidInputError, match=message):
            ask("mill", token_budget=30, frame=frame)


def spans(prompt: Any) -> dict[Any, set[int]]:
    found: dict[Any, set[int]] = {}
    for one in prompt.citations:
        for span in one.spans:
            found.setdefault(span.id, set()).update(range(span.start, span.stop))
    return found


@pytest.mark.parametrize("style", ["qa", "summarize"])
@pytest.mark.parametrize("overflow", ["cut", "excerpt"])
def test_a_prompt_has_all_of_its_packs_and_more_with_more_budget(overflow, style):
    """[8-e] It was packed for the budget and then cut once more, so that the last source could have
    less of more."""
    for seed in range(3):
        repo = filled(seed)
        before: dict[Any, set[int]] = {}
        for budget in range(90, 900, 41):
            options: dict[str, Any] = {"style": style, "overflow": overflow, "dedupe": "near"}
            prompt = repo.prompt(QUESTION, token_budget=budget, **options)
            assert len(prompt.citations) == len(prompt.packs)
            assert all(one.text in prompt.user for one in prompt.packs)
            assert HEURISTIC.estimate(f"{prompt.text}\n") == prompt.tokens_used <= budget
            now = spans(prompt)
            assert all(have <= now.get(id_, set()) for id_, have in before.items())
            before = now
        assert len(before) > 3


@pytest.mark.parametrize("length", [23, 24, 25, 26])
def test_a_prompt_of_many_sources_has_all_of_them(length):
    """[8-e] The marker of the hundredth source is longer."""
    repo = ibidem.init("memory:", clock=lambda: 1)
    with repo.transaction(author="a") as tx:
        for number in range(400):
            text = f"gate {number:03} " + "x" * 30
            tx.add_node("Note", summary=text[:length], key=f"{number}")
    for budget in range(1500, 2600, 61):
        prompt = repo.prompt("gate", token_budget=budget, limit=None, depth=500)
        assert len(prompt.citations) == len(prompt.packs)
        assert prompt.tokens_used <= budget
    assert len(prompt.citations) > 100


def test_the_numbers_of_a_prompt():
    """[8-e]"""
    text, lines = "which gate", "each after a line that begins with 00000000:"
    for style in ("qa", "summarize"):
        system = ibidem.init("memory:").prompt(text, style=style).system
        for budget, last in ((0, 99), (1000, 200), (10**9, 99_999), (None, 99_999)):
            around = (system, text, f"Sources [1] to [{last}], {lines}", "00000000 end\n")
            assert frame_of_prompt(text, style, HEURISTIC, budget) == {
                "answer": HEURISTIC.estimate("\n\n".join(around)),
                "item": HEURISTIC.estimate(f"\n\n00000000 [{last}] "),
            }


def test_items_of_before_leave_what_parts_do_not_cost():
    """[8.5-a] A question of before has no slack, and replays as it was answered."""
    repo = filled(3)
    plain = repo.retrieve(QUESTION, token_budget=90, overflow="excerpt").query
    assert plain.form()["slack"] is True
    before = replace(plain, slack=None)
    assert "slack" not in before.form()
    assert Query.decode(before.encode()) == before
    assert plain.counting_like(before) == before
    assert repo.retrieve(QUESTION, token_budget=90, overflow="stop").query.slack is None
    assert repo.packs(QUESTION, token_budget=90, overflow="cut").query.slack is None
    differ = 0
    for budget in range(20, 200, 11):
        now = replace(plain, token_budget=budget)
        used = [answered_again(repo, one).tokens_used for one in (now, replace(now, slack=None))]
        assert used[1] <= used[0] <= budget
        differ += used[0] != used[1]
    assert differ > 3


def answered_again(repo: Repository, query: Query) -> Any:
    """Returns the answer to a resolved query."""
    graph = repo.at().graph
    nodes = NodeSource(lambda cid: Node.decode(repo.core.store.get(cid)), lambda node: None)
    return graph.with_snapshot(lambda snapshot: execute(snapshot, query, nodes))


def test_packs_that_were_asked_for_otherwise_are_cut_to_the_prompt():
    """[8-d]"""
    repo: Repository = filled(1)
    packs = repo.packs(QUESTION, token_budget=200)
    prompt = repo.prompt(QUESTION, packs)
    assert packs.tokens_used > 190
    assert prompt.tokens_used <= 200
    assert prompt.packs == packs
