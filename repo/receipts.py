"""The receipt log: every answer's receipt, appended beside the history, found again by its CID.

A frame is a mark, the length, the blake3 of the block, the block. The log is not flushed and pins
nothing: a crash may lose its last frames, and a torn frame is skipped, never believed. It is
bounded: a full log takes the place of the older one, so that the last megabytes of receipts are
there. A receipt that cannot be written does not make an answer fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path

from blake3 import blake3

from ibidem.objects.cid import DAG_CBOR_PREFIX, ReceiptCid
from ibidem.objects.constants import BLOCK_BYTES_MAX
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError

LOG_FILE = "log"
OLDER_FILE = "log.older"
LOG_BYTES_MAX = 16 << 20
"""Size at which a log takes the place of the older one; so twice this is kept at most."""
MARK = b"\x00IbR"
HEAD_BYTES = len(MARK) + 4 + 32
"""Of a frame: the mark, the length, the digest."""
PREFIX_CHARACTERS_MIN = 8


class Receipts:
    """Receipt blocks, in a file or, for a repository in memory, in a list."""

    def __init__(self, folder: Path | None, *, log_bytes_max: int = LOG_BYTES_MAX) -> None:
        self._path = None if folder is None else folder / LOG_FILE
        self._log_bytes_max = log_bytes_max
        self._kept = bytearray()
        self._older = b""
        self._descriptor: int | None = None
        self._last: bytes | None = None

    def close(self) -> None:
        """Lets go of the file; the next receipt opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def append(self, block: bytes) -> None:
        """Appends a block, unflushed; a repeat of the last one is left out."""
        digest = blake3(block).digest()
        if digest == self._last:
            return
        self._last = digest
        frame = _frame(digest, block)
        if self._path is None:
            self._kept += frame
            if len(self._kept) >= self._log_bytes_max:
                self._older, self._kept = bytes(self._kept), bytearray()
            return
        # A full or read-only disk must not take the answer away with the receipt.
        with suppress(OSError):
            written = self._write(self._path, frame)
            if not written.st_nlink:
                # Somebody took the file away while it was open.
                self.close()
                written = self._write(self._path, frame)
            if written.st_size >= self._log_bytes_max:
                self.close()
                self._turn(written)

    def _write(self, path: Path, frame: bytes) -> os.stat_result:
        os.write(self._opened(path), frame)
        return os.fstat(self._opened(path))

    def _opened(self, path: Path) -> int:
        """Returns the log, open to append; it stays open, for opening costs more than a frame."""
        if self._descriptor is None:
            path.parent.mkdir(exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
            self._descriptor = os.open(path, flags, 0o666)
        return self._descriptor

    def _turn(self, written: os.stat_result) -> None:
        """Puts a full log in the place of the older one, unless another process just did."""
        assert self._path is not None, "BUG: a log without a file was turned"
        found = self._path.stat()
        if (found.st_dev, found.st_ino) == (written.st_dev, written.st_ino):
            self._path.replace(self._path.with_name(OLDER_FILE))

    def forget(self, concerns: Callable[[bytes], bool]) -> None:
        """Drops receipts that are held in memory; those in files are overwritten in place."""
        kept = [(digest, block) for digest, block in self.blocks() if not concerns(block)]
        if self._path is None:
            self._older = b""
            self._kept = bytearray().join(_frame(digest, block) for digest, block in kept)
        self._last = None

    def find(self, text: str) -> bytes:
        """Returns the block whose CID begins with the text, of 8 characters or more.

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
        if self._path is None:
            yield from _frames(self._older)
            yield from _frames(bytes(self._kept))
            return
        for path in (self._path.with_name(OLDER_FILE), self._path):
            if path.exists() and path.stat().st_size:
                with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                    yield from _frames(data)


def check_beginning(text: object) -> None:
    """Raises `InvalidInputError` for what is too short to name a receipt."""
    if not isinstance(text, str) or len(text) < PREFIX_CHARACTERS_MIN:
        raise InvalidInputError(
            f"receipt: got {text!r:.80}, "
            f"expected {PREFIX_CHARACTERS_MIN} or more characters of a CID"
        )


def ambiguous(text: str, cids: Iterable[ReceiptCid]) -> NotFoundError:
    """Returns the error that several receipts begin so."""
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
    """Returns the block of the whole frame that begins at a byte, None where none does."""
    if data[at : at + len(MARK)] != MARK:
        return None
    size = int.from_bytes(data[at + 4 : at + 8], "little")
    digest, block = data[at + 8 : at + HEAD_BYTES], data[at + HEAD_BYTES : at + HEAD_BYTES + size]
    is_whole = 0 < size <= BLOCK_BYTES_MAX and len(block) == size
    return block if is_whole and blake3(block).digest() == digest else None


def _frames(data: bytes | mmap) -> Iterator[tuple[bytes, bytes]]:
    at = data.find(MARK)
    while at >= 0:
        block = frame_at(data, at)
        if block is not None:
            yield data[at + 8 : at + HEAD_BYTES], block
        at = data.find(MARK, at + 1 if block is None else at + HEAD_BYTES + len(block))
