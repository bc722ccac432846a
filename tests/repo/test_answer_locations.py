"""Where the items of an answer stand: looked up once, when asked for, and only what is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem import InvalidInputError, Repository, TrustPolicy, Viewer
from ibidem.objects.child import Child
from ibidem.repo.graph import Graph
from ibidem.retrieve.context.option import PackOptions, resolve_packs
from ibidem.retrieve.records.record import Record, RecordType

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


def test_a_message_has_its_thread_above_it_and_a_fact_what_it_is_about(repo: Repository):
    repo.conversations.append("support", [{"role": "user", "content": "Is lunch late?"}])
    _remember(repo, "lunch is at noon", payload={"subject": "lunch"})
    _remember(repo, "lunch was cold", time=1_767_225_600_000_000)
    repo.add("lunch is a meal", label="Note")
    places = {item.node.summary: title for item, title in _titled(repo.retrieve("lunch"))}
    assert places["Is lunch late?"] == "support > message 0, user"
    assert places["lunch is at noon"] == "" == places["lunch is a meal"]  # such a node is its text
    packs = repo.packs("lunch")
    assert {pack.text: title for pack, title in _titled(packs)} == {
        "Is lunch late?": "support > message 0, user",
        "lunch is at noon": "Semantic > about lunch",
        "lunch was cold": "Semantic > 2026-01-01T00:00:00Z",
        "lunch is a meal": "Note",
    }
    assert "] support > message 0, user\n" in str(packs)


def test_a_thread_and_a_heading_without_text_say_what_they_are(repo: Repository):
    said = [{"role": role, "content": f"lunch {role}"} for role in ("user", "assistant")]
    repo.conversations.append("support", said)
    repo.ingest(text="# Food\n\n## Lunch\n", path="food.md")
    titles = [title for _, title in _titled(repo.packs("lunch"))]
    assert sorted(titles) == ["food.md > Food", "support"]


def test_both_versions_of_a_passage_in_conflict_say_where_they_stand(repo: Repository):
    before = repo.packs(QUESTION, per_hit_neighbors=0)
    first, second = repo.transaction(), repo.transaction()
    for tx, seconds in ((first, "40"), (second, "50")):
        ibidem.ingest_text(tx, TEXT.replace("is 30", f"is {seconds}"), path="ops.md")
        tx.publish()
    titles = [title for _, title in _titled(repo.retrieve(QUESTION, limit=2))]
    place = "ops.md > Handbook > Production"
    assert sorted(titles) == [f"{place} > in another version", PLACES[0]]
    packs = repo.packs(QUESTION, per_hit_neighbors=0, limit=2)
    assert sorted(title for _, title in _titled(packs)) == [place, f"{place} > in another version"]
    assert repo.receipts.replay(packs.receipt).to_bytes() == packs.to_bytes()
    assert repo.receipts.replay(before.receipt).to_bytes() == before.to_bytes()


def test_a_section_that_no_document_lists_is_named_once(repo: Repository):
    """packs 7-o"""
    first, second = repo.transaction(), repo.transaction()
    ibidem.ingest_text(first, TEXT.replace("30", "40"), path="ops.md")
    ibidem.ingest_text(second, TEXT.replace("Production", "Shop"), path="ops.md")
    first.publish()
    second.publish()
    packs = repo.packs(QUESTION, per_hit_neighbors=0, limit=None)
    titles = {title for _, title in _titled(packs)}
    assert {"Production", "ops.md > Handbook > Shop"} <= titles


def test_titles_of_before_are_types_and_ids(repo: Repository, monkeypatch: pytest.MonkeyPatch):
    """packs 1-b"""
    _remember(repo, "lunch is at noon", payload={"subject": "lunch"})
    said = [{"role": role, "content": f"lunch {role}"} for role in ("user", "assistant")]
    repo.conversations.append("support", said)
    now = repo.packs("lunch")
    assert [one.title for one in now] == ["Semantic > about lunch", "support"]
    assert now.query.form()["packs"]["titles"] is True

    def of_before(given: Mapping[str, object]) -> PackOptions:
        return replace(resolve_packs(given), titles=False)

    with monkeypatch.context() as patch:
        patch.setattr("ibidem.retrieve.context.option.resolve_packs", of_before)
        before = repo.packs("lunch")
    assert "titles" not in before.query.form()["packs"]
    assert [one.title for one in before] == ["Semantic", str(now.items[1].document)]
    assert [one.id for one in before] == [one.id for one in now]
    assert repo.receipts.replay(before.receipt).to_bytes() == before.to_bytes()
    with pytest.raises(InvalidInputError, match=r"^packs\.titles: "):
        PackOptions.from_form({**PackOptions().form(), "titles": False})


@pytest.mark.parametrize(
    ("props", "title"),
    [
        ({"payload": {"subject": "s" * 61}, "user": "u"}, f"Fact > about {'s' * 59}…"),
        ({"payload": {"subject": ""}, "user": "u", "name": "n"}, "Fact > of u"),
        ({"payload": "s", "name": "n\nm", "time": 5}, "Fact > n m"),
        ({"name": 7, "time": -(10**6) - 1}, "Fact > 1969-12-31T23:59:58Z"),
        ({"time": -62_135_596_800_000_000}, "Fact > 0001-01-01T00:00:00Z"),
        ({"time": 2**62}, f"Fact > {2**62} us"),
        ({"time": True}, "Fact"),
        ({"thread": "t", "role": "user", "ord": 3}, "t > message 3, user"),
        ({"thread": "t", "role": "user"}, "Fact"),
        ({"thread": "t", "first": 1, "last": 4}, "t > summary of messages 1 to 4"),
        ({"thread": "t", "role": 5, "first": 1, "last": 4}, "t > summary of messages 1 to 4"),
        ({"thread": "t", "role": "", "ord": 3}, "Fact"),
        ({"thread": "t"}, "Fact"),
    ],
)
def test_a_title_says_what_a_fact_is(props: dict[str, Any], title: str):
    """packs 7-o"""
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.add_node("Fact", summary="needle", props=props)
    (pack,) = repo.packs("needle")
    assert pack.title == title


def test_a_document_without_a_path_has_its_name_or_its_summary():
    """packs 7-o"""
    for made, title in (
        ({"props": {"name": "n"}, "summary": "s"}, "n"),
        ({"props": {"name": "n", "source": ""}}, "n"),
        ({"summary": "s" * 61}, f"{'s' * 59}…"),
    ):
        repo = ibidem.init("memory:")
        with repo.transaction() as tx:
            part = tx.add_node("Passage", summary="needle")
            tx.add_node("Document", children=[Child(part, "", 6, 0)], **made)
        (pack,) = repo.packs("needle")
        assert pack.title == title


def _remember(repo: Repository, text: str, **fields) -> None:
    repo.records.add(Record(RecordType.SEMANTIC, text, scope="", **fields))


def _titled(answer):
    return zip(answer.items, answer.titles(), strict=True)
