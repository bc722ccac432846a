"""Files beside the store: written whole or not at all, and changed under a lock.

A file is built under a name of its own, which no other writer has, and gets its real name in one
step; whoever reads finds the old bytes or the new ones. What is durable is so in the strict sense
of POSIX: the bytes are synced before the rename, and the folder after it, since a rename alone may
be undone by a power cut. Where a step fails, the temporary file is removed and the error is ours.

What is read, changed and replaced is held under the lock of its folder meanwhile, or two writers
would each put back what the other has changed. The lock is the file `lock` in the folder; the
kernel takes it from a process that dies.
"""

from __future__ import annotations

import errno
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ibidem.objects.errors import InvalidInputError, StorageError
from ibidem.store.lock import writer_lock

LOCK_FILE = "lock"
_LOCK_SECONDS = 30.0
_NAME_CHARACTERS = 40
"""Of a file's name in that of its temporary file: file systems allow 255 bytes in all."""
_NO_SYNC = (errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP)
_drafts = itertools.count()


@contextmanager
def whole_file(
    path: Path, *, mode: int = 0o666, is_durable: bool = True, is_new: bool = False
) -> Iterator[BinaryIO]:
    """Yields a file that gets the name `path` when the block has ended without an error.

    Args:
        path: in a folder that exists.
        mode: permissions, less those that the umask takes away; the file has them from the start.
        is_durable: whether it survives a power cut once the block has ended. Otherwise a power cut
            may leave anything under the name, so its reader must check what it finds.
        is_new: whether a file that has the name is an error; otherwise it is replaced.

    Raises:
        InvalidInputError: `is_new`, and something has the name.
        StorageError: the medium refused. Nothing was changed, unless the last sync of the folder
            failed: then a file that replaced another one stays, and may not survive a power cut.
    """
    draft: Path | None = None
    try:
        if is_new and os.path.lexists(path):
            raise _taken(path)
        draft, descriptor = _draft(path, mode)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if is_durable:
                os.fsync(descriptor)
        if is_new:
            _name_new(draft, path, is_durable=is_durable)
        else:
            draft.replace(path)
            if is_durable:
                sync_folder(path.parent)
    except OSError as error:
        # An error of ours that passes through is an OSError too where it is one of the medium.
        if isinstance(error, StorageError):
            raise
        raise medium_error(path, error) from error
    finally:
        if draft is not None:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def write_file(
    path: Path,
    data: bytes | Iterable[bytes | memoryview],
    *,
    mode: int = 0o666,
    is_durable: bool = True,
) -> None:
    """Writes bytes, or pieces of them, as `whole_file` does; raises as it does."""
    with whole_file(path, mode=mode, is_durable=is_durable) as file:
        for piece in (data,) if isinstance(data, bytes) else data:
            file.write(piece)


