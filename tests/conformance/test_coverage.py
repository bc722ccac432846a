"""Every anchor of the format is cited by a vector or a test, and every citation is of an anchor.

A test cites an anchor by naming it in its file; tests of other rooms are cited from the table
below, which is checked to name tests that exist.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

HOUSE = Path(__file__).parents[2]
PAGE = HOUSE / "spec" / "format.md"
VECTORS = HOUSE / "spec" / "vectors" / "format"

CITED = {
    "2-c": "tests/objects/test_config_text.py::test_block_is_verified_against_its_cid",
    "4-j": "tests/objects/test_codec.py::test_value_outside_the_format_is_refused",
    "5.1-b": "tests/objects/test_values.py::test_content_is_split_and_joined",
    "5.1-d": "tests/objects/test_config_text.py::"
    "test_text_joins_the_fields_that_exist_in_the_order_asked_for",
    "5.1-f": "tests/objects/test_location.py::"
    "test_a_source_over_the_limits_is_refused_before_it_is_put_together",
    "5.1-h": "tests/ingest/test_language.py::test_all_parts_but_code_have_the_home_of_the_document",
    "5.12-b": "tests/repo/runs/test_shapes.py::"
    "test_bytes_in_a_step_that_are_not_canonical_are_refused_by_both_engines",
    "5.6-a": "tests/objects/tree/test_build.py::test_insertion_order_does_not_change_the_tree",
    "5.6-b": "tests/repo/sync/test_meaning.py::"
    "test_a_configuration_of_another_form_is_refused_and_named",
    "5.6-c": "tests/repo/sync/test_meaning.py::"
    "test_an_edge_a_vector_and_a_sparse_vector_without_a_node_are_refused",
    "5.8-a": "tests/repo/sync/test_targets.py::"
    "test_fsck_names_a_ref_that_points_to_what_its_name_does_not_say",
    "5.9-a": "tests/repo/sync/test_full_copies.py::"
    "test_a_full_copy_with_a_log_that_fsck_would_fault_is_refused",
    "5.13-b": "tests/repo/sync/test_meaning.py::"
    "test_a_conflict_whose_part_is_a_version_of_another_is_refused",
    "6.1-a": "tests/objects/tree/test_vectors.py::test_block",
    "6.1-b": "tests/objects/tree/test_build.py::test_no_block_holds_more_than_256_entries",
    "6.1-c": "tests/objects/tree/test_verify.py::test_a_block_of_another_width_is_refused",
    "6.1-d": "tests/objects/tree/test_verify.py::"
    "test_a_count_that_is_not_that_of_the_child_is_refused",
    "6.1-e": "tests/objects/tree/test_verify.py::test_keys_out_of_order_are_refused",
    "6.1-f": "tests/objects/tree/test_build.py::"
    "test_nothing_gives_the_empty_tree_and_puts_its_block",
    "6.1-g": "tests/objects/tree/test_verify.py::test_a_top_above_a_single_block_is_refused",
    "6.3-a": "tests/objects/tree/test_build.py::test_cuts_equal_the_recursive_split_for_any_hashes",
    "6.3-b": "tests/objects/tree/test_build.py::test_level_beyond_the_last_is_refused",
    "6.5-a": "tests/objects/tree/test_read.py::"
    "test_child_that_is_not_what_its_parent_says_is_refused",
    "6.6-a": "tests/objects/tree/test_mutate.py::test_mutate_equals_build",
    "6.9-a": "tests/objects/tree/test_verify.py::test_keys_out_of_order_are_refused",
    "8-c": "tests/compat/test_versions.py::test_every_block_keeps_its_version",
    "8-d": "tests/compat/test_versions.py::test_roots_of_both_merge_alike_from_both_sides",
}


def anchors() -> list[str]:
    return re.findall(r"\[(\d+(?:\.\d+)?-[a-z])\]", PAGE.read_text("utf-8"))


def cited_by_vectors() -> set[str]:
    found: set[str] = set()
    for path in VECTORS.glob("*.json"):
        for case in json.loads(path.read_text("utf-8")):
            found.update(name for name in case["spec"].split() if "-" in name)
    return found


def test_anchors_are_unique():
    found = anchors()
    assert len(found) > 40
    assert len(set(found)) == len(found)


def test_every_anchor_is_cited_by_a_vector_or_a_test():
    missing = set(anchors()) - cited_by_vectors() - set(CITED)
    assert not missing, sorted(missing)


def test_every_citation_is_of_an_anchor():
    unknown = (cited_by_vectors() | set(CITED)) - set(anchors())
    assert not unknown, sorted(unknown)


def test_every_cited_test_exists():
    for anchor, test in CITED.items():
        path, name = test.split("::")
        assert f"def {name}(" in (HOUSE / path).read_text("utf-8"), anchor


def test_every_vector_file_is_read_by_a_test():
    tests = "".join(path.read_text("utf-8") for path in (HOUSE / "tests").rglob("test_*.py"))
    for path in VECTORS.glob("*.json"):
        assert path.name in tests or path.stem.removeprefix("tree-") in tests, path.name


def test_second_reader_imports_nothing_of_ours():
    for name in (
        *("mini_reader.py", "mini_tree.py", "mini_codec.py", "mini_blake3.py"),
        "mini_ed25519.py",
    ):
        source = (HOUSE / "tests" / "conformance" / name).read_text("utf-8")
        modules = re.findall(r"^(?:from|import) ([\w.]+)", source, re.MULTILINE)
        allowed = {
            "__future__",
            "base64",
            "dataclasses",
            "hashlib",
            "itertools",
            "struct",
            ".mini_blake3",
            ".mini_codec",
            ".mini_reader",
        }
        assert set(modules) <= allowed, name
