"""The erasures of a repository: which blocks must never return, and why a block is missing.

Erasures are in the view, so every process sees them from the operation on that published them. The
store consults its guard: it rejects blocks that an erasure names, nodes with an erased id, and
parts of an erased document; if an erased block is requested, the error says that it was erased.

Spec: format 5.14, sync 8.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.block import empty
from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import (
    ErasedError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
)
from ibidem.objects.ids import NodeId
from ibidem.objects.location import document_in
from ibidem.objects.record import record
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.repo.state import HEAD_CELL
from ibidem.store.protocol import NO_CELLS, missing_block

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.operation_log import OperationLog
    from ibidem.repo.state import LogEntry

_ID_MARK = b"bidP"
"""The encoded field `id` with 16 bytes, which every node and edge contains once."""
_ID_AT = 8
SHARED = "shared"
"""The folder of an index for segments of other machines."""
_REMOVALS_MAX = 100
"""Attempts to empty a folder that another process still adds to; that process stops at its next
call.
"""


@record
class Erased:
    """Everything that was erased according to one view."""

    erasures: tuple[Erasure, ...] = ()
    cids: Mapping[bytes, Erasure] = field(default_factory=empty)  # type: ignore[arg-type]
    """By the 36 bytes of an erased block's CID."""
    nodes: Mapping[bytes, Erasure] = field(default_factory=empty)  # type: ignore[arg-type]
    """By the id of an erased node."""

    def of(self, cid: Cid, block: bytes | None) -> Erasure | None:
        """Returns the erasure because of which a block must not be here: one that names it, or one
        of its node, or of the document that its node is a part of.

        Args:
            block: None if only its CID is known.
        """
        found = self.cids.get(cid.raw)
        if found is None and block is not None and not cid.is_raw:
            found = self.nodes.get(id_in(block))
            if found is None:
                document = _document_in(block)
                found = None if document is None else self.nodes.get(document.raw)
        return found


NOTHING_ERASED = Erased()


class ErasureGuard:
    """Answers a store's questions from the newest view; safe to use from several threads."""

    def __init__(self, operations: OperationLog, forget: Callable[[], None]) -> None:
        """Creates the guard for the store of a log.

        Args:
            operations: the log; its newest view is used.
            forget: called when there is a new erasure; drops what was cached before it.
        """
        self._operations = operations
        self._forget = forget
        self._last: tuple[TreeCid, Erased] = (EMPTY_TREE, Erased())
        self._asking = threading.local()

    def erased(self) -> Erased:
        """Returns the current erasures."""
        return self._operations.retry_if_collected(self.erased_in)

    def erased_in(self, state: LogEntry) -> Erased:
        """Returns the erasures of a state."""
        tree = state.view.erasures
        last, found = self._last
        if tree != last:
            found = read_erased(self._operations.store, tree)
            self._operations.store.renew()  # its buffers may hold erased data
            self._forget()
            self._last = (tree, found)
        return found

    def refuse(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> None:
        """Raises if one of the blocks was erased.

        Args:
            cids: CIDs, or a mapping from CIDs to blocks: then versions of an erased node, and parts
                of an erased document, that no erasure names are rejected too.
            cells: their values at the time the blocks are put. An erasure moves the head, so if the
                head is among them, the state that it names is sufficient.

        Raises:
            InvalidInputError: kind `forgotten`.
        """
        found = self._erased_if_readable(cells.get(HEAD_CELL))
        if not found.erasures:
            return
        blocks = cids if isinstance(cids, Mapping) else None
        for cid in cids:
            erasure = found.of(cid, None if blocks is None else blocks[cid])
            if erasure is not None:
                raise forgotten(erasure.node)

    def missing(self, cid: Cid) -> Exception:
        """Returns the error that explains why a block is missing."""
        erasure = self._erased_if_readable().cids.get(cid.raw)
        return missing_block(cid) if erasure is None else erased_block(cid, erasure)

    def _erased_if_readable(self, head: bytes | None = None) -> Erased:
        """Returns the erasures at a head, by default the current one; none if they are being read
        or cannot be.
        """
        if getattr(self._asking, "busy", False):
            return Erased()
        self._asking.busy = True
        try:
            return self.erased() if head is None else self.erased_in(self._operations.entry(head))
        except IbidemError:
            return Erased()
        finally:
            self._asking.busy = False


def read_erased(source: Source, tree: TreeCid) -> Erased:
    """Returns the erasures in a tree."""
    if tree == EMPTY_TREE:
        return NOTHING_ERASED
    return index_of(tuple(Erasure.decode(source.get(cid)) for _, cid in Tree(source, tree).items()))


def index_of(erasures: tuple[Erasure, ...]) -> Erased:
    """Returns some erasures, indexed by block and node."""
    return Erased(
        erasures,
        {cid.raw: erasure for erasure in erasures for cid in erasure.cids},
        {erasure.node.raw: erasure for erasure in erasures},
    )


def forgotten(node: NodeId) -> InvalidInputError:
    """Returns the error for an attempt to add an erased node again."""
    return InvalidInputError(
        f"node {node} was erased and cannot come back",
        kind=ErrorKind.FORGOTTEN,
        hint="add it under another key, if that is what you want",
    )


def erased_block(cid: Cid, erasure: Erasure) -> ErasedError:
    """Returns the error for a block that was erased."""
    reason = f": {erasure.reason}" if erasure.reason else ""
    return ErasedError(
        f"block {cid} of node {erasure.node} was erased{reason}",
        hint="ask a revision after the erasure, or leave out what was erased: allow_erased=True, "
        "repo retrieve --allow-erased",
    )


def sweep_index(folder: Path, kept: Path | None) -> None:
    """Removes every index in a folder except one, because an index built before an erasure contains
    erased text.

    Raises:
        OSError: something cannot be removed.
    """
    if not folder.is_dir():
        return
    for path in list(folder.iterdir()):
        if path == kept or (
            kept == folder
            and path.name in ("segments", "snapshots", "derived", "uses", "lock", SHARED)
        ):
            continue
        _remove(path)


def _remove(path: Path) -> None:
    """Removes a file or a folder; other processes may remove it too, or add to it meanwhile."""
    for attempt in range(_REMOVALS_MAX):
        try:
            if path.is_dir():
                for each in list(path.iterdir()):
                    _remove(each)
                path.rmdir()
            else:
                path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt + 1 == _REMOVALS_MAX:
                raise
        else:
            return


def id_in(block: bytes) -> bytes:
    """Returns the id of a node or edge block, empty bytes for any other."""
    if block[_ID_AT - len(_ID_MARK) : _ID_AT] == _ID_MARK:
        return block[_ID_AT : _ID_AT + 16]
    if b"dkinddnode" not in block:
        return b""
    fields = codec.decode(block)  # an unknown field may precede it
    found = fields.get("id") if isinstance(fields, dict) else None
    return found if isinstance(found, bytes) else b""


def _document_in(block: bytes) -> NodeId | None:
    """Returns the id of the document that the node in a block is a part of, None for any other
    block."""
    if b"dkinddnode" not in block or not (b"gsection" in block or b"gpassage" in block):
        return None
    fields = codec.decode(block)
    return document_in(fields.get("key")) if isinstance(fields, dict) else None
