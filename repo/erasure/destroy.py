"""Destroys what an erasure has named: derived files first, then the blocks, then their remains.

In this order, because the blocks say what to look for in the rest. Every step can be done again, by
several at once too: the mark that there is something to destroy goes when all that was erased by
then is destroyed, whoever erased it. So whatever fails or is killed in the middle, the mark stays,
and doing it all again finishes it. No step passes over an error: what was not destroyed would be
taken for destroyed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.errors import IbidemError, StorageError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.erasure.find_copies import Copies, find_copies
from ibidem.repo.erasure.guard import sweep_index
from ibidem.repo.maintenance.file_checks import blank, log_frames
from ibidem.repo.operation_log import RETRIES_MAX, lost_every_race
from ibidem.repo.state import ERASING_CELL, HEAD_CELL
from ibidem.store.files import LOCK_FILE, folder_lock, medium_error, read_file
from ibidem.store.lock import writer_lock

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.state import State

_LOCK = "blocks/erasing.lock"
_LOCAL = "local"
_SETTINGS = ("remotes.json", "serve-token")
"""Files in that folder that say what a user has set."""


@record
class Known:
    """What is left to destroy where all of these erasures, and no others, are in the view."""

    copies: Copies
    erasures: TreeCid


def finish(repository: Core, known: Known | None = None) -> bool:
    """Destroys what is erased and still here; tells whether there was anything to do.

    Args:
        repository: whose newest view names what is erased.
        known: what is left to destroy, where the caller knows.

    Raises:
        StorageError: the disk refuses, or a reader of an old state does not end.
    """
    if repository.store.cell(ERASING_CELL) is None:
        return False
    with _lock(repository, is_needed=False):
        return _finished(repository, known)


def finish_on_open(repository: Core) -> None:
    """Destroys what an erasure that was cut short has left, unless another process is at it.

    Where that fails, as on a full or read-only medium, the repository opens all the same: the
    mark stays, and `fsck` says what can still be read.
    """
    with suppress(IbidemError), _lock(repository, is_needed=True):
        _finished(repository, None)


@contextmanager
def _lock(repository: Core, *, is_needed: bool) -> Iterator[None]:
    """Holds the lock that says that somebody is destroying what is erased.

    Args:
        is_needed: raises where another process holds it. Otherwise both go on, which is safe.

    Raises:
        StorageError: kind `locked`.
    """
    with ExitStack() as stack:
        if repository.folder is not None:
            try:
                stack.enter_context(writer_lock(repository.folder / _LOCK, timeout_seconds=0))
            except StorageError:
                if is_needed:
                    raise
        yield


def _finished(repository: Core, known: Known | None) -> bool:
    for _ in range(RETRIES_MAX):
        erasures = repository.view.erasures
        if known is None or known.erasures != erasures:
            known = Known(_all_traces(repository), erasures)
        _destroy(repository, known.copies)
        if _is_closed(repository, erasures):
            return True
    raise lost_every_race()


def _all_traces(repository: Core) -> Copies:
    ids = {NodeId(raw) for raw in repository.guard.erased().nodes}
    if not ids:
        return Copies()
    return find_copies(repository.store, ids, repository.graph().config.fields)


def _is_closed(repository: Core, done: TreeCid) -> bool:
    """Takes the mark away where no more was erased than is `done`; tells whether it is gone."""

    def attempt(state: State) -> bool:
        head, pending = state.cid.raw, state.cells.get(ERASING_CELL)
        if pending is None:
            return True
        if state.view.erasures != done:
            return False
        repository.store.publish({}, {HEAD_CELL: (head, head), ERASING_CELL: (pending, None)})
        return True

    return repository.operation_log.retry(attempt)


def _destroy(repository: Core, copies: Copies) -> None:
    store, folder = repository.store, repository.folder
    repository.drop_index()
    try:
        if folder is not None:
            sweep_index(folder / "index", repository.index_folder)
            _blank_receipts(folder / "receipts", copies)
            _sweep_rest(folder, copies)
        repository.receipts.forget(lambda block: _concerns(block, copies))
        repository.vector_cache.discard(copies.digests)
    except StorageError:
        raise
    except OSError as error:
        raise medium_error(folder or Path(), error) from error
    store.delete(Cid(raw) for raw in repository.guard.erased().cids)
    store.scrub()


def config_quoting(folder: Path, copies: Copies) -> list[str]:
    """Returns the files of settings beside the history that quote the nodes, by name: what a user
    wrote there is no copy of a node, and stays.

    Raises:
        StorageError: one of them cannot be read.
    """
    paths = (folder / _LOCAL / name for name in _SETTINGS)
    return [
        path.relative_to(folder).as_posix()
        for path in paths
        if any(text in (read_file(path) or b"") for text in copies.quotations)
    ]


def _sweep_rest(folder: Path, copies: Copies) -> None:
    """Removes files beside the history that quote the nodes: no answer depends on one."""
    _sweep(folder / "cache", copies)
    if (folder / _LOCAL).is_dir():
        with folder_lock(folder / _LOCAL):  # what is read is what is removed
            _sweep(folder / _LOCAL, copies, stay={LOCK_FILE, *_SETTINGS})


def _sweep(folder: Path, copies: Copies, *, stay: Collection[str] = ()) -> None:
    for path in folder.rglob("*"):
        if path.parent == folder and path.name in stay:
            continue
        with suppress(FileNotFoundError):  # replaced meanwhile, or let go of
            data = path.read_bytes() if path.is_file() else b""
            if any(text in data for text in copies.quotations):
                path.unlink(missing_ok=True)


def _blank_receipts(folder: Path, copies: Copies) -> None:
    """Overwrites the receipts that concern the nodes, and what an earlier attempt, or a crash, has
    left of such receipts."""
    if not folder.is_dir():
        return
    with folder_lock(folder):  # no log takes the place of the older one meanwhile
        for path in folder.glob("log*"):
            data = path.read_bytes()
            spans = [
                (start, stop)
                for start, stop, block in log_frames(data)
                if (
                    _quotes(data[start:stop], copies) if block is None else _concerns(block, copies)
                )
            ]
            if spans:
                blank(path, spans)


def _concerns(block: bytes, copies: Copies) -> bool:
    """Tells whether a receipt names one of the nodes or says what they said."""
    if any(raw in block for raw in copies.cids):
        try:
            rows = codec.decode(block).get("items", ())
        except IbidemError:
            return True
        if any(row and row[0] in copies.cids for row in rows):
            return True
    return any(text in block for text in copies.quotations)


def _quotes(part: bytes, copies: Copies) -> bool:
    """Tells whether a part of a log that is no receipt any more has a trace of the nodes."""
    return any(text in part for text in (*copies.cids, *copies.quotations))
