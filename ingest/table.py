"""CSV and TSV to text: rows as in Markdown, the header in each passage.

Such a file says nothing about its form, so it is told from the rows: the separator is the one that
cuts the first ones most alike. Comments above the rows, lines that begin with "# ", are text, and
so is what stands above the first row of as many cells as most have, such as a title. A quote
without its end would take all lines up to the next one into a cell: then quotes are part of the
text, with a warning.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, islice

from ibidem.ingest.extraction import Extraction, Writer, clean
from ibidem.ingest.html import decode
from ibidem.ingest.sheet import title_above
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record

_SEPARATORS = "\t;|,"
"""In the order in which they are less likely to be in a text."""
_NAMED = re.compile(r'"?sep=([,;:|\t])"?\n', re.IGNORECASE)
"""The first line of a file that tells Excel its separator."""
_COMMENTS = re.compile(r"(?:#+(?: [^\n]*)?(?:\n|\Z))+")
"""Not the first column "#", and no names such as "#red"."""
_SAMPLE_ROWS = 20
_SAMPLE_CHARS = 1 << 16
_FIELD_CHARS_MAX = 1 << 20


@record
class _Form:
    """How a table is read."""

    separator: str
    is_quoted: bool = True
    is_strict: bool = False
    """Whether text between the end of a quote and the next separator is an error."""

    def rows(self, text: str) -> Iterator[list[str]]:
        """Yields the rows of a table.

        Raises:
            InvalidInputError: a cell is too long, or the table has another form.
        """
        rows = csv.reader(
            io.StringIO(text),
            delimiter=self.separator,
            quoting=csv.QUOTE_MINIMAL if self.is_quoted else csv.QUOTE_NONE,
            strict=self.is_strict,
        )
        try:
            yield from rows
        except csv.Error as error:
            raise InvalidInputError(f"line {rows.line_num}: {error}") from error


def extract_csv(data: bytes) -> Extraction:
    """Returns a table."""
    return _table(clean(decode(data)))


def extract_tsv(data: bytes) -> Extraction:
    """Returns a table with tabs as separators."""
    return _table(clean(decode(data)), "\t")


def _table(text: str, separator: str = "") -> Extraction:
    writer = Writer()
    write_table(writer, text, separator)
    return writer.finish()


def write_table(writer: Writer, text: str, separator: str = "") -> None:
    """Writes a table, with what stands above it; without a separator, it is told from the rows.

    Raises:
        InvalidInputError: a cell is too long; then nothing is written.
    """
    csv.field_size_limit(_FIELD_CHARS_MAX)
    if named := _NAMED.match(text):
        separator, text = named[1], text[named.end() :]
    comments: list[str] = []
    if found := _COMMENTS.match(text):
        comments = [line.lstrip("#").strip() for line in found[0].split("\n")]
        text = text[found.end() :]
    form = _form(text, separator or _separator(text))
    if not form.is_quoted:
        writer.warnings.append("a quote has no end: quotes are read as text")
    rows = (row for row in form.rows(text) if any(row))
    first = list(islice(rows, _SAMPLE_ROWS))
    if header := _header_in(comments, first, form.separator):
        first.insert(0, header)
    begin = _begin(first)
    lines = [form.separator.join(row).strip(f"{form.separator} ") for row in first[:begin]]
    paragraphs = ["\n".join(group) for has_text, group in groupby(comments, bool) if has_text]
    above = lines or paragraphs
    caption = "" if above and "\n" in above[-1] else title_above(above)
    for paragraph in paragraphs:
        writer.block("paragraph", paragraph)
    writer.lines(lines)
    writer.table(chain(first[begin:], rows), caption=caption)


def _header_in(
    comments: list[str], rows: Sequence[Sequence[str]], separator: str
) -> list[str] | None:
    """Takes the header from the end of the comments above some rows: their last line with text, if
    it has as many cells as most rows."""
    while comments and not comments[-1]:
        comments.pop()
    header = comments[-1].split(separator) if comments else []
    if len(header) != _most_common([len(row) for row in rows])[0] or len(header) < 2:
        return None
    comments.pop()
    return header


def _separator(text: str) -> str:
    """Returns the separator that cuts most of the first rows into the same number of cells."""
    sample = text[:_SAMPLE_CHARS]
    alike: dict[str, int] = {}
    for separator in _SEPARATORS:
        rows = islice(filter(any, _Form(separator).rows(sample)), _SAMPLE_ROWS)
        alike[separator] = _most_common([len(row) for row in rows])[1]
    best = max(_SEPARATORS, key=alike.__getitem__)
    return best if alike[best] else ","


def _most_common(sizes: Sequence[int]) -> tuple[int, int]:
    """Returns the size over 1 that is the most common, and how often it is there."""
    counts = Counter(size for size in sizes if size > 1)
    return max(counts.items(), key=lambda one: one[::-1], default=(1, 0))


def _form(text: str, separator: str) -> _Form:
    """Returns the form in which a table has no error. Quotes that are no strict ones must end in
    their line."""
    strict, loose = _Form(separator, is_strict=True), _Form(separator)
    if _lines_in_cells(strict, text) is not None:
        return strict
    if _lines_in_cells(loose, text) == 0:
        return loose
    form = _Form(separator, is_quoted=False)
    for _ in form.rows(text):
        pass
    return form


def _lines_in_cells(form: _Form, text: str) -> int | None:
    """Returns the number of cells of more than one line, None if a table has another form."""
    try:
        return sum("\n" in cell for row in form.rows(text) for cell in row)
    except InvalidInputError:
        return None


def _begin(rows: Sequence[Sequence[str]]) -> int:
    """Returns the number of the first row of full width; 0 if none is in the first half."""
    used = [max((at for at, cell in enumerate(row, 1) if cell), default=0) for row in rows]
    full = _most_common(used)[0]
    half = rows[: len(rows) // 2 + 1]
    return next((at for at, row in enumerate(half) if len(row) >= full and used[at] > 1), 0)
