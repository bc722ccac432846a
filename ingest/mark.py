"""Marks: what a reader of one source format finds, as half-open character ranges of the source.

A format module turns text into marks and nothing else; the tree of parts is made from marks in one
place (`outline.py`), so that no format can lose a character. Marks ascend and never overlap. What
lies between two marks is layout (blank lines, rules) and is kept as the `lead` of the part that
follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibidem.objects.record import record

BLANK = " \t\r\n\f\v"
"""The characters that are layout; `str.isspace` would change with Python's Unicode."""

BOM = "\ufeff"

LEAD_CHARS_MAX = 256
"""A longer stretch of layout becomes passages: a parent's block holds up to 1,000 leads."""

BLANK_CHARS_MAX = 4000

_LAYOUT = re.compile(r"[ \t\r\n\f\v*_-]*")


@record
class Heading:
    """A heading: `start:stop` is its source without the line end, `text` has the markup removed."""

    start: int
    stop: int
    level: int
    text: str


@record
class Block:
    """A passage: `start:stop` is its source, never empty, at most `PASSAGE_CHARS_MAX` long."""

    start: int
    stop: int
    format: str
    language: str | None = None


Mark = Heading | Block


def trim(source: str, start: int, stop: int) -> tuple[int, int] | None:
    """Returns the range without blank lines before it and blanks after it, or None if all is blank.

    Indentation of the first line that has text stays: in code it is content.
    """
    text = source[start:stop]
    stop = start + len(text.rstrip(BLANK))
    if stop == start:
        return None
    first = start + len(text) - len(text.lstrip(BLANK))
    line_start = max(source.rfind("\n", start, first), source.rfind("\r", start, first)) + 1
    return max(start, line_start), stop


def with_gaps(source: str, start: int, marks: list[Mark]) -> Iterator[Mark]:
    """Yields `marks` and, for any stretch between them that is more than layout, a mark of its own.

    So nothing that a reader overlooked escapes the search, and no lead grows without bound.
    """
    at = start
    for mark in marks:
        assert at <= mark.start < mark.stop, f"BUG: mark {mark} out of order after {at}"
        yield from _gap(source, at, mark.start)
        yield mark
        at = mark.stop
    yield from _gap(source, at, len(source))


def _gap(source: str, start: int, stop: int) -> Iterator[Block]:
    if stop - start <= LEAD_CHARS_MAX and _LAYOUT.fullmatch(source, start, stop):
        return
    text_range = trim(source, start, stop)
    if text_range is None:
        text_range = (start, start)
    yield from _slices(start, text_range[0], "blank")
    yield from _slices(*text_range, "paragraph")
    yield from _slices(text_range[1], stop, "blank")


def _slices(start: int, stop: int, name: str) -> Iterator[Block]:
    if name == "blank" and stop - start <= LEAD_CHARS_MAX:
        return
    for at in range(start, stop, BLANK_CHARS_MAX):
        yield Block(at, min(at + BLANK_CHARS_MAX, stop), name)
