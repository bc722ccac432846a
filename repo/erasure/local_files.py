"""All files of a repository outside its history: their contents, and what an erasure does to them.

This one table is used by an erasure, by the next open after an interrupted erasure, and by `repo
fsck`. The first row whose pattern matches a file applies; a file without a row is removed if it
quotes erased text, so that a missing row does not leave a copy. Every file should have a row
nevertheless: the tests list the folder after every feature was used.

No answer depends on a file that is removed here.

Spec: format 5.14.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
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
from ibidem.repo.erasure.substrings import Substrings
from ibidem.repo.maintenance.file_checks import blank, log_frames
from ibidem.repo.receipts.log import GENERATION_FILE, generation_in, make_folder
from ibidem.store.files import folder_lock, medium_error, read_file, write_file

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.erasure.find_copies import Copies


class Rule(StrEnum):
    """What an erasure does with a file."""

    STORE = "store"
    """Blocks: the store deletes them and overwrites their remains."""
    DERIVED = "derived"
    """All are removed except those built after the newest erasure."""
    RECEIPTS = "receipts"
    """Receipts that concern the nodes are overwritten."""
    VECTORS = "vectors"
    """The vectors of the nodes' texts are overwritten."""
    QUARANTINE = "quarantine"
    """Removed if the process that created them has ended; a running one removes its own."""
    QUOTING = "quoting"
    """A file that quotes the nodes is removed."""
    SETTINGS = "settings"
    """Settings made by a person are no copy of a node: they stay, and are reported if they quote
    one.
    """
    NO_WORDS = "no-words"
    """Cannot contain anything of a node."""


@record
class LocalFiles:
    """Some files in the folder of a repository."""

    pattern: str
    """An `fnmatch` pattern of the path in the folder: `*` also matches slashes."""
    holds: str
    rule: Rule


LOCAL_FILES = (
    LocalFiles("format", "the version of the layout", Rule.NO_WORDS),
    LocalFiles("blocks/*", "the blocks and cells of the store, and its locks", Rule.STORE),
    LocalFiles("copies/*", "blocks of a store elsewhere, which deletes them", Rule.STORE),
    LocalFiles("log/*", "where the blocks of a store elsewhere are", Rule.NO_WORDS),
    LocalFiles("index/*", "terms, vectors and properties of nodes", Rule.DERIVED),
    LocalFiles("reranks/*", "scores that rerankers gave, under digests of texts", Rule.DERIVED),
    LocalFiles("*/lock", "nothing", Rule.NO_WORDS),
    LocalFiles("receipts/generation", "a number", Rule.NO_WORDS),
    LocalFiles("receipts/log*", "receipts, with questions", Rule.RECEIPTS),
    LocalFiles("embeddings/*", "vectors, under digests of texts", Rule.VECTORS),
    LocalFiles(f"{PREFIX}*", "blocks from elsewhere that wait to be checked", Rule.QUARANTINE),
    LocalFiles("keys/*.key", "private keys, under their names", Rule.SETTINGS),
    LocalFiles("keys/trusted", "the keys that are trusted, and why not", Rule.SETTINGS),
    LocalFiles("local/remotes.json", "the addresses of remotes", Rule.SETTINGS),
    LocalFiles("local/settings.json", "local defaults of `repo config`", Rule.SETTINGS),
    LocalFiles("local/serve-token", "the token of a server", Rule.SETTINGS),
    LocalFiles("local/tokens.json", "hashes of tokens, with their viewers", Rule.SETTINGS),
    LocalFiles("local/reads.*", "who asked a server, without texts", Rule.QUOTING),
    LocalFiles("local/erasures", "the CID of the erasures known here", Rule.NO_WORDS),
    LocalFiles("local/key", "a random key", Rule.NO_WORDS),
    LocalFiles("local/last.json", "the last answer of each session", Rule.QUOTING),
    LocalFiles("local/stat-table", "paths, and digests of sources", Rule.QUOTING),
    LocalFiles("local/impressions.*", "which nodes were shown", Rule.QUOTING),
    LocalFiles("local/slow.*", "what took long", Rule.QUOTING),
)
UNLISTED = LocalFiles("*", "unknown", Rule.QUOTING)
RECEIPTS = "receipts"
_LOCKED = ("keys", "local", RECEIPTS)
"""Folders whose files are replaced under a lock, so that the file read is the file removed."""


def row_of(path: str) -> LocalFiles:
    """Returns the row of a file by its path in the folder, `UNLISTED` where it has none."""
    return next((row for row in LOCAL_FILES if fnmatchcase(path, row.pattern)), UNLISTED)


def purge(repository: Core, copies: Copies) -> None:
    """Removes erased data from every file outside the history.

    Raises:
        StorageError, OSError: a disk error.
    """
    folder = repository.folder
    repository.drop_derived()
    repository.search_index.sweep_shared()
    quotations = copies.quotations
    concerns = partial(_concerns, copies=copies, ids=Substrings(copies.cids), texts=quotations)
    if folder is not None:
        _sweep_derived(repository, folder)
        _blank_receipts(folder, concerns)
        sweep(folder)
        _remove_quoting(folder, quotations.is_any_in)
    repository.receipts.forget(lambda block: concerns(block, block))
    repository.vector_cache.discard(copies.digests)


