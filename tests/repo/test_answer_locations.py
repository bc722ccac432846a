"""Where the items of an answer stand: looked up once, when asked for, and only what is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem import Repository, TrustPolicy, Viewer
from ibidem.repo.graph import Graph

TEXT = """# Handbook

## Staging

The request timeout is 5 seconds.

## Production

The request timeout is 30 seconds.
Nobody waits longer.
"""
PLACES = ["ops.md:9-10 > Handbook > Production", "ops.md:5 > Handbook > Staging"]
QUESTION = "production timeout longer"


@pytest.fixture
def repo(disk_repo: Repository) -> Repository:
    disk_repo.ingest(text=TEXT, path="ops.md")
    return disk_repo


def test_an_answer_is_printed_with_path_lines_and_headings(repo: Repository):
    answer = repo.retrieve(QUESTION)
    assert [str(one) for one in answer.locations] == PLACES
    lines = str(answer).splitlines()
    assert f"[1] {PLACES[0]}" in lines
    assert lines[lines.index(f"[1] {PLACES[0]}") + 1] == "    The request timeout is 30 seconds."
    assert PLACES[0].replace(">", "&gt;") in answer._repr_html_()
    first = answer.to_dict()["items"][0]["location"]
    assert (first["source"], first["line_start"], first["line_stop"]) == ("ops.md", 9, 11)
    assert first["heading_path"] == ["Handbook", "Production"]


def test_locations_are_no_part_of_the_answer(repo: Repository):
    answer, again = repo.retrieve(QUESTION), repo.retrieve(QUESTION)
    before = answer.to_bytes()
    assert answer.locations
    assert answer.to_bytes() == before == again.to_bytes()
    assert answer == again
    assert "ops.md" not in answer.text


def test_they_are_looked_up_together_and_once(repo: Repository, monkeypatch: pytest.MonkeyPatch):
    asked = []
    whole = Graph.locate_many

    def counted(self: Graph, ids, **options):
        asked.append(len(ids))
        return whole(self, ids, **options)

    monkeypatch.setattr(Graph, "locate_many", counted)
    answer = repo.retrieve(QUESTION)
    assert asked == []
    assert answer.locations == answer.locations
    print(answer)
    assert asked == [2]


def test_a_closed_repository_costs_the_locations_and_not_the_page(tmp_path: Path):
    with ibidem.init(tmp_path / "k") as repo:
        repo.ingest(text=TEXT, path="ops.md")
        early, late = repo.retrieve(QUESTION), repo.retrieve(QUESTION)
        assert early.locations
    assert PLACES[0] in str(early)
    assert "[1] The request timeout is 30 seconds." in str(late)
    assert late.to_dict()["items"][0]["location"] is None
    with pytest.raises(ibidem.IbidemError):
        _ = late.locations


def test_every_way_to_an_answer_locates_its_items(repo: Repository):
    asked = repo.retrieve(QUESTION)
    assert asked.receipt is not None
    answers = [
        repo.receipts.replay(asked.receipt),
        repo.at().retrieve_many([{"text": QUESTION}])[0],
        repo.retriever().text(QUESTION).execute(),
        repo.recall(QUESTION).result,
        repo.packs(QUESTION),
    ]
    for answer in answers:
        assert [str(one) for one in answer.locations] == PLACES
    node = repo.add("a production timeout that nobody wrote down")
    alone = repo.retrieve("wrote down")
    assert ([one.id for one in alone], alone.locations) == ([node], (None,))
    assert "[1] a production timeout that nobody wrote down" in str(alone)


def test_a_hidden_item_is_located_where_hidden_ones_are_asked_for(repo: Repository):
    best = repo.retrieve(QUESTION).items[0].id
    with repo.transaction() as tx:
        tx.tombstone(best, reason="wrong")
    answer = repo.retrieve(QUESTION, include_tombstoned=True)
    assert [str(one) for one in answer.locations] == PLACES


def test_a_viewer_learns_no_place_of_what_is_hidden(repo: Repository):
    asked = repo.retrieve(QUESTION)
    by_place = {str(one): item.id for one, item in zip(asked.locations, asked, strict=True)}
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy(default_level=1))
        tx.update_node(by_place[PLACES[1]], set_props={"level": 4})
    low = Viewer(level=1, scopes=())
    answers = [
        repo.retrieve(QUESTION, viewer=low),
        repo.at(viewer=low).retrieve(QUESTION),
        repo.as_viewer(low).retrieve(QUESTION),
    ]
    for answer in answers:
        assert [item.id for item in answer] == [by_place[PLACES[0]]]
        assert list(answer.locations) == repo.at(viewer=low).locate_many([by_place[PLACES[0]]])
        assert "Staging" not in str(answer)
    assert [str(one) for one in repo.retrieve(QUESTION, viewer=ibidem.ALL).locations] == PLACES
