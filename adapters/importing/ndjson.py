"""Reads our JSON lines: those of `export`, and those that `repo add` takes."""

from __future__ import annotations

import ibidem
from ibidem import ErrorKind, InvalidInputError
from ibidem.adapters.importing.source import Items, Source, reading


def read(source: Source) -> Items:
    """Yields the record of each line."""
    with source.open() as stream:
        for number, line in ibidem.read_lines(stream):
            position = f"line {number}"
            if line is None:
                raise InvalidInputError(
                    f"{position}: longer than the limit for one line", kind=ErrorKind.LIMIT_EXCEEDED
                )
            with reading(position):
                record = ibidem.parse_record(line)
            yield position, record
