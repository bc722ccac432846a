"""The starting points of a repository: the cells of its store, and the operations it keeps.

`gc` may drop the oldest operations. The cell `horizon` then names the oldest kept one; earlier ones
are missing, and its parents are never followed. A cell of unknown meaning stops every procedure
that needs the complete set of references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import CID_BYTES, Cid, OperationCid
from ibidem.objects.errors import CorruptError, FormatError
from ibidem.objects.operation import Operation
from ibidem.objects.walk import Link
from ibidem.repo.state import ERASING, ERASING_CELL
from ibidem.store.protocol import PARTIAL_CELL

if TYPE_CHECKING:
    from ibidem.objects.blocks import BlockReader

HEAD_CELL = "head"
ORIGIN_CELL = "origin"
STAGE_CELL = "stage"
HORIZON_CELL = "horizon"


def cell_links(name: str, value: bytes) -> Iterator[Link]:
    """Yields the blocks that a cell refers to, except the operations, which `kept_operations`
    yields.

    Raises:
        FormatError: this program does not know the meaning of the cell.
        CorruptError: its value is invalid.
    """
    read = CELLS.get(name)
    if read is None:
        raise FormatError(
            f"cell {name!r:.80}: expected one of {sorted(CELLS)}",
            hint="a newer release of ibidem may know it",
        )
    yield from read(value)


def kept_operations(
    source: BlockReader, head: OperationCid, horizon: OperationCid | None
) -> Iterator[tuple[OperationCid, Operation]]:
    """Yields the operations from `head` back to `horizon`, inclusive, or to the first."""
    waiting, found = [head], {head}
    while waiting:
        cid = waiting.pop()
        operation = Operation.decode(source.get(cid))
        yield cid, operation
        if cid == horizon:
            continue
        for parent in operation.parents:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)


def start_links(
    source: BlockReader, cells: Mapping[str, bytes | None], horizon: OperationCid | None = None
) -> Iterator[Link]:
    """Yields the links from which everything in a repository is reached.

    Args:
        cells: the values of the cells.
        horizon: the oldest operation to keep; by default the one that the cells name.
    """
    for name, value in cells.items():
        if value is not None and name not in (HEAD_CELL, HORIZON_CELL):
            yield from cell_links(name, value)
    stop, head = cells.get(HORIZON_CELL), cells.get(HEAD_CELL)
    if horizon is None and stop is not None:
        horizon = OperationCid(stop)
    assert head is not None, "BUG: a repository without a head was opened"
    for cid, _ in kept_operations(source, OperationCid(head), horizon):
        yield Link(cid.raw, "operation", "", f"operation {cid}")


def _pointer(name: str, kind: str) -> Callable[[bytes], Iterator[Link]]:
    def read(value: bytes) -> Iterator[Link]:
        if len(value) != CID_BYTES:
            raise CorruptError(f"cell {name}: got {len(value)} bytes, expected a CID")
        yield Link(Cid(value).raw, kind, "", f"cell {name}")

    return read


def _erasing(value: bytes) -> Iterator[Link]:
    if value != ERASING:
        raise CorruptError(f"cell {ERASING_CELL}: got {value!r:.80}, expected {ERASING!r}")
    return iter(())


def _stage(value: bytes) -> Iterator[Link]:
    fields = codec.decode_foreign(value)
    if not isinstance(fields, dict) or fields.get("kind") != "stage" or fields.get("v") != 1:
        raise CorruptError("cell stage: it is not a stage")
    for field, kind in (("root", "root"), ("base", "root"), ("commit", "commit")):
        link = fields.get(field)
        if link is None and field == "commit":
            continue
        if not isinstance(link, Cid) or link.is_raw:
            raise CorruptError(f"cell stage: {field} is {link!r:.80}, expected a link")
        yield Link(link.raw, kind, "", "the stage")


CELLS: Mapping[str, Callable[[bytes], Iterator[Link]]] = {
    HEAD_CELL: _pointer(HEAD_CELL, "operation"),
    HORIZON_CELL: _pointer(HORIZON_CELL, "operation"),
    ORIGIN_CELL: _pointer(ORIGIN_CELL, "root"),
    STAGE_CELL: _stage,
    ERASING_CELL: _erasing,
    PARTIAL_CELL: lambda _: iter(()),
}
"""Every known cell, with the function that reads its value."""
