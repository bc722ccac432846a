"""Reads our JSON lines: those of `export`, and those that `repo add` takes."""

from __future__ import annotations

import ibidem
from ibidem import ErrorKind, InvalidInputError
from ibidem.adapters.importing.source import Items, Source


def read(source: Source) -> Items:
    """Yields the record of each line."""
    with source.open() as stream:
        for number, line in ibidem.read_lines(stream):
            position = f"line {number}"
            if line is None:
                raise InvalidInputError(
                    f"{position}: longer than the limit for one line", kind=ErrorKind.LIMIT_EXCEEDED
                )
            try:
                record = ibidem.parse_record(line)
            except InvalidInputError as error:
                raise InvalidInputError(
                    f"{position}: {error}", kind=error.kind, hint=error.hint
                ) from error
            yield position, record
