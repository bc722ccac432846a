"""Merges three versions of a text line by line, with markers where both sides changed the same
lines.

This is what a person reads and edits when a document is in conflict; no merge of roots depends on
it. Lines that equal the base on both sides are anchors; between two anchors, the side that differs
from the base wins, and if both do, they are a conflict unless they are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from ibidem.objects.record import record

MARKERS = "<<<<<<< ours\n", "=======\n", ">>>>>>> theirs\n"


@record
class MergedText:
    """Three versions of a text, merged."""

    text: str
    """With markers around both versions of each conflict."""
    conflict_count: int


def merge_texts(base: str, ours: str, theirs: str, *, take: str | None = None) -> MergedText:
    """Returns the merge of two changed versions of a text.

    Args:
        take: `ours` or `theirs`, for lines that both changed; None for markers around both.

    >>> merge_texts("a\\n\\nb\\n", "A\\n\\nb\\n", "a\\n\\nB\\n")
    MergedText(text='A\\n\\nB\\n', conflict_count=0)
    """
    lines = [_lines(text) for text in (base, ours, theirs)]
    found: list[str] = []
    conflict_count = 0
    for was, one, other in _chunks(*lines):
        if one == other or other == was:
            found += one
        elif one == was:
            found += other
        elif take is not None:
            found += one if take == "ours" else other
        else:
            conflict_count += 1
            begin, middle, end = MARKERS
            found += [begin, *_ended(one), middle, *_ended(other), end]
    return MergedText("".join(found), conflict_count)


def has_markers(text: str) -> bool:
    """Returns whether a text still has all three markers of a conflict."""
    return all(f"\n{marker}" in f"\n{text}\n" for marker in MARKERS)


def _chunks(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Yields the lines of all versions between anchors, and each anchor, in order."""
    first, second = _matches(base, ours), _matches(base, theirs)
    at = [0, 0, 0]
    for line in range(len(base) + 1):
        is_end = line == len(base)
        if not is_end and (line not in first or line not in second):
            continue
        stops = [len(base), len(ours), len(theirs)] if is_end else [line, first[line], second[line]]
        pieces = [
            list(lines[a:b]) for lines, a, b in zip((base, ours, theirs), at, stops, strict=True)
        ]
        if any(pieces):
            yield pieces[0], pieces[1], pieces[2]
        if not is_end:
            yield [base[line]], [base[line]], [base[line]]
        at = [stop + 1 for stop in stops]


def _matches(base: Sequence[str], side: Sequence[str]) -> dict[int, int]:
    """Returns the lines of the base that a side has, each with its position there."""
    matcher = SequenceMatcher(None, base, side, autojunk=False)
    return {
        block.a + step: block.b + step
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    }


def _lines(text: str) -> list[str]:
    """Returns the lines of a text with their line feeds; other line breaks are characters."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _ended(lines: Sequence[str]) -> list[str]:
    """Returns lines of which the last one ends with a line feed, so that a marker can follow."""
    if not lines or lines[-1].endswith("\n"):
        return list(lines)
    return [*lines[:-1], f"{lines[-1]}\n"]
