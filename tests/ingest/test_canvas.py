"""JSON Canvas: cards, groups and arrows become text, sections and a list."""

import json

import pytest

import ibidem
from ibidem.ingest.canvas import extract
from ibidem.ingest.document import read_document
from ibidem.objects.errors import InvalidInputError


def card(id_, x, y, width=100, height=100, kind="text", **more):
    box = {"x": x, "y": y, "width": width, "height": height}
    return {"id": id_, "type": kind, **box, **more}


CANVAS = {
    "nodes": [
        card("b", 20, 300, kind="file", file="Notes/Power 100%.md"),
        card("a", 20, 20, text="# Stage\n\nComes on **Thursday**."),
        card("c", 900, 20, text="Outside."),
        card("d", 250, 20, kind="link", url="https://example.org/permit"),
        card("g", 0, 0, 500, 500, "group", label="Festival"),
        card("i", 880, 0, 500, 500, "group", label=" "),
        card("h", 10, 290, 200, 200, "group", label="Power"),
    ],
    "edges": [
        {"fromNode": "a", "toNode": "b", "label": "needs"},
        {"fromNode": "g", "toNode": "c"},
        {"fromNode": "a", "toNode": "missing"},
    ],
}


ARROWS = "- Stage -> Notes/Power 100%.md: needs\n- Festival -> Outside."


def test_cards_stand_below_their_group_in_the_order_of_reading():
    assert extract(json.dumps(CANVAS).encode()).text == (
        "Outside.\n\n"
        f"{ARROWS}\n\n"
        "# Festival\n\n# Stage\n\nComes on **Thursday**.\n\n"
        "https://example.org/permit\n\n# Power\n\nNotes/Power 100%.md"
    )


def test_a_heading_in_a_card_holds_the_rest_of_the_card_only():
    drafts = read_document("a.canvas", json.dumps(CANVAS)).drafts
    names = {draft.id: draft.summary for draft in drafts}
    inside = {draft.summary: [names[each.id] for each in draft.children] for draft in drafts}
    assert inside["Stage"] == ["Comes on **Thursday**."]
    assert inside["Festival"] == ["Stage", "https://example.org/permit"]
    assert inside["a.canvas"] == ["Outside.", ARROWS, "Festival", "Power"]


def test_a_card_with_a_file_links_to_it(tmp_path):
    repo = ibidem.init(tmp_path)
    (tmp_path / "Notes").mkdir()
    (tmp_path / "Notes" / "Power 100%.md").write_text("Two feeds.\n")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "map.canvas").write_text(json.dumps(CANVAS))
    repo.ingest(tmp_path)
    (edge,) = repo.at("main").edges()
    assert repo.at("main").node(edge.dst).props["source"] == "Notes/Power 100%.md"


@pytest.mark.parametrize("data", [b"", b"{}", b'{"nodes": [1, {"x": "1", "text": []}]}'])
def test_a_canvas_without_cards_has_no_text(data):
    assert extract(data).text == ""


@pytest.mark.parametrize("data", [b"[]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_canvas_is_an_error(data):
    with pytest.raises(InvalidInputError, match="expected"):
        extract(data)


def test_an_error_names_the_format_once() -> None:
    with pytest.raises(InvalidInputError) as error:
        read_document("plan.canvas", b"[]")
    assert str(error.value).startswith("canvas: no object")
