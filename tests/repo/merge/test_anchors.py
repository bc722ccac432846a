"""Every anchor of the merge's page is tested by name; the oracle tests them all together."""

from __future__ import annotations

import re
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[3]
ORACLE = "tests/oracle/test_merge.py::test_merges_equal_the_oracle_commute_and_repeat"
MERGING = "tests/repo/merge/test_merging.py::"
MANY = "tests/repo/merge/test_many_merges.py::"
LEVELS = "tests/repo/merge/test_levels.py::"
POLICIES = "tests/repo/merge/test_policies.py::"
REBASE = "tests/repo/merge/test_rebase.py::"
DOCUMENTS = "tests/repo/merge/test_documents.py::"
LABELS = "tests/ingest/test_labels.py::"
LINKS = "tests/repo/merge/test_links.py::"
LAYOUT = "tests/repo/merge/test_layout.py::"
FORGOTTEN = "tests/repo/test_forgotten.py::"
VERSIONS = "tests/compat/test_versions.py::"
CITED = {
    "1-a": MERGING + "test_a_branch_without_commits_of_its_own_moves",
    "1-b": MANY + "test_merges_are_the_same_to_the_byte_whoever_makes_them",
    "1-c": ORACLE,
    "1-d": "tests/repo/sync/test_known_parts.py::"
    "test_a_merge_of_what_would_contain_itself_is_refused",
    "2-a": MERGING + "test_one_sided_edits_stand_whichever_side_made_them",
    "2-b": MERGING + "test_a_removal_against_an_edit_is_a_conflict_and_the_edit_stands",
    "2-c": MERGING + "test_a_tombstone_beats_an_edit_and_a_removal",
    "2-d": MERGING + "test_a_removal_against_an_edit_is_a_conflict_and_the_edit_stands",
    "2-e": ORACLE,
    "2-f": "tests/oracle/test_merge.py::test_what_a_node_lists_because_of_a_side_is_there",
    "3-a": MANY + "test_a_conflict_settled_apart_and_differently_is_a_conflict_again",
    "3-b": MERGING + "test_properties_merge_one_by_one",
    "3-c": ORACLE,
    "3-d": MERGING + "test_what_together_is_too_large_for_a_block_is_a_conflict_about_the_whole",
    "3-e": LEVELS + "test_of_two_levels_the_stricter_stands_without_a_conflict",
    "3-f": VERSIONS + "test_roots_of_both_merge_alike_from_both_sides",
    "3-g": LAYOUT + "test_changes_in_different_places_of_one_document_merge",
    "3-h": LAYOUT + "test_changes_whose_order_is_not_certain_are_a_conflict",
    "3-i": "tests/oracle/test_merge.py::test_layouts_of_documents_merge_child_by_child",
    "3-j": LAYOUT + "test_changes_of_different_paragraphs_never_meet",
    "3-k": "tests/oracle/test_merge.py::"
    "test_what_one_side_adds_to_a_document_is_as_secret_as_the_other_side_made_it",
    "3-l": LAYOUT + "test_a_document_that_changes_its_language_meets_no_edit_of_its_parts",
    "4-a": MERGING + "test_an_edge_to_a_node_that_the_other_side_removed_is_kept_aside",
    "4-b": MERGING + "test_an_edge_to_a_node_that_the_other_side_removed_is_kept_aside",
    "4-c": MERGING + "test_an_edge_whose_ends_are_back_stays_in_its_conflict_until_it_is_settled",
    "4-d": MERGING + "test_what_one_side_removed_stays_removed",
    "4-e": ORACLE,
    "4-f": ORACLE,
    "4-g": LINKS + "test_a_link_to_what_the_other_side_renamed_is_no_conflict",
    "5-a": MERGING + "test_histories_with_nothing_in_common_merge",
    "5-b": MANY + "test_more_than_sixty_four_sides_are_counted_and_bounded",
    "5-c": MANY + "test_a_conflict_settled_apart_and_differently_is_a_conflict_again",
    "5-d": DOCUMENTS + "test_settled_for_a_side_the_graph_is_that_of_the_side",
    "5-e": LINKS + "test_an_edge_that_is_kept_brings_its_document_back_whole",
    "5-f": LABELS + "test_parts_follow_when_the_scope_of_their_document_is_resolved",
    "6-a": MERGING + "test_no_vector_is_lost_and_vectors_rank_at_once",
    "7-a": ORACLE,
    "7-b": MERGING + "test_two_models_of_one_name_are_both_kept",
    "7-c": "tests/oracle/test_merge.py::test_two_policies_merge_field_by_field_or_are_refused",
    "7-d": POLICIES + "test_two_names_of_a_property_are_refused_and_nothing_changes",
    "7-e": REBASE + "test_a_model_comes_with_the_vectors_of_a_commit_that_is_made_again",
    "7-f": VERSIONS + "test_of_two_versions_that_no_base_has_the_higher_stands",
    "8-a": MERGING + "test_properties_merge_one_by_one",
    "8-b": MANY + "test_criss_cross_histories_take_both_bases_into_account",
    "8-c": MANY + "test_deep_criss_cross_is_bounded",
    "8-d": POLICIES + "test_criss_cross_histories_that_disagree_again_are_refused_again",
    "9-a": FORGOTTEN + "test_a_revert_keeps_the_tombstone_and_takes_the_rest_back",
    "9-b": FORGOTTEN + "test_a_rebase_keeps_what_was_forgotten_below",
    "9-c": FORGOTTEN + "test_an_undo_keeps_the_tombstone_and_says_so",
    "10-a": FORGOTTEN + "test_no_way_of_moving_a_branch_brings_an_erased_node_back_or_breaks_on_it",
    "10-b": FORGOTTEN + "test_a_copy_that_still_has_an_erased_node_does_not_bring_it_back",
}


def test_every_anchor_is_cited_once_and_every_citation_exists():
    page = (HOUSE / "spec" / "merge.md").read_text("utf-8")
    found = re.findall(r"\[(\d+-[a-z])\]", page)
    assert len(set(found)) == len(found)
    assert set(found) == set(CITED)
    for cited in CITED.values():
        path, name = cited.split("::")
        assert f"def {name}(" in (HOUSE / path).read_text("utf-8"), cited
