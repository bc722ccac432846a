"""One LMDB environment per file and process, shared by every store that opens it.

LMDB forbids opening a file twice in a process, moving its map under a live transaction, and using
it across a fork. So environments are kept in a table by (device, inode); every transaction passes a
gate; growing, reopening and forking wait until no transaction is inside the gate; a child process
opens its own environment.

The map is reserved far beyond any use (address space costs nothing), so growing is rare. Spare
transactions are disabled: a child that closed its copy of one would free its parent's reader slot.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from ibidem.objects.errors import CorruptError, ErrorKind, NotFoundError, StorageError
from ibidem.objects.forking import on_fork
from ibidem.store.files import medium_error

TIMEOUT_SECONDS = 30.0
LOCK_FILE = "write.lock"


MAP_BYTES = 1 << 36
"""Address space in bytes reserved for one store, if the system allows it; a store that needs more
gets more. A process has 2^47 for all its stores."""
MAP_BYTES_MIN = 1 << 28
READERS_MAX = 1024
DATA_FILE = "data.mdb"
FILL_BYTES_MAX = 1 << 30
"""A file that lacks more bytes than this at its end is considered damaged and is not extended."""
_MAP_STEP = 1 << 20

T = TypeVar("T")


class Environment:
    """An open LMDB environment with its two tables, and the gate that every transaction passes."""

    def __init__(self, path: Path, map_bytes: int | None) -> None:
        self.path = path
        self._map_bytes = map_bytes
        self.users = 0
        self._reset()
        self._open()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._gate = threading.Condition(self._lock)
        self._active = 0
        self._shut = 0
        self._handle: Any = None

    def _open(self) -> None:
        size = self._map_bytes or (MAP_BYTES_MIN if sys.platform == "win32" else MAP_BYTES)
        while True:
            try:
                handle = _open_handle(self.path, size)
                break
            except lmdb.Error as error:
                # A limit on address space: reserve less, and grow when it fills.
                if error.code != errno.ENOMEM or size <= MAP_BYTES_MIN:
                    raise storage_error(self.path, error) from error
                size //= 4
            except OSError as error:
                raise medium_error(self.path, error) from error
        try:
            _fill_up(self.path, handle)
            handle.reader_check()
            self.blocks = handle.open_db(b"blocks")
            self.cells = handle.open_db(b"cells")
        except lmdb.Error as error:
            handle.close()
            raise storage_error(self.path, error) from error
        except OSError as error:
            handle.close()
            raise medium_error(self.path, error) from error
        except CorruptError:
            handle.close()
            raise
        self._handle = handle

    def read(self, work: Callable[[Any], T]) -> T:
        """Runs `work(transaction)` in one read transaction; the result must not refer to it."""
        while True:
            handle = self._enter()
            try:
                transaction = handle.begin()
                try:
                    return work(transaction)
                finally:
                    transaction.abort()
            except lmdb.MapResizedError:
                grow_to = 0
            except lmdb.Error as error:
                raise storage_error(self.path, error) from error
            finally:
                self._leave()
            self._resize(grow_to)

    def write(self, work: Callable[[Any], T]) -> T:
        """Runs `work(transaction)` in one durable write transaction; any error aborts it.

        `work` may run again from its beginning, after the map has grown.
        """
        while True:
            handle = self._enter()
            failure: lmdb.Error
            try:
                with handle.begin(write=True) as transaction:
                    result = work(transaction)
            except lmdb.Error as error:
                failure = error
                size = handle.info()["map_size"]
            else:
                return result
            finally:
                self._leave()
            if isinstance(failure, lmdb.MapFullError):
                self._resize(2 * size)
            elif isinstance(failure, lmdb.MapResizedError):
                self._resize(0)
            else:
                # After a failed write or sync the state of the old handle cannot be trusted:
                # the next use opens the file again.
                self.close()
                raise storage_error(self.path, failure) from failure

    def has_older_readers(self) -> bool:
        """Returns whether a reader in any process still uses a state older than the newest."""
        handle = self._enter()
        try:
            handle.reader_check()  # frees the slots of readers that were killed
            newest = handle.info()["last_txnid"]
            rows = [line.split() for line in handle.readers().splitlines()]
        except lmdb.Error as error:
            raise storage_error(self.path, error) from error
        finally:
            self._leave()
        return any(len(row) == 3 and row[2].isdigit() and int(row[2]) < newest for row in rows)

    def size_bytes(self) -> int:
        """Returns the size of the data file."""
        return (self.path / DATA_FILE).stat().st_size

    def close(self) -> None:
        """Waits for every transaction to end and closes the file; the next use opens it again."""
        with self._empty():
            if self._handle is not None:
                self._handle.close()
                self._handle = None

    def _enter(self) -> Any:
        # The lock of the gate: taking it through the gate costs three times as much.
        with self._lock:
            while self._shut:
                self._gate.wait()
            if self._handle is None:
                self._open()
            self._active += 1
            return self._handle

    def _leave(self) -> None:
        with self._lock:
            self._active -= 1
            if not self._active and self._shut:
                self._gate.notify_all()

    @contextmanager
    def _empty(self) -> Iterator[None]:
        """Keeps new transactions out, waits for the others to end, and holds the gate."""
        with self._gate:
            self._shut += 1
            try:
                while self._active:
                    self._gate.wait()
                yield
            finally:
                self._shut -= 1
                self._gate.notify_all()

    def _resize(self, size: int) -> None:
        """Sets the size of the map; 0 adopts the size that another process has set."""
        with self._empty():
            if self._handle is None:
                return
            try:
                self._handle.set_mapsize(-(-size // _MAP_STEP) * _MAP_STEP)
            except lmdb.Error as error:
                raise storage_error(self.path, error) from error

    def before_fork(self) -> None:
        """Empties the gate and keeps it shut while the process forks."""
        self._forking = self._empty()
        self._forking.__enter__()

    def after_fork_in_parent(self) -> None:
        """Opens the gate again."""
        self._forking.__exit__(None, None, None)

    def after_fork_in_child(self) -> None:
        """Discards the inherited handle; the child's first transaction opens its own."""
        handle = self._handle
        self._reset()
        if handle is not None:
            handle.close()