def read_file(path: Path) -> bytes | None:
    """Returns the bytes of a file, None if there is none.

    Raises:
        StorageError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise medium_error(path, error) from error


def change_file(
    path: Path,
    change: Callable[[bytes | None], bytes],
    *,
    mode: int = 0o666,
    folder_mode: int = 0o777,
) -> None:
    """Replaces a file by what `change` makes of it, while nobody else changes it.

    Durable on return. Where `change` raises, or the medium refuses, the file is what it was.

    Args:
        path: its folder is made where it is missing, the one above it must exist.
        change: gets the bytes of the file, None if there is none, and returns the new ones; it
            must not change a file of the same folder by this function.
        mode: permissions of the file; those of a folder that is made are `folder_mode`.

    Raises:
        StorageError: the medium refused; or, of kind `locked`, another process has the lock.
    """
    with folder_lock(path.parent, mode=folder_mode):
        before = read_file(path)
        after = change(before)
        try:
            write_file(path, after, mode=mode)
        except StorageError:
            _put_back(path, before, mode)
            raise


def append_whole(descriptor: int, data: bytes, *, size_bytes: int) -> None:
    """Appends to an open file, whole or not at all, for a caller that alone writes to it.

    Args:
        descriptor: open to append.
        size_bytes: of the file before; it has that size again where an `OSError` is raised.
    """
    try:
        done = os.write(descriptor, data)
        while done < len(data):
            done += os.write(descriptor, data[done:])
    except BaseException:
        os.ftruncate(descriptor, size_bytes)
        raise


@contextmanager
def folder_lock(folder: Path, *, mode: int = 0o777) -> Iterator[None]:
    """Holds the lock of a folder, which is made where it is missing.

    Raises:
        StorageError: kind `locked` where another process holds it; or the medium refused.
    """
    lock = folder / LOCK_FILE
    try:
        if not lock.exists():
            folder.mkdir(mode, exist_ok=True)
            # Also where the folder is there: who made it may have died before this.
            sync_folder(folder.parent)
    except OSError as error:
        raise medium_error(folder, error) from error
    with writer_lock(lock, timeout_seconds=_LOCK_SECONDS):
        yield


@contextmanager
def built_whole(target: Path) -> Iterator[Path]:
    """Yields a folder to build in, which becomes `target` when all went well and vanishes if not.

    Raises:
        InvalidInputError: `target` exists and is not an empty folder.
        StorageError: the disk refuses.
    """
    building = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        _make_folder(building)
        yield building
        for folder in (*(path for path in building.rglob("*") if path.is_dir()), building):
            sync_folder(folder)
        _place(building, target)
    except BaseException as error:
        import shutil  # brings every compressor along

        shutil.rmtree(building, ignore_errors=True)
        if isinstance(error, StorageError) or not isinstance(error, OSError):
            raise
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR) and target.exists():
            raise InvalidInputError(f"path: {target} exists, expected a new folder") from error
        raise medium_error(target, error) from error


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable, where the system can do that."""
    if os.name == "nt":
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        # Some file systems refuse any sync of a folder, and some folders may be written, not read.
        if error.errno not in _NO_SYNC:
            raise


def medium_error(path: Path, error: OSError) -> StorageError:
    """Returns our error for one of the system's, with its `errno`."""
    is_missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    failure = StorageError(
        f"{path}: {error.strerror or error}",
        hint="check the path" if is_missing else "check the disk's space and permissions",
    )
    failure.errno = error.errno
    return failure


def _draft(path: Path, mode: int) -> tuple[Path, int]:
    """Opens a new file beside `path`; a name that another process left behind is passed over."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        name = f".{path.name[:_NAME_CHARACTERS]}.{os.getpid()}.{next(_drafts)}"
        draft = path.with_name(name)
        with suppress(FileExistsError):
            return draft, os.open(draft, flags, mode)


def _name_new(draft: Path, path: Path, *, is_durable: bool) -> None:
    # A link, unlike a rename, never replaces what somebody else put there meanwhile.
    try:
        os.link(draft, path)
    except FileExistsError as error:
        raise _taken(path) from error
    try:
        draft.unlink()
        if is_durable:
            sync_folder(path.parent)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _taken(path: Path) -> InvalidInputError:
    return InvalidInputError(f"file: {path} exists, expected the name of a new file")


def _put_back(path: Path, before: bytes | None, mode: int) -> None:
    """Restores a file whose replacement got its name although it was refused in the end."""
    with suppress(OSError):
        if before is None:
            path.unlink(missing_ok=True)
        elif path.read_bytes() != before:
            write_file(path, before, mode=mode)


def _make_folder(path: Path) -> None:
    """Makes a folder with those above it, each of them durable but the last."""
    missing = [folder for folder in path.parents if not folder.exists()]
    path.mkdir(parents=True)
    for folder in missing:
        sync_folder(folder.parent)


def _place(building: Path, target: Path) -> None:
    """Gives a folder its name, durably; where that fails, the name is free again."""
    building.replace(target)
    try:
        sync_folder(target.parent)
    except OSError:
        # Nobody was told yet that it is there.
        target.replace(building)
        raise
