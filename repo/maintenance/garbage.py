"""Blocks that no cell leads to: found by marking all others, and deleted.

Nothing here depends on a clock. Blocks can be deleted while others read and write, because

* every writer puts each new block again in the transaction that makes it visible, and names in it
  the existing commits and roots to which it refers or of which it uses values;
* a deletion happens only if, in the same transaction, the cells still have the values from which
  the marks were computed; if they have changed, newly visible blocks are marked first;
* commits and other blocks that can be named from outside are deleted first, all of them at once: so
  nobody can refer to a commit whose trees are being deleted.

Of the others, content and vectors are deleted before nodes, and trees last: an erasure finds the
content and the vectors of a node by these links, also after a collection that was cut short.

An unknown kind or version, or a missing block, ends it before anything is deleted.

Spec: format 8, 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import CID_BYTES, Cid, OperationCid
from ibidem.objects.cid_table import CidTable
from ibidem.objects.errors import ConflictError, CorruptError, ErrorKind, IbidemError, NotFoundError
from ibidem.objects.progress import STEP, Progress, silent
from ibidem.objects.tree.block import decode
from ibidem.objects.walk import (
    EMPTY_RAW,
    LEAVES,
    RAW_CODEC,
    TREE,
    Link,
    expand,
    links_below,
    read_blocks,
    walk,
)
from ibidem.repo.maintenance.cells import CELLS, start_links
from ibidem.repo.operation_log import RETRIES_MAX, lost_every_race
from ibidem.store.protocol import PARTIAL_CELL

if TYPE_CHECKING:
    from ibidem.store.protocol import Store

BATCH_BLOCKS = 10_000
"""Blocks deleted in one transaction, which bounds how long writers wait."""
_MARKING = "marking blocks"
_WAITING_BYTES_MAX = 2048 * CID_BYTES
"""CIDs that are marked together."""
ENTRIES = frozenset(("commit", "operation", "view", "ref", "root", "step", "receipt"))
"""Kinds that can be named from outside; they are deleted first, in one transaction."""


class Marks:
    """The set of needed blocks: a visitor that enters each of them once.

    Most blocks have no links. These are marked in batches, in a table, without being read.
    """

    def __init__(self, store: Store, progress: Progress = silent) -> None:
        self.store = store
        self._progress = progress
        self._room = store.stats().block_count
        self.clear()

    def __len__(self) -> int:
        return len(self._leaves) + self._leaves.absent_count(self._entered) - 1

    def __contains__(self, raw: bytes) -> bool:
        return raw in self._entered or raw in self._leaves

    def mark(self, links: Iterable[Link]) -> None:
        """Marks everything reachable from the links.

        Raises:
            FormatError: an unknown kind or version.
            CorruptError: a needed block is missing or damaged.
        """
        self._progress(_MARKING, 0, None)
        walk(self.store, links, self)
        self._mark_leaves()
        self._progress(_MARKING, self._read_count, self._read_count)

    def clear(self) -> None:
        """Removes all marks: after `mark` has raised, blocks needed by a marked one may be
        unmarked.
        """
        self._entered: set[bytes] = {EMPTY_RAW}
        self._leaves = CidTable(self._room)
        self._read_count = 0
        self._waiting = bytearray()
        """CIDs of leaves that are not marked yet."""

    def enter(self, link: Link) -> bool:
        """Marks a block; it is read if it was unmarked and may have links."""
        if link.kind in LEAVES:
            self._leaves.add(link.raw)
            return False
        if link.raw in self._entered:
            return False
        self._entered.add(link.raw)
        return True

    def block(self, link: Link, block: bytes) -> Iterable[Link]:
        """Returns the links of a block; values without links are marked here and left out."""
        self._read_count += 1
        if not self._read_count % STEP:
            self._progress(_MARKING, self._read_count, None)
        if link.kind != TREE or link.raw[1] == RAW_CODEC:
            return expand(link, block)
        tree = decode(block)
        if tree.level or link.of not in LEAVES:
            # Each view has another tree of refs: nearly all entries of its blocks were met.
            return links_below(link, tree, [raw not in self._entered for raw in tree.cid_list()])
        self._waiting += tree.cids
        if len(self._waiting) > _WAITING_BYTES_MAX:
            self._mark_leaves()
        return ()

    def missing(self, link: Link, error: NotFoundError | CorruptError) -> None:
        """Raises unless the block was erased."""
        if isinstance(error, CorruptError):
            raise error
        if error.kind is not ErrorKind.ERASED:
            raise CorruptError(
                f"{link.kind} {Cid(link.raw)}: it is missing, and {link.owner} needs it",
                kind=ErrorKind.BLOCK_NOT_FOUND,
                hint="run 'repo fsck' first",
            ) from error

    def unmarked(self, cids: Iterable[Cid]) -> Iterator[Cid]:
        """Yields those of some CIDs that are not marked."""
        return (cid for cid in self._leaves.absent(cids) if cid.raw not in self._entered)

    def _mark_leaves(self) -> None:
        self._leaves.add_all(self._waiting)
        self._waiting.clear()


def delete_garbage(marks: Marks, progress: Progress = silent) -> dict[bytes, tuple[str, int]]:
    """Deletes all blocks that no cell leads to, also those of a publication that was cut short;
    returns kind and size of each.

    Raises:
        FormatError, CorruptError: as `collect`; nothing was deleted.
    """
    store = marks.store
    cells = mark_all(store, marks)
    garbage = list_garbage(store, marks)
    for raw in _delete(store, marks, cells, garbage, progress):
        del garbage[raw]
    partial = cells[PARTIAL_CELL]
    if partial is not None:
        with suppress(ConflictError):  # another publication was cut short meanwhile
            store.publish({}, {PARTIAL_CELL: (partial, None)})
    return garbage


def mark_all(
    store: Store, marks: Marks, horizon: OperationCid | None = None
) -> dict[str, bytes | None]:
    """Marks everything reachable from the cells; returns the values of all known cells, also of
    absent ones: one created later, such as a first stage, refers to unmarked blocks.

    If another collection drops some of these blocks meanwhile, marking starts again.
    """
    for _ in range(RETRIES_MAX):
        cells = _all_cells(store)
        try:
            marks.mark(start_links(store, cells, horizon))
        except (NotFoundError, CorruptError) as error:
            if error.kind is not ErrorKind.BLOCK_NOT_FOUND or _all_cells(store) == cells:
                raise
        else:
            return cells
        marks.clear()
    raise lost_every_race()


def _all_cells(store: Store) -> dict[str, bytes | None]:
    return {**dict.fromkeys(CELLS), **store.cells()}


def list_garbage(store: Store, marks: Marks) -> dict[bytes, tuple[str, int]]:
    """Returns kind and size of every unmarked block."""
    found: dict[bytes, tuple[str, int]] = {}
    for cid, block in read_blocks(store, marks.unmarked(store.cids())):
        if isinstance(block, NotFoundError):
            continue  # deleted meanwhile
        found[cid.raw] = _kind_and_size(cid, block)
    return found


def _kind_and_size(cid: Cid, block: bytes | IbidemError) -> tuple[str, int]:
    if isinstance(block, IbidemError):
        return "damaged", 0
    try:
        kind = "blob" if cid.is_raw else str(codec.decode(block).get("kind", "unknown"))
    except IbidemError:
        return "damaged", 0
    return kind, len(block)


def _delete(
    store: Store,
    marks: Marks,
    cells: Mapping[str, bytes | None],
    garbage: Mapping[bytes, tuple[str, int]],
    progress: Progress,
) -> Iterator[bytes]:
    """Deletes the garbage; yields the CIDs of blocks that stay because they are needed again."""
    waiting = [[raw for raw, (kind, _) in garbage.items() if kind in ENTRIES]]
    rest = [raw for raw, (kind, _) in garbage.items() if kind not in ENTRIES]
    rest.sort(key=lambda raw: _rank(garbage[raw][0]))
    waiting += [rest[at : at + BATCH_BLOCKS] for at in range(0, len(rest), BATCH_BLOCKS)]
    done = 0
    for batch in waiting:
        progress("deleting blocks", done, len(garbage))
        done += len(batch)
        while True:
            needed = [raw for raw in batch if raw in marks]
            try:
                store.delete([Cid(raw) for raw in batch if raw not in marks], cells=cells)
            except ConflictError:
                cells = mark_all(store, marks)
                continue
            yield from needed
            break
    progress("deleting blocks", done, done)


def _rank(kind: str) -> int:
    """Returns when a kind is deleted: leaves such as content first, trees last."""
    return 2 if kind == TREE else int(kind not in LEAVES)
