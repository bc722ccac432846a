"""The tables of a page as rows of a sheet: each cell where the spans of others leave it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ibidem.ingest.extraction import one_line
from ibidem.ingest.html_text import inline_text, integer_of, is_dropped, with_targets
from ibidem.ingest.html_tree import Element
from ibidem.ingest.sheet import Row, filled, is_number
from ibidem.objects.record import record

COLUMNS_MAX = 1000
"""The columns that one cell may span, in any browser."""
_SPANNED = 20
_SPANNED_MIN = 10_000
"""The cells and characters that a table may have by the spans of its cells, for each that it has
without them, and in any case. The spans of one with more are ignored."""
_CELLS = ("td", "th")


@record
class Cell:
    """A cell of a table."""

    text: str
    is_data: bool
    """Whether it is no part of a header."""
    height: int
    width: int


def cells_of(table: Element) -> list[list[Cell]]:
    """Returns the cells of each row, with spans that end within the table."""
    rows = list(_rows(table))
    is_marked = any(cell.tag == "th" for cell in rows[0]) if rows else False
    found = [
        [_cell(cell, len(rows) - at, is_marked=is_marked) for cell in row]
        for at, row in enumerate(rows)
    ]
    size = sum(1 + len(cell.text) for row in found for cell in row)
    spanned = sum(cell.height * (cell.width + len(cell.text)) for row in found for cell in row)
    if spanned > max(_SPANNED * size, _SPANNED_MIN):
        return [[replace(cell, height=1, width=1) for cell in row] for row in found]
    return found


def _rows(element: Element) -> Iterator[list[Element]]:
    """Yields the cells of each row below an element."""
    for part in element.children:
        if isinstance(part, str) or is_dropped(part):
            continue
        if part.tag == "tr":
            cells = (cell for cell in part.children if isinstance(cell, Element))
            yield [cell for cell in cells if cell.tag in _CELLS and not is_dropped(cell)]
        else:
            yield from _rows(part)


def _cell(cell: Element, height_max: int, *, is_marked: bool) -> Cell:
    """Returns a cell. Where no header is marked, a number is what no header has."""
    text = one_line(with_targets(inline_text(cell), is_cell=True))
    height = integer_of(cell, "rowspan", 1) or height_max  # 0 is all rows that follow
    width = integer_of(cell, "colspan", 1)
    is_value = bool(text) if is_marked else is_number(text) and width == 1
    is_data = cell.tag == "td" and is_value
    return Cell(text, is_data, min(max(1, height), height_max), min(max(1, width), COLUMNS_MAX))


def table_rows(rows: Sequence[Sequence[Cell]]) -> Iterator[Row]:
    """Yields the rows of a table that have text as those of a sheet: a cell is right of those that
    rows above extend into its own."""
    last_rows: dict[int, int] = {}
    merged: dict[tuple[int, int], tuple[int, int]] = {}
    found: list[Row] = []
    for number, row in enumerate(rows):
        column = 0
        cells: dict[int, str] = {}
        for cell in row:
            while last_rows.get(column, -1) >= number:
                column += 1
            last, right = number + cell.height - 1, column + cell.width
            if last > number:
                last_rows.update(dict.fromkeys(range(column, right), last))
            if cell.text:
                cells[column] = cell.text
                merged[number, column] = last, right - 1
            column = right
        if cells:
            found.append(Row(number, cells, any(cell.is_data for cell in row)))
    return filled(found, merged)


def is_line(row: Sequence[Cell]) -> bool:
    """Whether a row is a text across the table."""
    return len(row) == 1 and row[0].height == 1


def text_without_cells(element: Element) -> Iterator[str]:
    """Yields what a table has outside its cells and its caption, where nothing belongs."""
    for part in element.children:
        if isinstance(part, str):
            yield part
        elif part.tag in ("thead", "tbody", "tfoot", "tr"):
            yield from text_without_cells(part)
        elif part.tag != "caption" and part.tag not in _CELLS:
            yield inline_text(part)
