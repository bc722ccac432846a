"""Items under a budget are fitted as the packs that they alone would be. Spec: retrieval 8.5."""

from __future__ import annotations

import random
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.query.query import Query

WORDS = ("mill", "gate", "the", "pine", "of", "rust", "salt", "tea", "door", "and")


def prose(rng: random.Random, sentences: int) -> str:
    return " ".join(
        " ".join(rng.choices(WORDS, k=rng.randint(3, 12))).capitalize() + "."
        for _ in range(sentences)
    )


def filled(seed: int) -> Repository:
    """Returns a repository of documents with short and long passages."""
    rng = random.Random(seed)
    repo = ibidem.init("memory:", clock=lambda: 1)
    with repo.transaction(author="a") as tx:
        for name in "abc":
            parts = [f"# {prose(rng, 1)}"]
            for _ in range(3):
                parts += [f"## {prose(rng, 1)}", prose(rng, rng.choice((1, 3, 12)))]
            ibidem.ingest_text(tx, "\n\n".join(parts), path=f"{name}.md")
    return repo


def shown(answer: Any) -> list[tuple[str, int]]:
    return [(one.rendered, one.tokens) for one in answer]


@pytest.mark.parametrize("overflow", ["cut", "excerpt", "stop"])
def test_items_are_fitted_as_packs_of_one_node(overflow):
    """[8.5-a]"""
    lengths = set()
    for seed in range(3):
        repo = filled(seed)
        options = {"label": "Passage", "overflow": overflow}
        alone: dict[str, Any] = {"per_hit_neighbors": 0, "dedupe": "none"}
        for budget in (1, 9, 17, 30, 45, 70, 130, 400):
            for limit in (None, 1, 3):
                asked = {**options, "token_budget": budget, "limit": limit}
                items = repo.retrieve("mill gate", **asked)
                packs = repo.packs("mill gate", **asked, **alone)
                assert [(f"{one.title}\n{one.text}", one.tokens) for one in packs] == [
                    (f"{_title(repo, item)}\n{item.rendered}", item.tokens) for item in items
                ]
                assert items.dropped_counts == packs.dropped_counts
                assert items.tokens_used <= budget
                assert repo.receipts.replay(items.receipt).to_bytes() == items.to_bytes()
                lengths.add(len(items))
    assert len(lengths) > 3


def test_the_first_item_is_the_first_that_is_not_refused():
    """[8.5-a] Only the first one may have little text; a heading that was left out counted."""
    repo = ibidem.init("memory:", clock=lambda: 1)
    repo.ingest(text="# Needle\n\nThe needle is in the hay below the barn.\n", path="a.md")
    repo.ingest(text="# Needle\n\n## Needles\n", path="b.md")
    options: dict[str, Any] = {"headings": "drop", "overflow": "excerpt", "token_budget": 5}
    found, packs = repo.retrieve("needle", **options), repo.packs("needle", **options)
    assert next(iter(found.dropped)).reason == "headings"
    assert [item.rendered for item in found] == [pack.text for pack in packs] == ["The ne"]


def _title(repo: Repository, item: Any) -> str:
    place = repo.at().locate_many([item.id])[0]
    return " > ".join((place.source, *place.heading_path))


def test_more_budget_never_gives_less():
    """[8.5-a] An item that did not fit was skipped, and worse ones filled the budget."""
    for seed in range(4):
        repo = filled(seed)
        before: dict[Any, str] = {}
        for budget in range(1, 300, 7):
            answer = repo.retrieve(
                "mill gate", token_budget=budget, overflow="excerpt", dedupe="near"
            )
            now = {item.id: item.rendered for item in answer}
            for id_, text in before.items():
                assert all(line in now[id_] for line in text.splitlines())
            assert answer.tokens_used <= budget
            before = now
        assert len(before) > 2


def test_what_is_left_out_is_counted_by_its_reason():
    repo = ibidem.init("memory:", clock=lambda: 1)
    text = "The needle is in the hay below the barn."
    with repo.transaction(author="a") as tx:
        for name in "ab":
            ibidem.ingest_text(tx, f"# Needle\n\n{text}\n\n## Needles\n", path=f"{name}.md")
        long = tx.add_node("Note", summary="Nothing. " * 80 + "A needle. " + "Nothing. " * 80)
    options: dict[str, Any] = {"dedupe": "near", "headings": "drop", "overflow": "excerpt"}
    found = repo.retrieve("needle", token_budget=100, **options)
    assert found.dropped_counts == {"limit": 0, "budget": 0, "dedupe": 1, "headings": 2}
    assert {one.reason for one in found.dropped} == {"dedupe", "headings"}
    (cut,) = (item.rendered for item in found if item.id == long)
    assert "A needle." in cut
    assert 20 < len(cut) < 400
    plain = repo.retrieve("needle", token_budget=100)
    assert long not in [item.id for item in plain]
    assert len(plain) == 4


def test_the_option_is_written_only_where_it_has_an_effect():
    repo = filled(1)
    plain = repo.retrieve("mill")
    assert repo.retrieve("mill", overflow="excerpt", headings="keep").to_bytes() == plain.to_bytes()
    given = repo.retrieve("mill", overflow="stop", headings="drop", token_budget=9).query
    assert (given.form()["overflow"], given.form()["headings"]) == ("stop", "drop")
    assert Query.decode(given.encode()) == given
    skip = repo.retrieve("mill", overflow="skip", token_budget=9)
    assert skip.to_bytes() == repo.retrieve("mill", token_budget=9).to_bytes()
    for options in ({"overflow": "some"}, {"headings": "none"}):
        with pytest.raises(InvalidInputError, match=f"^{next(iter(options))}: "):
            repo.retrieve("mill", **options)
