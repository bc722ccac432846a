"""Makes a new LMDB file, with pages of 8 KiB and with transactions numbered from some hundreds on.

*Pages.* A page of 4 KiB, which LMDB would take from the system, holds at most two nodes' vectors of
384 components, and is left half empty. Pages of twice the size are filled better: a load of 20,000
such nodes takes 3,440 bytes a node instead of 5,400. A commit of one node writes 320 kB instead of
230, in as much time. Pages of 16 KiB save 1 % more of 100,000 nodes, and the commit writes 520 kB.

*Numbers.* A transaction takes the pages that it writes from lists of free pages, and writes the
rest of a list back, split over records whose keys are the numbers of earlier transactions. With few
such numbers the records are large, and every commit after a bulk load reads and writes megabytes of
them: 10 to 110 ms for a commit of one node at a million nodes, for some 200 commits. With one
number for each page of a list, only changed records are written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import lmdb

from ibidem.store.files import medium_error
from ibidem.store.lmdb.environment import DATA_FILE, storage_error

PAGE_BYTES = 8_192
FIRST_TRANSACTION = 512
"""Number of the first transaction. A page of a list holds 1,023 free pages of 8,192 bytes, so this
suffices for lists of up to 4 GB."""
_MAP_BYTES = 1 << 20
_KEY = b"number"
_MODE = 0o644
"""As LMDB creates its files, under the umask."""


_made: list[bytes] = []
"""The file that this process made first: it is the same for every store, so later ones are copies
of it, which take a fiftieth of the time."""


def number_transactions(path: Path) -> None:
    """Creates an LMDB file in the folder `path` whose next transaction has a number over
    `FIRST_TRANSACTION`.

    No other process may use the folder yet, because nothing is flushed until the end.

    Raises:
        StorageError: the disk fails.
    """
    try:
        if _made:
            _write(path / DATA_FILE, _made[0])
            return
        from ibidem.store.lmdb.pages import empty_file

        _write(path / DATA_FILE, empty_file(PAGE_BYTES, _MAP_BYTES))
        with lmdb.open(
            os.fsencode(path), map_size=_MAP_BYTES, max_dbs=4, sync=False, metasync=False
        ) as handle:
            _number(handle, handle.open_db(b"cells"))
            handle.sync(True)
        _made.append((path / DATA_FILE).read_bytes())
    except lmdb.Error as error:
        raise storage_error(path, error) from error
    except OSError as error:
        raise medium_error(path, error) from error


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _number(handle: Any, cells: Any) -> None:
    for _ in range(FIRST_TRANSACTION - handle.info()["last_txnid"]):
        with handle.begin(write=True, db=cells) as transaction:
            if not transaction.delete(_KEY):
                transaction.put(_KEY, b"")
    with handle.begin(write=True, db=cells) as transaction:
        transaction.delete(_KEY)
