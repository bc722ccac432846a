"""An old revision without the nodes that were erased since. Its root references deleted blocks, so
queries run on a temporary root: the same trees without the erased entries. The temporary root is
never stored, so a receipt that names it is not kept either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.root import NODES
from ibidem.repo.core import Core
from ibidem.repo.graph import Graph
from ibidem.repo.maintenance.cleaned import entries_of_erased
from ibidem.repo.transaction.changeset import applied

if TYPE_CHECKING:
    from ibidem.store.protocol import Store


def without_erased(graph: Graph) -> Graph:
    """Returns a graph without the erased entries, listed in its `erasures`; the same graph if none
    is erased.
    """
    core = graph.core
    erased = core.guard.erased()
    edits = entries_of_erased(core.store, graph.root, erased)
    gone = edits.of(NODES)
    if not gone:
        return graph
    buffer = WriteBatch(core.store)
    root = applied(graph.root, edits, buffer)
    block = root.encode()
    root_cid = RootCid.of(block)
    buffer.put(root_cid, block)
    overlaid = Core(_Overlay(core.store, buffer), None, lambda: 0)
    overlaid.embedders = core.embedders
    overlaid.embedder_for = core.embedder_for
    partial = Graph(overlaid, root_cid, graph.commit)
    partial.erasures = tuple(each for each in erased.erasures if each.node.raw in gone)
    return partial


class _Overlay:
    """A store with additional blocks; everything else is delegated to the store."""

    def __init__(self, store: Store, buffer: WriteBatch) -> None:
        self._store = store
        self._more = buffer.new
        self.get, self.get_many = buffer.get, buffer.get_many

    def has(self, cid: Cid) -> bool:
        return cid in self._more or self._store.has(cid)

    def close(self) -> None:
        """Does nothing: the store belongs to the caller."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
