"""The writer lock: one writer at a time, across threads and processes; an error names the holder.

LMDB has a lock of its own, but waiting for it has no timeout and does not identify the holder. The
kernel releases this lock when its holder is killed; the pid in the file is used only in the error
message.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ibidem.objects.errors import ErrorKind, StorageError
from ibidem.objects.forking import on_fork

POLL_SECONDS_MIN = 0.0005
POLL_SECONDS_MAX = 0.01

if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int) -> None:
        """Locks a file without waiting, or raises `BlockingIOError` or `PermissionError`."""
        os.lseek(descriptor, 4096, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def unlock(descriptor: int) -> None:
        """Unlocks a file."""
        os.lseek(descriptor, 4096, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def try_lock(descriptor: int) -> None:
        """Locks a file without waiting, or raises `BlockingIOError` or `PermissionError`."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock(descriptor: int) -> None:
        """Unlocks a file."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


held: set[int] = set()
"""Descriptors of open lock files, which a forked child closes."""


@contextmanager
def writer_lock(path: Path, *, timeout_seconds: float) -> Iterator[None]:
    """Holds the lock in the file `path`, after waiting for it up to `timeout_seconds`.

    Raises:
        StorageError: kind `locked`, naming the process that holds it.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise _failed(path, error) from error
    held.add(descriptor)
    try:
        _wait(descriptor, path, timeout_seconds)
        try:
            _write_pid(descriptor)
            yield
        finally:
            unlock(descriptor)
    finally:
        held.discard(descriptor)
        os.close(descriptor)


def _wait(descriptor: int, path: Path, timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    pause = POLL_SECONDS_MIN
    while True:
        try:
            try_lock(descriptor)
        except (BlockingIOError, PermissionError) as error:
            if time.monotonic() >= deadline:
                raise StorageError(
                    f"{path}: process {_read_pid(descriptor)} is writing, "
                    f"waited {timeout_seconds} seconds",
                    kind=ErrorKind.LOCKED,
                    hint="wait for that process to end, or end it",
                ) from error
            time.sleep(pause)
            pause = min(2 * pause, POLL_SECONDS_MAX)
        except OSError as error:
            raise _failed(path, error) from error
        else:
            return


def _failed(path: Path, error: OSError) -> StorageError:
    failure = StorageError(f"{path}: the writer lock cannot be taken: {error.strerror}")
    failure.errno = error.errno
    return failure


def _write_pid(descriptor: int) -> None:
    # A full disk must not stop a writer whose transaction fits into free pages.
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid():<20}\n".encode("ascii"))
    except OSError:
        return


def _read_pid(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 21).decode("ascii", "replace").strip() or "unknown"


def _drop_after_fork() -> None:
    # Closing a copy does not unlock; an open copy would keep the lock of a parent that dies.
    for descriptor in held:
        os.close(descriptor)
    held.clear()


on_fork(in_child=_drop_after_fork)
