"""Which options of `retrieve` a question to a graph memory takes, and which it refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from blake3 import blake3

from ibidem.memory.graph import GraphMemory
from ibidem.memory.recall.feedback import Feedback
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId

from .conftest import DAY, EPOCH, record


class Backwards:
    """A reranker that prefers what comes last, and counts how often it is asked."""

    name = "backwards"
    digest = blake3(b"backwards").digest()

    def __init__(self) -> None:
        self.calls = 0

    def rerank(self, text: str, rendered: Sequence[str]) -> list[float]:
        self.calls += 1
        return [float(place) for place in range(len(rendered))]


@pytest.fixture
def facts(memory: GraphMemory) -> list[NodeId]:
    return memory.add(
        [record(text="the gate is green"), record(text="the old gate by the river is red")],
        time=EPOCH,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metadata", True),
        ("adjacency", 1),
        ("direct", True),
        ("estimator", "heuristic"),
        ("packs", {}),
        ("strict", True),
        ("label", "Semantic"),
    ],
)
@pytest.mark.parametrize("text", ["gate", None])
def test_an_option_without_effect_is_refused(
    memory: GraphMemory, facts: list[NodeId], name: str, value: object, text: str | None
):
    with pytest.raises(TypeError, match=f"keyword argument '{name}'"):
        memory.retrieve_graph(text, **{name: value})  # type: ignore[arg-type]


def test_an_option_that_nobody_knows_is_refused(memory: GraphMemory, facts: list[NodeId]):
    with pytest.raises(TypeError, match="colour"):
        memory.retrieve_graph("gate", colour="red")


def test_feedback_moves_the_roots_of_a_graph(memory: GraphMemory, facts: list[NodeId]):
    before = memory.retrieve_graph("gate")
    assert before.graph.root_ids[0] == facts[0]
    found = memory.repository.retrieve("gate")
    for number in range(9):
        Feedback(memory.repository).not_useful(found, [facts[0]], author=f"author {number}")
    head = memory.notes.head
    answer = memory.retrieve_graph("gate", feedback=True)
    assert answer.graph.root_ids[0] == facts[1]
    Feedback(memory.repository).not_useful(found, [facts[1]], author="author")
    assert memory.repository.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()
    again = memory.retrieve_graph("gate", feedback=True, notes=head)
    assert again.graph.root_ids == answer.graph.root_ids


def test_worth_and_recency_count_at_the_time_of_the_question(
    memory: GraphMemory, facts: list[NodeId]
):
    for _ in range(3):
        memory.notes.outcome(facts[1], True, time=EPOCH + DAY)
    early = memory.retrieve_graph("gate", worth=True, recency=True, as_of=EPOCH)
    late = memory.retrieve_graph("gate", worth=True, recency=True, as_of=EPOCH + 2 * DAY)
    assert early.graph.root_ids[0] == facts[0]
    assert late.graph.root_ids[0] == facts[1]
    assert memory.repository.receipts.replay(late.receipt).to_bytes() == late.to_bytes()


def test_a_reranker_is_asked_once_and_a_replay_takes_what_it_said(
    memory: GraphMemory, facts: list[NodeId]
):
    model = Backwards()
    answer = memory.retrieve_graph("gate", rerank=model)
    assert answer.status["rerank"] == "ok"
    assert answer.graph.root_ids[0] == facts[1]
    again = memory.repository.receipts.replay(answer.receipt)
    assert again.to_bytes() == answer.to_bytes()
    assert model.calls == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("types", ["Semantc"]),
        ("types", "Semantic"),
        ("types", True),
        ("include_status", ["bogus"]),
        ("include_status", None),
    ],
)
def test_types_and_statuses_are_checked_wherever_they_are_given(
    memory: GraphMemory, facts: list[NodeId], name: str, value: Any
):
    asks: list[Callable[..., object]] = [memory.list, memory.retrieve_graph]
    for ask in [*asks, memory.commits] if name == "types" else asks:
        with pytest.raises(InvalidInputError, match=rf"^{name}: got"):
            ask(**{name: value})


def test_a_condition_is_a_mapping(memory: GraphMemory, facts: list[NodeId]):
    with pytest.raises(InvalidInputError, match=r"^where: got True"):
        memory.retrieve_graph("gate", where=cast("Any", True))
    assert len(memory.retrieve_graph("gate", where={}).items) == len(facts)
