"""Stated values against the vectors of spec/vectors/retrieval/stated.json."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.answer.stated import stated

CASES = json.loads(
    (Path(__file__).parents[2] / "spec/vectors/retrieval/stated.json").read_text("utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_stated_value(case: dict[str, Any]) -> None:
    nodes = [
        Node(NodeId(bytes([at] * 16)), one["ntype"], one["summary"], None, one["props"])
        for at, one in enumerate(case["nodes"])
    ]
    found = stated(case["question"], nodes)
    if case["stated"] is None:
        assert found is None
        return
    assert found is not None
    wanted = {**case["stated"]}
    assert found.node == nodes[wanted.pop("item")].id
    assert {name: getattr(found, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    "text", ["| a | b |\n|-|-|", "===  ===", "A:\nB:\nC:", "|", "* **a**: the"]
)
def test_what_only_looks_like_a_table_states_nothing(text: str) -> None:
    node = Node(NodeId(bytes(16)), "Passage", text, None, {})
    assert stated("What is the b of a?", [node]) is None
    assert stated("What is a?", [node]) is None


def test_an_answer_has_it_and_its_bytes_do_not() -> None:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        id_ = tx.add_node("Person", summary="Ada", props={"born": "1815"})
    answer = repo.retrieve("When was Ada born?")
    assert answer.stated is not None
    assert answer.stated.to_dict() == answer.to_dict()["stated"]
    assert (answer.stated.value, answer.stated.node) == ("1815", id_)
    assert f"stated: 1815 (born of Ada) in {id_}" in answer.explain()
    assert answer.stated is answer.stated
    assert replace(answer, items=()).stated is None
    assert repo.retrieve("Ada").stated is None
    assert "stated" not in repo.retrieve("Ada").to_dict()
    assert repo.packs("When was Ada born?").stated is None
