"""Trust and graph memory against the vectors: by the pages alone, with Python's own numbers."""

from __future__ import annotations

import json
import re
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ibidem.objects import codec
from ibidem.objects.cid import CommitCid
from ibidem.objects.derive import event_node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.events import Event
from ibidem.retrieve.access.derived import derived, labels_of
from ibidem.retrieve.access.policy import TrustPolicy, Viewer, decide
from ibidem.retrieve.records.record import Record
from ibidem.retrieve.records.salience import salience
from ibidem.retrieve.records.selector import Candidate, select

from . import mini_codec, mini_reader

SPEC = Path(__file__).parents[2] / "spec"
VECTORS = SPEC / "vectors"
HOUSE = Path(__file__).parents[2]


def cases(name: str) -> list[Any]:
    found = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    assert found
    return [pytest.param(case["input"], case["output"], id=case["name"]) for case in found]


def by_the_page(policy: Any, viewer: Any, props: Any) -> str:
    """Trust 2, read off the page."""
    if viewer["everything"]:
        return "full"
    cap = viewer["level"]
    if not viewer["authenticated"]:
        cap = min(cap, policy["anonymous_level"])

    def members(name: str, default: Any) -> list[Any]:
        value = props.get(name, default) if name in props else default
        found = value if isinstance(value, list) else [value]
        return [one for one in found if not isinstance(one, (list, dict))]

    def passes(scope: Any) -> bool:
        if not isinstance(scope, str):
            return False
        if scope == "":
            return bool(policy["unscoped"] == "allow")
        return viewer["scopes"] == "*" or scope in viewer["scopes"]

    levels = members(policy["level"], policy["default_level"])
    scopes = members(policy["scope"], "")
    if not levels or not scopes or not all(map(passes, scopes)):
        return "denied"
    if not all(type(level) is int and 0 <= level <= 4 for level in levels):
        return "denied"
    if max(levels) <= cap:
        return "full"
    return "redacted" if max(levels) == cap + 1 else "denied"


@pytest.mark.parametrize(("given", "output"), cases("trust/derive"))
def test_labels_of_derived_nodes(given: Any, output: Any):
    policy, labels = TrustPolicy(**given["policy"]), given["labels"]
    if output == "invalid-input":
        with pytest.raises(InvalidInputError):
            derived(policy, given["sources"], labels_of(**labels))
        return
    found = derived(policy, given["sources"], labels_of(**labels))
    assert [dict(found.props), list(found.trailers(NodeId(bytes(16))))] == output
    # By the page: who may see it may see every source, unless a line says otherwise.
    for level in range(5):
        for scopes in ([], ["a"], ["b"], ["a", "b"]):
            viewer = {"everything": False, "level": level, "authenticated": True, "scopes": scopes}
            if by_the_page(given["policy"], viewer, output[0]) == "full" and not output[1]:
                for source in given["sources"]:
                    assert by_the_page(given["policy"], viewer, source) == "full"


@pytest.mark.parametrize(("given", "output"), cases("trust/decide"))
def test_decisions(given: Any, output: str):
    assert by_the_page(**given) == output
    context = dict(given["viewer"])
    policy = TrustPolicy(**given["policy"])
    assert decide(policy, Viewer(**context), given["props"]) == output


def halved(age: int, half_life: int) -> float:
    if age <= 0:
        return 1.0
    whole, rest = divmod(age, half_life)
    part = 1.0
    if rest:
        context = Context(prec=50)
        ln2 = float(Decimal(2).ln(context))
        part = float(Decimal(-(rest / half_life) * ln2).exp(context))
    return float(Fraction(part) / 2**whole)


@pytest.mark.parametrize(("given", "output"), cases("memory/salience"))
def test_salience(given: Any, output: str):
    record, as_of = given["record"], given["as_of"]
    life = record["half_life_seconds"] * 1_000_000

    def faded(value: float, age: int) -> float:
        return value if record["pinned"] else max(record["floor"], value * halved(age, life))

    began = record["time"] or (as_of if given["undated"] is None else given["undated"])
    value, at = max(record["floor"], record["salience"]), began
    for kind, time, amount in given["events"]:
        if time > as_of or kind not in ("reinforce", "penalize"):
            continue
        change = record["gain"] if amount is None else amount
        change = change if kind == "reinforce" else -change
        value = min(1.0, max(record["floor"], faded(value, time - at) + change))
        at = max(at, time)
    value = faded(value, as_of - at)
    age = record["max_age_seconds"]
    if age is not None and as_of - began >= age * 1_000_000:
        value = 0.0
    assert value.hex() == output
    node = NodeId(b"a" * 16)
    events = [
        Event(kind, (node,), "", time, amount, id=node) for kind, time, amount in given["events"]
    ]
    ours = Record("Semantic", "x", scope="", **record)  # type: ignore[arg-type]
    assert salience(ours, events, as_of, undated=given["undated"]).hex() == output


