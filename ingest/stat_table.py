"""The stat table of a working folder: what was last known of each file and of its document.

Reading 20,000 files to find that none has changed takes seconds; comparing their sizes and times
with those of the last reading takes a tenth of one. So the table keeps, for each file, the numbers
that change whenever its bytes do, and three digests of sources: of the file as it was read, of the
document in the graph at one root, and of the common base of both. Deleting the table costs time,
and the knowledge which of two different versions is the newer one.

A file that was changed at the very moment when it was read may keep its time. Therefore the numbers
of a file whose time is as new as the reading are not recorded, and the file is read again next
time, as git does with files that it calls racily clean.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from pathlib import Path
from typing import NamedTuple

from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.errors import IbidemError
from ibidem.objects.record import record
from ibidem.store.files import read_file, write_file

FILE = Path("local") / "stat-table"
VERSION = 1
DIGEST_BYTES = 32

ABSENT = bytes(DIGEST_BYTES)
"""Instead of a digest: there is no such source, or it was not read yet."""
FORGOTTEN = b"\1" * DIGEST_BYTES
"""Instead of the digest of a document: it has a tombstone."""
UNREADABLE = b"\2" * DIGEST_BYTES
"""Instead of the digest of a document: a part of it is missing, for example erased."""
REMOVED = b"\3" * DIGEST_BYTES
"""Instead of the digest of a base: the file and the document last had in common that neither was
there. If the document comes back, by an undo for example, its file counts as deleted."""

_WRAP = 1 << 64

Stat = tuple[int, int, int, int]
"""The numbers that change with the bytes of a file: size, mtime and ctime in ns, inode."""
UNKNOWN: Stat = (0, 0, 0, 0)
"""The numbers of no file, since a change time is never 0."""


class Row(NamedTuple):
    """What is known of one file and its document; digests are SHA-256."""

    stat: Stat = UNKNOWN
    file: bytes = ABSENT
    """Digest of the file when it had these numbers."""
    head: bytes = ABSENT
    """Digest of the source of the document at the root of the table."""
    base: bytes = ABSENT
    """Digest of the source that the file and the document last had in common."""
    reader: str = ""
    """What made the parts of the document from this source, or left the file out; "" for
    unknown."""


@record
class StatTable:
    """The rows by path, and the state of the graph that they describe."""

    root: RootCid
    commit: CommitCid | None
    rows: dict[str, Row]
    reasons: dict[str, str]
    """Why a file is left out, by path."""


def read_table(folder: Path) -> StatTable | None:
    """Returns the table of a repository, None if there is none that can be used."""
    try:
        data = read_file(folder / FILE)
        return None if data is None else _decoded(data)
    except (IbidemError, OSError, ValueError, KeyError, TypeError):
        return None  # as if it had been deleted


def write_table(folder: Path, table: StatTable) -> None:
    """Replaces the table.

    Raises:
        StorageError: the medium failed; the former table stays.
    """
    rows = table.rows.values()
    stats = array("Q", [number for row in rows for number in row.stat])
    digests = b"".join([row.file + row.head + row.base for row in rows])
    readers = {row.reader: None for row in rows}
    numbers = {reader: number for number, reader in enumerate(readers)}
    read_by = array("H", [numbers[row.reader] for row in rows])
    head = {
        "v": VERSION,
        "root": str(table.root),
        "commit": None if table.commit is None else str(table.commit),
        "paths": list(table.rows),
        "reasons": table.reasons,
        "readers": list(readers),
    }
    text = json.dumps(head, ensure_ascii=False).encode("utf-8") + b"\n"
    body = text + stats.tobytes() + digests + read_by.tobytes()
    (folder / FILE).parent.mkdir(exist_ok=True)
    write_file(folder / FILE, (_checksum(body), body), is_durable=False)


def stat_of(found: os.stat_result) -> Stat:
    """Returns the numbers of a file."""
    times = found.st_mtime_ns % _WRAP, found.st_ctime_ns % _WRAP  # before 1970, they are negative
    return found.st_size, *times, found.st_ino


def settled_stat(stat: Stat, started_ns: int) -> Stat:
    """Returns the numbers to record for a file that was read after `started_ns`; `UNKNOWN` if its
    time is as new, so that a later change might not show in them."""
    return stat if max(stat[1], stat[2]) < started_ns else UNKNOWN


def _decoded(data: bytes) -> StatTable | None:
    """Returns the table in the bytes of its file; None if a power cut or another version made
    them."""
    checksum, body = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    if checksum != _checksum(body):
        return None
    line, _, columns = body.partition(b"\n")
    head = json.loads(line)
    paths, root, commit = head["paths"], head["root"], head["commit"]
    width = DIGEST_BYTES
    stats_stop = 4 * 8 * len(paths)
    digests_stop = stats_stop + 3 * width * len(paths)
    if head["v"] != VERSION or len(columns) != digests_stop + 2 * len(paths):
        return None
    every = iter(array("Q", columns[:stats_stop]))
    digests = [
        [columns[at : at + width] for at in range(first, digests_stop, 3 * width)]
        for first in range(stats_stop, stats_stop + 3 * width, width)
    ]
    readers = [head["readers"][number] for number in array("H", columns[digests_stop:])]
    stats = zip(every, every, every, every, strict=True)
    rows = dict(zip(paths, map(Row, stats, *digests, readers), strict=True))
    return StatTable(
        RootCid.parse(root),
        None if commit is None else CommitCid.parse(commit),
        rows,
        head["reasons"],
    )


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()
