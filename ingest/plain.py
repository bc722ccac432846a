"""Plain text and program source to marks.

In prose, a passage is a paragraph, separated by blank lines. In program source, a passage ends at a
blank line that is followed by a line at the left margin, so a function keeps the blank lines inside
it. A long piece of source is cut before the lines that are indented least, so that a cut separates
statements of the outermost block that has any.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from ibidem.ingest.mark import BLANK, Block, Mark, trim
from ibidem.ingest.split import (
    CODE,
    ITEMS_CHARS_MAX,
    ITEMS_CHARS_MIN,
    PASSAGE_CHARS_MAX,
    PROSE,
    ROWS,
    Finder,
    hash_before,
    of_items,
    split,
)

PARAGRAPH = re.compile(
    r"^[ \t\r\f\v]*+[^ \t\r\n\f\v][^\n]*(?:\n[ \t\r\f\v]*+[^ \t\r\n\f\v][^\n]*)*", re.MULTILINE
)
_RULE = re.compile(r"[-=_*~ \t\r\n]{3,}")
_CONTINUES = frozenset(" \t)]}")
_LINE = re.compile(r"^([ \t]*+)([^ \t\r\n][^\n]*)", re.MULTILINE)
_CONTINUATION = re.compile(r"[)\]}>]|(?:else|elif|except|finally|catch|end|then|do|done|fi)\b")
"""How a line begins that belongs to the statement above it."""
_COMMENT = re.compile(r"#(?!include|define|if)|//|/\*|\*|--|@|;")
"""How a line begins that belongs to the statement below it."""
_INDENT_MAX = 60
_INSIDE = 2 * _INDENT_MAX + 2
"""Added to the rank of a line inside a statement or a comment: every other line is better."""

HEADER_CHARS_MAX = 1000
"""A longer header of a table is not repeated."""
_HEADER_BLOCKS_MAX = 4
"""Blocks of lines through the header: an introduction, a directive or a caption may stand above."""


def plain_marks(source: str, start: int = 0) -> Iterator[Mark]:
    """Yields one mark per paragraph from `start`; one over the limit is cut at ends of sentences,
    and one that is only a rule is layout."""
    for match in PARAGRAPH.finditer(source, start):
        if not _RULE.fullmatch(match[0]):
            yield from blocks(source, match.start(), match.end(), "paragraph", None, PROSE)


def subtitle_marks(source: str, start: int = 0) -> Iterator[Mark]:
    """Yields passages of several cues, which blank lines separate: one cue has half a sentence."""
    cues = [match.start() for match in PARAGRAPH.finditer(source, start)]
    yield from item_blocks(source, start, len(source), "paragraph", cues, PROSE)


def code_marks(
    source: str, language: str | None, start: int = 0, stop: int | None = None
) -> Iterator[Mark]:
    """Yields one mark per top-level piece of program source between `start` and `stop`."""
    begin = end = start
    for match in PARAGRAPH.finditer(source, start, len(source) if stop is None else stop):
        if source[match.start()] not in _CONTINUES:
            yield from source_blocks(source, begin, end, language)
            begin = match.start()
        end = match.end()
    yield from source_blocks(source, begin, end, language)


def source_blocks(source: str, start: int, stop: int, language: str | None) -> Iterator[Block]:
    """Yields the passages of a piece of program source: several if it is long."""
    while stop - start > ITEMS_CHARS_MAX:
        cut = _source_cut(source, start, stop)
        yield from blocks(source, start, cut, "code", language, CODE)
        start = cut
    yield from blocks(source, start, stop, "code", language, CODE)


def _source_cut(source: str, start: int, stop: int) -> int:
    """Returns the beginning of the line before which a long piece of source is cut first."""
    ranks = _ranks(source, start, start + ITEMS_CHARS_MAX)
    good = [at for at, rank in ranks.items() if rank < _INSIDE]
    late = [at for at in ranks if at >= start + ITEMS_CHARS_MIN]
    if late and (not good or good[-1] >= late[0]):
        best = min(ranks[at] for at in late)
        return min(
            (at for at in late if ranks[at] == best), key=lambda at: (hash_before(source, at), -at)
        )
    if ranks:
        return (good or list(ranks))[-1]
    return source.find("\n", start + ITEMS_CHARS_MAX, stop) + 1 or stop


def _ranks(source: str, start: int, stop: int) -> dict[int, int]:
    """Returns the beginnings of lines after `start`, ascending, each with a rank that is lower the
    less the line is indented, and lower after a blank line."""
    ranks: dict[int, int] = {}
    end, is_comment = start, False
    for match in _LINE.finditer(source, start, stop + _INDENT_MAX):
        if match.start() > stop:
            break
        indent = min(len(match[1][:_INDENT_MAX].expandtabs(4)), _INDENT_MAX)
        has_blank = source.count("\n", end, match.start()) > 1
        is_inside = _CONTINUATION.match(match[2]) is not None or (is_comment and not has_blank)
        if end > start:
            ranks[match.start()] = 2 * indent + (not has_blank) + _INSIDE * is_inside
        end, is_comment = match.end(), _COMMENT.match(match[2]) is not None
    return ranks


def blocks(
    source: str, start: int, stop: int, name: str, language: str | None, finders: tuple[Finder, ...]
) -> Iterator[Block]:
    """Yields the passages of a range of source, trimmed, cut by `finders` if it is too long."""
    for piece in split(source, start, stop, finders):
        text_range = trim(source, *piece)
        if text_range is not None:
            yield Block(*text_range, name, language)


def item_blocks(
    source: str,
    start: int,
    stop: int,
    name: str,
    items: Sequence[int],
    finders: tuple[Finder, ...],
) -> Iterator[Block]:
    """Yields the passages of a list whose items begin at `items`: several if it is long."""
    for piece in of_items(source, start, stop, items):
        yield from blocks(source, *piece, name, None, finders)


def table_blocks(source: str, start: int, stop: int, rows: Sequence[int]) -> Iterator[Block]:
    """Yields the passages of a table whose rows begin at `rows`, also those of its header: several
    if it is long, of which the first has the header and a row."""
    if stop - start > ITEMS_CHARS_MAX:
        prefix = source[start : min(stop, start + PASSAGE_CHARS_MAX)].rstrip(BLANK)
        below = _header_range(prefix)[1]
        rows = rows[bisect_left(rows, start + below) + 1 :]
    is_first = True
    for mark in item_blocks(source, start, stop, "table", rows, ROWS):
        yield mark if is_first else replace(mark, continues=True)
        is_first = False


def table_header(text: str) -> str:
    """Returns the header of the table that a text ends with, with what stands before it if both are
    short; empty without one or if it is long.

    It is what an excerpt shows above a row. Spec: packs 7.2.
    """
    return text[slice(*_header_range(text))]


def _header_range(text: str) -> tuple[int, int]:
    """Returns the range of the header, which is in the first block of lines or below a caption: a
    table may have blank lines between its rows, and a border below the last one."""
    from ibidem.retrieve.context.excerpt import header_of

    for block in islice(PARAGRAPH.finditer(text), _HEADER_BLOCKS_MAX):
        found = header_of(text, block.end() - 1, chars_max=HEADER_CHARS_MAX)
        if found is not None and text[found[1] :].strip(BLANK):
            return found
    return 0, 0
