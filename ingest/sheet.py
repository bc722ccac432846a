"""The rows of a sheet to tables, each with its header.

A sheet is a grid, not a table: above, between and below its tables stand titles, notes and empty
rows. Rows that follow each other with at most one cell each are lines of text, the last of them
above a table its caption. After an empty row another table begins if its first row has only text
and the one before had numbers, other columns, or the new one a title; otherwise the table goes on.
Columns without a cell are left out. A cell that is merged over several rows is in each of them, as
a row is read without the ones above; one that is merged over columns is in the first. In the header
it names a group of columns: "Q1" above "Plan" and "Actual" makes "Q1 Plan" and "Q1 Actual". Where
nearly all cells are empty, a row is a line of its texts, each with that of its header.

The tables of a page (`html.py`) have merged cells and headers of several rows too, and are written
in the same way.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from ibidem.ingest.extraction import Writer
from ibidem.objects.record import record

_CAPTION_CHARS_MAX = 200
_HEADER_ROWS_MAX = 3
_SPARSE = 20
"""A table with this many cells for each that has text is written as lines."""
_WHOLE_CELLS_MIN = 10_000
"""A table of a text with no more cells is written as a table, however few have text."""


@record
class Row:
    """A row of a sheet."""

    number: int
    """Its place in the sheet; a number that is left out is an empty row."""
    cells: Mapping[int, str]
    """The texts that are not blank by their column, ascending."""
    has_number: bool = False
    """Whether a cell has a number or a date: the row is no part of a header. One that is merged
    over columns may name a group of them, such as a year."""
    spans: Mapping[int, int] = field(default_factory=dict)
    """The last column of each cell that is merged over columns and ends in this row, by its
    first."""


def filled(rows: Iterable[Row], merged: Mapping[tuple[int, int], tuple[int, int]]) -> Iterator[Row]:
    """Yields rows with the text of each merged cell in all of its rows that have any text.

    Args:
        merged: the last row and column of merged cells, by their first.
    """
    open_cells: dict[int, tuple[str, int, int]] = {}
    for row in rows:
        for column, text in row.cells.items():
            last, right = merged.get((row.number, column), (0, 0))
            if (last, right) > (row.number, column):
                open_cells[column] = text, last, right
            else:
                open_cells.pop(column, None)
        cells = dict(row.cells)
        spans: dict[int, int] = {}
        for column, (text, last, right) in sorted(open_cells.items()):
            if last >= row.number:
                cells[column] = text
            if last == row.number and right > column:
                spans[column] = right
        open_cells = {key: value for key, value in open_cells.items() if value[1] > row.number}
        if spans or len(cells) > len(row.cells):
            yield replace(row, cells=dict(sorted(cells.items())), spans=spans)
        else:
            yield row


def write_sheet(writer: Writer, rows: Iterable[Row]) -> None:
    """Writes the tables and the lines of text of a sheet."""
    table: list[Row] = []
    header: Row | None = None
    caption = ""
    lines: list[str] = []

    def flush() -> None:
        """Writes the table that has been read."""
        nonlocal table
        if table:
            write_rows(writer, table, caption)
        table = []

    for block in _blocks(rows):
        at = next((at for at, row in enumerate(block) if len(row.cells) > 1), len(block))
        lead = [text for row in block[:at] for text in row.cells.values()]
        body = with_one_header(block[at:])
        if header and body and not _begins_table(body[0], header, table, has_lead=bool(lead)):
            table += block if table else [header, *block]
            continue
        if lead or body:
            flush()
        lines += lead
        if body:
            caption = title_above(lines)
            header, table = body[0], body
        if len(block) > 1 or body:
            writer.lines(lines)
            lines = []
    flush()
    writer.lines(lines)


def title_above(lines: list[str]) -> str:
    """Takes the last line above a table as its caption; returns none if that is long."""
    return lines.pop() if lines and len(lines[-1]) <= _CAPTION_CHARS_MAX else ""


def write_rows(
    writer: Writer, rows: Sequence[Row], caption: str, *, has_links: bool = False
) -> None:
    """Writes the rows of one table, the first of them its header.

    Args:
        has_links: as for `Writer.block`.
    """
    columns = sorted({column for row in rows for column in row.cells})
    if len(columns) * len(rows) > _SPARSE * sum(len(row.cells) for row in rows):
        cells = (row.cells for row in rows)
        writer.named_rows(cells, caption=caption, has_links=has_links)
    else:
        shown = ([row.cells.get(column, "") for column in columns] for row in rows)
        writer.table(shown, caption=caption, has_links=has_links)


def write_whole_table(writer: Writer, rows: Iterable[Row], width: int) -> None:
    """Writes a table with all its rows and columns, those without text too, unless almost all of a
    large one are.

    Args:
        width: the number of columns, which count from 0.
    """
    body = with_one_header(list(rows))
    if width * len(body) > max(_WHOLE_CELLS_MIN, _SPARSE * sum(len(row.cells) for row in body)):
        writer.named_rows(row.cells for row in body if row.cells)
    else:
        writer.table([row.cells.get(column, "") for column in range(width)] for row in body)


def is_number(text: str) -> bool:
    """Returns whether a text is a number, a date or the like, which no header has."""
    return any(map(str.isdecimal, text)) and not any(map(str.isalpha, text))


def with_one_header(rows: list[Row]) -> list[Row]:
    """Returns the rows of a table, those of a header with groups of columns joined to one.

    A header is told from rows of text by the numbers that follow it, and by its groups, which have
    two names or more each below them, while the other columns have none.
    """
    size = next((at for at, row in enumerate(rows) if row.has_number), 0)
    header = rows[0] if 1 < size <= _HEADER_ROWS_MAX else None
    for row in rows[1:size]:
        header = None if header is None else _with_names_below(header, row)
    return rows if header is None else [header, *rows[size:]]


def _blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yields the rows between empty ones."""
    block: list[Row] = []
    for row in rows:
        if block and (not row.cells or row.number > block[-1].number + 1):
            yield block
            block = []
        if row.cells:
            block.append(row)
    if block:
        yield block


def _begins_table(first: Row, header: Row, table: Sequence[Row], *, has_lead: bool) -> bool:
    """Returns whether a row after an empty one is the header of another table."""
    has_numbers = any(row.has_number for row in table[1:])
    is_other = has_lead or has_numbers or not first.cells.keys() <= header.cells.keys()
    return not first.has_number and is_other


def _with_names_below(above: Row, below: Row) -> Row | None:
    """Returns a header that has names below its groups, None if `below` is no part of it."""
    firsts = list(above.spans)
    named = dict.fromkeys(firsts, 0)
    cells = dict(above.cells)
    for column, text in below.cells.items():
        first = firsts[bisect(firsts, column) - 1] if firsts else column
        if first <= column <= above.spans.get(first, -1):
            named[first] += 1
            cells[column] = f"{above.cells[first]} {text}"
        elif cells.setdefault(column, text) != text:
            return None
    is_header = min(named.values(), default=0) > 1
    return replace(below, cells=dict(sorted(cells.items()))) if is_header else None
