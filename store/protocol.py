"""What a store is: immutable blocks by CID, and a few small cells that move by compare-and-swap.

The invariant: a block is served only under the CID of its own bytes, and `publish` is the one way
to make a change visible: all its blocks and cells at once and durable on return, or nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import Protocol, Self, runtime_checkable

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

_SURE_BYTES_MAX = min(BLOCK_BYTES_MAX, RAW_BYTES_MAX)

Swap = tuple[bytes | None, bytes | None]
"""(expected, new): None stands for a cell that does not exist."""
NO_CELLS: Mapping[str, bytes | None] = MappingProxyType({})


@record
class StoreStats:
    """What a store holds, in numbers."""

    block_count: int
    cell_count: int
    size_bytes: int
    """Bytes the store occupies on its medium, free pages included."""


class Guard(Protocol):
    """What a store asks about blocks that it must not hold, such as erased ones."""

    def refuse(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> None:
        """Raises if one of the blocks must not be put.

        Args:
            cids: CIDs, or a mapping from them to the blocks.
            cells: what these cells hold in the moment in which they are put, or nothing is.
        """
        ...

    def missing(self, cid: Cid) -> Exception:
        """Returns the error that tells why a block is not here."""
        ...


class Unguarded:
    """Refuses nothing, and knows of a missing block only that it is not here."""

    def refuse(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> None:
        """Refuses nothing."""

    def missing(self, cid: Cid) -> Exception:
        """Returns the error for a block that is not here."""
        return missing_block(cid)


@runtime_checkable
class Store(Protocol):
    """Blocks and cells. Implementations are safe to use from several threads."""

    guard: Guard
    """Asked before blocks are put and where one is missing."""

    def get(self, cid: Cid) -> bytes:
        """Returns the block, hashed again.

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
        """Returns whether the block is here."""
        ...

    def put(self, blocks: Mapping[Cid, bytes]) -> None:
        """Stores the blocks, all or none; durable on return. A block that is here is kept."""
        ...

    def cell(self, name: str) -> bytes | None:
        """Returns the value of a cell, None when there is no such cell."""
        ...

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        """Puts the blocks and swaps every cell in one durable step, or changes nothing.

        Args:
            blocks: put again even where they are here: who collects garbage may be about to
                delete them.
            cells: by name, what is expected and what is new.
            needs: blocks that are referred to and not put: they must be here.

        Raises:
            ConflictError: kind `head-moved`: a cell does not hold the value that was expected.
            NotFoundError: kind `block-not-found`: a needed block is not here.
        """
        ...

    def cells(self) -> dict[str, bytes]:
        """Returns all cells, by name ascending, read from one state of the store."""
        ...

    def cids(self, start: bytes = b"") -> Iterator[Cid]:
        """Yields the CIDs from `start` on, ascending; what is put meanwhile may be seen or not."""
        ...

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Deletes blocks, durable on return; returns how many were here.

        Args:
            cids: the blocks.
            cells: what these cells must hold in the same moment, for nothing to have changed.

        Raises:
            ConflictError: kind `head-moved`: one of them holds another value; nothing was deleted.
        """
        ...

    def renew(self) -> None:
        """Lets go of buffers that may hold what was deleted, before they are written again."""
        ...

    def scrub(self) -> int:
        """Destroys what was deleted and is still on the medium; returns how many bytes of it."""
        ...

    def stats(self) -> StoreStats:
        """Returns what the store holds, in numbers."""
        ...

    def close(self) -> None:
        """Lets go of the medium. Closing twice is allowed; using a closed store is an error."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def check_block(cid: Cid, block: bytes) -> None:
    """Refuses a block that is not the one its CID names, or that is over the format's limit."""
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
    """Refuses what `check_block` refuses, in a loop that is short for those that are well."""
    for cid, block in blocks.items():
        if (
            type(block) is not bytes
            or len(block) > _SURE_BYTES_MAX
            or not isinstance(cid, Cid)
            or blake3(block).digest() != cid.raw[4:]
        ):
            check_block(cid, block)


def check_hash(cid: Cid, block: bytes) -> None:
    """Refuses bytes that are not those that the CID names."""
    if blake3(block).digest() != cid.raw[4:]:
        raise CorruptError(
            f"block: the bytes do not have the hash of {cid}",
            kind=ErrorKind.HASH_MISMATCH,
            hint="check the medium with 'repo doctor', then fetch the block again",
        )


def check_cell(name: str, *values: bytes | None) -> None:
    """Refuses a cell name or value that some backend could not keep."""
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
    """Returns the error for a block that is not here."""
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
