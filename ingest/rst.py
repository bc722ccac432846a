"""reStructuredText to marks: a scanner of blocks at the left margin, without docutils.

The left margin determines sections and the ends of blocks: a directive, a literal block, a
definition or an item belongs to the line that opens it. If that is too much for one passage, its
indented lines are scanned at their own margin, and what they describe, such as a function or a
term, is the heading above them. A title is a line above, or between, lines of repeated punctuation;
its level is the index of its style among the styles in order of appearance. Roles, substitutions
and included files are not read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import field, replace
from itertools import dropwhile, takewhile

from ibidem.ingest.html_tree import words
from ibidem.ingest.mark import (
    BLANK,
    LAYOUT_CHARS_MAX,
    Block,
    Heading,
    Layout,
    Mark,
    SectionEnd,
    merged_into_next,
    opening_heading,
)
from ibidem.ingest.plain import blocks, source_blocks, table_blocks
from ibidem.ingest.reference import RST_LINKS, References
from ibidem.ingest.split import (
    CODE,
    ITEMS_CHARS_MAX,
    PASSAGE_CHARS_MAX,
    PROSE,
    ROWS,
    Finder,
    heading_of,
    of_items,
)
from ibidem.objects.record import record

TITLE_CHARS_MAX = 2000
"""A longer title is read as a paragraph: headings are part of keys and of leads."""

DEPTH_MAX = 8
"""Blocks within blocks that are opened; what is deeper is cut as one text."""
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
_UNREAD_DIRECTIVES = _CODE_DIRECTIVES | words(
    "doctest literalinclude math productionlist raw testcode testcleanup testoutput testsetup"
)
"""Directives whose text has no links."""
_TABLE_DIRECTIVES = frozenset({"table", "list-table", "csv-table"})
_DESCRIBING_DIRECTIVES = words(
    """
    alias attribute class classmethod cmdoption command concept confval data decorator
    decoratormethod describe django-admin django-admin-option enum enum-class enum-struct enumerator
    envvar exception fieldlookup function genex macro member method monitoring-event object opcode
    option pdbcommand property role setting signature staticmethod struct templatefilter templatetag
    type union var variable
    """
)
"""Directives whose text describes their argument, whatever their domain is."""
_TEXT_DIRECTIVES = _DESCRIBING_DIRECTIVES | words(
    """
    admonition attention availability card caution compound container danger deprecated
    deprecated-removed details div dropdown epigraph error glossary grid grid-item grid-item-card
    highlights hint ifconfig impl-detail important note only pull-quote seealso sidebar
    soft-deprecated tab tab-item tab-set tabs tip todo topic versionadded versionchanged
    versionremoved warning
    """
)
"""All directives around text; those of other names are not opened."""
_LAYOUT_DIRECTIVES = words(
    """
    contents currentmodule default-domain default-role highlight meta program sectnum
    section-numbering tocdepth
    """
)
"""Directives that a reader sees nothing of."""
_SIGN_DIRECTIVES = frozenset({"date", "image", "unicode"})
"""Those of a substitution whose definition says nothing: what it defines stands elsewhere."""
_LAYOUT_FIELD = re.compile(r":(?:nocomments|nosearch|orphan|tocdepth):(?: |$)")
"""A field for the program that makes the page."""
_LABEL = r"\.\. +_(?:`[^`\r\n]*`|(?:\\.|[^\\:`\r\n])+):[ \t]*"
"""The name of a place that links lead to."""
_BARE_DIRECTIVES = re.compile(
    r"(?:([ \t]*)\.\. +[A-Za-z0-9][\w.+:-]*? ?::[^\r\n]*(?:[\r\n]+\1[ \t]+:[^\r\n]+)*[\r\n]*)+"
)
"""Directives without text below them, which belong to what follows."""
_OPTION = re.compile(r":[A-Za-z][^:]*:(?: |$)")
_SENTENCE_END = re.compile(
    r"[.,:;!?\u2026\u3002\uff01\uff0c\uff1a\uff1b\uff1f][)*`\"'\u2019\u201d]*\Z"
)
_BULLET = r"[-+*\u2022\u2023\u2043]"
_ENUMERATOR = r"\(?(?:[0-9]+|[A-Za-z]|[ivxlcdmIVXLCDM]+|#)[.)]"
_COMMAND_OPTION = r"(?:--?|/|\+)[A-Za-z0-9][^ ]*(?:[ =][^ ]+)?  +"
_KINDS = (
    ("list", re.compile(rf"{_BULLET}(?: |$)")),
    ("fields", re.compile(r":(?![: ])(?:[^:\\]|\\.|:(?![ `]|$))*(?<! ):(?: |$)")),
    ("list", re.compile(rf"{_COMMAND_OPTION}[^ ]")),
    ("code", re.compile(r">>>(?: |$)")),
    ("lines", re.compile(r"\|(?: |$)")),
    ("label", re.compile(_LABEL + r"\Z")),
    ("reference", re.compile(r"\.\. +(?:_[^ ]|__:|\[[^\]]+\](?: |$)|\|[^|]+\| )|__(?: |$)")),
    ("comment", re.compile(r"\.\.(?: |$)")),
)
"""Kinds of block by the first characters of their first line; the first match decides."""
_ENUMERATED = re.compile(rf"{_ENUMERATOR}(?: |$)")
_MARKER = re.compile(rf"(?:{_BULLET}|{_ENUMERATOR})(?: +|$)|(?P<option>{_COMMAND_OPTION})")
"""What stands before the text of a list item."""
_GATHERED = frozenset({"list", "fields", "lines", "label", "reference"})
"""Adjacent blocks of one of these kinds form one block, as the items of a Markdown list do."""

_FINDERS: dict[str, tuple[Finder, ...]] = {"paragraph": PROSE, "list": ROWS}
_PEP_HEADER = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]*:(?: [^\r\n]*)?|[ \t]+[^\r\n]*)")


@record
class _Line:
    start: int
    end: int
    """Without trailing blanks."""
    stop: int
    text: str
    """The line from the margin on, without its line end and trailing blanks."""

    @property
    def is_indented(self) -> bool:
        return self.text[:1] in (" ", "\t", "\f", "\v")


@record(frozen=False)
class _Open:
    """The block that is being collected: a half-open range of lines."""

    first: int
    last: int
    kind: str
    language: str | None = None
    items: list[int] = field(default_factory=list)
    """The lines with which the second block and those after it begin that were gathered in it."""


@record(frozen=False)
class _Scan:
    source: str
    lines: list[_Line]
    level: int = 0
    """Of the section that the next block belongs to."""
    depth: int = 0
    """The number of blocks around the lines; titles are read only at depth 0."""
    at: int = 0
    styles: list[str] = field(default_factory=list)
    open: _Open | None = None

    def marks(self) -> Iterator[Mark]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.text:
                self.at += 1
            elif line.is_indented:
                self._indented()
            elif not self.depth and (title := self._title()) is not None:
                yield from self._flush(is_before_title=True)
                yield title
                self.level = title.level
            else:
                yield from self._block(line)
        yield from self._flush()

    def _indented(self) -> None:
        """Adds a line to the open block: indented lines belong to the block before them."""
        if self.open is None:
            self.open = _Open(self.at, self.at, "quote")
        self.at += 1
        self.open.last = self.at

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
        last = self.lines[self.at + count - 1]
        if last.stop - first.start > TITLE_CHARS_MAX:
            return None
        if style not in self.styles:
            self.styles.append(style)
        self.at += count
        return Heading(first.start, last.end, self.styles.index(style) + 1, _words(title.text))

    def _block(self, line: _Line) -> Iterator[Mark]:
        """Collects the lines of one block up to a blank line, or to the start of another block."""
        first = self.at
        if self._is_transition():
            self.at += 1
            yield from self._flush()
            return
        kind, language = _kind(line.text) or ("paragraph", None)
        following = self.lines[first + 1 : first + 2]
        if kind == "label" and following and following[0].is_indented:
            kind = "reference"  # with its address
        if kind == "paragraph" and _ENUMERATED.match(line.text):
            kind = "list"
        is_pep = line.text.startswith("PEP:") and _PEP_HEADER.fullmatch(line.text)
        if is_pep and not first and not self.depth:
            kind, self.at = "paragraph", self._pep_header_stop()
        elif _GRID_TOP.fullmatch(line.text) or _SIMPLE_TOP.fullmatch(line.text):
            kind, self.at = "table", self._table_stop()
        elif kind == "paragraph" or line.text.startswith(">>>"):
            self.at += 1
            while self.at < len(self.lines) and self._goes_on():
                self.at += 1
        else:
            self.at += 1
        if self.open is not None and self.open.kind == kind and kind in _GATHERED:
            self.open.last = self.at
            self.open.items.append(first)
            return
        yield from self._flush()
        self.open = _Open(first, self.at, kind, language)

    def _is_transition(self) -> bool:
        """Whether this line is a rule between paragraphs, which is layout."""
        line, *rest = self.lines[self.at : self.at + 2]
        is_rule = len(line.text) >= _ADORNMENT_MIN and _ADORNMENT.fullmatch(line.text)
        return bool(is_rule) and not (rest and rest[0].text)

    def _goes_on(self) -> bool:
        line = self.lines[self.at]
        return bool(line.text) and not line.is_indented

    def _pep_header_stop(self) -> int:
        """Returns the line after the header in e-mail format that this line begins."""
        stop = self.at
        while stop < len(self.lines) and _PEP_HEADER.fullmatch(self.lines[stop].text):
            stop += 1
        return stop

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

    def _flush(self, *, is_before_title: bool = False) -> Iterator[Mark]:
        """Yields the passages of the block that is open, and closes it."""
        block, self.open = self.open, None
        if block is None:
            return
        if is_before_title and self._describes_title(block):
            block.kind = "label"
        start, stop = self.lines[block.first].start, self.lines[block.last - 1].stop
        if block.kind == "table":
            yield from table_blocks(self.source, start, stop, _rows(self.source, start, stop))
            return
        if not block.items:
            yield from self._parts(block)
            return
        indices = {self.lines[index].start: index for index in block.items}
        for first, last in of_items(self.source, start, stop, list(indices)):
            lines = indices.get(first, block.first), indices.get(last, block.last)
            yield from self._parts(_Open(*lines, block.kind, block.language))

    def _describes_title(self, block: _Open) -> bool:
        """Whether a block is a directive that describes the title below it, as `.. setting:: NAME`
        above the title NAME does."""
        first, *others = self.lines[block.first : block.last]
        return (
            block.kind == "directive"
            and _directive_name(first) in _DESCRIBING_DIRECTIVES
            and not any(line.text for line in others)
        )

    def _parts(self, block: _Open) -> Iterator[Mark]:
        """Yields the passages of a block: of a long one what its first lines say, and what its
        indented lines say at their own margin."""
        lines = self.lines[block.first : block.last]
        is_long = lines[-1].stop - lines[0].start > ITEMS_CHARS_MAX
        head, body = _halves(lines, block.kind) if is_long and self.depth < DEPTH_MAX else ([], [])
        if not body:
            yield from self._whole(lines, block.kind, block.language)
            return
        if block.kind == "paragraph" and head[-1].text.endswith("::"):
            yield from self._whole(head, block.kind)
            yield from source_blocks(self.source, body[0].start, body[-1].stop, None)
            return
        inner = _Scan(self.source, body, self.level, self.depth + 1)
        start, end = lines[0].start, lines[-1].end
        name = _name(head, lines[len(head)], block.kind)
        if heading := heading_of(name):
            inner.level = max(self.level, 1) + 1
            if heading == name and head[-1].end - start <= TITLE_CHARS_MAX:
                yield Heading(start, head[-1].end, inner.level, heading)
            else:
                yield Heading(start, start, inner.level, heading)
                yield from self._whole(head, block.kind)
            yield from inner.marks()
            yield SectionEnd(end, end, inner.level)
            return
        marks = inner.marks()
        first = next(marks, None)
        is_one_line = not head or (len(head) == 1 and block.kind == "directive")
        if is_one_line and isinstance(first, Block) and first.stop - start <= PASSAGE_CHARS_MAX:
            first = replace(first, start=start)
        elif head:
            yield from self._whole(head, block.kind)
        if first is not None:
            yield first
        yield from marks

    def _whole(self, lines: list[_Line], kind: str, language: str | None = None) -> Iterator[Mark]:
        start, end, stop = lines[0].start, lines[-1].end, lines[-1].stop
        if end - start <= LAYOUT_CHARS_MAX and _is_layout(lines, kind):
            yield Layout(start, end)
            return
        kind = "reference" if kind == "label" else kind
        finders = _FINDERS.get(kind, CODE)
        yield from blocks(self.source, start, stop, kind, language, finders)


def _is_layout(lines: list[_Line], kind: str) -> bool:
    """Whether a reader sees nothing of a block."""
    if kind == "label":
        return not any(line.is_indented for line in lines)
    if kind == "fields":
        return all(_LAYOUT_FIELD.match(line.text) for line in lines if line.text)
    name = _directive_name(lines[0])
    is_sign = name in _SIGN_DIRECTIVES and lines[0].text.startswith(".. |")
    return kind == "comment" or name in _LAYOUT_DIRECTIVES or is_sign


def _halves(lines: list[_Line], kind: str) -> tuple[list[_Line], list[_Line]]:
    """Returns the first lines of a block, and the text below them from its own margin on. All that
    a list item or a quote has is such text; a block that is not opened has none."""
    count = 0
    if kind == "directive":
        if _directive_name(lines[0]) not in _TEXT_DIRECTIVES:
            return lines, []
        while count < len(lines) and lines[count].text:
            count += 1
    elif kind == "paragraph":
        while count < len(lines) and lines[count].text and not lines[count].is_indented:
            count += 1
    elif kind == "list":
        return [], _item(lines)
    elif kind != "quote":
        return lines, []
    body = list(dropwhile(lambda line: not line.text, lines[count:]))
    return lines[:count], _from_margin(body, _margin(body))


def _item(lines: list[_Line]) -> list[_Line]:
    """Returns the lines of a list item without its marker and its margin."""
    first, *others = lines
    margin = _margin(others)
    marker = _MARKER.match(first.text)
    width = marker.end() if marker else 0
    if marker and width < len(first.text) and not marker["option"]:
        margin = min(margin, width)
    return (
        [replace(first, text=first.text[width:]), *_from_margin(others, margin)] if margin else []
    )


def _margin(lines: list[_Line]) -> int:
    return min((_indent(line) for line in lines if line.text), default=0)


def _from_margin(lines: list[_Line], margin: int) -> list[_Line]:
    return [replace(line, text=line.text[margin:]) for line in lines] if margin else []


def _name(head: list[_Line], following: _Line, kind: str) -> str:
    """Returns what the text below the first lines of a block describes: the argument of a
    directive, or a term. Empty if it describes nothing of its own.

    Args:
        following: the line below the first ones, blank or not.
    """
    if kind == "paragraph":
        text = head[0].text
        is_term = len(head) == 1 and following.text and not _ADORNMENT.fullmatch(text)
        return _words(text) if is_term and not _SENTENCE_END.search(text) else ""
    match = _DIRECTIVE.match(head[0].text) if kind == "directive" else None
    if match is None or _base(match) not in _DESCRIBING_DIRECTIVES:
        return ""
    name = _words(head[0].text[match.end(1) :].lstrip(" ").removeprefix("::"))
    for line in takewhile(lambda line: not _OPTION.match(line.text.lstrip(BLANK)), head[1:]):
        gap = "" if not name else " " if name.endswith((",", "\\")) else ", "
        name = name.removesuffix("\\").rstrip(" ") + gap + _words(line.text)
    return name


def _directive_name(line: _Line) -> str | None:
    """Returns the name, without its domain, of the directive that a line opens, None for none."""
    match = _DIRECTIVE.match(line.text)
    return None if match is None else _base(match)


def _base(directive: re.Match[str]) -> str:
    """Returns the name of a directive without its domain."""
    return directive[1].rpartition(":")[2].lower()


def _words(text: str) -> str:
    return " ".join(text.split())


def rst_marks(source: str, start: int = 0) -> Iterator[Mark]:
    """Yields the titles and the blocks of `source` from `start`, where a line begins."""

    def is_bare(block: Block) -> bool:
        return _BARE_DIRECTIVES.fullmatch(source, block.start, block.stop) is not None

    lines = _lines(source, start)
    references = References(texts=_texts(lines))
    references.define_rst(source)
    marks = merged_into_next(_Scan(source, lines).marks(), ITEMS_CHARS_MAX, is_bare)
    yield from references.with_targets(source, marks, RST_LINKS)


def _texts(lines: list[_Line]) -> list[tuple[int, int]]:
    """Returns the ranges of the source that are no code, no literal block and no comment."""
    found: list[tuple[int, int]] = []
    start = lines[0].start if lines else 0
    margin: int | None = None
    """Lines that are indented more are no text; None in text."""
    for line in lines:
        text = line.text.lstrip(BLANK)
        if not text or (margin is not None and _indent(line) > margin):
            continue
        if margin is not None:
            start, margin = line.start, None
        marker = _MARKER.match(text)
        own = text[marker.end() :] if marker else text
        is_unread = _is_unread(own)
        if is_unread or (own.endswith("::") and not own.startswith("..")):
            found.append((start, line.start if is_unread else line.stop))
            margin = _indent(line) + len(text) - len(own)
    return [*found, (start, lines[-1].stop)] if lines and margin is None else found


def _is_unread(text: str) -> bool:
    """Whether a line begins code or a comment."""
    if not text.startswith(("..", ">>>")):
        return False
    match = _DIRECTIVE.match(text)
    if match is not None:
        return _base(match) in _UNREAD_DIRECTIVES
    found = _kind(text)
    return found is not None and found[0] in ("code", "comment")


def rst_title(source: str, start: int, marks: list[Mark]) -> str | None:
    """Returns the title of a document.

    The title of a PEP is in its header; any other is a first title that is the only one of its
    level, as in docutils, or that the text begins with.
    """
    header = _pep_header(source, start)
    if "PEP" in header and "Title" in header:
        return f"PEP {header['PEP']} -- {header['Title']}"
    titles = [mark for mark in marks if isinstance(mark, Heading) and mark.level == 1]
    is_title = len(titles) == 1 or titles[:1] == [opening_heading(marks)]
    return titles[0].text if is_title else None


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
    found = (match for match in _LINE.finditer(source, start, stop) if match.end() > match.start())
    texts = ((match, match[1].rstrip(BLANK)) for match in found)
    return [
        _Line(match.start(), match.start() + len(text), match.end(), text.expandtabs(8))
        for match, text in texts
    ]


def _rows(source: str, start: int, stop: int) -> list[int]:
    """Returns where the rows of a table begin, ascending; those of its header may be among them.

    A row of a grid begins below a border, any other with a line that is not indented more than the
    first line of the table: below that of a directive and its options, if there is one.
    """
    lines = [line for line in _lines(source, start, stop) if line.text]
    if _DIRECTIVE.match(lines[0].text.lstrip(BLANK)):
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
        if (name := _base(directive)) in _CODE_DIRECTIVES:
            language = directive[2]
            return "code", None if language is None else language[:LANGUAGE_CHARS_MAX]
        return "table" if name in _TABLE_DIRECTIVES else "directive", None
    for kind, pattern in _KINDS:
        if pattern.match(text):
            return kind, "python" if kind == "code" else None
    return None
