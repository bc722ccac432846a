"""Destroys what an erasure has named: derived files first, then the blocks, then their remains.

In this order, because the blocks say what to look for in the rest. Every step can be done again, by
several at once too: the mark that there is something to destroy goes when all that was erased by
then is destroyed, whoever erased it. So whatever fails or is killed in the middle, the mark stays,
and doing it all again finishes it. No step passes over an error: what was not destroyed would be
taken for destroyed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.errors import ErrorKind, IbidemError, StorageError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.erasure.find_copies import Copies, find_copies
from ibidem.repo.erasure.local_files import purge
from ibidem.repo.operation_log import RETRIES_MAX, lost_every_race
from ibidem.repo.state import ERASING_CELL, HEAD_CELL
from ibidem.store.files import medium_error
from ibidem.store.lock import writer_lock

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.state import State

_LOCK = "blocks/erasing.lock"


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


def finish_on_open(repository: Core) -> bool:
    """Destroys what an erasure that was cut short has left, unless another process is at it.

    Returns:
        False where that fails, as on a full or read-only medium. The repository opens all the
        same: the mark stays, and `fsck` says what can still be read.
    """
    try:
        with _lock(repository, is_needed=True):
            _finished(repository, None)
    except IbidemError as error:
        return error.kind is ErrorKind.LOCKED
    return True


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
    try:
        purge(repository, copies)
    except StorageError:
        raise
    except OSError as error:
        raise medium_error(repository.folder or Path(), error) from error
    store = repository.store
    store.delete(Cid(raw) for raw in repository.guard.erased().cids)
    store.scrub()
