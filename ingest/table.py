"""CSV and TSV to text: rows as in Markdown, the header in each passage."""

from __future__ import annotations

import csv
import io

from ibidem.ingest.extraction import Extraction, Writer, clean
from ibidem.ingest.html import decode
from ibidem.objects.errors import InvalidInputError

_SEPARATORS = ",;\t|"
_FIELD_CHARS_MAX = 1 << 20


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
    """Writes a table; without a separator, it is the most frequent candidate in the first line."""
    csv.field_size_limit(_FIELD_CHARS_MAX)
    first = text.lstrip("\n").partition("\n")[0]
    separator = separator or max(_SEPARATORS, key=first.count)
    rows = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        writer.table(row for row in rows if any(row))
    except csv.Error as error:
        raise InvalidInputError(f"line {rows.line_num}: {error}") from error
