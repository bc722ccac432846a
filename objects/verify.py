"""Checks one block by itself, as import, fetch and `repo fsck` do before they trust it.

A block that passes has the hash of its CID, is canonical, is of a known kind and version, and has
the only form that its value may have. The blocks that it links to are checked by following the
links.

Spec: format 4, 5, 8.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.block import Block
from ibidem.objects.cid import DAG_CBOR_PREFIX, BlobCid, Cid
from ibidem.objects.commit import Commit
from ibidem.objects.conflict import Conflict
from ibidem.objects.constants import RAW_BYTES_MAX
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge, read_edge
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, InvalidInputError
from ibidem.objects.ids import StableId
from ibidem.objects.links import check_kind
from ibidem.objects.node import Node
from ibidem.objects.operation import Operation
from ibidem.objects.prescan import prescan
from ibidem.objects.receipt import ReceiptBlock
from ibidem.objects.root import Root
from ibidem.objects.step import Step
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import block as tree_block
from ibidem.objects.vector import VECTORS, NodeVector, Vector
from ibidem.objects.view import Ref, View

VALUES: dict[str, type[Block]] = dict(VECTORS) | {
    cls.KIND: cls
    for cls in (
        Node,
        Edge,
        Tombstone,
        Erasure,
        Conflict,
        Root,
        Commit,
        Ref,
        View,
        Operation,
        ReceiptBlock,
        Step,
    )
}
"""The class of each kind that is a value; trees and results are read by their own packages."""


def verify_block(cid: Cid, block: bytes) -> Block | None:
    """Raises unless `block` belongs to `cid` and is itself well-formed in every respect; returns
    its value, None for a raw block or a kind that is not in VALUES.

    Raises:
        CorruptError: `hash-mismatch`, `limit-exceeded`, `non-canonical`, or `corrupt` naming the
            field.
        FormatError: a kind or version that this program does not know.

    Spec: format 4, 5, 8.
    """
    is_raw = cid.is_raw
    if is_raw and len(block) > RAW_BYTES_MAX:
        raise CorruptError(
            f"raw block: got {len(block)} bytes, expected at most {RAW_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    if blake3(block).digest() != cid.raw[len(DAG_CBOR_PREFIX) :]:
        found: Cid = BlobCid.of(block) if is_raw else Cid.of(block)
        raise CorruptError(
            f"block: got bytes of {found}, expected those of {cid}", kind=ErrorKind.HASH_MISMATCH
        )
    return None if is_raw else read_foreign(block)


def read_foreign(block: bytes) -> Block | None:
    """Returns the value in a block from anywhere, or None for a kind that is not in VALUES.

    Raises:
        CorruptError: not canonical, or not the one form of its value; the message names the field.
        FormatError: a kind or version that this program does not know.

    Spec: format 4, 5, 8.
    """
    if tree_block.begins_as_tree(block):
        with suppress(CorruptError, FormatError):  # then it is another kind, or the path below says
            tree_block.decode(block)  # admits the canonical form only
            return None
    value = _read_well(block)
    if value is not None:
        return value
    fields = codec.decode_foreign(block)
    kind = check_kind(fields)
    if kind == "tree":
        tree_block.decode(block)
    cls = VALUES.get(kind)
    if cls is None:
        return None
    value = cls.from_map(fields)
    _check_value(value)
    if value.encode() != block:
        raise CorruptError(
            f"{kind}: got a block in another form than its value has, expected fields at their "
            "default left out",
            kind=ErrorKind.NON_CANONICAL,
        )
    return value


_MODELS_MAX = 64
_models: dict[int, Callable[[bytes], Block | None]] = {}
"""By length of blocks, what reads those that resemble the last vector or edge of that length: most
blocks are such, and most of one length resemble each other."""


def _read_well(block: bytes) -> Block | None:
    """Returns the value in a block that passes every check, by a path that is shorter than the one
    that identifies errors; None if the block must go through the longer path.

    The encoder of a value writes canonical bytes: a block that equals them needs no other proof and
    need not be encoded a second time from its fields.
    """
    read = _models.get(len(block))
    quick = None if read is None else read(block)
    if quick is not None:
        _check_value(quick)
        return quick
    prescan(block)
    fields = codec.decode(block)
    kind = fields.get("kind") if type(fields) is dict else None
    if type(kind) is not str or kind not in VALUES:
        return None
    try:
        value = VALUES[kind].from_map(fields)
        is_well = value.encode() == block
    except Exception:  # the longer path identifies the error
        return None
    if not is_well:
        return None
    _check_value(value)
    if isinstance(value, Vector):
        _remember(block, partial(Vector.like, value))
    elif isinstance(value, Edge):
        _remember(block, partial(read_edge, value))
    return value


def _remember(block: bytes, read: Callable[[bytes], Block | None]) -> None:
    """Keeps what reads blocks like a given one, if it reads that one."""
    if read(block) is not None:
        if len(_models) >= _MODELS_MAX:
            _models.clear()
        _models[len(block)] = read


def _check_value(value: Block) -> None:
    if isinstance(value, NodeVector):
        try:
            value.check_components()
        except InvalidInputError as error:
            raise CorruptError(str(error)) from error
    if isinstance(value, (Node, Edge)):
        _check_id(value)


def _check_id(value: Node | Edge) -> None:
    derived: StableId | None = None
    if isinstance(value, Edge):
        derived = edge_id(value.src, value.etype, value.dst, value.key)
    elif value.key is not None:
        derived = node_id(*value.key)
    if derived is not None and value.id != derived:
        raise CorruptError(f"{value.KIND}.id: got {value.id}, expected {derived} by its key")
