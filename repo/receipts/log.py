"""The receipt log: the receipt of every answer, stored outside the history, found by its CID.

A frame is a mark, a length, the blake3 hash of the block, and the block. Two files hold the newest
frames, each up to a maximal size. When the next frame does not fit, the current file replaces the
older one, whose frames are dropped. If a receipt cannot be written, the answer is returned without
it.

The log keeps no block from garbage collection and is not synced. A frame is written to the
operating system before the answer is returned, so a killed process loses none; a power failure
loses frames that the system has not yet written to disk, up to half a minute's with the defaults of
Linux. A kept receipt is a block of the repository and is durable.

An erasure overwrites the receipts that quote the erased nodes, and begins a new generation of the
log. Another process may be answering from what it read before: a receipt is appended only in the
generation in which the graph of its answer was opened.

Writers append one at a time, under a lock, and leave only whole frames: a frame that does not fit
on the disk is truncated, and a partial frame of a killed writer is truncated by the next writer.
Everybody who changes something that a writer has to know leaves another size of the log, or another
log: another writer its frame, an erasure and a writer that renames the log a zero byte, and what
clears the log removes the file. So a writer that finds the size that it left needs to look at
nothing else.
"""

from __future__ import annotations

import os
import stat
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from mmap import ACCESS_READ, mmap
from pathlib import Path

from blake3 import blake3

from ibidem.objects.cid import DAG_CBOR_PREFIX, ReceiptCid
from ibidem.objects.constants import BLOCK_BYTES_MAX
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.forking import ForkLock, on_fork
from ibidem.store.files import LOCK_FILE, append_whole, medium_error, read_file
from ibidem.store.lock import try_lock, unlock

LOG_FILE = "log"
OLDER_FILE = "log.older"
GENERATION_FILE = "generation"
LOG_BYTES_MAX = 16 << 20
"""Maximal size of one of the two files; the log holds at most twice this."""
MARK = b"\x00IbR"
HEAD_BYTES = len(MARK) + 4 + 32
"""Size of the header of a frame: mark, length, digest."""
PREFIX_CHARACTERS_MIN = 8
_GENERATION_BYTES_MAX = 64
"""More than the digits of any generation."""
_PATIENCE_SECONDS = 0.5
"""Seconds that an answer waits for the lock, which other writers hold for microseconds."""
_PAUSE_SECONDS = 0.0001


