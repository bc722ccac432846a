"""Reads the folder of a LanceDB database, with every table in it, at its newest version."""

from __future__ import annotations

from ibidem import InvalidInputError
from ibidem.adapters.importing.parquet import ROWS_AT_ONCE, rows
from ibidem.adapters.importing.source import Items, Source, foreign
from ibidem.adapters.library import library

SUFFIX = ".lance"
"""What the folder of a table is called after its name."""
_NAMESPACE = "lancedb"


def read(source: Source) -> Items:
    """Yields a node with its vectors for each row of each table."""
    path = source.path
    is_table = path.suffix == SUFFIX
    folder = path.parent if is_table else path
    names = [path.stem] if is_table else sorted(one.stem for one in path.glob(f"*{SUFFIX}"))
    if not path.is_dir() or not names:
        raise InvalidInputError(f"folder: has no table *{SUFFIX}, expected a LanceDB database")
    lancedb = library("lancedb", "lancedb")
    with foreign("lancedb", Exception):
        database = lancedb.connect(str(folder))
        for name in names:
            found = database.open_table(name).search().to_batches(batch_size=ROWS_AT_ONCE)
            yield from rows(source, _NAMESPACE, name, found)
