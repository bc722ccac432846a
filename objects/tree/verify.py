"""Checks a tree from an untrusted source: every block, the order of all keys, every boundary.

Reading a tree checks only what can be checked at no cost. This module checks everything, so a tree
that passes is byte for byte the one that `build` makes of its entries: same set, same blocks.

Spec: format 6.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.cid import CID_BYTES, DAG_CBOR_PREFIX, RAW_PREFIX, Cid, TreeCid
from ibidem.objects.errors import CorruptError, ErrorKind, NotFoundError
from ibidem.objects.tree.block import EMPTY_TREE, decode
from ibidem.objects.tree.boundary import cut_flags
from ibidem.objects.tree.build import first_disorder
from ibidem.objects.tree.columns import Block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ibidem.objects.blocks import Source


def verify(source: Source, cid: TreeCid) -> int:
    """Checks every block of a tree, level by level from the top; returns the number of entries.

    Work and memory are linear in the blocks that exist: a level is in strict order before the level
    below it is read, so no block is reached twice.

    Raises:
        CorruptError: names the first block that is missing (kind `block-not-found`), does not match
            its CID (`hash-mismatch`), or is not the block that `build` would write.

    Spec: format 6.9.
    """
    if cid == EMPTY_TREE:
        return 0
    top = _load(source, cid.raw)
    if top.size < 2 and (top.level or not top.size):
        raise _corrupt(cid.raw, f"{top.size} entries at level {top.level}, expected a lower top")
    raws, blocks, counts = [cid.raw], [top], None
    while True:
        _check_level(raws, blocks, counts)
        if blocks[0].level == 0:
            return sum(block.size for block in blocks)
        raws, blocks, counts = _children(source, blocks)


def _children(
    source: Source, parents: list[Block]
) -> tuple[list[bytes], list[Block], list[int] | None]:
    import numpy as np

    raws = [raw for parent in parents for raw in parent.cid_list()]
    lasts = [key for parent in parents for key in parent.key_list]
    level, width = parents[0].level - 1, parents[0].width
    blocks = []
    for raw, last in zip(raws, lasts, strict=True):
        block = _load(source, raw)
        if block.level != level:
            raise _corrupt(raw, f"level {block.level}, expected {level}")
        if block.width != width:
            raise _corrupt(raw, f"keys of {block.width} bytes, expected {width}")
        if block.last != last:
            raise _corrupt(raw, f"ends at key {block.last.hex()}, its parent says {last.hex()}")
        blocks.append(block)
    merged = b"".join([parent.counts for parent in parents])
    return raws, blocks, np.frombuffer(merged, ">u8").tolist()


def _check_level(raws: list[bytes], blocks: list[Block], counts: list[int] | None) -> None:
    """Checks one whole level: order, boundaries, CIDs, and the counts that its parents state."""
    import numpy as np

    level, width = blocks[0].level, blocks[0].width
    keys = np.frombuffer(b"".join([block.keys for block in blocks]), np.uint8).reshape(-1, width)
    stops = np.cumsum([block.size for block in blocks])
    at = first_disorder(keys)
    if at is not None:
        raw = raws[int(np.searchsorted(stops, at + 1, side="right"))]
        raise _corrupt(raw, f"key {keys[at + 1].tobytes().hex()} is not above the key before it")
    flags = np.zeros(len(keys), np.bool_)
    flags[stops - 1] = True
    wrong = np.flatnonzero(flags != cut_flags(keys, level))
    if len(wrong):
        raw = raws[int(np.searchsorted(stops, wrong[0], side="right"))]
        key = keys[wrong[0]].tobytes().hex()
        said = "ends a block and should not" if flags[wrong[0]] else "should end a block"
        raise _corrupt(raw, f"key {key} {said}")
    _check_cids(raws, blocks, stops)
    for index, count in enumerate(counts or ()):
        if blocks[index].entry_count != count:
            found = blocks[index].entry_count
            raise _corrupt(raws[index], f"{found} entries, its parent counts {count}")


def _check_cids(raws: list[bytes], blocks: list[Block], stops: NDArray[np.int64]) -> None:
    import numpy as np

    cids = np.frombuffer(b"".join([block.cids for block in blocks]), np.uint8)
    heads = np.ascontiguousarray(cids.reshape(-1, CID_BYTES)[:, :4]).view("<u4").reshape(-1)
    valid = heads == int.from_bytes(DAG_CBOR_PREFIX, "little")
    if blocks[0].level == 0:
        valid |= heads == int.from_bytes(RAW_PREFIX, "little")
    wrong = np.flatnonzero(~valid)
    if len(wrong):
        raw = raws[int(np.searchsorted(stops, wrong[0], side="right"))]
        raise _corrupt(raw, f"entry {wrong[0]} of its level does not hold a cid")


def _load(source: Source, raw: bytes) -> Block:
    cid = TreeCid(raw)
    try:
        block = source.get(cid)
    except NotFoundError as error:
        raise CorruptError(f"tree block {cid}: missing", kind=ErrorKind.BLOCK_NOT_FOUND) from error
    if TreeCid.of(block) != cid:
        raise CorruptError(
            f"tree block {cid}: its bytes have the cid {TreeCid.of(block)}",
            kind=ErrorKind.HASH_MISMATCH,
        )
    try:
        return decode(block)
    except CorruptError as error:
        raise CorruptError(f"{error} (tree block {cid})", kind=error.kind) from error


def _corrupt(raw: bytes, what: str) -> CorruptError:
    return CorruptError(f"tree block {Cid(raw)}: {what}")
