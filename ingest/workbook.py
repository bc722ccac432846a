"""XLSX to text: a section for each sheet, with its tables (`sheet.py`).

Cells are what the file says that they show: of a formula the value that was computed last, numbers
and dates by their format (`number_format.py`). Hidden sheets are left out, with a warning; hidden
rows and columns are read, since a filter hides them too. Charts repeat cells and are not read, nor
are pictures, comments and macros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ibidem.ingest.archive import Archive, resolved
from ibidem.ingest.extraction import Extraction, Writer, one_line
from ibidem.ingest.html_tree import Element, child, local, parse
from ibidem.ingest.number_format import number_text
from ibidem.ingest.office import properties, relations
from ibidem.ingest.sheet import Row, filled, write_sheet
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record

_WORKBOOK = "xl/workbook.xml"
_CELL = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
"""A character as its code, such as the end of a line."""
_BUILT_IN = {
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd"),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47), "h:mm:ss"),
    **dict.fromkeys((3, 5, 6, 37, 38, 41, 42), "#,##0"),
    **dict.fromkeys((4, 7, 8, 39, 40, 43, 44), "#,##0.00"),
    1: "0",
    2: "0.00",
    9: "0%",
    10: "0.00%",
    22: "yyyy-mm-dd h:mm",
    46: "[h]:mm:ss",
}
"""The formats that a file does not spell out, by number; the others show a number as it is."""
_ROWS_MAX = 1 << 20
_COLUMNS_MAX = 1 << 14


@record(frozen=False)
class _Book:
    """What the cells of all sheets refer to."""

    texts: list[str]
    formats: list[str]
    is_1904: bool
    uncomputed: int = 0
    """The number of formulas without a value."""


def extract(data: bytes) -> Extraction:
    """Returns the text of a workbook."""
    archive = Archive.open(data)
    root = archive.xml(_WORKBOOK)
    targets = relations(archive, _WORKBOOK)
    is_1904 = any(
        part.attributes.get("date1904", "0") in ("1", "true")
        for part in root.walk()
        if local(part) == "workbookpr"
    )
    book = _Book(_texts(archive, targets), _formats(archive), is_1904)
    writer = Writer()
    for sheet in root.walk():
        if local(sheet) != "sheet":
            continue
        name = one_line(sheet.attributes.get("name", ""))[:200]
        if sheet.attributes.get("state", "visible") != "visible":
            writer.warnings.append(f"sheet {name!r} is hidden, left out")
            continue
        target = resolved(_WORKBOOK, targets.get(sheet.attributes.get("r:id", ""), ""))
        if target not in archive:
            writer.warnings.append(f"sheet {name!r} is not in the archive, left out")
        elif "/chartsheets/" not in target:
            writer.heading(1, name)
            write_sheet(writer, _rows(archive, target, book))
    if book.uncomputed:
        writer.warnings.append(
            f"formulas without a value, left out: {book.uncomputed} (save the file in a program "
            "that computes them)"
        )
    return writer.finish(*properties(archive))


def _each(source: str, name: str) -> Iterator[Element]:
    """Yields the elements of some name one after the other, without a tree of the whole part."""
    start = 0
    ends = [match.end() for match in re.finditer(rf"</(?:\w+:)?{name}\s*>", source)]
    for stop in (*ends, len(source)):
        for part in parse(source[start:stop], xml=True).walk():
            if local(part) == name:
                yield part
        start = stop


def _texts(archive: Archive, targets: Mapping[str, str]) -> list[str]:
    """Returns the texts that cells share."""
    names = (resolved(_WORKBOOK, target) for target in targets.values())
    name = next((one for one in names if one.lower().endswith("/sharedstrings.xml")), "")
    if name not in archive:
        return []
    return [_plain(part) for part in _each(archive.text(name), "si")]


def _plain(part: Element) -> str:
    """Returns a text without its formats and its pronunciation."""
    inner = (one for one in part.children if isinstance(one, Element) and local(one) != "rph")
    return "".join(_unescaped(one.text()) if local(one) == "t" else _plain(one) for one in inner)


def _unescaped(text: str) -> str:
    """Returns a text with the characters that the file has as codes, a space for one that does not
    print.

    >>> _unescaped("a_x000D_b_x005F_c")
    'a b_c'
    """

    def character(code: re.Match[str]) -> str:
        found = chr(int(code[1], 16))
        return found if found.isprintable() else " "

    return _ESCAPED.sub(character, text)


def _formats(archive: Archive) -> list[str]:
    """Returns the format of each style of cells."""
    name = "xl/styles.xml"
    if name not in archive:
        return []
    codes: dict[str, str] = {str(number): code for number, code in _BUILT_IN.items()}
    found: list[str] = []
    for part in archive.xml(name).walk():
        if local(part) == "numfmt":
            codes[part.attributes.get("numfmtid", "")] = part.attributes.get("formatcode", "")
        elif local(part) == "cellxfs":
            styles = (style for style in part.children if isinstance(style, Element))
            found = [codes.get(style.attributes.get("numfmtid", ""), "") for style in styles]
    return found


def _rows(archive: Archive, name: str, book: _Book) -> Iterator[Row]:
    """Yields the rows of a sheet that have text."""
    source = archive.text(name)
    rest = re.compile(r"</(?:\w+:)?sheetData\s*>").search(source)
    after = parse(source[rest.end() :] if rest else "", xml=True)
    merged: dict[tuple[int, int], tuple[int, int]] = {}
    links: dict[tuple[int, int], str] = {}
    targets = relations(archive, name)
    for part in after.walk():
        first, _, last = part.attributes.get("ref", "").partition(":")
        start, stop = _position(first), _position(last)
        if local(part) == "mergecell" and start and stop:
            merged[start] = stop
        elif local(part) == "hyperlink" and start:
            links[start] = targets.get(part.attributes.get("r:id", ""), "")
    cells = _cells(source[: rest.start()] if rest else source, book, links, merged)
    return filled(cells, merged)


def _cells(
    source: str,
    book: _Book,
    links: dict[tuple[int, int], str],
    merged: dict[tuple[int, int], tuple[int, int]],
) -> Iterator[Row]:
    number = 0
    for row in _each(source, "row"):
        written = row.attributes.get("r", "")
        number = int(written) if written.isdecimal() and len(written) < 8 else number + 1
        cells: dict[int, str] = {}
        has_number = False
        column = 0
        for cell in row.children:
            if isinstance(cell, str) or local(cell) != "c":
                continue
            position = _position(cell.attributes.get("r", ""))
            column = position[1] if position else column + 1
            text, is_number = _value(cell, book)
            if text := one_line(text):
                target = links.get((number, column), "")
                cells[column] = f"[{text}]({target})" if target and target != text else text
                is_group = merged.get((number, column), (0, 0))[1] > column
                has_number = has_number or (is_number and not is_group)
        if cells:
            yield Row(number, cells, has_number)


def _position(reference: str) -> tuple[int, int] | None:
    """Returns the row and column of a cell, from 1; None if there is no such cell.

    >>> _position("AA7"), _position("A0"), _position("A:A")
    ((7, 27), None, None)
    """
    match = _CELL.fullmatch(reference)
    if match is None:
        return None
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - 64
    row = int(match[2])
    return (row, column) if 1 <= row <= _ROWS_MAX and column <= _COLUMNS_MAX else None


def _value(cell: Element, book: _Book) -> tuple[str, bool]:
    """Returns the text of a cell, and whether it is a number or a date."""
    kind = cell.attributes.get("t", "n")
    if kind == "inlineStr":
        inner = child(cell, "is")
        return ("" if inner is None else _plain(inner)), False
    value = child(cell, "v")
    text = "" if value is None else value.text().strip()
    if not text:
        book.uncomputed += child(cell, "f") is not None and kind != "str"
        return "", False
    if kind == "s":
        index = int(text) if text.isdecimal() and len(text) < 9 else len(book.texts)
        if index >= len(book.texts):
            raise InvalidInputError(f"shared text {text:.20}: expected one of {len(book.texts)}")
        return book.texts[index], False
    if kind == "b":
        return ("FALSE" if text == "0" else "TRUE"), False
    if kind == "d":
        return text.removesuffix("T00:00:00").replace("T", " "), True
    if kind == "n":
        style = cell.attributes.get("s", "0")
        index = int(style) if style.isdecimal() and len(style) < 9 else 0
        code = book.formats[index] if index < len(book.formats) else ""
        return number_text(text, code, is_1904=book.is_1904), True
    return text, False
