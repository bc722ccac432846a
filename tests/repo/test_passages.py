"""Lanes of vectors and edges answer with the passage below a heading. Spec: retrieval 4.4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError
from ibidem.objects.node import Node
from ibidem.repo.repository import Repository
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.match import requested_options
from ibidem.retrieve.query.query import Query, resolve

TEXT = """# Handbook

Beginning of it.

## Refunds

Money goes back to the card.

Within ten days.

## Parcels

Boxes of wood.
"""
VECTORS = {
    "Refunds": [1.0, 0.0],
    "Money goes back to the card.": [0.0, 1.0],
    "Within ten days.": [1.0, 1.0],
    "Boxes of wood.": [1.0, 2.0],
}
NEAR_REFUNDS: dict[str, Any] = {"vector": ("m", [1.0, 0.0])}


def filled(**more: str) -> Repository:
    """Returns a repository of a document whose heading "Refunds" is nearest to `NEAR_REFUNDS`."""
    repo = ibidem.init("memory:")
    with repo.transaction(time=1) as tx:
        for path, text in {"handbook.md": TEXT, **more}.items():
            ingest_text(tx, text, path=path)
    by_text = {text_of(node): node.id for node in repo.at().nodes()}
    with repo.transaction(time=2) as tx:
        for text, vector in VECTORS.items():
            tx.set_vector(by_text[text], model="m", vector=vector)
            tx.set_sparse(by_text[text], vocab="v", indices=[1], weights=[vector[0] + 1.0])
        hit = by_text["Beginning of it."]
        tx.add_edge(hit, "mentions", by_text["Refunds"])
    return repo


@pytest.fixture
def repo() -> Iterator[Repository]:
    with filled() as made:
        yield made


def text_of(node: Node) -> str:
    return node.summary or bytes(node.content or b"").decode()


def texts(answer: Any) -> list[str]:
    return [item.rendered for item in answer]


def before(query: Query) -> Query:
    """Returns a question as it was recorded before lanes of vectors opened headings."""
    return replace(query, passages=None)


def test_a_heading_gives_its_place_to_the_first_passage_below_it(repo: Repository):
    """[4.4-a]"""
    found = repo.retrieve(**NEAR_REFUNDS)
    assert texts(found) == ["Within ten days.", "Money goes back to the card.", "Boxes of wood."]
    assert found.items[1].score == 0.5  # half of the heading's 1.0, and of its own 0.0
    assert found.query.form()["passages"] is True


def test_a_passage_that_is_found_itself_keeps_its_better_score(repo: Repository):
    """[4.4-a]"""
    found = repo.retrieve(vector=("m", [0.0, 1.0]))
    assert texts(found)[0] == "Money goes back to the card."
    assert found.items[0].score == 1.0  # its own, not the mean with the 0.0 of the heading
    assert len(found) == 3


def test_equal_scores_are_ordered_by_id_once_headings_are_opened():
    """[4.4-a]"""
    with filled(**{f"{name}.md": f"## {name}\n\nText of {name}.\n" for name in "abcdef"}) as repo:
        with repo.transaction(time=3) as tx:
            for node in repo.at().nodes():
                if node.ntype == "Section" and len(text_of(node)) == 1:
                    tx.set_vector(node.id, model="m", vector=[2.0, 0.0])
        found = [item for item in repo.retrieve(**NEAR_REFUNDS) if item.score == 0.5]
        assert len(found) == 7  # of those without a vector, the lowest score is taken: 0.0
        assert [item.id for item in found] == sorted(item.id for item in found)


def test_equal_ids_of_a_union_are_ordered_by_root_once_headings_are_opened():
    """[4.4-a]"""
    repos = []
    for word in ("above", "below"):
        repo = ibidem.init("memory:")
        with repo.transaction(time=1) as tx:
            for name in "abcdefgh":
                text = f"## {word} {name}\n\nText of {name}.\n"
                ingest_text(tx, text, path=f"{name}.md")
            for node in tx.nodes(label="Section"):
                tx.set_vector(node.id, model="m", vector=[1.0, 0.0])
        repos.append(repo)
    found = ibidem.union(repos).retrieve(**NEAR_REFUNDS, limit=None).items
    assert len(found) == 2 * len({item.id for item in found}) == 16
    keys = [(item.id, str(item.root)) for item in found]
    assert [item.id for item in found] == sorted(item.id for item in found)
    assert len({tuple(root for _, root in keys[at : at + 2]) for at in range(0, 16, 2)}) == 1
    for repo in repos:
        repo.close()


def test_a_section_with_text_of_its_own_and_one_without_passages_in_reach_stay(repo: Repository):
    """[4.4-a]"""
    assert texts(repo.retrieve(**NEAR_REFUNDS, label="Section")) == ["Refunds"]
    section = next(node for node in repo.at().nodes() if node.summary == "Refunds")
    with repo.transaction(time=3) as tx:
        tx.update_node(section.id, summary="Refunds " * 33)
    assert "Refunds Refunds" in texts(repo.retrieve(**NEAR_REFUNDS))[0]


def test_a_sparse_vector_finds_no_bare_heading_either(repo: Repository):
    """[4.4-a]"""
    found = repo.retrieve(sparse=("v", [1], [1.0]))
    assert "Refunds" not in texts(found)
    assert len(found) == 3


@pytest.mark.parametrize("lane", [{"graph": {"mode": "ppr"}}, {"community": {}}])
def test_a_walk_that_ends_at_a_heading_answers_with_its_passage(repo: Repository, lane: Any):
    """[4.4-a]"""
    found = repo.retrieve("beginning", **lane)
    assert texts(found) == ["Beginning of it.", "Money goes back to the card."]
    [path] = found.items[1].paths.values()
    assert [text_of(repo.at().node(one)) for one in path.nodes] == ["Beginning of it.", "Refunds"]


def test_a_question_of_before_is_answered_as_it_was(repo: Repository):
    """[4.4-b]"""
    query = repo.retrieve(**NEAR_REFUNDS).query
    old = before(query)
    assert "passages" not in old.form()
    nodes = NodeSource(lambda cid: Node.decode(repo.core.store.get(cid)))
    found = execute(repo.at().snapshot(), old, nodes)
    assert texts(found)[0] == "Refunds"
    assert found.items[0].score == 1.0
    assert Query.decode(old.encode()) == old
    assert query.counting_like(old) == old
    assert old.counting_like(query) == old
    assert requested_options("passages", True) == requested_options("passages", None)
    assert Query.decode(query.encode()) == query
    with pytest.raises(CorruptError, match=r"query\.passages"):
        Query.from_form({**query.form(), "passages": False})


@pytest.mark.parametrize("options", [{"text": "refunds"}, {"text": "x", "queries": ["refunds"]}])
def test_a_question_of_words_alone_has_the_form_that_it_had(repo: Repository, options: Any):
    """[4.4-b]"""
    assert "passages" not in repo.retrieve(**options).query.form()


def test_a_subquery_has_its_headings_opened_too(repo: Repository):
    """[4.4-a] [4.4-b]"""
    found = repo.retrieve("wood", queries=[NEAR_REFUNDS])
    assert found.query.passages
    assert "Refunds" not in texts(found)
    assert "Money goes back to the card." in texts(found)


def test_a_batch_workers_and_a_union_give_the_same_bytes(repo: Repository):
    """[4.4-a]"""
    questions = [NEAR_REFUNDS, {"vector": ("m", [0.5, 1.0]), "text": "refunds"}]
    alone = [repo.retrieve(**one) for one in questions]
    together = repo.at().retrieve_many(questions)
    assert [one.to_bytes() for one in together] == [one.to_bytes() for one in alone]
    repo.use_workers({"one": repo.work})
    assert [repo.retrieve(**one).to_bytes() for one in questions] == [
        one.to_bytes() for one in alone
    ]
    repo.use_workers(())
    with filled(other="# Other\n\nSomething else.\n") as other:
        found = ibidem.union([repo, other]).retrieve(**NEAR_REFUNDS)
        assert texts(found) == [text for one in texts(alone[0]) for text in (one, one)]


def test_only_a_question_with_a_lane_that_opens_headings_says_so():
    """[4.4-b]"""
    for given in ({"text": "tea"}, {"text": "tea", "records": {"as_of": 1}}):
        form = resolve(Config(), **given).form()
        assert "passages" not in form
        with pytest.raises(CorruptError, match=r"passages: got it without a lane"):
            Query.from_form({**form, "passages": True})
