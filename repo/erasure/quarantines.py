"""The folders in which received blocks wait to be checked, and their owners.

A process holds a lock in its folder as long as it lives. A folder whose lock is free was left by a
killed process, with everything it had received. It is removed when the next quarantine is created,
when the repository is opened, and by an erasure.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

from ibidem.objects.errors import StorageError
from ibidem.store.lock import writer_lock

PREFIX = "quarantine-"
_LOCK = "held"
_CLAIM, _CLAIM_SECONDS = "blocks/quarantine.lock", 30.0
"""Held while one folder is created and abandoned ones are removed."""


def claimed(parent: Path | None, held: ExitStack) -> Path:
    """Returns a new folder owned by this process. Before its lock is taken, it looks abandoned; a
    second lock covers that interval.

    Args:
        parent: the folder of the repository; None for the system's temporary folder.
        held: receives the lock.
    """
    import tempfile  # imports `random`, which opening does not need

    with ExitStack() as alone:
        if parent is not None:
            alone.enter_context(writer_lock(parent / _CLAIM, timeout_seconds=_CLAIM_SECONDS))
            _remove_abandoned(parent)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        held.enter_context(writer_lock(folder / _LOCK, timeout_seconds=0))
    return folder


def sweep(parent: Path) -> None:
    """Removes folders left by killed processes, unless another process is creating one."""
    if any(parent.glob(f"{PREFIX}*")):
        with suppress(StorageError), writer_lock(parent / _CLAIM, timeout_seconds=0):
            _remove_abandoned(parent)


def _remove_abandoned(parent: Path) -> None:
    import shutil  # imports every compression module

    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(StorageError), writer_lock(folder / _LOCK, timeout_seconds=0):
            shutil.rmtree(folder, ignore_errors=True)
