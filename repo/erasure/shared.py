"""Erasures that another machine carried out: this one follows at its next opening.

A repository in a bucket or a database is opened on many machines, and each has files of its own. An
erasure reaches them at the next opening, before anything is read. The erased text is gone by then,
so that nobody can tell which of these files quote it: all that could are removed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid
from ibidem.objects.tree import EMPTY_TREE
from ibidem.repo.erasure.guard import read_erased
from ibidem.repo.erasure.local_files import remove_derived
from ibidem.store.files import folder_lock, medium_error, read_file, write_file
from ibidem.store.protocol import SupportsLocalCopies

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.state import State

_FILE = Path("local") / "erasures"
"""The CID of the erasures that the files here follow."""


def catch_up(repository: Core, state: State) -> None:
    """Removes what this machine derived before an erasure that it does not know of.

    Args:
        state: the newest.

    Raises:
        StorageError: a disk error; the repository must not be read here.
    """
    folder = repository.folder
    assert folder is not None, "BUG: a shared repository without local files"
    erasures = state.view.erasures
    known = read_file(folder / _FILE)
    if known == erasures.raw or (known is None and erasures == EMPTY_TREE):
        return
    store = repository.store
    try:
        remove_derived(repository)
        if isinstance(store, SupportsLocalCopies):
            store.forget_copies(Cid(raw) for raw in read_erased(store, erasures).cids)
        note(folder, erasures.raw)
    except OSError as error:
        raise medium_error(folder, error) from error


def note(folder: Path, erasures: bytes) -> None:
    """Records the erasures that the files here follow."""
    # Another process that follows them removes what it does not know, such as a draft of this file.
    with folder_lock(folder / _FILE.parent):
        write_file(folder / _FILE, erasures)
