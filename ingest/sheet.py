"""The rows of a sheet to tables, each with its header.

A sheet is a grid, not a table: above, between and below its tables stand titles, notes and empty
rows. Rows that follow each other with at most one cell each are lines of text, the last of them
above a table its caption. After an empty row another table begins if its first row has only text
and the one before had numbers, other columns, or the new one a title; otherwise the table goes on.
Columns without a cell are left out. A cell that is merged over several rows is in each of them, as
a row is read without the ones above; one that is merged over columns is in the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ibidem.ingest.extraction import Writer, one_line
from ibidem.objects.record import record

_CAPTION_CHARS_MAX = 200


@record
class Row:
    """A row of a sheet."""

    number: int
    """Its place in the sheet; a number that is left out is an empty row."""
    cells: Mapping[int, str]
    """The texts that are not blank by their column, ascending."""
    has_number: bool = False
    """Whether a cell has a number or a date."""


def filled(rows: Iterable[Row], merged: Mapping[tuple[int, int], int]) -> Iterator[Row]:
    """Yields rows with the text of each merged cell in all of its rows that have any text.

    Args:
        merged: the last row of cells that are merged over several rows, by their row and column.
    """
    open_cells: dict[int, tuple[str, int]] = {}
    for row in rows:
        for column, text in row.cells.items():
            last = merged.get((row.number, column), 0)
            if last > row.number:
                open_cells[column] = text, last
        missing = {
            column: text
            for column, (text, last) in open_cells.items()
            if row.number <= last and column not in row.cells
        }
        open_cells = {key: value for key, value in open_cells.items() if value[1] > row.number}
        if missing:
            cells = sorted({**row.cells, **missing}.items())
            yield replace(row, cells=dict(cells))
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
        columns = sorted({column for row in table for column in row.cells})
        if table:
            shown = ([row.cells.get(column, "") for column in columns] for row in table)
            writer.table(shown, caption=caption)
        table = []

    for block in _blocks(rows):
        at = next((at for at, row in enumerate(block) if len(row.cells) > 1), len(block))
        lead = [text for row in block[:at] for text in row.cells.values()]
        body = block[at:]
        if header and body and not _begins_table(body[0], header, table, has_lead=bool(lead)):
            table += block if table else [header, *block]
            continue
        if lead or body:
            flush()
        lines += lead
        if body:
            is_caption = bool(lines) and len(lines[-1]) <= _CAPTION_CHARS_MAX
            caption = lines.pop() if is_caption else ""
            header, table = body[0], body
        if len(block) > 1 or body:
            _write_lines(writer, lines)
            lines = []
    flush()
    _write_lines(writer, lines)


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


def _write_lines(writer: Writer, lines: Sequence[str]) -> None:
    if len(lines) > 1:
        writer.block("list", "\n".join(f"- {one_line(line)}" for line in lines))
    else:
        writer.block("paragraph", "\n".join(map(one_line, lines)))