@pytest.mark.parametrize(("given", "output"), cases("memory/event"))
def test_ids_of_events(given: Any, output: str):
    block, head = bytes.fromhex(given["node"]), given["head"]
    place, index = given["place"], given["index"]
    link = None if head is None else mini_codec.Link(mini_codec.parse_cid(head))
    by_the_page = mini_reader.event_node_id(place, link, index, mini_codec.decode(block))
    ours = event_node_id(
        place, None if head is None else CommitCid.parse(head), index, codec.decode(block)
    )
    assert by_the_page.hex() == str(ours) == output


@pytest.mark.parametrize(("given", "output"), cases("memory/selector"))
def test_selections(given: Any, output: Any):
    scores = {}
    for one in given["candidates"]:
        count = one["successes"] + one["failures"]
        success = one["successes"] / count if count else 0.5
        recency = 0.5
        if one["reinforced"] is not None:
            recency = halved(given["as_of"] - one["reinforced"], 30 * 86_400_000_000)
        scores[one["id"]] = ((one["applicability"] + success) + recency) / 3
    order = sorted(scores, key=lambda one: (-scores[one], one))
    assert [[one, scores[one].hex()] for one in order] == output["selected"]
    candidates = [
        Candidate(NodeId(bytes.fromhex(one.pop("id"))), **one)
        for one in [dict(one) for one in given["candidates"]]
    ]
    found = select(candidates, given["as_of"], top_min=given["top_min"], gap_min=given["gap_min"])
    assert [[node.raw.hex(), found.scores[node].hex()] for node in found.selected] == output[
        "selected"
    ]
    assert (found.top.hex(), found.gap.hex(), found.needs_more) == (
        output["top"],
        output["gap"],
        output["needs_more"],
    )


