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
    """Returns a table; the separator is the most frequent candidate in its first line."""
    text = clean(decode(data))
    first = text.lstrip("\n").partition("\n")[0]
    return _table(text, max(_SEPARATORS, key=first.count))


def extract_tsv(data: bytes) -> Extraction:
    """Returns a table with tabs as separators."""
    return _table(clean(decode(data)), "\t")


def _table(text: str, separator: str) -> Extraction:
    csv.field_size_limit(_FIELD_CHARS_MAX)
    writer = Writer()
    rows = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        writer.table(row for row in rows if any(row))
    except csv.Error as error:
        raise InvalidInputError(f"line {rows.line_num}: {error}") from error
    return writer.finish()
