"""Markdown to marks: CommonMark with tables, read by markdown-it-py, cut by line ranges.

Only the block structure is parsed; passages are ranges of the source, so markup inside them is kept
unchanged. A fenced block is cut at a blank line only if it is over the size limit. Inline markup is
resolved for headings only, whose text names sections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ibidem.ingest.admonition import indented_lines, with_first_lines, without_indent
from ibidem.ingest.html_tree import parse
from ibidem.ingest.mark import (
    BLANK,
    LAYOUT_CHARS_MAX,
    Block,
    Heading,
    Layout,
    Mark,
    merged_into_next,
    trim,
)
from ibidem.ingest.plain import blocks, item_blocks, table_blocks
from ibidem.ingest.reference import MARKDOWN_LINKS, References
from ibidem.ingest.split import CODE, ITEMS_CHARS_MAX, PROSE, ROWS, Finder

HEADING_CHARS_MAX = 2000
"""A longer heading is read as a paragraph: headings are part of keys and of leads."""

LANGUAGE_CHARS_MAX = 64
_DEPTH_MAX = 3
"""Containers in containers are read to this depth."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<>&!]")
_ATTRIBUTES = re.compile(r"[ \t]*\{[ \t]*:?[ \t]*[#.][\w:.-]+(?:[ \t][^{}]*)?\}[ \t]*$")
"""Attributes at the end of a heading, such as `{ #anchor }`: of the page, not of its text."""
_HTML_HEADING = re.compile(r"h[1-6]")
_HTML_HEADING_END = re.compile(r"(?:(?!</h[1-6])[\s\S])*</h([1-6])\s*>\s*", re.IGNORECASE)
_COMMENT = re.compile(r"<!--(?:(?!-->)[\s\S])*(?:-->|\Z)")
_TAGS = re.compile(r"[ \t\r\n]*(?:</?[A-Za-z][A-Za-z0-9-]*(?:[ \t\r\n/][^<>]*)?>[ \t\r\n]*)*")
_MADE = re.compile(r"<|\[!\[|\[TOC\]|\[\[_?TOC_?\]\]")
_BADGES = re.compile(
    r"(?:[ \t\r\n]*\[!\[[^\[\]\r\n]*\]\([^()\r\n]*\)\]\([^()\r\n]*\))+"
    r"|[ ]*\[(?:TOC|\[_?TOC_?\])\]"
)
"""Pictures with links, and the place of a table of contents."""
_SUMMARY = re.compile(
    r"(?:[ ]*<details[^<>]*>\s*)?<summary[^<>]*>(?:(?!</?(?:details|summary))[\s\S])*</summary>\s*"
)
"""What opens a part that a reader unfolds, with its title."""
_CONTENT = re.compile(r"\b(?:alt|content|href|placeholder|src|title|value)[ \t]*=", re.IGNORECASE)
"""An attribute that a reader sees something of."""
_HTML_FORMATS = frozenset({"html", "paragraph"})
_SPACES = re.compile(r"[ \t\r\n]+")
_FORMATS: dict[str, tuple[str, tuple[Finder, ...]]] = {
    "paragraph_open": ("paragraph", PROSE),
    "bullet_list_open": ("list", ROWS),
    "ordered_list_open": ("list", ROWS),
    "fence": ("code", ROWS),
    "code_block": ("code", CODE),
    "html_block": ("html", ROWS),
    "blockquote_open": ("quote", ROWS),
    "table_open": ("table", ROWS),
    "definition": ("reference", ROWS),
}


def markdown_marks(source: str, start: int = 0) -> Iterator[Mark]:
    """Yields the headings and top-level blocks of `source` from `start`, where a line begins."""
    body = source[start:]
    text = _LINE_END.sub("\n", body) if "\r" in body else body
    references = References()
    marks = _marks(source, _line_starts(source, start), text, references)
    if _MADE.search(body):
        marks = (_shown(source, mark) for mark in marks)
    if "<summary" in body:
        marks = merged_into_next(marks, ITEMS_CHARS_MAX, lambda block: _opens(source, block))
    found = with_first_lines(source, marks)
    if "]:" in body:
        found = list(found)  # a link may stand above its definition
    yield from references.with_targets(source, found, MARKDOWN_LINKS)


def _marks(
    source: str, lines: list[int], text: str, references: References, depth: int = 0
) -> Iterator[Mark]:
    """Yields the marks of some lines.

    Args:
        source: the whole text.
        lines: where each of them begins, and the end.
        text: of the lines, with the line ends and without the indentation of a container.
        references: notes the definitions and the text.
        depth: of the containers that they are in, where headings are paragraphs.
    """
    environment: dict[str, Any] = {}
    tokens: list[Token] = []
    _parser().block.parse(text, _parser(), environment, tokens)
    for label, definition in environment.get("references", {}).items():
        references.define(label, definition["href"])
    references.texts += [
        (lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)])
        for token in tokens
        if token.type == "inline" and token.map is not None
    ]
    for before, after in pairwise(tokens):
        if before.type == after.type == "definition" and before.map and after.map:
            after.map[0], before.map = before.map[0], None  # a run of them is one passage
    rows = text.split("\n")
    done = 0
    for index, token in enumerate(tokens):
        if token.level or token.nesting < 0 or token.map is None or token.map[0] < done:
            continue
        inner = None
        if token.type == "paragraph_open" and depth < _DEPTH_MAX:
            inner = indented_lines(rows, token.map[0])
        if inner is not None and token.map[1] <= inner[1]:
            done = inner[1]
            yield from blocks(
                source, lines[token.map[0]], lines[inner[0]], "paragraph", None, PROSE
            )
            text = "\n".join(map(without_indent, rows[slice(*inner)]))
            yield from _marks(source, lines[inner[0] : done + 1], text, references, depth + 1)
        elif depth and token.type == "heading_open":
            start, stop = lines[token.map[0]], lines[token.map[1]]
            yield from blocks(source, start, stop, "paragraph", None, PROSE)
        else:
            yield from _marks_of(source, lines, tokens, index, environment)


