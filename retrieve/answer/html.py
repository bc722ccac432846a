"""Tables in HTML, as a notebook shows an answer or a comparison.

Everything from a repository is escaped, its control and bidirectional characters too, so that no
text can become markup or pass for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ibidem.objects.printable import printable

ROWS_SHOWN = 50
"""Rows of a table; the caption says how many more there are."""


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns a table; cells are escaped, and keep their line breaks.

    Args:
        caption: what the table shows.
        heads: the heading of each column.
        rows: the cells, as many as there are heads.
    """
    more = len(rows) - ROWS_SHOWN
    title = _text(caption + (f", and {more:,} more" if more > 0 else ""))
    lines = [_row("th", heads), *(_row("td", row) for row in rows[:ROWS_SHOWN])]
    return f"<table><caption>{title}</caption>{''.join(lines)}</table>"


def _row(tag: str, cells: Iterable[object]) -> str:
    style = ' style="text-align: left; vertical-align: top; white-space: pre-wrap"'
    return "<tr>" + "".join(f"<{tag}{style}>{_text(cell)}</{tag}>" for cell in cells) + "</tr>"


def _text(value: object) -> str:
    return escape(printable(str(value)))
