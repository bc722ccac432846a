"""The engine's parts of recall against the vectors of spec/vectors/recall."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.recall.direct_answer import Direct, direct_answer
from ibidem.retrieve.recall.feedback import NotUseful, Penalties, Vote, feedback_factors, halved

FOLDER = Path(__file__).parents[2] / "spec" / "vectors" / "recall"


def cases(name: str) -> list[Any]:
    found = json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))
    return [pytest.param(case["input"], case["output"], id=str(i)) for i, case in enumerate(found)]


@pytest.mark.parametrize(("given", "output"), cases("decay"))
def test_decay(given: list[int], output: str) -> None:
    assert halved(*given).hex() == output


@pytest.mark.parametrize(("given", "output"), cases("opinions"))
def test_opinions(given: dict[str, Any], output: float) -> None:
    node = NodeId.parse(given["node"])
    votes, useless = [], []
    for time, event, kind, author, value, question, words in given["events"]:
        place = (time, bytes.fromhex(event), author, node)
        if kind == "vote":
            votes.append(Vote(*place, bytes.fromhex(question), int(value)))
        else:
            useless.append(NotUseful(*place, frozenset(map(bytes.fromhex, words))))
    penalties = Penalties(**given.get("penalties", {}))
    assert feedback_factors(votes, useless, given["text"], penalties).get(node, 1.0) == output


@pytest.mark.parametrize(("given", "output"), cases("direct"))
def test_direct(given: dict[str, Any], output: list[Any]) -> None:
    nodes = [
        Node(NodeId(bytes([place]) * 16), "Memory", summary=text, props=props)
        for place, (props, text) in enumerate(given["candidates"])
    ]
    option = Direct.from_form(given["option"])
    found = direct_answer(given["text"], nodes, option, lambda node: node.summary or "").form()
    found[1] = None if found[1] is None else bytes(found[1]).hex()  # type: ignore[call-overload]
    assert found == output
