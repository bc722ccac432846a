"""The receipt log: every answer's receipt, appended beside the history, found again by its CID.

A frame is a mark, the length, the blake3 of the block, the block. The log is not flushed and pins
nothing: a crash may lose its last frames, and a torn frame is skipped, never believed. A receipt
that cannot be written does not make an answer fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path

from blake3 import blake3

from ibidem.objects.cid import DAG_CBOR_PREFIX, ReceiptCid
from ibidem.objects.constants import BLOCK_BYTES_MAX
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError

LOG_FILE = "log"
_MARK = b"\x00IbR"
_HEAD_BYTES = len(_MARK) + 4 + 32
PREFIX_CHARACTERS_MIN = 8


class Receipts:
    """Receipt blocks, in a file or, for a repository in memory, in a list."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / LOG_FILE
        self._kept = bytearray()
        self._last: bytes | None = None

    def append(self, block: bytes) -> None:
        """Appends a block, unflushed; a repeat of the last one is left out."""
        digest = blake3(block).digest()
        if digest == self._last:
            return
        self._last = digest
        frame = _MARK + len(block).to_bytes(4, "little") + digest + block
        if self._path is None:
            self._kept += frame
            return
        # A full or read-only disk must not take the answer away with the receipt.
        with suppress(OSError):
            self._path.parent.mkdir(exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                os.write(descriptor, frame)
            finally:
                os.close(descriptor)

    def find(self, text: str) -> bytes:
        """Returns the block whose CID begins with the text, of 8 characters or more.

        Raises:
            NotFoundError: kind `not-found`, or `ambiguous`.
        """
        if not isinstance(text, str) or len(text) < PREFIX_CHARACTERS_MIN:
            raise InvalidInputError(
                f"receipt: got {text!r:.80}, "
                f"expected {PREFIX_CHARACTERS_MIN} or more characters of a CID"
            )
        found = {
            digest: block
            for digest, block in self.blocks()
            if str(ReceiptCid(DAG_CBOR_PREFIX + digest)).startswith(text)
        }
        if not found:
            raise NotFoundError(
                f"receipt {text!r:.80} is not in the log",
                hint="receipts are kept where they were made",
            )
        if len(found) > 1:
            raise NotFoundError(
                f"receipt {text!r}: {len(found)} begin with it",
                kind=ErrorKind.AMBIGUOUS,
                hint="give more characters",
            )
        return found.popitem()[1]

    def blocks(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields (digest, block) of every whole frame, oldest first."""
        if self._path is None:
            yield from _frames(bytes(self._kept))
        elif self._path.exists() and self._path.stat().st_size:
            with (
                self._path.open("rb") as file,
                mmap(file.fileno(), 0, access=ACCESS_READ) as data,
            ):
                yield from _frames(data)


def _frames(data: bytes | mmap) -> Iterator[tuple[bytes, bytes]]:
    at = data.find(_MARK)
    while at >= 0:
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        digest, block = (
            data[at + 8 : at + _HEAD_BYTES],
            data[at + _HEAD_BYTES : at + _HEAD_BYTES + size],
        )
        is_whole = 0 < size <= BLOCK_BYTES_MAX and len(block) == size
        if is_whole and blake3(block).digest() == digest:
            yield digest, block
            at = data.find(_MARK, at + _HEAD_BYTES + size)
        else:
            at = data.find(_MARK, at + 1)
