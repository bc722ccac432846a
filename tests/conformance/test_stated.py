"""Stated values against the vectors of spec/vectors/retrieval/stated.json."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.ingest.draft import document_id
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.answer.stated import stated

CASES = json.loads(
    (Path(__file__).parents[2] / "spec/vectors/retrieval/stated.json").read_text("utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_stated_value(case: dict[str, Any]) -> None:
    nodes = [
        Node(
            NodeId(bytes([at] * 16)),
            one["ntype"],
            one["summary"],
            one.get("context_sentence"),
            one["props"],
        )
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


def stated_of(question: str, summary: str, **props: Any) -> str | None:
    ntype = "Person" if props else "Passage"
    found = stated(question, [Node(NodeId(bytes(16)), ntype, summary, None, props)])
    return None if found is None else found.value


@pytest.mark.parametrize(("count", "expected"), [(500, "x" * 500), (501, None)])
def test_a_value_has_at_most_500_characters(count: int, expected: str | None) -> None:
    """[9.4-c]"""
    assert stated_of("When was Ada born?", "Ada", born="x" * count) == expected


@pytest.mark.parametrize(("count", "expected"), [(200, "1815"), (201, None)])
def test_a_question_has_at_most_200_characters(count: int, expected: str | None) -> None:
    """[9.4-a]"""
    name = "x" * (count - len("When was  born"))
    assert stated_of(f"When was {name} born?", name, born="1815") == expected


@pytest.mark.parametrize(("count", "expected"), [(64, "1815"), (65, None)])
@pytest.mark.parametrize("is_markdown", [True, False])
def test_a_table_has_at_most_64_columns(
    is_markdown: bool, count: int, expected: str | None
) -> None:
    """[9.4-b]"""
    rows = [["name", "born"], ["Ada", "1815"]]
    wide = [[*row, *("c" for _ in range(count - 2))] for row in rows]
    if is_markdown:
        wide.insert(1, ["-"] * count)
        text = "\n".join(f"|{'|'.join(row)}|" for row in wide)
    else:
        border = " ".join(["===="] * count)
        head, row = (" ".join(f"{cell:4}" for cell in row).rstrip() for row in wide)
        text = "\n".join([border, head, border, row, border])
    assert stated_of("When was Ada born?", text) == expected


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


PAGE = "---\nauthor: Ada Mill\n---\n# Retry policy\n\nA failed request is tried again.\n{}"
QUESTION = "Who is the author of the retry policy?"


def of_page(more: str = "", question: str = QUESTION) -> Any:
    repo = ibidem.init("memory:")
    repo.ingest(text=PAGE.format(more), path="policy.md")
    return repo.retrieve(question)


def test_the_document_of_an_item_states_what_its_front_matter_says() -> None:
    """[9.4-b]"""
    answer = of_page()
    assert all(item.node.ntype == "Passage" for item in answer.items)
    stated = answer.stated
    assert stated is not None
    assert (stated.value, stated.subject) == ("Ada Mill", "Retry policy")
    assert stated.node == document_id("policy.md")


def test_a_document_that_says_otherwise_than_its_text_states_nothing() -> None:
    """[9.4-c]"""
    table = "\n| page | author |\n|-|-|\n| Retry policy | Bob |\n"
    assert of_page(table).stated is None
    assert of_page(table.replace("Bob", "Ada Mill")).stated is not None


def test_documents_of_several_repositories_state_values() -> None:
    repos = [ibidem.init("memory:") for _ in range(2)]
    repos[0].ingest(text=PAGE.format(""), path="policy.md")
    repos[1].add("retry")
    stated = ibidem.union(repos).retrieve(QUESTION).stated
    assert stated is not None
    assert stated.value == "Ada Mill"


def test_a_closed_repository_states_nothing() -> None:
    repo = ibidem.init("memory:")
    repo.ingest(text=PAGE.format(""), path="policy.md")
    answer = repo.retrieve(QUESTION)
    repo.close()
    assert answer.stated is None


@pytest.mark.parametrize(
    "question", ["What is the source of the Nile?", "What is the title of the Nile?"]
)
def test_how_a_document_was_read_is_no_statement_about_its_subject(question: str) -> None:
    """[9.4-b]"""
    repo = ibidem.init("memory:")
    repo.ingest(text="---\ntitle: The Nile\n---\nThe Nile has two sources.\n", path="nile.md")
    assert repo.retrieve(question).items
    assert repo.retrieve(question).stated is None


def test_one_document_with_a_tombstone_hides_no_other() -> None:
    repo = ibidem.init("memory:")
    table = "\n| page | author |\n|-|-|\n| Retry policy | Bob |\n"
    repo.ingest(text=PAGE.format(table), path="policy.md")
    repo.ingest(text="# Author\n\nThe author of the retry policy.\n", path="other.md")
    with repo.transaction() as tx:
        tx.tombstone(document_id("other.md"))
    answer = repo.retrieve(QUESTION)
    assert None in answer.locations
    assert answer.stated is None
