"""All answers can be read in the same way: items, text, cost, warnings, receipt, plain data."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import ibidem
from ibidem import AnswerProtocol, Conversations, GraphMemory, Record, Repository

PAGE = "# Mail\n\nThe parcel arrives on Monday.\n"
ANSWERS: dict[str, Callable[[Repository], AnswerProtocol]] = {
    "retrieve": lambda repo: repo.retrieve("parcel"),
    "nothing": lambda repo: repo.retrieve("zebra"),
    "packs": lambda repo: repo.packs("parcel"),
    "prompt": lambda repo: repo.prompt("when does the parcel arrive"),
    "records": lambda repo: repo.at().records("parcel"),
    "recall": lambda repo: ibidem.recall(repo, "parcel"),
    "select": lambda repo: Conversations(repo).select("parcel", thread="a"),
    "last messages": lambda repo: Conversations(repo).select(None, thread="a"),
    "no message": lambda repo: Conversations(repo).select(None, thread="a", as_of=0),
    "context": lambda repo: Conversations(repo).context("parcel", thread="a", token_budget=100),
    "empty context": lambda repo: Conversations(repo).context("parcel", thread="a", token_budget=0),
    "context of packs": lambda repo: repo.context("parcel", thread="a", token_budget=400),
}
EMPTY = {"nothing", "no message", "empty context"}


@pytest.fixture
def repo() -> Repository:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        ibidem.ingest_text(tx, PAGE, path="mail.md")
    Conversations(repo).append("a", [("user", "where is my parcel")])
    GraphMemory(repo).add(
        Record(
            "Semantic", "the parcel is blue", scope="", provenance=[{"kind": "event", "ref": "e1"}]
        )
    )
    return repo


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_has_the_same_members(repo: Repository, name: str):
    answer = ANSWERS[name](repo)
    assert isinstance(answer, AnswerProtocol)
    assert bool(len(answer.items)) is (name not in EMPTY)
    assert ("parcel" in answer.text) is (name not in EMPTY)
    assert (answer.tokens_used > 0) is (name not in EMPTY)
    assert all(isinstance(one, ibidem.AnswerWarning) for one in answer.warnings)
    assert isinstance(answer.explain(), str)
    assert answer.receipt is not None
    assert str(answer.receipt) == str(answer.receipt.cid)
    data = json.loads(answer.to_json())
    assert data == json.loads(json.dumps(answer.to_dict()))
    assert data["receipt"] == str(answer.receipt)
    assert data["tokens_used"] == answer.tokens_used


def test_a_printed_answer_is_a_page(repo: Repository):
    assert str(repo.packs("monday")) == (
        "1 pack, 11 tokens\n\n[1] mail.md > Mail\n    The parcel arrives on Monday.\n\n"
        f"receipt {repo.packs('monday').receipt}"
    )
    assert str(repo.retrieve("zebra")).startswith("0 items, 0 tokens\n")


def test_a_printed_answer_has_its_warnings(repo: Repository):
    page = str(repo.retrieve("parcel", label=["Passage", "Missing"]))
    assert "\nwarning: label: no node of this root has such a label\n" in page