_environments: dict[tuple[int, int], Environment] = {}
_table_lock = threading.Lock()


def acquire(path: Path, *, create: bool, map_bytes: int | None) -> Environment:
    """Returns the process's environment for `path`, opening it if it is not open yet.

    Raises:
        NotFoundError: kind `repository-not-found`: there is no LMDB file and `create` is not set.
        StorageError: the file cannot be opened.
    """
    with _table_lock:
        if not create and not (path / DATA_FILE).is_file():
            raise NotFoundError(
                f"{path} is not a block store",
                kind=ErrorKind.REPOSITORY_NOT_FOUND,
                hint="create one with 'repo init'",
            )
        environment = _environments.get(_key(path)) if not create else None
        if environment is None:
            environment = Environment(path, map_bytes)
            _environments[_key(path)] = environment
        environment.users += 1
        return environment


def release(environment: Environment) -> None:
    """Releases an environment that `acquire` returned; the last release closes the file."""
    with _table_lock:
        environment.users -= 1
        if environment.users == 0:
            for key, value in list(_environments.items()):
                if value is environment:
                    del _environments[key]
            environment.close()


def storage_error(path: Path, error: lmdb.Error) -> StorageError | CorruptError:
    """Returns the error of this library for one of LMDB's, with the system's `errno` if there is
    one."""
    message = str(error).removeprefix(f"{path}: ")  # some LMDB messages begin with the path
    if isinstance(error, lmdb.CorruptedError | lmdb.PageNotFoundError | lmdb.InvalidError):
        return CorruptError(
            f"{path}: {message}", hint="restore the store from a copy, or clone it again"
        )
    if isinstance(error, lmdb.ReadersFullError):
        return StorageError(
            f"{path}: more than {READERS_MAX} readers at once",
            kind=ErrorKind.LOCKED,
            hint="end some readers",
        )
    hint = "check the disk's space and permissions"
    if error.code in (errno.EROFS, errno.EACCES, errno.EPERM):
        hint = "readers write too, into lock files: copy the folder to where that is permitted"
    elif error.code == errno.ENOMEM:
        hint = "close some of the repositories that this process has open: each maps many files"
    code = error.code
    if code == errno.EIO and _is_full(path):  # so LMDB reports a short write
        code = errno.ENOSPC
        message = message.replace(os.strerror(errno.EIO), os.strerror(code))
    failure = StorageError(f"{path}: {message}", hint=hint)
    if code > 0:
        failure.errno = code
    return failure


def _is_full(path: Path) -> bool:
    return hasattr(os, "statvfs") and os.statvfs(path).f_bavail == 0


def _fill_up(path: Path, handle: Any) -> None:
    """Extends the data file with zeros to the length that its pages require.

    Pages that were never written may lie beyond its end; if the file was truncated, so may pages
    that were written, and accessing those would kill the process. Zeros are detected as damage:
    they are no LMDB page and match no block's hash. Bytes that another process writes meanwhile are
    not changed.
    """
    needed = (handle.info()["last_pgno"] + 1) * handle.stat()["psize"]
    with (path / DATA_FILE).open("r+b") as file:
        found = os.fstat(file.fileno()).st_size
        if needed - found > FILL_BYTES_MAX:
            raise CorruptError(
                f"{path / DATA_FILE}: it has {found} bytes and says that it has {needed}",
                hint="restore the store from a copy, or clone it again",
            )
        if found < needed and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), found, needed - found)


def _open_handle(path: Path, size: int) -> Any:
    return lmdb.open(
        os.fsencode(path),
        map_size=size,
        max_dbs=4,
        max_readers=READERS_MAX,
        max_spare_txns=0,
        readahead=False,
        sync=True,
        metasync=True,
    )


def _key(path: Path) -> tuple[int, int]:
    status = (path / DATA_FILE).stat()
    return status.st_dev, status.st_ino


def _before_fork() -> None:
    _table_lock.acquire()
    for environment in _environments.values():
        environment.before_fork()


def _after_fork_in_parent() -> None:
    for environment in _environments.values():
        environment.after_fork_in_parent()
    _table_lock.release()


def _after_fork_in_child() -> None:
    for environment in _environments.values():
        environment.after_fork_in_child()
    _table_lock.release()


on_fork(before=_before_fork, in_parent=_after_fork_in_parent, in_child=_after_fork_in_child)
