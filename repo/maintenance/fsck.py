"""Reads a whole repository and verifies that every byte that matters is as it was written.

`repo doctor` is the quick check; this one is complete. It reads the layout of the store's file,
every block whether referenced or not, the relations between blocks, the log, the receipts and the
index. It changes nothing and takes no lock that another process waits for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, OperationCid, RootCid, TreeCid
from ibidem.objects.errors import (
    UNREADABLE,
    CorruptError,
    FormatError,
    IbidemError,
    NotFoundError,
)
from ibidem.objects.ids import NodeId
from ibidem.objects.root import Root
from ibidem.objects.second_reader import disagreement
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.objects.tree.cache import TreeCache
from ibidem.objects.view import View
from ibidem.objects.walk import Link, read_blocks
from ibidem.repo.erasure.find_copies import find_copies
from ibidem.repo.erasure.guard import Erased
from ibidem.repo.erasure.local_files import remaining, unlisted
from ibidem.repo.event_log import damaged_events, heads_of_notes
from ibidem.repo.maintenance import file_checks
from ibidem.repo.maintenance.block_checks import BlockCheck, Look
from ibidem.repo.maintenance.cells import (
    HEAD_CELL,
    HORIZON_CELL,
    ORIGIN_CELL,
    cell_links,
    kept_operations,
)
from ibidem.repo.maintenance.history_checks import check_roots, in_order
from ibidem.repo.maintenance.report import Fault, FaultKind, FsckReport
from ibidem.repo.maintenance.source_check import SourceCheck
from ibidem.repo.maintenance.workers import Workers
from ibidem.repo.refs import name_at
from ibidem.repo.state import ERASING_CELL
from ibidem.repo.view_check import check_log, check_view
from ibidem.store.protocol import SupportsFileCheck

if TYPE_CHECKING:
    from ibidem.objects.operation import Operation
    from ibidem.objects.view import Ref
    from ibidem.repo.core import Core
    from ibidem.store.protocol import Store

_TRIES_MAX = 5
_Named = tuple[FaultKind, str, Cid | None]
"""A fault without its text: kind, location, block."""
UNREAD = "the blocks were not read: a file with such a layout may end whoever reads it"
_FINISH = "run 'repo erase --finish'"


def fsck(repository: Core, *, deep: bool = False) -> FsckReport:
    """Returns all faults of a repository, and what was read.

    Blocks that another process collects as garbage or erases meanwhile may look missing, so if a
    fault is found and the cells have changed since, everything is read again. If the cells keep
    changing, only faults found every time are reported.

    Args:
        repository: its store must be safe to read, which `fsck_folder` checks first.
        deep: also decodes every block with `dag-cbor` and compares the results.
    """
    lasting: set[_Named] | None = None
    for _ in range(_TRIES_MAX):
        before = repository.store.cells()
        report = _checked(repository, deep=deep)
        if report.is_clean or repository.store.cells() == before:
            return report
        found = set(map(_names, report.faults))
        lasting = found if lasting is None else lasting & found
    return replace(report, faults=tuple(f for f in report.faults if _names(f) in (lasting or ())))


def _names(fault: Fault) -> _Named:
    return fault.kind, fault.where, fault.cid


def _checked(repository: Core, *, deep: bool) -> FsckReport:
    store = repository.store
    faults: list[Fault] = []
    notes: list[str] = []
    counts: Counter[str] = Counter()
    if isinstance(store, SupportsFileCheck):
        layout = store.check_layout()
        counts["page"] = layout.page_count
        if layout.faults:
            faults = file_checks.layout_faults(layout)
            return FsckReport(tuple(faults), (UNREAD,), counts=dict(counts))
    erased = _erased(repository)
    total = store.stats().block_count
    second = _SecondReading()
    look = second.look if deep else None
    with Workers(repository, block_count=total) as workers:
        blocks = BlockCheck(
            store,
            lambda cid: cid.raw in erased.cids,
            workers.check_values,
            total=total,
            progress=repository.progress,
            look=look,
        )
        operations, horizon = _check_cells(store, blocks, faults)
        blocks.run(Link(cid.raw, "operation", "", f"operation {cid}") for cid, _ in operations)
        if not blocks.faults and not blocks.erased:
            workers.begin_history(blocks.dim)
        faults += blocks.faults
        faults += _check_erased(repository, erased)
        refs: list[Ref] = []
        faults += _check_views(store, operations, horizon, refs)
        faults = _with_ref_names(store, operations, faults)
        unreachable = list(_check_rest(store, blocks, look))
        blocks.end()
        faults += _check_roots(store, blocks, workers)
    faults += _check_notes(store, refs)
    faults += _check_sources(store, blocks)
    faults += filter(None, unreachable)
    faults += second.faults()
    if repository.folder is not None:
        found, notes, counts["logged-receipt"] = file_checks.check_receipts(
            repository.folder / "receipts"
        )
        faults += found
        found, counts["embedding"] = file_checks.check_embeddings(repository.folder / "embeddings")
        faults += found
        faults += file_checks.check_index(repository)
        faults += file_checks.check_keys(repository.folder / "keys")
        notes += [
            f"{name}: no file that this release knows" for name in unlisted(repository.folder)
        ]
    return FsckReport(
        tuple(faults),
        tuple(notes),
        len(blocks.erased),
        len(unreachable),
        blocks.whole_count + len(unreachable),
        blocks.size_bytes,
        dict(sorted((blocks.counts + counts).items())),
    )


def _erased(repository: Core) -> Erased:
    try:
        return repository.guard.erased()
    except IbidemError:
        return Erased()  # the walk reports why it cannot be read


def _check_erased(repository: Core, erased: Erased) -> Iterator[Fault]:
    """Yields faults for an interrupted erasure, or for erased blocks that are here without one."""
    store = repository.store
    here = [Cid(raw) for raw in erased.cids if store.has(Cid(raw))]
    if store.cell(ERASING_CELL) is not None:
        yield from _unfinished(repository, erased, here)
    elif here:
        detail = f"{len(here)} blocks that were erased are here again"
        yield Fault(FaultKind.ERASURE, "erasure", detail, here[0])


def _check_views(
    store: Store,
    operations: list[tuple[OperationCid, Operation]],
    horizon: OperationCid | None,
    refs: list[Ref],
) -> list[Fault]:
    """Returns the faults of the refs and erasures of the kept views, and of the order of these
    views; blocks that could not be read are reported by the walk over all blocks.

    Args:
        refs: gets the refs of the newest view, and of each older one those that the next does not
            have.
    """
    faults: list[Fault] = []
    readable: list[tuple[OperationCid, Operation, View]] = []
    newer: View | None = None
    source = TreeCache(store)
    for cid, operation in operations:
        with suppress(NotFoundError, CorruptError, FormatError):
            view, before = View.decode(store.get(operation.view)), newer
            readable.append((cid, operation, view))
            newer = view
            check_view(source, view, before, faults.append, refs.append, owner=f"operation {cid}")
    check_log(readable, horizon, faults.append)
    return faults


def _with_ref_names(
    store: Store, operations: list[tuple[OperationCid, Operation]], faults: list[Fault]
) -> list[Fault]:
    """Returns the faults; those of blocks of current refs say the names of the refs, where these
    are found elsewhere."""
    unnamed = {fault.cid for fault in faults if fault.where == f"ref {fault.cid}"}
    names: dict[Cid | None, str] = {}
    with suppress(*UNREADABLE):
        if unnamed and operations:
            view = View.decode(store.get(operations[0][1].view))
            for key, cid in Tree(store, view.refs).items():
                name = name_at(store, view, key) if cid in unnamed else None
                if name is not None:
                    names[cid] = name
    return [
        replace(fault, where=f"ref {names[fault.cid]}") if fault.cid in names else fault
        for fault in faults
    ]


def _unfinished(repository: Core, erased: Erased, here: list[Cid]) -> Iterator[Fault]:
    """Yields what can still be read of erased nodes: blocks by node, and files that quote them; if
    there are none, the bytes of deleted records that may contain them.
    """
    blocks: dict[NodeId, list[Cid]] = {}
    for cid in here:
        blocks.setdefault(erased.cids[cid.raw].node, []).append(cid)
    for node, cids in blocks.items():
        detail = f"it is not finished, blocks still readable: {len(cids)}; {_FINISH}"
        yield Fault(FaultKind.UNFINISHED, f"erasure of node {node}", detail, cids[0])
    if blocks and repository.folder is not None:
        copies = find_copies(repository.store, set(blocks), repository.graph().config.fields)
        for file in remaining(repository, copies):
            detail = f"it may still say what was erased; {_FINISH}"
            yield Fault(FaultKind.UNFINISHED, file, detail)
    if not blocks:
        store = repository.store
        size = store.unscrubbed_bytes() if isinstance(store, SupportsFileCheck) else 0
        detail = (
            "it is not finished; no block is left, "
            f"and {size:,} bytes of deleted records are still readable in the file; {_FINISH}"
        )
        yield Fault(FaultKind.UNFINISHED, "erasure", detail)


def _check_cells(
    store: Store, blocks: BlockCheck, faults: list[Fault]
) -> tuple[list[tuple[OperationCid, Operation]], OperationCid | None]:
    """Follows the references of the cells; returns the kept operations, newest first."""
    pointers: dict[str, OperationCid] = {}
    cells = store.cells()
    for name in sorted({*cells, HEAD_CELL, ORIGIN_CELL}):
        value = cells.get(name)
        try:
            if value is None:
                raise CorruptError("it is not there")
            found = list(cell_links(name, value))
        except (CorruptError, FormatError) as error:
            faults.append(Fault(FaultKind.CELL, f"cell {name}", str(error)))
            continue
        if name in (HEAD_CELL, HORIZON_CELL):
            pointers[name] = OperationCid(found[0].raw)
        blocks.run(found)
    horizon = pointers.get(HORIZON_CELL)
    operations: list[tuple[OperationCid, Operation]] = []
    if HEAD_CELL in pointers:
        operations.extend(_kept(store, pointers[HEAD_CELL], horizon, faults))
    if horizon is not None and operations and horizon not in dict(operations):
        faults.append(Fault(FaultKind.LOG, "operation log", f"it does not reach back to {horizon}"))
    return operations, horizon


def _kept(
    store: Store, head: OperationCid, horizon: OperationCid | None, faults: list[Fault]
) -> Iterator[tuple[OperationCid, Operation]]:
    """Yields the kept operations, newest first; one that cannot be read is a fault."""

    class Source:
        def get(self, cid: Cid) -> bytes:
            self.last = cid
            return store.get(cid)

    source = Source()
    try:
        yield from kept_operations(source, head, horizon)
    except (NotFoundError, CorruptError, FormatError) as error:
        kind = FaultKind.MISSING if isinstance(error, NotFoundError) else FaultKind.DAMAGED
        where = f"operation {source.last}"
        faults.append(Fault(kind, where, str(error), source.last, "the operation log"))


def _check_roots(store: Store, blocks: BlockCheck, workers: Workers) -> list[Fault]:
    commits, roots = blocks.by_kind["commit"], blocks.by_kind["root"]
    is_well_formed = not blocks.faults
    if is_well_formed and not blocks.erased and workers.is_history_valid(commits, roots):
        return []
    return check_roots(
        store,
        commits,
        roots,
        lambda cid: cid.raw in blocks.erased,
        is_well_formed=is_well_formed,
        dim=blocks.dim,
    )


def _check_sources(store: Store, blocks: BlockCheck) -> Iterator[Fault]:
    """Yields faults for nodes that contain themselves, and for those whose source exceeds the
    limits.
    """
    if not blocks.parts:
        return
    check = SourceCheck(store, lambda cids: [blocks.parts.get(cid.raw) for cid in cids])
    roots: dict[bytes, RootCid] = {}
    named: set[Cid] = set()
    for cid, commit in in_order(store, blocks.by_kind["commit"]):
        roots[cid.raw] = commit.root
        bases = [roots[parent.raw] for parent in commit.parents if parent.raw in roots]
        if commit.root in bases:
            continue
        with suppress(IbidemError):  # reported by the walk
            before = _nodes(store, bases[0]) if bases else EMPTY_TREE
            for node, error in check.check(_nodes(store, commit.root), before):
                if node not in named:
                    named.add(node)
                    yield Fault(
                        FaultKind.MALFORMED, f"node {node}", str(error), node, f"commit {cid}"
                    )


def _nodes(store: Store, root: RootCid) -> TreeCid:
    return Root.decode(store.get(root)).nodes


def _check_notes(store: Store, refs: list[Ref]) -> Iterator[Fault]:
    """Yields faults for non-events at the heads of notes, local or remote-tracking, in all kept
    views: an undo may restore any of them.
    """
    named: set[Cid] = set()
    for name, head, before in heads_of_notes(refs):
        with suppress(IbidemError):  # reported by the walk
            for cid, said in damaged_events(store, head, before):
                if cid not in named:
                    named.add(cid)
                    yield Fault(FaultKind.MALFORMED, f"node {cid}", said, cid, name)


def _check_rest(store: Store, blocks: BlockCheck, look: Look | None) -> Iterator[Fault | None]:
    """Yields for each unreferenced block its fault, None if it is valid."""
    for cid, block in read_blocks(store, blocks.entered.absent(store.cids())):
        if isinstance(block, NotFoundError):
            continue  # deleted meanwhile by a garbage collection
        if isinstance(block, IbidemError):
            detail = f"nothing needs it, and its bytes are not its own: {block}"
            yield Fault(FaultKind.DAMAGED, f"block {cid}", detail, cid)
            continue
        blocks.size_bytes += len(block)
        if look is not None:
            look(cid, block)
        yield None


class _SecondReading:
    """Blocks that `dag-cbor` decodes differently from our codec."""

    def __init__(self) -> None:
        self._problems: dict[Cid, str] = {}

    def look(self, cid: Cid, block: bytes) -> None:
        """Decodes a block a second time; one that our codec cannot decode is a fault already."""
        if cid.is_raw:
            return
        with suppress(CorruptError):
            problem = disagreement(block)
            if problem is not None:
                self._problems[cid] = problem

    def faults(self) -> list[Fault]:
        """Returns the faults found, ascending by CID."""
        found = sorted(self._problems.items())
        return [Fault(FaultKind.DISAGREEMENT, f"block {cid}", text, cid) for cid, text in found]
