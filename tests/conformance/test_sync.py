"""CAR files against their vectors, read twice; and every anchor of spec/sync.md cited."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ibidem.objects.cid import Cid
from ibidem.objects.errors import IbidemError
from ibidem.repo.sync.car import CarReader, write_car

from .mini_car import read_car
from .mini_codec import RefusedError, cid_text

HOUSE = Path(__file__).parents[2]
CASES = json.loads((HOUSE / "spec" / "vectors" / "sync" / "car.json").read_text("ascii"))

HOSTILE = "tests/repo/sync/test_hostile.py::"
BLOCKS = "tests/repo/sync/test_hostile_blocks.py::"
EXCHANGE = "tests/repo/sync/test_exchange.py::"
ERASURES = "tests/repo/sync/test_erasures.py::"
TOLD = "tests/repo/sync/test_told_first.py::"
LATE = "tests/repo/sync/test_late_parts.py::"
REMOTE = "tests/serve/test_remote.py::"
CITED = {
    "3-a": HOSTILE + "test_a_name_that_could_mislead_is_refused",
    "3-b": "tests/repo/sync/test_full_copies.py::"
    "test_a_full_copy_with_a_log_that_fsck_would_fault_is_refused",
    "4-a": HOSTILE + "test_every_missing_block_is_noticed",
    "4-b": HOSTILE + "test_a_block_that_happens_to_be_here_must_be_sent_all_the_same",
    "5-a": HOSTILE
    + "test_every_flipped_byte_of_a_bundle_is_refused_or_changes_nothing_but_its_message",
    "5-b": BLOCKS + "test_a_tree_on_a_commit_with_another_boundary_is_refused",
    "5-c": BLOCKS + "test_a_tree_that_is_not_the_tree_of_its_entries_is_refused",
    "5-d": "tests/repo/sync/test_targets.py::"
    "test_a_copy_whose_ref_points_to_what_its_name_does_not_say_is_refused",
    "5-e": "tests/repo/sync/test_meaning.py::"
    "test_a_copy_takes_in_what_fsck_calls_whole_and_no_more",
    "5-h": "tests/repo/sync/test_known_parts.py::"
    "test_parts_that_are_here_are_measured_where_new_ones_are_sent",
    "5-i": "tests/repo/runs/test_shapes.py::"
    "test_a_step_of_another_shape_is_refused_and_named_and_hides_nothing",
    "6-a": EXCHANGE + "test_a_push_that_was_decided_on_an_older_state_is_refused",
    "6-b": ERASURES + "test_what_was_only_fetched_is_not_thereby_let_in",
    "7-a": REMOTE + "test_a_name_that_is_not_ours_is_not_answered",
    "7-b": HOSTILE + "test_nothing_is_given_out_that_no_ref_reaches",
    "7-c": REMOTE + "test_whatever_is_no_request_gets_a_status_and_a_reason",
    "7-d": REMOTE + "test_silent_connections_keep_nobody_waiting",
    "8-a": ERASURES + "test_a_copy_that_does_not_authorise_it_keeps_what_it_has",
    "8-b": ERASURES + "test_another_version_of_it_is_refused",
    "8-c": TOLD + "test_a_push_is_told_first_and_sends_nothing_of_it",
    "8-e": TOLD + "test_a_refused_fetch_leaves_what_its_erasures_alone_leave",
    "8-d": TOLD + "test_a_remote_refuses_a_state_that_has_it_from_a_copy_that_does_not_ask",
    "8-f": LATE + "test_late_parts_go_with_their_document",
    "8-g": LATE + "test_a_part_of_an_erased_document_is_refused",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_car(case: dict[str, Any]):
    data = bytes.fromhex(case["input"])
    if "error" in case:
        with pytest.raises(IbidemError) as error:
            list(CarReader(io.BytesIO(data)))
        assert error.value.kind == case["error"]
        return
    reader = CarReader(io.BytesIO(data))
    blocks = list(reader)
    assert [str(root) for root in reader.roots] == case["output"]["roots"]
    assert [str(cid) for cid, _ in blocks] == case["output"]["blocks"]
    if "2-c" in case["spec"]:
        file = io.BytesIO()
        write_car(file, map(Cid.parse, case["output"]["roots"]), blocks)
        assert file.getvalue() == data


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_second_reader_agrees(case: dict[str, Any]):
    data = bytes.fromhex(case["input"])
    if "error" in case:
        with pytest.raises((ValueError, IndexError, RefusedError)):
            read_car(data)
        return
    roots, blocks = read_car(data)
    assert [cid_text(root) for root in roots] == case["output"]["roots"]
    assert [cid_text(cid) for cid, _ in blocks] == case["output"]["blocks"]


def test_every_anchor_is_cited_and_every_citation_exists():
    text = (HOUSE / "spec" / "sync.md").read_text("utf-8").split("## 1 ", 1)[1]
    anchors = re.findall(r"\[(\d+-[a-z])\]", text)
    assert len(set(anchors)) == len(anchors)
    cited = {name for case in CASES for name in case["spec"].split() if "-" in name}
    assert set(anchors) == cited | set(CITED)
    for test in CITED.values():
        path, name = test.split("::")
        assert f"def {name}(" in (HOUSE / path).read_text("utf-8"), test
