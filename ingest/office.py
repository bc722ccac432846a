"""DOCX and PPTX to text: both are archives of XML; their headings, text and tables are read.

Footnotes and endnotes stand below the paragraph that refers to them, text boxes below the paragraph
that they are anchored to, charts and diagrams below the paragraph that has them. Paragraphs of code
that follow each other are one block. Pictures, page headers and footers, comments, hidden
text and tracked deletions are left out. Linked and embedded files are not opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from ibidem.ingest.archive import Archive, resolved
from ibidem.ingest.drawing import TAGS, paragraphs, paragraphs_by_level, write_drawing
from ibidem.ingest.extraction import Extraction, Writer, one_line
from ibidem.ingest.html_tree import Element, local
from ibidem.ingest.numbering import Numbering
from ibidem.ingest.sheet import Row, filled, is_number, write_whole_table
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record

_DOCUMENT = "word/document.xml"
_PRESENTATION = "ppt/presentation.xml"
_HEADING = re.compile(r"(?:heading|titre|überschrift) ?([1-9])", re.IGNORECASE)
_ITEM = re.compile(r"list (?:bullet|number)", re.IGNORECASE)
_CODE = re.compile(r"^(?!.*caption).*\b(?:code|preformatted|listing|verbatim)\b", re.IGNORECASE)
"""In the names of styles for lines of code."""
_MONOSPACED = re.compile(
    r"courier|consolas|menlo|monaco|lucida console|cascadia|inconsolata|mono\b|\bcode\b",
    re.IGNORECASE,
)
"""In the names of fonts for code."""
_CODE_CHARS_MAX = 200
"""A paragraph with more characters is text, whatever its font."""
_NO_LIST = "0"
"""The name of a list by which a paragraph says that it is in none, whatever its style."""
_STYLES_MAX = 20
"""The most styles of which each is based on the next."""
_COLUMNS_MAX = 63
"""The most columns of a table in Word."""
_SLIDE_ROWS_MAX = 75
"""The most rows that PowerPoint gives a table."""
_PROPS = {"dc:creator": "author", "dcterms:modified": "date"}
_REFERENCES = {"w:footnotereference": "footnote", "w:endnotereference": "endnote"}
_DROPPED = frozenset({"w:del", "w:movefrom", "mc:fallback"})
_BOX = "w:txbxcontent"
_SKIPPED = frozenset({*_DROPPED, _BOX, "w:instrtext", "w:rpr", "w:ppr"})


def extract_docx(data: bytes) -> Extraction:
    """Returns the text of a Word document."""
    archive = Archive.open(data)
    body = archive.xml(_DOCUMENT).find("w:body")
    if body is None:
        raise InvalidInputError(f"{_DOCUMENT} has no body")
    writer = Writer()
    styles = _styles(archive)
    links = relations(archive, _DOCUMENT)
    notes = _notes(archive)
    numbering = Numbering(archive)
    items: list[str] = []
    code: list[str] = []

    def flush() -> None:
        """Writes the list or the code whose paragraphs have been read."""
        writer.block("list", dedent("\n".join(items)))
        writer.code("\n".join(code))
        items.clear()
        code.clear()

    for part in _blocks(body):
        layout = _own(part, "w:ppr")
        style = styles.get(_value(layout, "w:pstyle"), _Style())
        below = list(_notes_of(part, notes))
        drawings = list(_outermost(part, TAGS))
        heading = _HEADING.fullmatch(style.name)
        is_title = style.name.lower() == "title"
        name = _value(layout, "w:numid") or style.list_name
        at = _value(layout, "w:ilvl") or style.list_level
        level = int(at) if at.isdecimal() and len(at) < 2 else 0
        mark = numbering.mark(name, level)
        is_item = not (heading or is_title or name == _NO_LIST) and (
            bool(name) or style.is_item or layout.find("w:numpr") is not None
        )
        is_code = not (heading or is_title or is_item or drawings) and (
            part.tag == "w:p" and _is_code(part, style, styles, goes_on=bool(code))
        )
        if (items and not is_item) or (code and not is_code):
            flush()
        if part.tag == "w:tbl":
            _write_table(writer, part, links)
        elif is_title:
            writer.heading(1, _text(part, {}))
        elif heading:
            writer.heading(int(heading[1]), _text(part, {}))
        elif is_item:
            indent = "  " * level
            items.append(f"{indent}{mark} {one_line(_text(part, links))}")
            items += [f"{indent}  {note}" for note in below]
            below = []
        elif is_code:
            code.append(_text(part, {}).rstrip())
        else:
            writer.block("paragraph", "\n".join([_text(part, links).strip(), *below]))
            below = []
        if below or drawings:
            flush()
        writer.block("paragraph", "\n".join(below))
        for drawing in drawings:
            write_drawing(writer, archive, _DOCUMENT, links, drawing)
    flush()
    title, props = properties(archive)
    return writer.finish(title or writer.first_heading(), props)


def extract_pptx(data: bytes) -> Extraction:
    """Returns the text of a presentation: one section per slide, with its notes."""
    archive = Archive.open(data)
    slides = relations(archive, _PRESENTATION)
    order = [
        slides.get(element.attributes.get("r:id", ""), "")
        for element in archive.xml(_PRESENTATION).walk()
        if element.tag == "p:sldid"
    ]
    writer = Writer()
    for number, target in enumerate(order, 1):
        name = resolved(_PRESENTATION, target)
        if name not in archive:
            writer.warnings.append(f"slide {number}: {name!r:.200} is not in the archive, left out")
            continue
        _slide(writer, archive, name, number)
    return writer.finish(*properties(archive))


def _slide(writer: Writer, archive: Archive, name: str, number: int) -> None:
    shapes = list(_outermost(archive.xml(name), frozenset({"p:sp", "p:graphicframe"})))
    links = relations(archive, name)
    title = next((shape for shape in shapes if _placeholder(shape) in ("title", "ctrtitle")), None)
    text = "" if title is None else " ".join(paragraphs(title))
    writer.heading(1, f"Slide {number}: {text}" if text.strip() else f"Slide {number}")
    for shape in shapes:
        table = shape.find("a:tbl")
        if table is not None:
            _write_slide_table(writer, table)
        elif shape is not title:
            lines = [(level, line) for level, line in paragraphs_by_level(shape) if line.strip()]
            if len(lines) > 1:
                items = (f"{'  ' * at}- {line}" for at, line in lines)
                writer.block("list", dedent("\n".join(items)))
            else:
                writer.block("paragraph", "".join(line for _, line in lines))
        for drawing in _outermost(shape, TAGS):
            write_drawing(writer, archive, name, links, drawing)
    for target in links.values():
        notes = resolved(name, target)
        if "/notesSlides/" in notes and notes in archive:
            for shape in archive.xml(notes).walk():
                if shape.tag == "p:sp" and _placeholder(shape) == "body":
                    writer.block("paragraph", "\n".join(paragraphs(shape)))


def _write_slide_table(writer: Writer, table: Element) -> None:
    rows: list[Row] = []
    merged: dict[tuple[int, int], tuple[int, int]] = {}
    width = 0
    for number, row in enumerate(row for row in table.walk() if row.tag == "a:tr"):
        cells: dict[int, str] = {}
        has_number = False
        for column, cell in enumerate(cell for cell in row.walk() if cell.tag == "a:tc"):
            width = max(width, column + 1)
            if text := " ".join(paragraphs(cell)).strip():
                cells[column] = text
                right = column + _count(cell, "gridspan") - 1
                height = min(_count(cell, "rowspan"), _SLIDE_ROWS_MAX)
                merged[number, column] = number + height - 1, right
                has_number |= is_number(text) and right == column
        rows.append(Row(number, cells, has_number))
    write_whole_table(writer, filled(rows, merged), width)


def _placeholder(shape: Element) -> str:
    holder = shape.find("p:ph")
    return "" if holder is None else holder.attributes.get("type", "body").lower()


def _blocks(body: Element) -> Iterator[Element]:
    """Yields paragraphs and tables, those inside content controls and text boxes too."""
    for part in _outermost(body, frozenset({"w:p", "w:tbl"})):
        yield part
        if part.tag == "w:p":
            for box in _outermost(part, frozenset({_BOX}), _DROPPED):
                yield from _blocks(box)


def _outermost(
    part: Element, tags: frozenset[str], skipped: frozenset[str] = _SKIPPED
) -> Iterator[Element]:
    """Yields the elements of some names below one, but not those inside each other or inside what
    is skipped."""
    stack = list(reversed(part.children))
    while stack:
        inner = stack.pop()
        if isinstance(inner, str) or inner.tag in skipped:
            continue
        if inner.tag in tags:
            yield inner
        else:
            stack.extend(reversed(inner.children))


def _notes(archive: Archive) -> dict[tuple[str, str], str]:
    """Returns the texts of footnotes and endnotes, by the kind and the id of their references."""
    found: dict[tuple[str, str], str] = {}
    for kind in ("footnote", "endnote"):
        name = f"word/{kind}s.xml"
        if name in archive:
            for note in archive.xml(name).walk():
                if note.tag == f"w:{kind}":
                    text = one_line(" ".join(_text(line, {}) for line in _blocks(note)))
                    found[kind, note.attributes.get("w:id", "")] = text
    return found


def _notes_of(part: Element, notes: dict[tuple[str, str], str]) -> Iterator[str]:
    """Removes and yields the notes to which a paragraph or table refers, each a line that begins
    with its mark."""
    for paragraph in [part] if part.tag == "w:p" else _paragraphs_in(part):
        for reference in _outermost(paragraph, frozenset(_REFERENCES)):
            key = (_REFERENCES[reference.tag], reference.attributes.get("w:id", ""))
            if text := notes.pop(key, None):
                yield f"{_mark(reference)}: {text}"


def _mark(reference: Element) -> str:
    letter = "e" if reference.tag == "w:endnotereference" else ""
    return f"[^{letter}{one_line(reference.attributes.get('w:id', ''))[:20]}]"


def _write_table(writer: Writer, table: Element, links: dict[str, str]) -> None:
    rows: list[Row] = []
    merged: dict[tuple[int, int], tuple[int, int]] = {}
    open_cells: dict[int, tuple[int, int]] = {}
    width = 0
    for number, row in enumerate(_outermost(table, frozenset({"w:tr"}))):
        cells: dict[int, str] = {}
        has_number = False
        before = _own(row, "w:trpr").find("w:gridbefore")
        column = min(_count(before, "w:val", 0), _COLUMNS_MAX)
        for cell in _outermost(row, frozenset({"w:tc"})):
            layout = _own(cell, "w:tcpr")
            text = " ".join(_text(paragraph, links) for paragraph in _paragraphs_in(cell)).strip()
            span = _count(layout.find("w:gridspan"), "w:val")
            right = column + min(max(1, span), _COLUMNS_MAX)
            merge = layout.find("w:vmerge")
            above = open_cells.pop(column, None)
            first = number, column
            if merge is not None:
                is_below = above is not None and merged[above][0] == number - 1
                is_first = text or merge.attributes.get("w:val") == "restart"
                if above is not None and is_below and not is_first:
                    first = above
                open_cells[column] = first
            if text:
                cells[column] = text
                has_number |= is_number(text) and right == column + 1
            merged[first] = number, right - 1
            column = right
            width = max(width, column)
        rows.append(Row(number, cells, has_number))
    write_whole_table(writer, filled(rows, merged), width)


def _count(part: Element | None, name: str, usual: int = 1) -> int:
    """Returns a number of rows or columns that an attribute has."""
    text = "" if part is None else part.attributes.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 9 else usual


def _paragraphs_in(part: Element) -> Iterator[Element]:
    """Yields the paragraphs of a table or cell, those of tables in it too."""
    for block in _blocks(part):
        if block.tag == "w:p":
            yield block
        else:
            yield from _paragraphs_in(block)


def _text(part: Element, links: dict[str, str]) -> str:
    """Returns the text of a paragraph, with the targets of links and the marks of notes if `links`
    are given."""
    pieces: list[str] = []
    for child in part.children:
        if isinstance(child, str) or child.tag in _SKIPPED or _is_hidden(child):
            continue
        if child.tag == "w:t":
            pieces.append(child.text())
        elif child.tag == "w:tab":
            pieces.append("\t")
        elif child.tag in ("w:br", "w:cr"):
            pieces.append("\n")
        elif child.tag == "w:nobreakhyphen":
            pieces.append("-")
        elif child.tag in _REFERENCES:
            pieces.append(_mark(child) if links else "")
        elif child.tag == "w:hyperlink":
            text, target = _text(child, links), links.get(child.attributes.get("r:id", ""), "")
            pieces.append(f"[{text}]({target})" if target and text.strip() and links else text)
        else:
            pieces.append(_text(child, links))
    return "".join(pieces)


def _is_hidden(run: Element) -> bool:
    """Returns whether a run of text has the format "hidden"."""
    own = next((one for one in run.children if isinstance(one, Element)), None)
    mark = own.find("w:vanish") if own is not None and own.tag == "w:rpr" else None
    return mark is not None and mark.attributes.get("w:val", "1") not in ("0", "false", "off")


def _own(part: Element, tag: str) -> Element:
    """Returns the properties of a paragraph, row or cell itself, not those of what is in it."""
    own = (one for one in part.children if isinstance(one, Element) and one.tag == tag)
    return next(own, Element(""))


def _value(part: Element, tag: str) -> str:
    element = part.find(tag)
    return "" if element is None else element.attributes.get("w:val", "")


def _is_code(
    paragraph: Element, style: _Style, styles: dict[str, _Style], *, goes_on: bool
) -> bool:
    """Returns whether a paragraph is a line of code by its style or its fonts; an empty one is, if
    the one before it is."""
    runs = [run for run in _outermost(paragraph, frozenset({"w:r"})) if _text(run, {}).strip()]
    if not runs:
        return goes_on
    return style.is_code or (
        paragraph.find("w:hyperlink") is None  # whose target would be lost
        and all(_has_code_font(run, style, styles) for run in runs)
        and sum(len(_text(run, {})) for run in runs) <= _CODE_CHARS_MAX
    )


def _has_code_font(run: Element, style: _Style, styles: dict[str, _Style]) -> bool:
    own = styles.get(_value(run, "w:rstyle"), _Style())
    return _MONOSPACED.search(_font(run) or own.font or style.font) is not None


def _font(part: Element) -> str:
    fonts = part.find("w:rfonts")
    return "" if fonts is None else fonts.attributes.get("w:ascii", "")


@record
class _Style:
    """What is read of a style, with what it takes from the styles that it is based on."""

    name: str = ""
    font: str = ""
    list_name: str = ""
    list_level: str = ""
    is_item: bool = False
    is_code: bool = False


def _styles(archive: Archive) -> dict[str, _Style]:
    """Returns the styles by id; built-in styles have English names in every language."""
    if "word/styles.xml" not in archive:
        return {}
    elements = {
        style.attributes.get("w:styleid", ""): style
        for style in archive.xml("word/styles.xml").walk()
        if style.tag == "w:style"
    }
    found: dict[str, _Style] = {}
    for key in elements:
        names: list[str] = []
        fonts: list[str] = []
        lists: list[str] = []
        levels: list[str] = []
        at = key
        while at in elements and len(names) < _STYLES_MAX:
            one = elements[at]
            names.append(_value(one, "w:name"))
            if one.attributes.get("w:default") != "1":  # else all text would be code
                fonts.append(_font(one))
                lists.append(_value(one, "w:numid"))
                levels.append(_value(one, "w:ilvl"))
            at = _value(one, "w:basedon")
        found[key] = _Style(
            next((name for name in names if _HEADING.fullmatch(name)), names[0]),
            next(filter(None, fonts), ""),
            next(filter(None, lists), ""),
            next(filter(None, levels), ""),
            any(_ITEM.match(name) for name in names),
            any(_CODE.match(name) for name in names),
        )
    return found


def relations(archive: Archive, name: str) -> dict[str, str]:
    """Returns the targets to which a part of an archive refers, by their ids."""
    folder, _, base = name.rpartition("/")
    source = f"{folder}/_rels/{base}.rels"
    if source not in archive:
        return {}
    return {
        element.attributes.get("id", ""): element.attributes.get("target", "")
        for element in archive.xml(source).walk()
        if local(element) == "relationship"
    }


def properties(archive: Archive) -> tuple[str | None, dict[str, str]]:
    """Returns the title and the properties of a file."""
    if "docProps/core.xml" not in archive:
        return None, {}
    core = archive.xml("docProps/core.xml")
    title = core.find("dc:title")
    props = {
        prop: text
        for tag, prop in _PROPS.items()
        if (element := core.find(tag)) is not None and (text := one_line(element.text()))
    }
    return None if title is None else title.text(), props
