"""The folders in which blocks from elsewhere wait to be checked, and who has them.

A process holds a lock in its folder as long as it lives. A folder whose lock is free was left by
one that was killed, with whatever it was sent; it is removed when the next one is made, when the
repository is opened, and by an erasure.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

from ibidem.objects.errors import StorageError
from ibidem.store.lock import writer_lock

PREFIX = "quarantine-"
_LOCK = "held"
_CLAIM, _CLAIM_SECONDS = "blocks/quarantine.lock", 30.0
"""Held while one folder is made and what others have left is removed."""


def claimed(parent: Path | None, held: ExitStack) -> Path:
    """Returns a new folder that is ours: between the making of one and the taking of its lock, it
    looks like one that nobody has.

    Args:
        parent: the folder of the repository; None for the system's.
        held: gets the lock.
    """
    import tempfile  # brings randomness along, for an opening that needs none

    with ExitStack() as alone:
        if parent is not None:
            alone.enter_context(writer_lock(parent / _CLAIM, timeout_seconds=_CLAIM_SECONDS))
            _remove_abandoned(parent)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        held.enter_context(writer_lock(folder / _LOCK, timeout_seconds=0))
    return folder


def sweep(parent: Path) -> None:
    """Removes what killed processes have left, unless one that makes a folder is at it."""
    if any(parent.glob(f"{PREFIX}*")):
        with suppress(StorageError), writer_lock(parent / _CLAIM, timeout_seconds=0):
            _remove_abandoned(parent)


def _remove_abandoned(parent: Path) -> None:
    import shutil  # brings every compressor along

    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(StorageError), writer_lock(folder / _LOCK, timeout_seconds=0):
            shutil.rmtree(folder, ignore_errors=True)