_is_recorded: ContextVar[bool] = ContextVar("is_recorded", default=True)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Answers computed in this block have receipts, but no log gets them: somebody only looks."""
    token = _is_recorded.set(False)
    try:
        yield
    finally:
        _is_recorded.reset(token)


def make_folder(folder: Path) -> None:
    """Creates the folder of the log if it is missing: receipts have questions, so it is for those
    who may write the repository.

    Raises:
        OSError: it cannot be created.
    """
    if folder.exists():
        return
    repository = folder.parent.stat()
    folder.mkdir(mode=0o700, exist_ok=True)
    created = folder.stat()
    if repository.st_mode & stat.S_IWGRP and created.st_gid == repository.st_gid:
        # Keeps the bit that gives new files the group of the folder.
        folder.chmod(stat.S_IMODE(created.st_mode) | stat.S_IRWXG)


class ReceiptLog:
    """The receipt blocks, in files, or in a list for a repository in memory; thread-safe."""

    def __init__(
        self,
        folder: Path | None,
        *,
        log_bytes_max: int = LOG_BYTES_MAX,
        is_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Opens nothing yet.

        Args:
            folder: of the files; None for memory.
            is_on: whether a receipt is logged, asked for each.
        """
        self._is_on = is_on
        self._path = None if folder is None else folder / LOG_FILE
        self._log_bytes_max = log_bytes_max
        self._kept = bytearray()
        self._older = b""
        self._last: bytes | None = None
        self._generation_path = "" if folder is None else str(folder / GENERATION_FILE)
        self._generation = 0
        """Of a log in memory; of one in files, that of our last frame."""
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        self._threads = ForkLock()
        self._log: int | None = None
        self._lock: int | None = None
        self._end = -1
        """Size of the log after our last frame, -1 before it; if it differs, the generation and the
        end of the log are checked."""

    @property
    def bound_bytes(self) -> int:
        """The maximal number of bytes in the log."""
        return 2 * self._log_bytes_max

    def size(self) -> tuple[int, int]:
        """Returns the number of receipts and the total size of the files in bytes."""
        parts = self._parts()
        return sum(1 for part in parts for _ in _frames(part)), sum(map(len, parts))

    def close(self) -> None:
        """Closes the files; the next receipt opens them again."""
        with self._threads:
            self._close()

    def generation(self) -> int:
        """Returns how often an erasure was carried out in the log."""
        if self._path is None:
            return self._generation
        return generation_in(self._generation_path)

    def append(self, block: bytes, *, generation: int = 0) -> None:
        """Appends a block without fsync; a repetition of the last block is skipped, and so is
        everything inside `unrecorded`.

        Args:
            block: the receipt.
            generation: in which the graph of the answer was opened; nothing is appended in another.
        """
        if not _is_recorded.get() or not self._is_on():
            return
        digest = blake3(block).digest()
        with self._threads:
            if digest == self._last and self._has_files():
                return
            frame = _frame(digest, block)
            if self._path is None:
                if generation != self._generation:
                    return
                if len(self._kept) + len(frame) > self._log_bytes_max:
                    self._older, self._kept = bytes(self._kept), bytearray()
                self._kept += frame
                self._last = digest
                return
            try:
                is_written = self._append(self._path, frame, generation)
            except OSError:
                # A receipt that cannot be written, on a full or read-only disk, must not fail the
                # answer.
                return
            if is_written:
                self._last = digest

    def _has_files(self) -> bool:
        """Returns whether our last frame is in the log, which another process may have cleared."""
        if self._path is None:
            return True
        return self._log is not None and os.fstat(self._log).st_nlink > 0

    def _append(self, path: Path, frame: bytes, generation: int) -> bool:
        lock = self._locked(path)
        try:
            status = None if self._log is None else os.fstat(self._log)
            if (
                status is not None
                and status.st_size == self._end
                and status.st_nlink
                and generation == self._generation
            ):
                size = self._end
            else:
                if generation < 0 or generation_in(self._generation_path) != generation:
                    return False
                if not self._is_on():
                    return False
                size = self._ready(path, status)
                self._generation = generation
            while size and size + len(frame) >= self._log_bytes_max:
                self._turn(path, size)
                size = self._ready(path, None)
            assert self._log is not None, "BUG: the log is open"
            append_whole(self._log, frame, size_bytes=size)
            self._end = size + len(frame)
            return True
        finally:
            unlock(lock)

    def _locked(self, path: Path) -> int:
        """Locks the folder and returns the descriptor to unlock. The lock file stays open, since
        opening it costs more than writing a frame.

        Raises:
            OSError: another process has held the lock for too long.
        """
        if self._lock is None:
            make_folder(path.parent)
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._lock = os.open(path.with_name(LOCK_FILE), flags, 0o666)
        deadline = None
        while True:
            try:
                try_lock(self._lock)
            except (BlockingIOError, PermissionError):
                now = time.monotonic()
                deadline = now + _PATIENCE_SECONDS if deadline is None else deadline
                if now >= deadline:
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                return self._lock

    def _ready(self, path: Path, status: os.stat_result | None) -> int:
        """Opens the log if it is closed, or was removed or renamed, and truncates a partial frame
        at its end; returns its size.

        Args:
            status: of the open file; None if none is open.
        """
        if self._log is None or status is None or not _is_at(path, status):
            self._close_log()
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
            mode = path.parent.stat().st_mode & 0o660
            self._log = os.open(path, flags | getattr(os, "O_BINARY", 0), mode)
            self._end, status = -1, os.fstat(self._log)
        size = status.st_size
        if not size or size == self._end:
            return size
        with mmap(self._log, 0, access=ACCESS_READ) as data:
            whole = _whole_bytes(data)
        if whole < size:
            os.ftruncate(self._log, whole)
        return whole

    def _turn(self, path: Path, size: int) -> None:
        """Replaces the older file by the full one, unless another process has done so."""
        assert self._log is not None, "BUG: a log that is not open was turned"
        if _is_at(path, os.fstat(self._log)):
            os.ftruncate(self._log, size + 1)  # other writers that have it open look where it is
            path.replace(path.with_name(OLDER_FILE))
        self._close_log()

    def _close_log(self) -> None:
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def _close(self) -> None:
        self._close_log()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def after_fork(self) -> None:
        """Drops file handles inherited from the parent process: they share its lock, so it would
        exclude neither.
        """
        self._close()
        self._reset()

    def forget(self, concerns: Callable[[bytes], bool]) -> None:
        """Drops matching receipts held in memory; those in files are overwritten in place."""
        with self._threads:
            if self._path is None:
                kept = [_frame(*found) for found in self.blocks() if not concerns(found[1])]
                self._older, self._kept = b"", bytearray().join(kept)
                self._generation += 1
            self._last = None

    def clear(self) -> None:
        """Removes every receipt from the log; kept ones stay.

        Raises:
            StorageError: a file cannot be removed.
        """
        self.forget(lambda _: True)
        if self._path is None or not self._path.parent.is_dir():
            return
        with self._threads:
            try:
                lock = self._locked(self._path)
                try:
                    self._close_log()
                    for path in (self._path, self._path.with_name(OLDER_FILE)):
                        path.unlink(missing_ok=True)
                finally:
                    unlock(lock)
            except OSError as error:
                raise medium_error(self._path, error) from error

    def find(self, text: str) -> bytes:
        """Returns the block whose CID has this prefix of 8 characters or more.

        Raises:
            NotFoundError: kind `not-found`, or `ambiguous`.
        """
        check_beginning(text)
        found = {
            digest: block
            for digest, block in self.blocks()
            if str(ReceiptCid(DAG_CBOR_PREFIX + digest)).startswith(text)
        }
        if not found:
            raise NotFoundError(
                f"receipt {text!r:.80} is not kept, and not in the log",
                hint="the log has the last receipts made here; 'repo receipt keep' keeps one",
            )
        if len(found) > 1:
            raise ambiguous(text, (ReceiptCid(DAG_CBOR_PREFIX + digest) for digest in found))
        return found.popitem()[1]

    def blocks(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields (digest, block) of every whole frame, oldest first."""
        for part in self._parts():
            for start, block in _frames(part):
                yield part[start + 8 : start + HEAD_BYTES], block

    def _parts(self) -> list[bytes]:
        """Returns the bytes of the files, the older one first; read, not mapped, since a writer may
        truncate a file meanwhile.
        """
        if self._path is None:
            return [self._older, bytes(self._kept)]
        newer = read_file(self._path) or b""
        older = read_file(self._path.with_name(OLDER_FILE)) or b""
        # In this order, a file that another process renames meanwhile is read twice, not never.
        return [older, b"" if newer and older.startswith(newer) else newer]


def _is_at(path: Path, status: os.stat_result) -> bool:
    """Returns whether a path still names a file with a status."""
    try:
        return os.path.samestat(status, path.stat())
    except FileNotFoundError:
        return False


def generation_in(path: str) -> int:
    """Returns the generation in a file; 0 if there is none: before the first erasure."""
    if not os.path.lexists(path):
        return 0
    try:
        descriptor = os.open(path, os.O_RDONLY)  # a file object takes several times as long
        try:
            return int(os.read(descriptor, _GENERATION_BYTES_MAX))
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return -1  # it cannot be read: nothing is appended


def check_beginning(text: object) -> None:
    """Raises `InvalidInputError` for a prefix that is too short to name a receipt."""
    if not isinstance(text, str) or len(text) < PREFIX_CHARACTERS_MIN:
        raise InvalidInputError(
            f"receipt: got {text!r:.80}, "
            f"expected {PREFIX_CHARACTERS_MIN} or more characters of a CID"
        )


def ambiguous(text: str, cids: Iterable[ReceiptCid]) -> NotFoundError:
    """Returns the error for a prefix that several receipts have."""
    first, second, *more = sorted(map(str, cids))
    others = f" and {len(more)} more" if more else ""
    return NotFoundError(
        f"receipt {text!r}: {first}, {second}{others} begin with it",
        kind=ErrorKind.AMBIGUOUS,
        hint="give more characters",
    )


def _frame(digest: bytes, block: bytes) -> bytes:
    return MARK + len(block).to_bytes(4, "little") + digest + block


def frame_at(data: bytes | mmap, at: int) -> bytes | None:
    """Returns the block of the whole frame at an offset, None if there is none."""
    if data[at : at + len(MARK)] != MARK:
        return None
    size = int.from_bytes(data[at + 4 : at + 8], "little")
    digest, block = data[at + 8 : at + HEAD_BYTES], data[at + HEAD_BYTES : at + HEAD_BYTES + size]
    is_whole = 0 < size <= BLOCK_BYTES_MAX and len(block) == size
    return block if is_whole and blake3(block).digest() == digest else None


def _frames(data: bytes | mmap) -> Iterator[tuple[int, bytes]]:
    """Yields the offset of each whole frame, and its block."""
    at = data.find(MARK)
    while at >= 0:
        block = frame_at(data, at)
        if block is not None:
            yield at, block
        at = data.find(MARK, at + 1 if block is None else at + HEAD_BYTES + len(block))


def _whole_bytes(data: bytes | mmap) -> int:
    """Returns the size of a log without a partial frame at its end. Zeros, which replace an erased
    receipt, count as whole.
    """
    # Nearly always the last mark starts a frame that ends with the file.
    at = data.rfind(MARK)
    block = frame_at(data, at) if at >= 0 else None
    if block is not None and not data[at + HEAD_BYTES + len(block) :].strip(b"\0"):
        return len(data)
    end = 0
    for start, block in _frames(data):
        end = start + HEAD_BYTES + len(block)
    zeros = len(data) - end - len(data[end:].lstrip(b"\0"))
    # The zeros of an erasure stay; a partial frame begins with one more.
    return end + max(0, zeros - 1) if end + zeros < len(data) else len(data)


_all: weakref.WeakSet[ReceiptLog] = weakref.WeakSet()


def _after_fork() -> None:
    for receipts in list(_all):
        receipts.after_fork()


on_fork(in_child=_after_fork)
