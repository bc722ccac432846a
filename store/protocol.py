"""The store protocol: immutable blocks by CID, and a few small cells changed by compare-and-swap.

The invariant: a block is served only under the CID of its own bytes, and `publish` is the only way
to make a change visible: all its blocks and cells at once and durable on return, or nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Protocol, Self, TypeVar, runtime_checkable

from blake3 import blake3

from ibidem.objects.cid import Cid
from ibidem.objects.constants import BLOCK_BYTES_MAX, RAW_BYTES_MAX
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.record import record

CELL_NAME_BYTES_MAX = 255
CELL_VALUE_BYTES_MAX = 64 * 1024
PARTIAL_CELL = "partial"
"""Set by a store that has put some blocks of a publication and not the rest, each time to another
value; removed when unreferenced blocks were deleted."""

_SURE_BYTES_MAX = min(BLOCK_BYTES_MAX, RAW_BYTES_MAX)

A = TypeVar("A")
R = TypeVar("R")
Swap = tuple[bytes | None, bytes | None]
"""(expected, new): None means that the cell does not exist."""
NO_CELLS: Mapping[str, bytes | None] = MappingProxyType({})


@record
class StoreStats:
    """Counts and sizes of a store."""

    block_count: int
    cell_count: int
    size_bytes: int
    """Bytes that the store occupies on its medium, including free pages."""


@record
class LayoutReport:
    """What a check of a store's files found."""

    where: str = ""
    """The file, relative to the folder of the repository."""
    faults: tuple[str, ...] = ()
    page_count: int = 0


