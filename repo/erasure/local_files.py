"""Every file of a repository beside its history: what it holds, and what an erasure does to it.

This one table is what an erasure walks, the next open after one that was cut short, and `repo
fsck`. The first row whose pattern has a file decides; a file without a row is removed where it
quotes what was erased, so that a forgotten row keeps no secret. A row is wanted all the same, and
the tests list the folder after every feature was used.

No answer depends on a file that is removed here.

Spec: format 5.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.errors import IbidemError
from ibidem.objects.record import record
from ibidem.repo.erasure.guard import sweep_index
from ibidem.repo.erasure.quarantines import PREFIX, sweep
from ibidem.repo.maintenance.file_checks import blank, log_frames
from ibidem.store.files import folder_lock, read_file

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.erasure.find_copies import Copies


class Rule(StrEnum):
    """What an erasure does to files."""

    STORE = "store"
    """Blocks: the store deletes them and overwrites what is left of them."""
    DERIVED = "derived"
    """All of them are removed, but what was made after the newest erasure."""
    RECEIPTS = "receipts"
    """The receipts in them that concern the nodes are overwritten."""
    VECTORS = "vectors"
    """The vectors of the nodes' texts are overwritten."""
    QUARANTINE = "quarantine"
    """Removed where the process that made them is gone; a live one removes its own."""
    QUOTING = "quoting"
    """A file that quotes the nodes is removed."""
    SETTINGS = "settings"
    """What somebody set is no copy of a node: it stays, and is named where it quotes them."""
    NO_WORDS = "no-words"
    """Nothing of a node can be in them."""


@record
class LocalFiles:
    """Some files in the folder of a repository."""

    pattern: str
    """Of the path in the folder, as `fnmatch` takes it: `*` has slashes too."""
    holds: str
    rule: Rule


LOCAL_FILES = (
    LocalFiles("format", "the version of the layout", Rule.NO_WORDS),
    LocalFiles("blocks/*", "the blocks and cells of the store, and its locks", Rule.STORE),
    LocalFiles("index/*", "terms, vectors and properties of nodes", Rule.DERIVED),
    LocalFiles("reranks/*", "scores that rerankers gave, under digests of texts", Rule.DERIVED),
    LocalFiles("*/lock", "nothing", Rule.NO_WORDS),
    LocalFiles("receipts/log*", "receipts, with questions", Rule.RECEIPTS),
    LocalFiles("embeddings/*", "vectors, under digests of texts", Rule.VECTORS),
    LocalFiles(f"{PREFIX}*", "blocks from elsewhere that wait to be checked", Rule.QUARANTINE),
    LocalFiles("keys/*.key", "private keys, under their names", Rule.SETTINGS),
    LocalFiles("keys/trusted", "the keys that are trusted, and why not", Rule.SETTINGS),
    LocalFiles("local/remotes.json", "the addresses of remotes", Rule.SETTINGS),
    LocalFiles("local/serve-token", "the token of a server", Rule.SETTINGS),
    LocalFiles("local/key", "a random key", Rule.NO_WORDS),
    LocalFiles("local/last.json", "the last answer of each session", Rule.QUOTING),
    LocalFiles("local/impressions.*", "which nodes were shown", Rule.QUOTING),
    LocalFiles("local/slow.*", "what took long", Rule.QUOTING),
)
UNLISTED = LocalFiles("*", "unknown", Rule.QUOTING)
RECEIPTS = "receipts"
_LOCKED = ("keys", "local", RECEIPTS)
"""Folders whose files are replaced under a lock: what is read is what is removed."""


def row_of(path: str) -> LocalFiles:
    """Returns the row of a file by its path in the folder, `UNLISTED` where it has none."""
    return next((row for row in LOCAL_FILES if fnmatchcase(path, row.pattern)), UNLISTED)