def remove_derived(repository: Core) -> None:
    """Removes every file that may quote a node, because nobody can tell any more what was erased.

    Raises:
        StorageError, OSError: a disk error.
    """
    folder = repository.folder
    assert folder is not None, "BUG: files of a repository in memory"
    repository.drop_derived()
    _sweep_derived(repository, folder)
    _blank_receipts(folder, lambda data, block: True)
    sweep(folder)
    _remove_quoting(folder, lambda data: True)
    for path in _files(folder, Rule.VECTORS):
        path.unlink(missing_ok=True)


def remaining(repository: Core, copies: Copies) -> Iterator[str]:
    """Yields the names of files outside the history that an erasure still has to process."""
    folder, index = repository.folder, repository.search_index.folder
    assert folder is not None, "BUG: files of a repository in memory"
    quotations = copies.quotations
    for path, row in _rows(folder):
        if index is not None and path.is_relative_to(index):
            continue
        is_whole = row.rule in (Rule.DERIVED, Rule.QUARANTINE)
        if is_whole or row.rule in (Rule.RECEIPTS, Rule.QUOTING):
            with suppress(OSError):  # let go of meanwhile
                if is_whole or quotations.is_any_in(path.read_bytes()):
                    yield path.relative_to(folder).as_posix()


def settings_quoting(folder: Path, copies: Copies) -> list[str]:
    """Returns the names of settings files that quote the nodes and stay.

    Raises:
        StorageError: one of them cannot be read.
    """
    quotations = copies.quotations
    return [
        path.relative_to(folder).as_posix()
        for path in _files(folder, Rule.SETTINGS)
        if quotations.is_any_in(path.name.encode() + b"\0" + (read_file(path) or b""))
    ]


def unlisted(folder: Path) -> list[str]:
    """Returns the names of files that match no row."""
    return [path.relative_to(folder).as_posix() for path, row in _rows(folder) if row is UNLISTED]


def _sweep_derived(repository: Core, folder: Path) -> None:
    for row in LOCAL_FILES:
        if row.rule is Rule.DERIVED:
            sweep_index(folder / row.pattern.partition("/")[0], repository.search_index.folder)


def _concerns(
    data: bytes, block: bytes, *, copies: Copies, ids: Substrings, texts: Substrings
) -> bool:
    """Returns whether a receipt names one of the nodes or quotes their text.

    Args:
        data: the frame of the receipt.
        block: the receipt.
        copies: of the nodes.
        ids: theirs.
        texts: theirs, as `Copies.quotations`.
    """
    if ids.is_any_in(data):
        try:
            rows = codec.decode(block).get("items", ())
        except IbidemError:
            return True
        if any(row and row[0] in copies.cids for row in rows):
            return True
    return texts.is_any_in(data)


def _rows(folder: Path) -> Iterator[tuple[Path, LocalFiles]]:
    found = os.walk(folder, onerror=_check_gone)
    for path in sorted(Path(parent, name) for parent, _, names in found for name in names):
        with suppress(OSError):  # let go of meanwhile
            if path.is_file():
                yield path, row_of(path.relative_to(folder).as_posix())


def _check_gone(error: OSError) -> None:
    """Raises the error of a folder that cannot be listed, unless another process removed it."""
    if not isinstance(error, FileNotFoundError):
        raise medium_error(Path(error.filename), error) from error


def _files(folder: Path, rule: Rule) -> list[Path]:
    return [path for path, row in _rows(folder) if row.rule is rule]


def _blank_receipts(folder: Path, is_gone: Callable[[bytes, bytes], bool]) -> None:
    """Overwrites the chosen receipts, and all remains of an earlier attempt or a crash: a writer
    that truncated them would take the sign of this erasure away with them.

    Args:
        is_gone: takes the frame of a receipt, and the receipt.
    """
    make_folder(folder / RECEIPTS)
    with folder_lock(folder / RECEIPTS):  # prevents appending and rotation meanwhile
        path = folder / RECEIPTS / GENERATION_FILE
        logs = _files(folder, Rule.RECEIPTS)
        for log in logs:
            with log.open("ab") as file:
                file.write(b"\0")  # a writer that finds another size reads the generation again
        write_file(path, b"%d\n" % (generation_in(str(path)) + 1))
        for path in logs:
            data = path.read_bytes()
            spans = [
                (start, stop)
                for start, stop, block in log_frames(data)
                if block is None or is_gone(data[start:stop], block)
            ]
            if spans:
                blank(path, spans)


def _remove_quoting(folder: Path, is_gone: Callable[[bytes], bool]) -> None:
    with ExitStack() as locks:
        for name in _LOCKED:
            if (folder / name).is_dir():
                locks.enter_context(folder_lock(folder / name))
        for path in _files(folder, Rule.QUOTING):
            with suppress(FileNotFoundError):  # replaced or removed meanwhile
                if is_gone(path.read_bytes()):
                    path.unlink(missing_ok=True)
