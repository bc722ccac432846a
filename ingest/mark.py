"""Marks: headings and blocks that a format's reader finds, as half-open character ranges of the
source.

A format module turns text into marks and nothing else; the tree of parts is built from marks in one
place (`outline.py`), so that no format can lose a character. Marks ascend and never overlap. The
text between two marks is layout (blank lines, rules, what a mark says is layout) and is kept as the
`lead` of the part that follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from ibidem.objects.record import record

BLANK = " \t\r\n\f\v"
"""The characters that count as layout; `str.isspace` would change with Python's Unicode version."""

BOM = "\ufeff"

LEAD_CHARS_MAX = 256
"""A longer stretch of layout becomes passages: a parent's block holds up to 1,000 leads."""

LAYOUT_CHARS_MAX = 128
"""What is more, from the part before it on, is a passage, although it is marked as layout: a lead
has no more bytes than one of blanks and rules alone can have."""

BLANK_CHARS_MAX = 4000

_LAYOUT = re.compile(r"[ \t\r\n\f\v*_=~^\"'#+./:`-]*")
_INTRODUCTION = re.compile(r"(?<!::)[:\uff1a][*_`\"')]{0,3}\Z")
"""The end of a paragraph that introduces the block after it; `:::` closes one."""
_INTRODUCTION_CHARS_MAX = 4
_INTRODUCTION_ENDS = frozenset(":\uff1a*_`\"')")
_BOLD = re.compile(r"[ \t]*(?P<sign>\*\*|__)(?:(?!(?P=sign))[^\r\n])+(?P=sign)")
_BOLD_CHARS_MAX = 100


@record
class Heading:
    """A heading: `start:stop` is its source without the line end, `text` has the markup removed.

    A heading without source of its own, such as the name of a function, is empty: `start == stop`.
    """

    start: int
    stop: int
    level: int
    text: str

    def moved(self, by: int) -> Heading:
        """Returns the same mark `by` characters further on."""
        return Heading(self.start + by, self.stop + by, self.level, self.text)


@record
class Block:
    """A passage: `start:stop` is its source, never empty, at most `PASSAGE_CHARS_MAX` long."""

    start: int
    stop: int
    format: str
    language: str | None = None
    targets: tuple[str, ...] = ()
    """Of links whose targets its text does not show, as they are written in the source."""
    continues: bool = False
    """Whether it has further rows of the table that the block before it has rows of."""

    def moved(self, by: int) -> Block:
        """Returns the same mark `by` characters further on."""
        return replace(self, start=self.start + by, stop=self.stop + by)


@record
class SectionEnd:
    """The end of the sections of `level` or deeper, if no following heading ends them; it is empty:
    `start == stop`."""

    start: int
    stop: int
    level: int

    def moved(self, by: int) -> SectionEnd:
        """Returns the same mark `by` characters further on."""
        return SectionEnd(self.start + by, self.stop + by, self.level)


@record
class Layout:
    """Source that says nothing to a reader, such as the name of a place that links lead to; never
    empty."""

    start: int
    stop: int

    def moved(self, by: int) -> Layout:
        """Returns the same mark `by` characters further on."""
        return Layout(self.start + by, self.stop + by)


Mark = Heading | Block | SectionEnd | Layout


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


def opening_heading(marks: Iterable[Mark]) -> Heading | None:
    """Returns the heading that a text begins with, None if it begins with anything else.

    Layout and comments may stand before it.
    """
    for mark in marks:
        if isinstance(mark, Heading):
            return mark
        if isinstance(mark, Block) and mark.format != "comment":
            return None
    return None


def with_gaps(source: str, start: int, marks: list[Mark]) -> Iterator[Mark]:
    """Yields `marks` and, for any stretch between them that is more than layout, a mark of its own.

    So text that a reader has missed is still searchable, and no lead grows without bound.
    """
    at = end = start  # the ends of the last part, and of the layout after it
    for mark in marks:
        assert end <= mark.start <= mark.stop, f"BUG: mark {mark} out of order after {end}"
        for block in _gap(source, end, mark.start):
            yield block
            at = end = block.stop
        if isinstance(mark, Layout):
            if mark.stop - at <= LAYOUT_CHARS_MAX:
                end = mark.stop
            else:
                mark = Block(mark.start, mark.stop, "comment")
        yield mark
        if not isinstance(mark, SectionEnd | Layout):
            at = end = mark.stop
    yield from _gap(source, end, len(source))


def introduced(source: str, marks: Iterable[Mark], size_max: int) -> Iterator[Mark]:
    """Yields `marks`, with each paragraph that ends in a colon, or is a line of bold, joined to the
    block after it.

    The passage has the format and language of the introduced block. Where more than two follow each
    other, they introduce nothing: they are the labels of figures that are left out.
    """
    return merged_into_next(marks, size_max, lambda block: _introduces(source, block), run_max=2)


def merged_into_next(
    marks: Iterable[Mark],
    size_max: int,
    belongs: Callable[[Block], bool],
    *,
    run_max: int | None = None,
) -> Iterator[Mark]:
    """Yields `marks`, with each block that belongs to the one after it joined to that, which keeps
    its format and language.

    Nothing is joined across a heading, or to more than `size_max` characters. More than `run_max`
    blocks in a row that belong to the one after them are joined to each other alone.
    """
    held: list[Mark] = []  # such a block, or a run of them, and the layout after it
    count = 0
    for mark in marks:
        if held and isinstance(mark, Layout):
            held.append(mark)
            continue
        is_held = isinstance(mark, Block) and belongs(mark)
        if held:
            first = held[0]
            if (
                isinstance(first, Block)
                and isinstance(mark, Block)
                and mark.stop - first.start <= size_max
                and (is_held or run_max is None or count <= run_max)
            ):
                mark = replace(mark, start=first.start, targets=first.targets + mark.targets)
            else:
                yield from held
                count = 0
            held.clear()
        if is_held:
            held.append(mark)
            count += 1
        else:
            yield mark
            count = 0
    yield from held


def merged(blocks: Sequence[Block]) -> Block:
    """Returns blocks and what is between them as one, with the format and language of those that
    are no paragraphs, if these are alike. Code may have with it what it prints."""
    others = {(block.format, block.language) for block in blocks} - {("paragraph", None)}
    if len(others) > 1:
        others.discard(("code", None))
    name, language = others.pop() if len(others) == 1 else ("paragraph", None)
    targets = tuple(chain.from_iterable(block.targets for block in blocks))
    return Block(blocks[0].start, blocks[-1].stop, name, language, targets)


def _introduces(source: str, block: Block) -> bool:
    if block.format != "paragraph" or source[block.stop - 1] not in _INTRODUCTION_ENDS:
        return False
    end = source[max(block.start, block.stop - _INTRODUCTION_CHARS_MAX) : block.stop]
    return _INTRODUCTION.search(end) is not None or (
        block.stop - block.start <= _BOLD_CHARS_MAX
        and _BOLD.fullmatch(source, block.start, block.stop) is not None
    )


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
