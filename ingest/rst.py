"""reStructuredText to marks: a scanner of blocks at the left margin, without docutils.

The left margin alone determines sections and the ends of blocks, so indented lines need not be
parsed: a directive, a literal block, a definition or an item belongs to the line that opens it. A
title is a line above, or between, lines of repeated punctuation; its level is the index of its
style among the styles in order of appearance. Roles, substitutions and included files are not read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import field

from ibidem.ingest.mark import BLANK, Heading, Mark
from ibidem.ingest.plain import blocks, item_blocks, table_blocks
from ibidem.ingest.split import CODE, PROSE, ROWS, Finder
from ibidem.objects.record import record

TITLE_CHARS_MAX = 2000
"""A longer title is read as a paragraph: headings are part of keys and of leads."""

LANGUAGE_CHARS_MAX = 64
_ADORNMENT_MIN = 4
"""A shorter line under a longer title, or over any, is ordinary text, as in docutils."""

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*")
_GRID_TOP = re.compile(r"\+-[-+]+-\+ *")
_SIMPLE_TOP = re.compile(r"=+(?: +=+)+ *")
_SIMPLE_BORDER = re.compile(r"=+[ =]*")
_GRID_BORDER = re.compile(r"\+[-=+]+\+")
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]+\| +)?([A-Za-z0-9][\w.+:-]*?) ?::(?: +([^\s]+))?(?: |$)")
_CODE_DIRECTIVES = frozenset({"code", "code-block", "sourcecode", "parsed-literal", "prompt"})
_TABLE_DIRECTIVES = frozenset({"table", "list-table", "csv-table"})
_KINDS = (
    ("list", re.compile(r"[-+*\u2022\u2023\u2043](?: |$)")),
    ("fields", re.compile(r":(?![: ])(?:[^:\\]|\\.|:(?![ `]|$))*(?<! ):(?: |$)")),
    ("list", re.compile(r"(?:--?|/|\+)[A-Za-z0-9][^ ]*(?:[ =][^ ]+)?  +[^ ]")),
    ("code", re.compile(r">>>(?: |$)")),
    ("lines", re.compile(r"\|(?: |$)")),
    ("reference", re.compile(r"\.\. +(?:_[^ ]|__:|\[[^\]]+\](?: |$)|\|[^|]+\| )|__(?: |$)")),
    ("comment", re.compile(r"\.\.(?: |$)")),
)
"""Kinds of block by the first characters of their first line; the first match decides."""
_ENUMERATED = re.compile(r"\(?(?:[0-9]+|[A-Za-z]|[ivxlcdmIVXLCDM]+|#)[.)](?: |$)")
_GATHERED = frozenset({"list", "fields", "lines", "reference"})
"""Adjacent blocks of one of these kinds form one block, as the items of a Markdown list do."""

_FINDERS: dict[str, tuple[Finder, ...]] = {"paragraph": PROSE, "list": ROWS}
_PEP_HEADER = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]*:(?: [^\r\n]*)?|[ \t]+[^\r\n]*)")


@record
class _Line:
    start: int
    stop: int
    text: str
    """The line without its line end and trailing blanks."""

    @property
    def is_indented(self) -> bool:
        return self.text[:1] in (" ", "\t", "\f", "\v")


@record(frozen=False)
class _Scan:
    source: str
    lines: list[_Line]
    at: int = 0
    styles: list[str] = field(default_factory=list)
    open: tuple[int, int, str, str | None] | None = None
    """The block that is being collected: start, stop, kind and language."""
    items: list[int] = field(default_factory=list)
    """Where the blocks begin that were gathered in it."""

    def marks(self) -> Iterator[Mark]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.text:
                self.at += 1
            elif line.is_indented:
                self._indented(line)
            elif (title := self._title()) is not None:
                yield from self._flush()
                yield title
            else:
                yield from self._block(line)
        yield from self._flush()

    def _indented(self, line: _Line) -> None:
        """Adds a line to the open block: indented lines belong to the block before them."""
        start, _, kind, language = self.open or (line.start, line.stop, "quote", None)
        self.open = (start, line.stop, kind, language)
        self.at += 1

    def _title(self) -> Heading | None:
        """Returns the title that begins at this line, and moves past it."""
        first, *rest = self.lines[self.at : self.at + 3]
        if _ADORNMENT.fullmatch(first.text):
            if len(rest) < 2 or rest[1].text != first.text or not rest[0].text:
                return None
            title, adornment, style = rest[0], first.text, 2 * first.text[0]
            if _ADORNMENT.fullmatch(title.text) or len(adornment) < min(
                _ADORNMENT_MIN, len(title.text)
            ):
                return None
            count = 3
        else:
            if not rest or not _ADORNMENT.fullmatch(rest[0].text) or _kind(first.text) is not None:
                return None
            title, adornment, style = first, rest[0].text, rest[0].text[0]
            if len(adornment) < min(_ADORNMENT_MIN, len(title.text)):
                return None
            count = 2
        stop = self.lines[self.at + count - 1]
        text = " ".join(title.text.strip(BLANK).split())
        if stop.stop - first.start > TITLE_CHARS_MAX:
            return None
        if style not in self.styles:
            self.styles.append(style)
        self.at += count
        return Heading(first.start, stop.start + len(stop.text), self.styles.index(style) + 1, text)

    def _block(self, line: _Line) -> Iterator[Mark]:
        """Collects the lines of one block up to a blank line, or to the start of another block."""
        start = self.at
        if self._is_transition():
            self.at += 1
            yield from self._flush()
            return
        kind, language = _kind(line.text) or ("paragraph", None)
        if kind == "paragraph" and _ENUMERATED.match(line.text):
            kind = "list"
        if _GRID_TOP.fullmatch(line.text) or _SIMPLE_TOP.fullmatch(line.text):
            kind, self.at = "table", self._table_stop()
        elif kind == "paragraph" or line.text.startswith(">>>"):
            self.at += 1
            while self.at < len(self.lines) and self._goes_on():
                self.at += 1
        else:
            self.at += 1
        stop = self.lines[self.at - 1].stop
        if self.open is not None and self.open[2] == kind and kind in _GATHERED:
            self.open = (self.open[0], stop, kind, language)
            self.items.append(self.lines[start].start)
            return
        yield from self._flush()
        self.open = (self.lines[start].start, stop, kind, language)

    def _is_transition(self) -> bool:
        """Whether this line is a rule between paragraphs, which is layout."""
        line, *rest = self.lines[self.at : self.at + 2]
        is_rule = len(line.text) >= _ADORNMENT_MIN and _ADORNMENT.fullmatch(line.text)
        return bool(is_rule) and not (rest and rest[0].text)

    def _goes_on(self) -> bool:
        line = self.lines[self.at]
        return bool(line.text) and not line.is_indented

    def _table_stop(self) -> int:
        """Returns the line after a table's last one; a simple table may contain blank lines."""
        stop = self.at + 1
        if _GRID_TOP.fullmatch(self.lines[self.at].text):
            while stop < len(self.lines) and self.lines[stop].text[:1] in ("+", "|"):
                stop += 1
            return stop
        borders = 0
        for index in range(stop, len(self.lines)):
            if _SIMPLE_BORDER.fullmatch(self.lines[index].text):
                borders += 1
                following = self.lines[index + 1 : index + 2]
                if borders == 2 or not following or not following[0].text:
                    return index + 1
        while stop < len(self.lines) and self.lines[stop].text:
            stop += 1
        return stop

    def _flush(self) -> Iterator[Mark]:
        if self.open is not None:
            start, stop, kind, language = self.open
            items, self.open, self.items = self.items, None, []
            finders = _FINDERS.get(kind, CODE)
            if kind == "table":
                yield from table_blocks(self.source, start, stop, _rows(self.source, start, stop))
            elif items:
                yield from item_blocks(self.source, start, stop, kind, items, finders)
            else:
                yield from blocks(self.source, start, stop, kind, language, finders)