class Guard(Protocol):
    """A rule for blocks that a store must not hold, such as erased ones."""

    def refuse(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> None:
        """Raises if any of the blocks must not be put.

        Args:
            cids: CIDs, or a mapping from CIDs to blocks.
            cells: the values that these cells must hold when the blocks are put; otherwise nothing
                is put.
        """
        ...

    def missing(self, cid: Cid) -> Exception:
        """Returns the error that explains why a block is not stored."""
        ...


class Unguarded:
    """A guard that accepts every block and gives no reason for a missing one."""

    def refuse(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> None:
        """Accepts every block."""

    def missing(self, cid: Cid) -> Exception:
        """Returns the error for a block that is not stored."""
        return missing_block(cid)


@runtime_checkable
class Store(Protocol):
    """Blocks and cells. Implementations are safe to use from several threads."""

    guard: Guard
    """Called before blocks are put, and when one is missing."""

    def get(self, cid: Cid) -> bytes:
        """Returns the block after checking its hash.

        Raises:
            NotFoundError: kind `block-not-found`.
            CorruptError: kind `hash-mismatch`.
        """
        ...

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`, read from one state of the store; raises as
        `get` does."""
        ...

    def has(self, cid: Cid) -> bool:
        """Returns whether the block is stored."""
        ...

    def put(self, blocks: Mapping[Cid, bytes]) -> None:
        """Stores the blocks, all or none; durable on return. Blocks that are already stored are
        kept."""
        ...

    def cell(self, name: str) -> bytes | None:
        """Returns the value of a cell, None if there is no such cell."""
        ...

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        """Puts the blocks and swaps every cell in one durable step, or changes nothing.

        A store that says so may have put some of very many blocks when it fails; no cell then
        refers to them, and `PARTIAL_CELL` has another value than before.

        Args:
            blocks: the blocks to put, also those that are already stored: a garbage collection may
                be about to delete them.
            cells: the expected and the new value of each cell, by name.
            needs: blocks that are referred to but not put; they must already be stored.

        Raises:
            ConflictError: kind `head-moved`: a cell does not hold the expected value.
            NotFoundError: kind `block-not-found`: a needed block is not stored.
        """
        ...

    def cells(self) -> dict[str, bytes]:
        """Returns all cells, by name ascending, read from one state of the store."""
        ...

    def cids(self, start: bytes = b"") -> Iterator[Cid]:
        """Yields the CIDs from `start` on, ascending; blocks that are put meanwhile may or may not
        appear."""
        ...

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Deletes blocks, durable on return; returns how many were stored.

        Args:
            cids: the blocks to delete.
            cells: the values that these cells must hold when the blocks are deleted.

        Raises:
            ConflictError: kind `head-moved`: a cell holds another value; nothing was deleted.
        """
        ...

    def renew(self) -> None:
        """Discards buffers that may contain deleted data, before they are written again."""
        ...

    def scrub(self) -> int:
        """Destroys deleted data that is still on the medium; returns how many bytes were
        overwritten."""
        ...

    def stats(self) -> StoreStats:
        """Returns the counts and sizes of the store."""
        ...

    def close(self) -> None:
        """Releases the medium. Closing twice is allowed; using a closed store is an error."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


@runtime_checkable
class SupportsFileCheck(Protocol):
    """A store in a file of this machine, whose bytes can be checked without reading blocks."""

    def check_layout(self) -> LayoutReport:
        """Checks the structure of the file."""
        ...

    def unscrubbed_bytes(self) -> int:
        """Returns how many bytes of deleted data the file still holds."""
        ...


@runtime_checkable
class SupportsLocalCopies(Protocol):
    """A store elsewhere, of which this machine keeps copies of blocks."""

    def forget_copies(self, cids: Iterable[Cid]) -> None:
        """Destroys the copies of blocks that were deleted, perhaps by another machine.

        Raises:
            StorageError: they may still be readable.
        """
        ...


@runtime_checkable
class SupportsNotes(Protocol):
    """A store on a medium that others configure."""

    def notes(self) -> tuple[str, ...]:
        """Returns what this configuration keeps from being durable or destroyed, as clauses."""
        ...


class SharedFile(Protocol):
    """A file in a listing."""

    @property
    def size(self) -> int:
        """In bytes."""
        ...


class SharedFiles(Protocol):
    """Files that every machine with the same store can read, by name. Each is written whole."""

    def get_all(self, names: Sequence[str]) -> list[bytes | None]:
        """Returns the bytes of several files, None for one that is not there."""
        ...

    def get_ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes] | None:
        """Returns parts of a file as (start, length); None if there is no such file."""
        ...

    def put(self, name: str, body: bytes) -> object:
        """Writes a file, replacing one of that name."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files; absent ones are no error."""
        ...

    def listed(self, prefix: str) -> Mapping[str, SharedFile]:
        """Returns the files whose names begin so, by name ascending."""
        ...

    def map(self, call: Callable[[A], R], arguments: Sequence[A]) -> list[R]:
        """Calls a function with each argument, several at a time, and returns the results in
        order; raises the first error."""
        ...


@runtime_checkable
class SupportsSharedFiles(Protocol):
    """A store that keeps other files beside its blocks."""

    @property
    def shared_files(self) -> SharedFiles:
        """These files."""
        ...


def check_block(cid: Cid, block: bytes) -> None:
    """Raises if a block does not match its CID, or exceeds the format's size limit."""
    if not isinstance(cid, Cid) or not isinstance(block, bytes):
        raise InvalidInputError(
            f"block: got {type(cid).__name__} -> {type(block).__name__}, expected Cid -> bytes"
        )
    limit = RAW_BYTES_MAX if cid.is_raw else BLOCK_BYTES_MAX
    if len(block) > limit:
        raise InvalidInputError(
            f"block: {cid} has {len(block)} bytes, expected at most {limit}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    check_hash(cid, block)


def check_blocks(blocks: Mapping[Cid, bytes]) -> None:
    """Raises as `check_block` does, for many blocks, with a fast path for valid ones."""
    for cid, block in blocks.items():
        if (
            type(block) is not bytes
            or len(block) > _SURE_BYTES_MAX
            or not isinstance(cid, Cid)
            or blake3(block).digest() != cid.raw[4:]
        ):
            check_block(cid, block)


def check_hash(cid: Cid, block: bytes) -> None:
    """Raises if bytes do not match the hash in a CID."""
    if blake3(block).digest() != cid.raw[4:]:
        raise CorruptError(
            f"block: the bytes do not have the hash of {cid}",
            kind=ErrorKind.HASH_MISMATCH,
            hint="check the medium with 'repo doctor', then fetch the block again",
        )


def check_cell(name: str, *values: bytes | None) -> None:
    """Raises for a cell name or value that some backend could not store."""
    if not isinstance(name, str) or not name.isascii() or not name.isprintable():
        raise InvalidInputError(f"cell: got {name!r}, expected a printable ASCII name")
    if not 0 < len(name) <= CELL_NAME_BYTES_MAX:
        raise InvalidInputError(
            f"cell: the name has {len(name)} bytes, expected 1 to {CELL_NAME_BYTES_MAX}"
        )
    for value in values:
        if value is not None and (
            not isinstance(value, bytes) or len(value) > CELL_VALUE_BYTES_MAX
        ):
            raise InvalidInputError(
                f"cell {name}: got {type(value).__name__}, "
                f"expected at most {CELL_VALUE_BYTES_MAX} bytes"
            )


def missing_block(cid: Cid) -> NotFoundError:
    """Returns the error for a block that is not stored."""
    return NotFoundError(
        f"block {cid} is not in this store",
        kind=ErrorKind.BLOCK_NOT_FOUND,
        hint="run 'repo doctor' to see what else is missing",
    )


def moved_cell(name: str) -> ConflictError:
    """Returns the error for a cell that no longer holds the expected value."""
    return ConflictError(
        f"cell {name} holds another value than expected",
        kind=ErrorKind.HEAD_MOVED,
        hint="read the new value and try again",
    )


def closed_store() -> InvalidInputError:
    """Returns the error for using a store after `close`."""
    return InvalidInputError("store: it is closed", hint="open it again")
