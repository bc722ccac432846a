"""Checks values by themselves and under their keys, many at a time: the larger part of `repo fsck`,
and the part that needs nothing but the blocks, so that other processes can do it.

A value is plain if it is well-formed, has the kind and the id that its place requires, and needs no
other block. Anything else is left to `BlockCheck`, which names what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibidem.objects.cid import CID_BYTES, Cid
from ibidem.objects.edge import Edge
from ibidem.objects.errors import CorruptError, FormatError, InvalidInputError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.vector import VECTORS, Vector
from ibidem.objects.verify import read_foreign
from ibidem.objects.walk import BATCH_BLOCKS, read_many

if TYPE_CHECKING:
    from ibidem.objects.block import Block
    from ibidem.objects.blocks import Source

PLAIN = frozenset(("node", "edge", "tombstone", *VECTORS))
"""Kinds whose values may be plain."""
_LINK = b"\xd8\x2a"
"""The tag before every link in a block."""


@record
class Values:
    """Values of one kind."""

    kind: str
    cids: bytes
    """36 bytes each."""
    keys: bytes
    """16 bytes each for nodes and edges, else empty."""


@record
class PlainValues:
    """Which of some values are plain."""

    size_bytes: int
    """Total size of their blocks."""
    others: list[int]
    """Indexes of the values that are not, or whose block cannot be read."""
    dims: list[int]
    """The dimensions of the vectors among them, each once, ascending."""


CheckValues = Callable[[Values], Callable[[], PlainValues]]
"""Starts the check of some values; returns a function that waits for its result."""


def plain_values(source: Source, values: Values) -> PlainValues:
    """Reads some values, and returns which of them are plain."""
    raws = [values.cids[at : at + CID_BYTES] for at in range(0, len(values.cids), CID_BYTES)]
    size, others, dims = 0, [], set()
    for start in range(0, len(raws), BATCH_BLOCKS):
        blocks = read_many(source, [Cid(raw) for raw in raws[start : start + BATCH_BLOCKS]])
        for index, block in enumerate(blocks, start):
            key = values.keys[index * ID_BYTES : (index + 1) * ID_BYTES]
            if not isinstance(block, bytes) or (value := _plain(values.kind, key, block)) is None:
                others.append(index)
                continue
            size += len(block)
            if isinstance(value, Vector):
                dims.add(value.dim)
    return PlainValues(size, others, sorted(dims))


def _plain(kind: str, key: bytes, block: bytes) -> Block | None:
    """Returns the value in a block, None if it is not plain."""
    try:
        value = read_foreign(block)
    except (CorruptError, FormatError, InvalidInputError):
        return None
    if value is None or kind != value.KIND or (isinstance(value, Node) and value.children):
        return None
    if isinstance(value, (Node, Edge)) and value.id.raw != key:
        return None
    return None if _LINK in block else value
