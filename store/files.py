"""Files next to the store: written atomically, and changed under a lock.

A file is written under a temporary name that no other writer uses, and gets its real name in one
step; readers find the old bytes or the new ones. Durable means durable in the strict sense of
POSIX: the bytes are synced before the rename, and the folder after it, since a power cut may undo a
rename alone. If a step fails, the temporary file is removed and an error of this library is raised.
A killed process leaves its temporary file behind; the next one that durably writes a file of the
same name removes it, and so does a collection of garbage.

Reading, changing and replacing a file happens under the lock of its folder; otherwise two writers
could undo each other's changes. The lock is the file `lock` in the folder; the kernel releases it
when a process dies.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ibidem.objects.errors import InvalidInputError, StorageError
from ibidem.store.lock import held, try_lock, writer_lock

LOCK_FILE = "lock"
_LOCK_SECONDS = 30.0
_NAME_CHARACTERS = 40
"""Number of characters of a file's name that its temporary name contains: file systems allow 255
bytes in total."""
_NO_SYNC = (errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP)
_drafts = itertools.count()


@contextmanager
def whole_file(
    path: Path, *, mode: int = 0o666, is_durable: bool = True, is_new: bool = False
) -> Iterator[BinaryIO]:
    """Yields a file that gets the name `path` when the `with` block ends without an error.

    Args:
        path: the final name, in a folder that exists.
        mode: permissions, reduced by the umask; the file has them from the start.
        is_durable: whether it survives a power cut once the block has ended. Otherwise a power cut
            may leave any bytes under the name, so readers must check them.
        is_new: whether an existing file of that name is an error; otherwise it is replaced.

    Raises:
        InvalidInputError: `is_new` is set, and the name exists.
        StorageError: the medium failed. Nothing was changed, unless the last sync of the folder
            failed: then a file that replaced another one stays, and may not survive a power cut.
    """
    draft: Path | None = None
    with ExitStack() as owned:
        try:
            if is_new and os.path.lexists(path):
                raise _taken(path)
            if is_durable:
                remove_stale(path.parent, path.name)
            draft, descriptor = _draft(path, mode, owned)
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
            # A StorageError is also an OSError: one that passes through is not wrapped again.
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
    """Writes bytes, or an iterable of pieces, as `whole_file` does; raises the same errors."""
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
    """Replaces the content of a file by the result of `change`, under the lock of its folder.

    Durable on return. If `change` raises or the medium fails, the file is unchanged.

    Args:
        path: the file; its folder is created if it is missing, but the folder above must exist.
        change: takes the bytes of the file, None if there is none, and returns the new ones; it
            must not use this function to change a file of the same folder.
        mode: permissions of the file.
        folder_mode: permissions of the folder, if it is created.

    Raises:
        StorageError: the medium failed; kind `locked`: another process holds the lock.
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
    """Appends to an open file atomically, provided that the caller is its only writer.

    Args:
        descriptor: a file that is open for appending.
        size_bytes: size of the file before the call, which is restored if an `OSError` is raised.
    """
    try:
        done = os.write(descriptor, data)
        while done < len(data):
            done += os.write(descriptor, data[done:])
    except BaseException:
        os.ftruncate(descriptor, size_bytes)
        raise


@contextmanager
def folder_lock(
    folder: Path, *, mode: int = 0o777, wait_seconds: float = _LOCK_SECONDS
) -> Iterator[None]:
    """Holds the lock of a folder, which is created if it is missing.

    Args:
        folder: in a folder that exists.
        mode: its permissions, if it is created.
        wait_seconds: how long another process may hold the lock.

    Raises:
        StorageError: kind `locked` if another process holds it; or the medium failed.
    """
    lock = folder / LOCK_FILE
    try:
        if not lock.exists():
            folder.mkdir(mode, exist_ok=True)
            # Also if the folder exists: its creator may have died before this sync.
            sync_folder(folder.parent)
    except OSError as error:
        raise medium_error(folder, error) from error
    with writer_lock(lock, timeout_seconds=wait_seconds):
        yield


@contextmanager
def built_whole(target: Path) -> Iterator[Path]:
    """Yields a temporary folder, which is renamed to `target` on success and removed on an error.

    A killed process leaves its folder behind; the next one that builds the same target removes it.

    Raises:
        InvalidInputError: `target` exists and is not an empty folder.
        StorageError: the disk fails.
    """
    remove_stale(target.parent, target.name)
    building: Path | None = None
    with ExitStack() as owned:
        try:
            _make_folder(target.parent)
            building = _new_folder(target, owned)
            yield building
            for folder in (*(path for path in building.rglob("*") if path.is_dir()), building):
                sync_folder(folder)
            _place(building, target)
        except BaseException as error:
            if building is not None:
                import shutil  # imports every compressor

                shutil.rmtree(building, ignore_errors=True)
            if isinstance(error, StorageError) or not isinstance(error, OSError):
                raise
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR) and target.exists():
                raise InvalidInputError(f"path: {target} exists, expected a new folder") from error
            raise medium_error(target, error) from error


