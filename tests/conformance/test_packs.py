"""Packs: the vectors, and every anchor of spec/packs.md cited by one or by a test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ibidem.retrieve.context.excerpt import clipped_text, excerpt, focus_of
from ibidem.retrieve.context.fitting import Fitting, Parts
from ibidem.retrieve.context.pieces import pieces_of, prose_of
from ibidem.retrieve.context.prompt import marker
from ibidem.retrieve.context.sources import SourceOrder
from ibidem.retrieve.context.window import Aim, absorb, coalesce

HOUSE = Path(__file__).parents[2]
FOLDER = HOUSE / "spec" / "vectors" / "packs"
CONTEXT = "tests/repo/test_context.py"
FRAMES = "tests/repo/test_frames.py"
WINDOW = "tests/memory/conversation/test_window.py"
EXCERPTS = "tests/seeds/test_excerpts.py"
PACKS, SEARCH = "tests/seeds/test_packs.py", "tests/seeds/test_search.py"
CITED = {
    "1-a": (PACKS, "test_pk12_nothing_fits_nothing_was_asked_nothing_is_found"),
    "2-a": (PACKS, "test_neighbours_are_not_filtered_but_must_be_visible"),
    "2-b": (PACKS, "test_nodes_outside_of_documents_are_packs_of_their_own"),
    "2-c": (PACKS, "test_a_heading_that_matches_stands_at_its_first_passage"),
    "3-a": (PACKS, "test_pk9_packs_come_by_score_then_document_then_place"),
    "3-b": (PACKS, "test_a_heading_without_text_is_no_pack_where_headings_are_dropped"),
    "4-a": (PACKS, "test_pk3_without_sections_neighbours_are_shown_and_it_is_said"),
    "4-d": (PACKS, "test_a_passage_of_two_documents_is_shown_once"),
    "4-e": (PACKS, "test_neighbours_stay_in_their_section_and_window"),
    "4-f": (PACKS, "test_copies_are_shown_once"),
    "4-g": (PACKS, "test_one_pack_of_a_document_or_section_stays"),
    "4-h": (PACKS, "test_what_is_nearly_the_same_stays_once"),
    "5-a": (PACKS, "test_edges_lead_to_the_rest_of_a_pack"),
    "5-b": (PACKS, "test_walks_that_share_a_node_are_one_where_they_coalesce"),
    "6-a": (PACKS, "test_pk13_the_text_is_the_members_joined"),
    "6-b": (PACKS, "test_pk14_the_id_of_a_pack_follows_its_content"),
    "6-c": (SEARCH, "test_pk23_ranges_are_of_the_text_as_it_stands"),
    "7-b": (PACKS, "test_the_bytes_are_canonical_and_have_the_fields_of_the_page"),
    "7-d": (PACKS, "test_more_budget_never_gives_less_text"),
    "7-e": (PACKS, "test_what_does_not_fit_is_cut_around_the_hit"),
    "1-b": (PACKS, "test_a_question_of_before_is_cut_as_it_was"),
    "7-j": (PACKS, "test_a_few_words_of_a_later_pack_are_left_out"),
    "7-i": (EXCERPTS, "test_a_named_row_is_shown_below_its_header"),
    "9-b": (EXCERPTS, "test_a_citation_names_the_ranges_that_are_quoted"),
    "7-f": ("tests/repo/test_union.py", "test_packs_of_documents_with_one_path_are_apart"),
    "7-o": ("tests/repo/test_answer_locations.py", "test_a_title_says_what_a_fact_is"),
    "8-b": (SEARCH, "test_pk27_a_text_that_knows_the_fence_changes_it"),
    "8-c": (SEARCH, "test_pk25_without_packs_the_question_stands_alone"),
    "8-d": (FRAMES, "test_packs_that_were_asked_for_otherwise_are_cut_to_the_prompt"),
    "8-e": (FRAMES, "test_a_prompt_has_all_of_its_packs_and_more_with_more_budget"),
    "9-a": (SEARCH, "test_pk26_citations_can_be_verified"),
    "10-a": (CONTEXT, "test_documents_facts_and_the_conversation_are_apart"),
    "10-b": (CONTEXT, "test_a_fact_that_does_not_hold_is_left_out"),
    "10-c": (CONTEXT, "test_the_last_messages_are_there_whatever_the_question"),
    "10-e": (CONTEXT, "test_every_source_has_a_citation_that_is_true"),
    "10-g": (CONTEXT, "test_a_message_counts_for_those_beside_it"),
    "10-f": (WINDOW, "test_a_context_searches_the_window_and_shows_summaries"),
}


def cases(name: str) -> list[dict]:
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def ids(case: dict) -> str:
    return case["name"]


@pytest.mark.parametrize("case", cases("windows"), ids=ids)
def test_windows_json(case):
    given = case["input"]
    aims = [
        Aim(
            rank,
            place,
            max(0, place - given["around"]),
            min(given["last"], place + given["around"]) + 1,
        )
        for rank, place in enumerate(given["hits"])
    ]
    made = (absorb if given["merge"] == "absorb" else coalesce)(aims)
    assert [{"first": one.start, "last": one.stop - 1, "hits": one.ranks} for one in made] == case[
        "output"
    ]


@pytest.mark.parametrize("case", cases("fits"), ids=ids)
def test_fits_json(case):
    given = case["input"]
    options = {"limit": given["limit"], "budget": given["budget"], "overflow": given["policy"]}
    if "parts" in given:
        check_slack(given, options, case["output"])
        return
    rooms = {}

    def cut(index, room):
        is_enough = room >= given.get("needs", [1] * (index + 1))[index]
        if is_enough or index not in rooms:
            rooms[index] = room
        return ("a part", room) if is_enough else None

    made = Fitting(
        len(given["costs"]),
        given["costs"].__getitem__,
        Parts(cut),
        **options,
        fill=given.get("fill", False),
        enough="needs" in given,
    ).decisions()
    taken, left = divided(made)
    found = {
        "taken": [one.candidate for one in taken],
        "left": left,
        "rooms": list(rooms.values()),
    }
    assert found == case["output"]


def divided(made):
    """Returns the decisions for what is taken, and the others as vectors have them."""
    every = list(made)
    left = [[one.candidate, one.reason, one.tokens] for one in every if one.reason is not None]
    return [one for one in every if one.reason is None], left


def check_slack(given, options, output):
    costs = [one[-1] for one in given["parts"]]

    def cut(index, room):
        fit = [one for one in given["parts"][index] if one <= room]
        return (fit[-1], fit[-1]) if fit else None

    parts = Parts(cut)
    rules = {"around": given["around"], "fill": True, "enough": True}
    fitting = Fitting(len(costs), costs.__getitem__, parts, **options, **rules, slack=True)
    taken, left = divided(fitting.decisions())
    shown = [
        [one.candidate, one.tokens if one.room is None else parts.part(one.candidate, one.room)]
        for one in taken
    ]
    assert [shown, left] == [output["taken"], output["left"]]
    larger = {**options, "budget": output["charged"]}
    assert divided(
        Fitting(len(costs), costs.__getitem__, parts, **larger, **rules).decisions()
    ) == (taken, left)


@pytest.mark.parametrize("case", cases("excerpts"), ids=ids)
def test_excerpts_json(case):
    given = case["input"]
    text, room = given["text"], given["room"]

    def is_fit(*ranges):
        return sum(stop - start for start, stop in ranges) + len(ranges) - 1 <= room

    sentences = given["sentences"]
    focus = focus_of(text, given["question"], "unicode-1", sentences=sentences)
    found = excerpt(text, focus, is_fit, sentences=sentences)
    assert [list(one) for one in found] == case["output"]


@pytest.mark.parametrize("case", cases("pieces"), ids=ids)
def test_pieces_json(case):
    assert list(pieces_of(case["input"], True)) == case["output"]


@pytest.mark.parametrize("case", cases("prose"), ids=ids)
def test_prose_json(case):
    assert [list(one) for one in prose_of(case["input"])] == case["output"]


@pytest.mark.parametrize("case", cases("cuts"), ids=ids)
def test_cuts_json(case):
    text, room, whole = (case["input"][name] for name in ("text", "room", "whole"))
    shown = clipped_text(text, lambda some: len(some) <= room, sentences=True, whole=whole)
    assert shown == case["output"]


@pytest.mark.parametrize("case", cases("markers"), ids=ids)
def test_markers_json(case):
    assert marker(case["input"]) == case["output"]


@pytest.mark.parametrize("case", cases("sources"), ids=ids)
def test_sources_json(case):
    given = case["input"]
    order = SourceOrder(
        given["shares"],
        [len(one) for one in given["costs"]],
        lambda source, position: given["costs"][source][position],
    )
    made = []
    for index in range(order.count):
        made.append(list(order[index]))
        order.cost(index)
    assert made == case["output"]


def test_every_anchor_is_cited():
    text = (HOUSE / "spec" / "packs.md").read_text("utf-8").split("## 1 ", 1)[1]
    anchors = re.findall(r"\[(\d+-[a-z])\]", text)
    assert len(anchors) == len(set(anchors)) > 10
    by_vectors = {case["spec"] for path in FOLDER.glob("*.json") for case in cases(path.stem)}
    assert set(anchors) == by_vectors | set(CITED)
    for path, name in CITED.values():
        assert f"def {name}(" in (HOUSE / path).read_text("utf-8"), name
