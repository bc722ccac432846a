"""The graph as an open transaction has staged it, to read before it is published.

Its root and blocks exist in memory only. The index of the base is advanced by the staged changes,
in memory too, so a list over it is exact and costs what was staged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.core import Core
from ibidem.repo.edge_lookup import EdgeLookup
from ibidem.repo.graph import Graph
from ibidem.repo.revision import Revision

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.cid import RootCid
    from ibidem.objects.root import Root

T = TypeVar("T")


def staged_graph(base: Graph, root: Root, blocks: WriteBatch) -> Graph:
    """Returns the graph of a root whose new blocks are in a batch.

    Args:
        base: that of the root that the transaction began on.
    """
    if root.cid == base.root_cid:
        return base
    return _StagedGraph(base, root.cid, blocks)


class StagedRevision(Revision):
    """The graph as staged: everything but ranked questions."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise InvalidInputError(
            "transaction: got a ranked question, expected a read or a list",
            hint="ask the repository, before the transaction or after it",
        )

    retrieve = retrieve_many = packs = stream_packs = records = prompt = _refuse


class _StagedGraph(Graph):
    """The graph of a root that exists in memory only."""

    def __init__(self, base: Graph, root_cid: RootCid, blocks: WriteBatch) -> None:
        self._before = base
        super().__init__(_StagedCore(base.core, blocks, self._ask), root_cid, None)

    def snapshot(self) -> Snapshot:
        """Returns the index snapshot of the staged root, advanced in memory from the base's."""
        if self._snapshot is None:
            from ibidem.index.index import Index

            self._snapshot = self._before.with_snapshot(
                lambda base: Index(None, self._store).snapshot_from(base, self.root_cid)
            )
        return self._snapshot

    def _ask(self, root_cid: RootCid, question: Callable[[Snapshot], T]) -> T:
        return self.with_snapshot(question)


class _StagedCore(Core):
    """A repository with the blocks of a transaction over its store, read-only."""

    def __init__(self, core: Core, blocks: WriteBatch, ask: Any) -> None:
        """Shares everything with `core` but the store and what reads it."""
        vars(self).update(vars(core), store=blocks, edge_lookup=EdgeLookup(blocks, ask))
