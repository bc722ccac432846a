"""Destroys what an erasure names: derived files first, then the blocks, then remains of deleted
blocks.

The order matters, because the blocks are needed to find copies in the other files. Every step can
be repeated, also by several processes at once: the `erasing` cell is removed only when everything
erased by then has been destroyed, by whichever process. After a failure or a crash the cell is
still set, and repeating all steps completes the erasure. No step ignores an error, because data
that still exists would be taken for destroyed.
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
from ibidem.repo.maintenance.garbage import Marks, delete_garbage
from ibidem.repo.operation_log import RETRIES_MAX, lost_every_race
from ibidem.repo.state import ERASING_CELL, HEAD_CELL
from ibidem.store.files import medium_error
from ibidem.store.lock import writer_lock
from ibidem.store.protocol import PARTIAL_CELL, SupportsLocalCopies

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.state import State

_LOCK = "blocks/erasing.lock"


@record
class Known:
    """What is left to destroy if exactly these erasures are in the view."""

    copies: Copies
    erasures: TreeCid


def finish(repository: Core, known: Known | None = None) -> bool:
    """Destroys what is erased and still here; returns whether there was anything to do.

    Args:
        repository: its newest view names what is erased.
        known: what is left to destroy, if the caller knows it.

    Raises:
        StorageError: a disk error, or a reader of an old state does not finish.
    """
    if repository.store.cell(ERASING_CELL) is None:
        return False
    with _lock(repository, is_needed=False):
        return _finished(repository, known)


def finish_on_open(repository: Core) -> bool:
    """Completes an interrupted erasure, unless another process is doing so.

    Returns:
        False if that fails, for example on a full or read-only medium. The repository opens
            nevertheless: the `erasing` cell stays, and `fsck` reports what can still be read.
    """
    try:
        with _lock(repository, is_needed=True):
            _finished(repository, None)
    except IbidemError as error:
        return error.kind is ErrorKind.LOCKED
    return True


@contextmanager
def _lock(repository: Core, *, is_needed: bool) -> Iterator[None]:
    """Holds the lock of the process that destroys erased data.

    Args:
        is_needed: raises if another process holds the lock. Otherwise both continue, which is safe.

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
    """Removes the `erasing` cell unless more than `done` was erased; returns whether it is gone."""

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
    erased = [Cid(raw) for raw in repository.guard.erased().cids]
    store.delete(erased)
    if isinstance(store, SupportsLocalCopies):
        store.forget_copies(erased)  # also those that another machine has deleted before
    store.scrub()
    if store.cell(PARTIAL_CELL) is not None:
        # Of what was put in part there may be content and vectors without their nodes.
        delete_garbage(Marks(store))
        store.scrub()
