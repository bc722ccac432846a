"""Admonitions and other containers of Markdown dialects, which CommonMark does not know.

    /// tip | Title     :::note[Title]     !!! note "Title"     === "Tab"
    text                text                   text                 text
    ///                 :::

As CommonMark, the first two are paragraphs of one line with the text between them, and the text of
the others is a block of code, because it is indented. Idea: the line that opens a container belongs
to the block after it, the line that closes one is layout, and indented text is parsed for itself.

Python-Markdown, PyMdown Extensions, Docusaurus, VitePress and MyST write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ibidem.ingest.mark import BLANK, Block, Mark, merged_into_next
from ibidem.ingest.split import ITEMS_CHARS_MAX

_OPENS_INDENTED = r"(?:!!!|\?\?\?\+?)[ \t]*[A-Za-z][^\r\n]*|===[!+]*[ \t]+[\"'][^\r\n]*"
_INDENTED = re.compile(_OPENS_INDENTED)
_OPENS = re.compile(rf"(?:/{{3,}}|:{{3,}})[ \t]*[^ \t\r\n/:][^\r\n]*|{_OPENS_INDENTED}")
_CLOSES = re.compile(r"(?:/{3,}|:{3,})")
_ANY = re.compile(r"///|:::|!!!|\?\?\?|===")
"""What every text with a container has."""
_INDENT = re.compile(r" {4}| {0,3}\t")


def indented_lines(lines: Sequence[str], at: int) -> tuple[int, int] | None:
    """Returns the range of the lines that are the text of a container, None if none begins here.

    Args:
        lines: without their ends.
        at: the line that may open a container.
    """
    if not _INDENTED.fullmatch(lines[at].rstrip(BLANK)):
        return None
    stop = at + 1
    for end in range(at + 1, len(lines)):
        if _INDENT.match(lines[end]) and lines[end].strip(BLANK):
            stop = end + 1
        elif lines[end].strip(BLANK):
            break
    return (at + 1, stop) if stop > at + 1 else None


def without_indent(line: str) -> str:
    """Returns a line of a container as it would stand outside."""
    return _INDENT.sub("", line, count=1) if _INDENT.match(line) else line.lstrip(BLANK)


def with_first_lines(source: str, marks: Iterable[Mark]) -> Iterable[Mark]:
    """Returns `marks`, with each line that opens a container joined to the block after it, if both
    are short, and without those that close one."""
    return _with_first_lines(source, marks) if _ANY.search(source) else marks


def _with_first_lines(source: str, marks: Iterable[Mark]) -> Iterator[Mark]:
    def is_line(mark: Mark, kind: re.Pattern[str]) -> bool:
        is_paragraph = isinstance(mark, Block) and mark.format == "paragraph"
        return is_paragraph and kind.fullmatch(source, mark.start, mark.stop) is not None

    for mark in merged_into_next(marks, ITEMS_CHARS_MAX, lambda block: is_line(block, _OPENS)):
        if not is_line(mark, _CLOSES):
            yield mark
