"""A full copy, with the operation log and everything it can undo to. Only on request, and only into
a new repository.

The log records what was done on one machine and when. It does not concern others, so nothing else
copies it. Restoring checks every view of the log as a clone checks its single one.

Spec: sync 3, 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, OperationCid, TreeCid
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import CorruptError
from ibidem.objects.operation import Operation
from ibidem.objects.tree import diff
from ibidem.objects.tree.block import EMPTY_TREE
from ibidem.objects.view import Ref, View
from ibidem.repo.event_log import heads_of_notes
from ibidem.repo.root_check import refuse, tree_problem
from ibidem.repo.state import HEAD_CELL, HORIZON_CELL
from ibidem.repo.sync.have_set import HaveSet
from ibidem.repo.sync.missing_blocks import kind_of, tree_needs
from ibidem.repo.sync.quarantine import Layered, Quarantine, missing_from_pack
from ibidem.repo.sync.receive import Intake, check_notes
from ibidem.repo.sync.report import Move, RefMove
from ibidem.repo.view_check import NEVER_ERASED, check_log, check_view

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.core import Core
    from ibidem.store.protocol import Store, Swap


class LocalLog:
    """The operations of a source from one back to the last available, with their views."""

    def __init__(
        self, source: Source, newest: OperationCid, is_last: Callable[[Operation, Cid], bool]
    ) -> None:
        """Reads and checks all of them.

        Args:
            source: has the blocks.
            newest: the operation to start from.
            is_last: whether to stop at an operation that has parents; also gets its CID.

        Raises:
            CorruptError: a tree is not canonical; or an error of `view_check`.
        """
        self._source = source
        self.cids: dict[Cid, None] = {}
        """Operations, views, blocks of their trees, refs and erasures."""
        self.targets: dict[Cid, None] = {}
        """The targets of the refs of all views."""
        self.erased: set[Cid] = set()
        """The CIDs that the erasures of all views name."""
        self.refs: list[Ref] = []
        """Those of the newest view, and of each older one those that the next does not have."""
        self.newest = View.decode(source.get(Operation.decode(source.get(newest)).view))
        operations: list[tuple[OperationCid, Operation, View]] = []
        at, newer = newest, None
        while True:
            operation = Operation.decode(source.get(at))
            view = View.decode(source.get(operation.view))
            operations.append((at, operation, view))
            self.cids[at] = self.cids[operation.view] = None
            for name in ("refs", "erasures"):
                self._read_tree(getattr(view, name), getattr(newer, name, EMPTY_TREE), name)
            check_view(source, view, newer, refuse, self.refs.append, owner=f"operation {at}")
            newer = view
            if not operation.parents or is_last(operation, at):
                break
            at = operation.parents[0]
        self.oldest = at
        self.is_whole = not operation.parents
        """Whether the log goes back to the first operation."""
        check_log(operations, None if self.is_whole else at, refuse)

    def _read_tree(self, tree: TreeCid, newer: TreeCid, name: str) -> None:
        if tree == newer:
            return
        self.cids.update(dict.fromkeys(tree_needs(self._source, tree, [newer])))
        problem = tree_problem(self._source, tree, newer)
        if problem is not None:
            raise CorruptError(f"tree of {name} {tree}: {problem}")
        for _, _, cid in diff(self._source, newer, tree):
            if cid is None or cid in self.cids:
                continue
            self.cids[cid] = None
            if name == "refs":
                self.targets[Ref.decode(self._source.get(cid)).target] = None
            else:
                self.erased.update(Erasure.decode(self._source.get(cid)).cids)


def local_log(store: Store) -> LocalLog:
    """Returns the kept part of a store's log."""
    cells = store.cells()
    horizon = cells.get(HORIZON_CELL)
    newest = OperationCid(cells.get(HEAD_CELL, b""))
    return LocalLog(store, newest, lambda _, cid: cid.raw == horizon)


def restore(repository: Core, quarantine: Quarantine, newest: OperationCid) -> list[RefMove]:
    """Restores a full copy into a new repository, including the log, in one step.

    Raises:
        CorruptError, FormatError, NotFoundError: the copy is incomplete or invalid.
    """
    store = repository.store
    sent = Layered(quarantine, WriteBatch())
    log = LocalLog(sent, newest, lambda operation, _: operation.parents[0] not in quarantine)
    found = Intake(repository, quarantine)
    for cid in log.erased:
        if cid in quarantine and not cid.is_raw and kind_of(quarantine[cid]) in NEVER_ERASED:
            raise CorruptError(f"erasure: got the {kind_of(quarantine[cid])} {cid}, which stays")
    found.inspect(log.targets, is_erased=log.erased.__contains__)
    heads = heads_of_notes(log.refs)
    moves = [RefMove(name, before, head, Move.CREATED) for name, head, before in heads]
    check_notes(found.source, moves)
    for cid in log.cids:
        if cid not in quarantine and cid != EMPTY_TREE:
            raise missing_from_pack(cid, "block")
    cells: dict[str, Swap] = {HEAD_CELL: (store.cell(HEAD_CELL), newest.raw)}
    if not log.is_whole:
        cells[HORIZON_CELL] = (None, log.oldest.raw)
    accepted = found.accepted.cids

    def is_kept(cid: Cid) -> bool:
        return (cid.raw in accepted or cid in log.cids) and cid not in log.erased

    store.publish(quarantine.accept(is_kept), cells)
    known = HaveSet(store, log.newest)
    return [
        RefMove(name, None, ref.target, Move.CREATED) for name, ref in sorted(known.refs.items())
    ]