BUDGET = "tests/seeds/test_conversation_budget.py::"
CONVERSATION = "tests/memory/conversation/"
PROPOSE = "tests/memory/graph/test_propose.py::"
CITED = {
    "trust": {
        "1-a": "tests/memory/graph/test_trust.py::test_tr3_a_policy_is_taken_away",
        "1-b": "tests/memory/graph/test_trust.py::test_tr2_an_unknown_level_is_refused",
        "1-c": "tests/memory/graph/test_trust.py::test_a_receipt_says_who_asked",
        "1-d": "tests/memory/graph/test_trust.py::test_tr3_without_a_context",
        "1-e": "tests/memory/test_derived_labels.py::test_a_summary_is_as_sensitive",
        "1-f": "tests/conformance/test_trust.py::test_labels_of_derived_nodes",
        "1-g": "tests/ingest/test_labels.py::test_the_parts_of_a_document_follow",
        "2-a": "tests/conformance/test_trust.py::test_decisions",
        "2-b": "tests/conformance/test_trust.py::test_decisions",
        "3-a": "tests/oracle/test_trust_view.py::test_tr4_a_view_answers",
        "3-b": "tests/memory/graph/test_interference.py::test_tr12_a_pack_skips",
        "3-c": "tests/memory/graph/test_interference.py::test_tr6_what_is_hidden",
        "3-d": "tests/cli/test_trust.py::test_history_and_blocks",
        "4-a": "tests/memory/graph/test_interference.py::test_tr8_a_stub_says",
        "4-b": "tests/memory/graph/test_interference.py::test_a_policy_that_denies_stubs",
        "6-a": "tests/repo/viewer/test_exposure.py::test_everything_that_can_be_called",
        "6-b": "tests/oracle/test_viewer.py::test_a_viewer_is_told",
        "6-c": "tests/repo/viewer/test_exposure.py::test_what_is_refused_is_one_error",
        "6-d": "tests/repo/viewer/test_leaks.py::test_events_and_commits",
        "6-e": "tests/repo/viewer/test_leaks.py::test_writes_about_hidden",
        "6-f": "tests/oracle/test_viewer.py::test_a_viewer_is_told",
        "6-g": "tests/memory/conversation/test_viewer_threads.py::test_messages_that_do_not_see",
        "6-h": "tests/memory/conversation/test_viewer_threads.py::test_a_summary_covers",
        "6-i": "tests/memory/conversation/test_viewer_threads.py::test_a_thread_is_hidden_as_long",
        "7-a": "tests/serve/test_tokens.py::test_the_text_is_kept_nowhere",
        "7-b": "tests/serve/test_questions.py::test_rotation_revocation_and_expiry",
        "7-c": "tests/serve/test_questions.py::test_a_restricted_viewer_gets_of_every_route",
        "7-d": "tests/serve/test_questions.py::test_a_token_gets_the_answer",
        "7-e": "tests/serve/test_questions.py::test_every_request_with_a_token_leaves_a_line",
        "7-f": "tests/serve/test_api.py::test_hidden_and_missing_are_one_answer",
        "7-g": "tests/serve/test_api.py::test_a_condition_that_does_not_hold_changes_nothing",
        "7-h": "tests/serve/test_api.py::test_a_request_that_is_sent_again_is_done_once",
    },
    "memory": {
        "1-a": "tests/repo/test_notes.py::test_an_older_head",
        "1-b": "tests/conformance/test_trust.py::test_salience",
        "1-c": "tests/conformance/test_trust.py::test_ids_of_events",
        "1-d": "tests/memory/graph/test_plain_nodes.py::test_a_node_that_is_no_record",
        "1-e": "tests/repo/runs/test_shapes.py::test_a_note_that_is_no_event",
        "1-f": "tests/memory/graph/test_namespaces.py::test_the_same_fact_twice",
        "2-a": "tests/conformance/test_trust.py::test_salience",
        "2-b": "tests/conformance/test_trust.py::test_salience",
        "2-c": "tests/conformance/test_trust.py::test_salience",
        "3-a": "tests/conformance/test_trust.py::test_selections",
        "3-b": "tests/conformance/test_trust.py::test_selections",
        "4-a": "tests/memory/graph/test_asking.py::test_gr5_filters",
        "4-b": "tests/memory/graph/test_asking.py::test_gr8_many_relations",
        "4-c": "tests/memory/graph/test_asking.py::test_shares_of_a_root",
        "4-d": "tests/memory/graph/test_asking.py::test_gr1_nodes_and_edges",
        "4-e": "tests/oracle/test_records.py::test_records_equal_the_oracle",
        "4-f": "tests/memory/graph/test_asking.py::test_an_answer_is_repeated",
        "4-g": "tests/memory/graph/test_asking.py::test_a_budget_holds_the_best_records",
        "4-i": "tests/repo/test_union.py::test_records_with_the_ids_of_others_are_apart",
        "4-h": "tests/memory/graph/test_asking.py::test_records_come_by_layers",
        "5-a": "tests/memory/graph/test_revise.py::test_rv1_a_revision",
        "5-b": "tests/memory/graph/test_namespaces.py::test_relations_stay_behind",
        "5-c": "tests/memory/graph/test_namespaces.py::test_a_merge_takes_the",
        "6-a": "tests/memory/graph/test_revise.py::test_co3_a_derived_record",
        "6-b": "tests/memory/graph/test_revise.py::test_co1_consolidation",
        "7-a": "tests/memory/graph/test_salience.py::test_de7_pruning",
        "9-a": "tests/memory/graph/test_maintain.py::test_it_accepts_consolidates_and_prunes",
        "10-a": CONVERSATION
        + "test_window.py::test_only_the_newest_messages_of_a_thread_are_searched",
        "11-a": BUDGET + "test_cm20_chunks",
        "11-b": CONVERSATION + "test_passages.py::test_it_is_the_one_that_the_definition_gives",
        "12-a": CONVERSATION + "test_rules.py::test_they_are_proposals_with_their_message",
        "13-a": BUDGET + "test_a_message_counts_with_those_beside_it",
        "13-b": BUDGET + "test_of_ten_units_four_are_recent",
        "13-c": BUDGET + "test_long_messages_and_answers_of_tools",
        "13-d": BUDGET + "test_those_after_a_long_message_have_what_it_leaves",
        "13-e": CONVERSATION
        + "test_recorded_contexts.py::test_a_run_that_did_not_fill_contexts_replays",
        "8-a": PROPOSE + "test_its_id_follows_from_its_parts_and_from_whose_it_is",
        "8-b": PROPOSE + "test_the_same_again_adds_sources_and_a_rejected_one_stays_rejected",
        "8-c": PROPOSE + "test_facts_that_contradict_it_are_named_and_superseded_if_wanted",
    },
}


@pytest.mark.parametrize("page", CITED)
def test_every_anchor_of_the_page_is_cited_by_a_test_that_is_there(page: str):
    anchors = set(re.findall(r"\[(\d+-[a-z])\]", (SPEC / f"{page}.md").read_text(encoding="utf-8")))
    assert anchors == set(CITED[page])
    for cited in CITED[page].values():
        file, _, name = cited.partition("::")
        assert f"def {name}" in (HOUSE / file).read_text(encoding="utf-8"), cited