def _new_folder(target: Path, owned: ExitStack) -> Path:
    """Creates the temporary folder of a target, under a name that no other has, and locks it."""
    while True:
        building = _draft_name(target)
        with suppress(FileExistsError):
            building.mkdir()
            if _is_own(building, owned):
                return building


@contextmanager
def _owned(draft: Path, written: int | None = None) -> Iterator[int]:
    """Holds the lock of a file or folder that is being written; raises an `OSError` if another
    process does, or the system cannot rename what is open.

    Args:
        written: the file as it is open. Over SMB, what is locked can be written through no other.
    """
    if os.name == "nt":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(draft, flags) if written is None else os.dup(written)
    held.add(descriptor)
    try:
        try_lock(descriptor)
        yield descriptor
    finally:
        held.discard(descriptor)
        os.close(descriptor)


def remove_stale(folder: Path, target: str | None = None) -> None:
    """Removes the files and folders that killed processes were writing in a folder: all, or those
    for one name."""
    start = ".*" if target is None else re.escape(target[:_NAME_CHARACTERS])
    name = re.compile(rf"\.{start}\.\d+\.\d+\.new", re.DOTALL)
    with suppress(OSError):  # nothing is there yet, or it is for somebody else to remove
        for path in filter(lambda path: name.fullmatch(path.name), folder.iterdir()):
            with suppress(OSError), _owned(path):
                if not path.is_dir():
                    path.unlink()
                    continue
                import shutil  # imports every compressor

                shutil.rmtree(path)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable, if the system supports it."""
    if os.name == "nt":
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        # Some file systems refuse to sync folders, and some folders are writable but not readable.
        if error.errno not in _NO_SYNC:
            raise


def medium_error(path: Path, error: OSError) -> StorageError:
    """Returns the `StorageError` for an error of the system, with its `errno`."""
    is_missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    failure = StorageError(
        f"{path}: {error.strerror or error}",
        hint="check the path" if is_missing else "check the disk's space and permissions",
    )
    failure.errno = error.errno
    return failure


def file_system_time(folder: Path) -> int:
    """Returns the time in nanoseconds that the file system gives a file that is made now.

    Raises:
        OSError: nothing can be written into the folder.
    """
    with ExitStack() as owned:
        probe, descriptor = _draft(folder / "time", 0o600, owned)
        try:
            return os.fstat(descriptor).st_mtime_ns
        finally:
            os.close(descriptor)
            probe.unlink()


def _draft(path: Path, mode: int, owned: ExitStack) -> tuple[Path, int]:
    """Opens a new temporary file next to `path`, and locks it; names that other processes left
    behind are skipped."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        draft = _draft_name(path)
        try:
            descriptor = os.open(draft, flags, mode)
        except FileExistsError:
            continue
        if _is_own(draft, owned, descriptor):
            return draft, descriptor
        os.close(descriptor)


def _draft_name(target: Path) -> Path:
    name = f".{target.name[:_NAME_CHARACTERS]}.{os.getpid()}.{next(_drafts)}.new"
    return target.with_name(name)


def _is_own(draft: Path, owned: ExitStack, written: int | None = None) -> bool:
    """Locks a draft; returns False if another process took it for an abandoned one, even if there
    is another one of that name now."""
    try:
        descriptor = owned.enter_context(_owned(draft, written))
    except BlockingIOError:
        return False
    except OSError:
        return os.path.lexists(draft)  # a system that cannot lock it cannot remove it either
    try:
        return os.path.samestat(os.fstat(descriptor), draft.lstat())
    except FileNotFoundError:
        return False


def _name_new(draft: Path, path: Path, *, is_durable: bool) -> None:
    # A link, unlike a rename, never replaces a file that another process has created meanwhile.
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
    """Restores a file after its replacement was renamed but then failed."""
    with suppress(OSError):
        if before is None:
            path.unlink(missing_ok=True)
        elif path.read_bytes() != before:
            write_file(path, before, mode=mode)


def _make_folder(path: Path) -> None:
    """Creates a folder and its missing parents, durably, unless it exists."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    if missing:
        path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def _place(building: Path, target: Path) -> None:
    """Renames a folder to its final name, durably; if that fails, the name is free again."""
    building.replace(target)
    try:
        sync_folder(target.parent)
    except OSError:
        # No caller knows of the folder yet.
        target.replace(building)
        raise