def purge(repository: Core, copies: Copies) -> None:
    """Takes what was erased out of every file beside the history.

    Raises:
        StorageError, OSError: the medium refuses.
    """
    folder = repository.folder
    repository.drop_index()
    if folder is not None:
        for row in LOCAL_FILES:
            if row.rule is Rule.DERIVED:
                sweep_index(folder / row.pattern.partition("/")[0], repository.index_folder)
        _blank_receipts(folder, copies)
        sweep(folder)
        _remove_quoting(folder, copies)
    repository.receipts.forget(lambda block: _concerns(block, copies))
    repository.vector_cache.discard(copies.digests)


def remaining(repository: Core, copies: Copies) -> Iterator[str]:
    """Yields the files beside the history that an erasure has still to look after, by name."""
    folder, index = repository.folder, repository.index_folder
    assert folder is not None, "BUG: files of a repository in memory"
    quotations = copies.quotations
    for path, row in _rows(folder):
        if index is not None and path.is_relative_to(index):
            continue
        is_whole = row.rule in (Rule.DERIVED, Rule.QUARANTINE)
        if is_whole or row.rule in (Rule.RECEIPTS, Rule.QUOTING):
            with suppress(OSError):  # let go of meanwhile
                if is_whole or _quotes(path.read_bytes(), quotations):
                    yield path.relative_to(folder).as_posix()


def settings_quoting(folder: Path, copies: Copies) -> list[str]:
    """Returns the settings that quote the nodes and stay, by name of the file.

    Raises:
        StorageError: one of them cannot be read.
    """
    quotations = copies.quotations
    return [
        path.relative_to(folder).as_posix()
        for path in _files(folder, Rule.SETTINGS)
        if _quotes(path.name.encode() + b"\0" + (read_file(path) or b""), quotations)
    ]


def unlisted(folder: Path) -> list[str]:
    """Returns the files that are in no row, by name."""
    return [path.relative_to(folder).as_posix() for path, row in _rows(folder) if row is UNLISTED]


def _concerns(block: bytes, copies: Copies) -> bool:
    """Tells whether a receipt names one of the nodes or says what they said."""
    if any(raw in block for raw in copies.cids):
        try:
            rows = codec.decode(block).get("items", ())
        except IbidemError:
            return True
        if any(row and row[0] in copies.cids for row in rows):
            return True
    return _quotes(block, copies.quotations)


def _rows(folder: Path) -> Iterator[tuple[Path, LocalFiles]]:
    for path in sorted(folder.rglob("*")):
        with suppress(OSError):  # let go of meanwhile
            if path.is_file():
                yield path, row_of(path.relative_to(folder).as_posix())


def _files(folder: Path, rule: Rule) -> list[Path]:
    return [path for path, row in _rows(folder) if row.rule is rule]


def _blank_receipts(folder: Path, copies: Copies) -> None:
    """Overwrites the receipts that concern the nodes, and what an earlier attempt, or a crash, has
    left of such receipts."""
    if not (folder / RECEIPTS).is_dir():
        return
    needles = (*copies.cids, *copies.quotations)
    concerned = partial(_concerns, copies=copies)
    with folder_lock(folder / RECEIPTS):  # no log takes the place of the older one meanwhile
        for path in _files(folder, Rule.RECEIPTS):
            data = path.read_bytes()
            spans = [
                (start, stop)
                for start, stop, block in log_frames(data)
                if (_quotes(data[start:stop], needles) if block is None else concerned(block))
            ]
            if spans:
                blank(path, spans)


def _remove_quoting(folder: Path, copies: Copies) -> None:
    quotations = copies.quotations
    with ExitStack() as locks:
        for name in _LOCKED:
            if (folder / name).is_dir():
                locks.enter_context(folder_lock(folder / name))
        for path in _files(folder, Rule.QUOTING):
            with suppress(FileNotFoundError):  # replaced meanwhile, or let go of
                if _quotes(path.read_bytes(), quotations):
                    path.unlink(missing_ok=True)


def _quotes(data: bytes, quotations: Iterable[bytes]) -> bool:
    return any(text in data for text in quotations)
