"""ODT, ODS and ODP to text: the text, sheets and presentations of LibreOffice and others.

Headings, lists, tables, code and links are read; notes stand below the paragraph that refers to
them, text boxes and charts, as tables, below the one that they are anchored to. A sheet is a
section with its tables (`sheet.py`), with dates in ISO form and numbers as the file shows them; a
slide is a section, with its notes. Deleted and hidden text, comments, pictures, charts of sheets,
which repeat cells, page headers and tables of contents are left out, as are hidden sheets, with a
warning. A flat file is one part of XML instead of an archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import repeat

from ibidem.ingest.archive import Archive, resolved, xml_text
from ibidem.ingest.extraction import Extraction, Writer, one_line
from ibidem.ingest.html_tree import Element, parse, words
from ibidem.ingest.numbering import number_text
from ibidem.ingest.sheet import Row, filled, write_sheet
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record

_CONTENT = "content.xml"
_DROPPED = words(
    """
    draw:object office:annotation office:annotation-end office:binary-data office:forms
    table:shapes text:alphabetical-index text:bibliography text:illustration-index text:ruby-text
    text:table-index text:table-of-content text:tracked-changes text:user-index
    """
)
_ANCHORED = frozenset({"draw:frame", "draw:custom-shape", "draw:g"})
_NUMBERS = frozenset({"float", "percentage", "currency", "date", "time"})
_CODE = re.compile(r"preformatted|source.?code|\bcode\b|listing", re.IGNORECASE)
"""In the names of styles for lines of code."""
_WHITE = re.compile(r"[ \t\r\n]+")
_STYLES_MAX = 20
"""The most styles of which each is based on the next."""
_SPACES_MAX = 100
_LEVEL_MAX = 9
_FORM_CHARS_MAX = 40
_START_MAX = 10**9
_NUMBER_STYLES = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_REPEATED_COLUMNS_MAX = 1 << 14
_REPEATED_ROWS_MAX = 1 << 20


def extract_odt(data: bytes) -> Extraction:
    """Returns the text of a text document."""
    file = _opened(data, "office:text")
    reader = _Reader(Writer(), file)
    reader.blocks(file.body)
    reader.flush()
    title, props = _meta(file)
    return reader.writer.finish(title or reader.writer.first_heading(), props)


def extract_ods(data: bytes) -> Extraction:
    """Returns the text of a spreadsheet: one section per sheet."""
    file = _opened(data, "office:spreadsheet")
    reader = _Reader(Writer(), file)
    for sheet in file.body.children:
        if isinstance(sheet, str) or sheet.tag != "table:table":
            continue
        name = one_line(sheet.attributes.get("table:name", ""))[:200]
        if reader.is_hidden(sheet):
            reader.writer.warnings.append(f"sheet {name!r} is hidden, left out")
            continue
        reader.writer.heading(1, name)
        write_sheet(reader.writer, reader.rows(sheet))
    return reader.writer.finish(*_meta(file))


def extract_odp(data: bytes) -> Extraction:
    """Returns the text of a presentation: one section per slide, with its notes."""
    file = _opened(data, "office:presentation")
    reader = _Reader(Writer(), file)
    slides = (part for part in file.body.walk() if part.tag == "draw:page")
    for number, slide in enumerate(slides, 1):
        parts = [part for part in slide.children if isinstance(part, Element)]
        titles = [part for part in parts if part.attributes.get("presentation:class") == "title"]
        title = one_line(" ".join(map(reader.text_of, titles[:1])))
        reader.writer.heading(1, f"Slide {number}: {title}" if title else f"Slide {number}")
        for part in parts:
            if part not in titles[:1]:
                reader.block(part)
                reader.flush()
    return reader.writer.finish(*_meta(file))


@record
class _File:
    """A file that is open for reading."""

    body: Element
    parts: list[Element]
    """What may have styles and properties: those of `body` come last."""
    archive: Archive | None = None


def _opened(data: bytes, kind: str) -> _File:
    if data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        root = parse(xml_text(data, "the file"), xml=True)
        return _File(_body(root, kind, "the file"), [root])
    archive = Archive.open(data)
    manifest = "META-INF/manifest.xml"
    if manifest in archive and archive.xml(manifest).find("manifest:encryption-data") is not None:
        raise InvalidInputError("needs a password; save the file without one")
    content = archive.xml(_CONTENT)
    others = (archive.xml(name) for name in ("meta.xml", "styles.xml") if name in archive)
    return _File(_body(content, kind, _CONTENT), [*others, content], archive)


def _body(root: Element, kind: str, name: str) -> Element:
    body = root.find(kind)
    if body is None:
        raise InvalidInputError(f"{name} has no {kind}")
    return body


@record
class _Style:
    """What is read of a style, with what it takes from the styles that it is based on."""

    is_title: bool = False
    is_code: bool = False
    is_hidden: bool = False
    """Whether a sheet or text of this style is hidden."""


def _styles(parts: Iterable[Element]) -> dict[str, _Style]:
    elements = {
        style.attributes.get("style:name", ""): style
        for part in parts
        for style in part.walk()
        if style.tag == "style:style"
    }
    found: dict[str, _Style] = {}
    for key, style in elements.items():
        names = [key]
        while len(names) < _STYLES_MAX and (one := elements.get(names[-1])) is not None:
            names.append(one.attributes.get("style:parent-style-name", ""))
        found[key] = _Style(
            "Title" in names,
            any(_CODE.search(name.replace("_20_", " ")) for name in names),
            any(
                one.attributes.get("table:display") == "false"
                or one.attributes.get("text:display") == "none"
                for one in style.walk()
            ),
        )
    found.setdefault("Title", _Style(is_title=True))
    return found


@record
class _Level:
    """How the items of one level of a list are numbered."""

    before: str
    style: str
    after: str
    shown: int
    """The number of levels of which the number is shown, from this one up."""
    start: int


def _lists(parts: Iterable[Element]) -> dict[str, dict[int, _Level]]:
    """Returns the numbered levels, from 0, of each style of lists."""
    return {
        style.attributes.get("style:name", ""): {
            _count(level, "text:level", _LEVEL_MAX + 1) - 1: _Level(
                level.attributes.get("style:num-prefix", "")[:_FORM_CHARS_MAX],
                _NUMBER_STYLES.get(level.attributes["style:num-format"], "decimal"),
                level.attributes.get("style:num-suffix", "")[:_FORM_CHARS_MAX],
                _count(level, "text:display-levels", _LEVEL_MAX),
                _count(level, "text:start-value", _START_MAX),
            )
            for level in style.children
            if isinstance(level, Element)
            and level.tag == "text:list-level-style-number"
            and level.attributes.get("style:num-format")
        }
        for part in parts
        for style in part.walk()
        if style.tag == "text:list-style"
    }


def _meta(file: _File) -> tuple[str | None, dict[str, str]]:
    meta = next(filter(None, (part.find("office:meta") for part in file.parts)), Element(""))

    def text(*tags: str) -> str:
        found = (element for tag in tags if (element := meta.find(tag)) is not None)
        return next(filter(None, (one_line(element.text()) for element in found)), "")

    props = {"author": text("dc:creator", "meta:initial-creator"), "date": text("dc:date")}
    return text("dc:title") or None, {name: value for name, value in props.items() if value}


class _Reader:
    """Writes the blocks of a document in order."""

    def __init__(self, writer: Writer, file: _File) -> None:
        self.writer = writer
        self._archive = file.archive
        self._styles = _styles(file.parts)
        self._lists = _lists(file.parts)
        self._counts: dict[str, dict[int, int]] = {}
        """The number of the last item, by the style of its list and its level."""
        self._code: list[str] = []
        self._notes: list[str] = []
        self._anchored: list[Element] = []

    def flush(self) -> None:
        """Writes the code whose paragraphs have been read."""
        self.writer.code("\n".join(self._code))
        self._code.clear()

    def blocks(self, part: Element) -> None:
        """Writes all blocks in an element."""
        for inner in part.children:
            if isinstance(inner, Element):
                self.block(inner)

    def block(self, part: Element) -> None:
        """Writes a block, or those in it."""
        if part.tag == "draw:object":
            self._chart(part)
        if part.tag in _DROPPED or self.is_hidden(part):
            return
        style = self._style(part)
        if part.tag == "text:p" and style.is_code:
            self._code.append(self._text(part).rstrip())
            self._write_rest()
            return
        if part.tag in ("text:h", "text:p", "text:list", "table:table"):
            self.flush()
        if part.tag == "text:h" or (part.tag == "text:p" and style.is_title):
            level = max(1, _count(part, "text:outline-level", _LEVEL_MAX))
            self.writer.heading(level, self._text(part, links=False))
        elif part.tag == "text:p":
            text = self._text(part).strip()
            self.writer.block("paragraph", "\n".join([text, *self._notes]))
            self._notes.clear()
        elif part.tag == "text:list" and part.find("text:h") is None:
            self.writer.block("list", "\n".join(self._items(part, 0, "")))
        elif part.tag == "table:table":
            self._table(part)
        else:
            self.blocks(part)
        self._write_rest()

    def is_hidden(self, part: Element) -> bool:
        """Returns whether readers do not see a sheet or a text."""
        inner = (one for one in part.children if isinstance(one, Element))
        fields = (one for one in inner if one.tag == "text:hidden-paragraph")
        return self._style(part).is_hidden or any(
            one.attributes.get("text:is-hidden") == "true"
            or one.attributes.get("text:display") == "none"
            for one in (part, *fields)
        )

    def _style(self, part: Element) -> _Style:
        name = part.attributes.get("table:style-name", part.attributes.get("text:style-name", ""))
        return self._styles.get(name, _Style())

    def _chart(self, part: Element) -> None:
        """Writes the chart that is in an element, or to which it refers; other objects are not
        read."""
        root, href = part, part.attributes.get("xlink:href", "")
        if href and self._archive is not None:
            name = resolved(_CONTENT, f"{href}/{_CONTENT}")
            root = self._archive.xml(name) if name in self._archive else part
        chart = root.find("chart:chart")
        if chart is not None:
            titles = (self.text_of(one) for one in chart.walk() if one.tag == "chart:title")
            self.flush()
            self._table(chart.find("table:table"), ", ".join(filter(None, titles)))

    def _table(self, part: Element | None, caption: str = "") -> None:
        rows = [] if part is None else list(self.rows(part))
        columns = range(1, 1 + max((max(row.cells, default=0) for row in rows), default=0))
        cells = [[row.cells.get(at, "") for at in columns] for row in rows]
        self.writer.table(cells, caption=caption)

    def _write_rest(self) -> None:
        """Writes the notes and text boxes of the block before."""
        notes, self._notes = self._notes, []
        boxes, self._anchored = self._anchored, []
        if notes or boxes:
            self.flush()
        self.writer.block("paragraph", "\n".join(notes))
        for box in boxes:
            self.blocks(box)

    def _items(self, part: Element, level: int, style: str) -> Iterator[str]:
        """Yields the lines of a list, whose style is that of the list that it is in if it has none
        of its own."""
        indent = "  " * min(level, _LEVEL_MAX)
        style = part.attributes.get("text:style-name", style)
        counts = self._counts.setdefault(style, {})
        is_continued = part.attributes.get("text:continue-numbering") == "true"
        if not is_continued and "text:continue-list" not in part.attributes:
            counts.pop(level, None)
        for item in part.children:
            if isinstance(item, str) or item.tag not in ("text:list-item", "text:list-header"):
                continue
            mark = ""
            for inner in item.children:
                if isinstance(inner, str):
                    continue
                if inner.tag == "text:list":
                    yield from self._items(inner, level + 1, style)
                elif text := self.text_of(inner):
                    mark = " " if mark else self._mark(item, level, style)
                    yield f"{indent}{mark} {text}"
                yield from (f"{indent}  {note}" for note in self._notes)
                self._notes.clear()

    def _mark(self, item: Element, level: int, style: str) -> str:
        """Counts an item of a list; returns its number in the form of its style, "-" if it has
        none."""
        levels = self._lists.get(style, {})
        one = levels.get(level)
        if one is None or item.tag == "text:list-header":
            return "-"
        counts = self._counts[style]
        start = counts.get(level, one.start - 1) + 1
        counts[level] = _count(item, "text:start-value", _START_MAX, start)
        numbers = (
            number_text(counts.get(at, above.start), above.style)
            for at in range(max(0, level + 1 - one.shown), level + 1)
            if (above := levels.get(at)) is not None
        )
        return one_line(f"{one.before}{'.'.join(numbers)}{one.after}") or "-"

    def text_of(self, part: Element) -> str:
        """Returns all paragraphs in an element as one line."""
        if part.tag in _DROPPED or self.is_hidden(part):
            return ""
        if part.tag in ("text:p", "text:h"):
            return one_line(self._text(part))
        inner = (each for each in part.children if isinstance(each, Element))
        return one_line(" ".join(map(self.text_of, inner)))

    def _text(self, part: Element, *, links: bool = True) -> str:
        """Returns the text of a paragraph; its notes and text boxes are kept for later."""
        pieces: list[str] = []
        for child in part.children:
            if isinstance(child, str):
                pieces.append(_WHITE.sub(" ", child))
            elif child.tag == "text:s":
                pieces.append(" " * _count(child, "text:c", _SPACES_MAX))
            elif child.tag == "text:tab":
                pieces.append("\t")
            elif child.tag == "text:line-break":
                pieces.append("\n")
            elif child.tag == "text:note":
                pieces.append(self._note(child))
            elif child.tag in _ANCHORED:
                self._anchored.append(child)
            elif child.tag not in _DROPPED and not self.is_hidden(child):
                text = self._text(child, links=links)
                target = child.attributes.get("xlink:href", "") if child.tag == "text:a" else ""
                is_link = links and text.strip() and target and not target.startswith("#")
                pieces.append(f"[{text}]({target})" if is_link else text)
        return "".join(pieces)

    def _note(self, note: Element) -> str:
        """Returns the mark of a note, and keeps its text."""
        citation, body = note.find("text:note-citation"), note.find("text:note-body")
        mark = f"[^{'' if citation is None else one_line(citation.text())[:20]}]"
        if body is not None:
            self._notes.append(f"{mark}: {self.text_of(body)}")
        return mark

    def rows(self, table: Element) -> Iterator[Row]:
        """Yields the rows of a table or a sheet that have text."""
        merged: dict[tuple[int, int], tuple[int, int]] = {}
        return filled(self._rows(table, merged), merged)

    def _rows(
        self, table: Element, merged: dict[tuple[int, int], tuple[int, int]]
    ) -> Iterator[Row]:
        number = 0
        for row in _rows_in(table):
            cells: dict[int, str] = {}
            has_number = False
            column = 0
            for cell in row.children:
                if isinstance(cell, str) or not cell.tag.endswith("table-cell"):
                    continue
                count = _count(cell, "table:number-columns-repeated", _REPEATED_COLUMNS_MAX)
                text = "" if cell.tag == "table:covered-table-cell" else self._value(cell)
                if text:
                    cells.update(zip(range(column + 1, column + 1 + count), repeat(text)))
                    spanned = _count(cell, "table:number-rows-spanned", _REPEATED_ROWS_MAX)
                    wide = _count(cell, "table:number-columns-spanned", _REPEATED_COLUMNS_MAX)
                    merged[number + 1, column + 1] = number + spanned, column + wide
                    is_number = cell.attributes.get("office:value-type", "") in _NUMBERS
                    has_number |= is_number and wide == 1
                column += count
            count = _count(row, "table:number-rows-repeated", _REPEATED_ROWS_MAX)
            if cells:
                for at in range(number + 1, number + 1 + count):
                    yield Row(at, cells, has_number)
            number += count

    def _value(self, cell: Element) -> str:
        """Returns the text of a cell, of a date in ISO form."""
        kind = cell.attributes.get("office:value-type", "")
        if kind == "date" and (value := cell.attributes.get("office:date-value", "")):
            return one_line(value.removesuffix("T00:00:00").replace("T", " "))
        return self.text_of(cell) or one_line(cell.attributes.get("office:value", ""))


def _rows_in(table: Element) -> Iterator[Element]:
    """Yields the rows of a table, those of its header and its groups too, not of tables in it."""
    for part in table.children:
        if isinstance(part, Element):
            if part.tag == "table:table-row":
                yield part
            elif part.tag.startswith(("table:table-row", "table:table-header-rows")):
                yield from _rows_in(part)


def _count(part: Element, name: str, most: int, usual: int = 1) -> int:
    text = part.attributes.get(name, "")
    return min(int(text), most) if text.isdecimal() and len(text) < 9 else usual
