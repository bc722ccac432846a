"""The newest state of a log that this machine read, so that its next process begins there.

It decides how much of the log is read again, never what is found: the identity of the log is
compared first, and everything after the state is read.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ibidem.objects.errors import IbidemError, StorageError
from ibidem.store.files import medium_error, read_file, write_file
from ibidem.store.log.state import LogState, decode_checkpoint, encode_checkpoint
from ibidem.store.log.table import checked_table

_STATE, _TABLES = "state", "tables"
_ID_BYTES = 16


class LocalCopy:
    """Files in a folder of this machine; several processes may use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> tuple[bytes, LogState] | None:
        """Returns the identity of a log and a state of it; None if there is none that is whole."""
        with suppress(IbidemError):
            data = read_file(self._folder / _STATE)
            if data is None:
                return None
            found = decode_checkpoint(data[_ID_BYTES:])
            tables = []
            for name in found.table_names:
                table = read_file(self._folder / name)
                if table is None:
                    return None
                tables.append(checked_table(table, name))
            return data[:_ID_BYTES], replace(found.state, tables=tuple(tables))
        return None

    def write(self, identity: bytes, state: LogState) -> None:
        """Replaces the state; a disk that fails is passed over."""
        with suppress(StorageError):
            try:
                (self._folder / _TABLES).mkdir(parents=True, exist_ok=True)
                names = {table.name for table in state.tables}
                for table in state.tables:
                    if not (self._folder / table.name).exists():
                        write_file(self._folder / table.name, [table.data], is_durable=False)
                data = identity + encode_checkpoint(state)
                write_file(self._folder / _STATE, data, is_durable=False)
                for path in (self._folder / _TABLES).iterdir():
                    if f"{_TABLES}/{path.name}" not in names:
                        path.unlink(missing_ok=True)
            except OSError as error:
                raise medium_error(self._folder, error) from error
