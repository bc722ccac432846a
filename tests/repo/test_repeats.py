"""Items that repeat an earlier one are left out where that is asked for. Spec: retrieval 8.4."""

from __future__ import annotations

from typing import Any

import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository

WORDS = "the needle is kept in the box below the stairs"
TEXTS = {
    "a.md": f"# Sewing\n\n{WORDS}\n\nanother needle\n",
    "b.md": f"# Sewing\n\n{WORDS.upper()} now\n",
    "c.md": "# Garden\n\nA pine has needles.\n",
}


@pytest.fixture
def repo() -> Repository:
    made = ibidem.init("memory:", clock=lambda: 1)
    with made.transaction(author="a") as tx:
        for path, text in TEXTS.items():
            ingest_text(tx, text, path=path)
    return made


def texts(repo: Any, **options: Any) -> list[str]:
    found = repo.retrieve("needle", label="Passage", **options)
    assert sum(found.dropped_counts.values()) == found.candidates_seen - len(found)
    assert repo.receipts.replay(found.receipt).to_bytes() == found.to_bytes()
    return [item.node.summary for item in found]


def test_without_the_option_nothing_is_left_out(repo):
    plain = repo.retrieve("needle")
    assert plain.to_bytes() == repo.retrieve("needle", dedupe="none").to_bytes()
    assert "dedupe" not in plain.query.form()
    assert "dedupe" not in plain.dropped_counts
    assert len(texts(repo)) == 4


def test_nearly_the_same_text_is_an_item_once(repo):
    """[8.4-a]"""
    assert len(texts(repo, dedupe="near")) == 3
    assert len(texts(repo, dedupe="near", dedupe_percent=95)) == 4
    assert len(texts(repo, dedupe="text")) == 4
    found = repo.retrieve("needle", label="Passage", dedupe="near")
    [dropped] = found.dropped
    assert (dropped.reason, dropped.tokens) == (ibidem.DropReason.DEDUPE, None)
    assert found.dropped_counts == {"limit": 0, "budget": 0, "dedupe": 1}


def test_the_best_of_a_document_a_section_or_a_value_stays(repo):
    assert len(texts(repo, dedupe="source")) == 3
    assert len(texts(repo, dedupe="section")) == 3
    assert len(texts(repo, dedupe="property", dedupe_property="source")) == 3
    assert len(texts(repo, dedupe="property", dedupe_property="format")) == 1
    assert len(texts(repo, dedupe="property", dedupe_property="nothing")) == 4


def test_the_room_of_what_is_left_out_goes_to_others(repo):
    """A limit counts items, and a budget what they cost."""
    assert len(texts(repo, dedupe="near", limit=3)) == 3
    assert len(texts(repo, dedupe="source", limit=3)) == 3
    budget = sum(item.tokens for item in repo.retrieve("needle", label="Passage", dedupe="near"))
    assert len(texts(repo, dedupe="near", token_budget=budget)) == 3
    assert len(texts(repo, token_budget=budget)) < 4


def test_what_did_not_fit_leaves_out_nothing():
    """A copy that fits is an item where its longer original is not."""
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        for text in ("needle needle one two three four five six seven", "needle needle one"):
            tx.add_node("Note", summary=text, props={"story": 1})
    found = repo.retrieve("needle", token_budget=6, dedupe="property", dedupe_property="story")
    assert [item.node.summary for item in found] == ["needle needle one"]
    assert found.dropped_counts == {"limit": 0, "budget": 1, "dedupe": 0}


def test_copies_in_several_repositories_are_an_item_once(repo):
    other = ibidem.init("memory:", clock=lambda: 1)
    with other.transaction(author="a") as tx:
        ingest_text(tx, TEXTS["a.md"], path="elsewhere.md")
    union = ibidem.union([repo, other])
    asked = {"label": "Passage", "limit": None}
    assert len(union.retrieve("needle", **asked)) == 6
    assert len(union.retrieve("needle", dedupe="near", **asked)) == 3


def test_a_rule_without_an_effect_is_refused(repo):
    for options, field in (
        ({"dedupe": "other"}, "dedupe"),
        ({"dedupe_percent": 70}, "dedupe_percent"),
        ({"dedupe": "near", "dedupe_percent": 0}, "dedupe_percent"),
        ({"dedupe": "near", "dedupe_property": "a"}, "dedupe_property"),
        ({"dedupe": "property"}, "dedupe"),
        ({"dedupe": "property", "dedupe_property": ""}, "dedupe_property"),
    ):
        with pytest.raises(InvalidInputError, match=f"^{field}: "):
            repo.retrieve("needle", **options)
