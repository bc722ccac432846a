"""Merging three versions of a text line by line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ibidem.repo.merge.text import MARKERS, MergedText, has_markers, merge_texts

LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\u2028\r\n"]), max_size=8).map("".join)
SIDES = st.lists(st.sampled_from(["same", "ours", "theirs"]), min_size=1, max_size=12)


def paragraphs(sides: list[str], *changed: str) -> str:
    """Distinct paragraphs, of which those of the given sides are changed."""
    texts = [
        f"paragraph {index}" + (f" by {side}" if side in changed else "")
        for index, side in enumerate(sides)
    ]
    return "\n\n".join(texts) + "\n"


@given(SIDES)
def test_changes_of_different_paragraphs_merge(sides: list[str]) -> None:
    base, ours, theirs, both = (
        paragraphs(sides, *changed) for changed in ((), ("ours",), ("theirs",), ("ours", "theirs"))
    )
    assert merge_texts(base, ours, theirs) == MergedText(both, 0)
    assert merge_texts(base, theirs, ours) == MergedText(both, 0)


@given(LINES, LINES)
def test_a_change_of_one_side_is_taken(base: str, changed: str) -> None:
    assert merge_texts(base, changed, base) == MergedText(changed, 0)
    assert merge_texts(base, base, changed) == MergedText(changed, 0)
    assert merge_texts(base, changed, changed) == MergedText(changed, 0)


@given(LINES, LINES, LINES)
def test_a_choice_leaves_no_conflict(base: str, ours: str, theirs: str) -> None:
    merged = merge_texts(base, ours, theirs)
    assert has_markers(merged.text) == bool(merged.conflict_count)
    for take in ("ours", "theirs"):
        assert not merge_texts(base, ours, theirs, take=take).conflict_count


def test_the_same_line_changed_twice_is_between_markers() -> None:
    begin, middle, end = MARKERS
    merged = merge_texts("a\nb\n", "A\nb\n", "aa\nb\n")
    assert merged == MergedText(f"{begin}A\n{middle}aa\n{end}b\n", 1)
    assert merge_texts("", "x", "y").text == f"{begin}x\n{middle}y\n{end}"
    assert merge_texts("a\nb\n", "A\nb\n", "aa\nb\n", take="theirs").text == "aa\nb\n"
