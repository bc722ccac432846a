"""The graph as an open transaction has staged it, to read before it is published.

Its root and blocks exist in memory only. The index of the base is advanced by the staged changes,
in memory too, so a list over it is exact and costs what was staged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.core import Core
from ibidem.repo.graph import Graph
from ibidem.repo.revision import Revision

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.cid import RootCid
    from ibidem.objects.commit import Commit
    from ibidem.objects.root import Root
    from ibidem.repo.state import State


def staged_graph(base: Graph, root: Root, blocks: WriteBatch) -> Graph:
    """Returns the graph of a root whose new blocks are in a batch.

    Args:
        base: that of the root that the transaction began on.
    """
    if root.cid == base.root_cid:
        return base
    return Graph(_StagedCore(base, blocks), root.cid, None)


class StagedRevision(Revision):
    """The graph as staged: everything but ranked questions."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise InvalidInputError(
            "transaction: got a ranked question, expected a read or a list",
            hint="ask the repository, before the transaction or after it",
        )

    retrieve = retrieve_many = packs = records = prompt = _refuse


class _StagedCore(Core):
    """A repository with the blocks of a transaction over its store, read-only."""

    def __init__(self, base: Graph, blocks: WriteBatch) -> None:
        """Shares everything with the repository of `base` but the store."""
        vars(self).update(vars(base.core), store=blocks, _graph=None)
        self._before = base

    def snapshot(
        self, root_cid: RootCid, commit: Commit | None, *, state: State | None = None
    ) -> Snapshot:
        """Returns the index snapshot of the staged root, advanced in memory from the base's."""
        return self._before.with_snapshot(
            lambda base: Index(None, self.store).snapshot_from(base, root_cid)
        )