def _shown(source: str, mark: Mark) -> Mark:
    """Returns a mark, as layout if it consists of tags and comments, or is short and of badges."""
    if isinstance(mark, Block) and mark.format in _HTML_FORMATS:
        text = _COMMENT.sub("", source[mark.start : mark.stop])
        if (_TAGS.fullmatch(text) and not _CONTENT.search(text)) or (
            mark.stop - mark.start <= LAYOUT_CHARS_MAX and _BADGES.fullmatch(text)
        ):
            return Layout(mark.start, mark.stop)
    return mark


def _opens(source: str, block: Block) -> bool:
    """Whether a block opens a part that a reader unfolds, whose text is the block after it."""
    return (
        block.format == "html" and _SUMMARY.fullmatch(source, block.start, block.stop) is not None
    )


def _marks_of(
    source: str, lines: list[int], tokens: list[Token], index: int, environment: dict[str, Any]
) -> Iterator[Mark]:
    token = tokens[index]
    assert token.map is not None, "BUG: a block without lines"
    start, stop = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
    if token.type == "heading_open":
        heading = _heading(source, start, stop, token, tokens[index + 1].content, environment)
        if heading is not None:
            yield heading
            return
        yield from blocks(source, start, stop, "paragraph", None, PROSE)
    elif (written := _html_heading(source, start, stop, token)) is not None:
        yield written
    elif token.type in _FORMATS:
        name, finders = _FORMATS[token.type]
        if name == "list" and stop - start > ITEMS_CHARS_MAX:
            items = _item_starts(tokens, index, lines)
            yield from item_blocks(source, start, stop, name, items, finders)
        elif name == "table":
            yield from table_blocks(source, start, stop, lines[slice(*token.map)])
        else:
            yield from blocks(source, start, stop, name, _language(token), finders)


def _heading(
    source: str, start: int, stop: int, token: Token, content: str, environment: dict[str, Any]
) -> Heading | None:
    text_range = trim(source, start, stop)
    if text_range is None or text_range[1] - text_range[0] > HEADING_CHARS_MAX:
        return None
    shown = _ATTRIBUTES.sub("", content)
    return Heading(*text_range, int(token.tag[1:]), _plain_text(shown, environment))


def _html_heading(source: str, start: int, stop: int, token: Token) -> Heading | None:
    """Returns the heading that a block of HTML consists of, None if it is anything else."""
    if token.type != "html_block" or len(token.content) > HEADING_CHARS_MAX:
        return None
    end, text_range = _HTML_HEADING_END.fullmatch(token.content), trim(source, start, stop)
    if end is None or text_range is None:
        return None
    root = parse(token.content.strip(BLANK))
    _, *inner = root.walk()
    names = [element.tag for element in inner if _HTML_HEADING.fullmatch(element.tag)]
    if len(root.children) > 1 or names != [f"h{end[1]}"]:
        return None
    for element in inner:
        if element.tag == "br":
            element.children.append(" ")
    text = " ".join(root.text().split())
    return Heading(*text_range, int(end[1]), text) if text else None


def _plain_text(content: str, environment: dict[str, Any]) -> str:
    """Returns the text of a heading without markup, on one line."""
    if _INLINE_MARKUP.search(content):
        children = _parser().parseInline(content, environment)[0].children or []
        content = "".join(_token_text(token) for token in children)
    return _SPACES.sub(" ", content).strip(BLANK)


def _token_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "html_inline":
        return ""
    return token.content


def _language(token: Token) -> str | None:
    if token.type != "fence":
        return None
    words = token.info.split(maxsplit=1)
    return words[0][:LANGUAGE_CHARS_MAX] if words else None


def _item_starts(tokens: list[Token], index: int, lines: list[int]) -> list[int]:
    starts: list[int] = []
    for place in range(index + 1, len(tokens)):  # a slice would copy the rest
        token = tokens[place]
        if token.level == 0:
            break
        if token.type == "list_item_open" and token.level == 1 and token.map is not None:
            starts.append(lines[token.map[0]])
    return starts


def _line_starts(source: str, start: int) -> list[int]:
    """Returns the offset of each line, and the end of the source as the last entry."""
    starts = [start]
    starts.extend(match.end() for match in _LINE_END.finditer(source, start))
    if starts[-1] != len(source):
        starts.append(len(source))
    return starts


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"inline_definitions": True}).enable("table")