def rst_marks(source: str, start: int = 0) -> Iterator[Mark]:
    """Yields the titles and the blocks of `source` from `start`, where a line begins."""
    return _Scan(source, _lines(source, start)).marks()


def rst_title(source: str, start: int, marks: list[Mark]) -> str | None:
    """Returns the title of a document.

    The title of a PEP is in its header; any other is a first title that is the only one of its
    level, as in docutils.
    """
    header = _pep_header(source, start)
    if "PEP" in header and "Title" in header:
        return f"PEP {header['PEP']} -- {header['Title']}"
    titles = [mark for mark in marks if isinstance(mark, Heading) and mark.level == 1]
    return titles[0].text if len(titles) == 1 else None


def _pep_header(source: str, start: int) -> dict[str, str]:
    """Returns the fields of a header in e-mail format, which only PEPs have."""
    fields: dict[str, str] = {}
    if source.startswith("PEP:", start):
        for match in _LINE.finditer(source, start):
            if not match[1].strip(BLANK) or not _PEP_HEADER.fullmatch(match[1]):
                break
            name, colon, value = match[1].partition(":")
            if colon and not name[:1].isspace():
                fields[name] = value.strip(BLANK)
    return fields


def _lines(source: str, start: int, stop: int = sys.maxsize) -> list[_Line]:
    return [
        _Line(match.start(), match.end(), match[1].rstrip(BLANK))
        for match in _LINE.finditer(source, start, stop)
        if match.end() > match.start()
    ]


def _rows(source: str, start: int, stop: int) -> list[int]:
    """Returns where the rows of a table begin, ascending; those of its header may be among them.

    A row of a grid begins below a border, any other with a line that is not indented more than the
    first line of the table: below that of a directive and its options, if there is one.
    """
    lines = [line for line in _lines(source, start, stop) if line.text]
    if _DIRECTIVE.match(lines[0].text):
        lines = [line for line in lines[1:] if not line.text.lstrip(BLANK).startswith(":")]
    if not lines:
        return []
    depth = min(_indent(line) for line in lines)
    if lines[0].text[depth:].startswith("+-"):
        borders = [_GRID_BORDER.fullmatch(line.text, depth) is not None for line in lines]
        return [line.start for above, line in zip(borders, lines[1:], strict=False) if above]
    return [
        line.start
        for line in lines
        if _indent(line) == depth and not _SIMPLE_BORDER.fullmatch(line.text, depth)
    ]


def _indent(line: _Line) -> int:
    return len(line.text) - len(line.text.lstrip(" \t"))


def _kind(text: str) -> tuple[str, str | None] | None:
    """Returns the kind and language of the block that a line opens, None for ordinary text."""
    directive = _DIRECTIVE.match(text)
    if directive is not None:
        if directive[1] in _CODE_DIRECTIVES:
            language = directive[2]
            return "code", None if language is None else language[:LANGUAGE_CHARS_MAX]
        return "table" if directive[1] in _TABLE_DIRECTIVES else "directive", None
    for kind, pattern in _KINDS:
        if pattern.match(text):
            return kind, "python" if kind == "code" else None
    return None
