"""An old revision as if the nodes that were erased since had been invisible in it.

Its root reaches blocks that are gone, so it is answered over another root, made for the asking and
kept nowhere: the same trees without the entries that were erased. A receipt of such an answer names
that root, so it is not kept either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.repo.core import Core
from ibidem.repo.graph import Graph
from ibidem.repo.maintenance.cleaned import entries_of_erased
from ibidem.repo.transaction.changeset import NODES, applied

if TYPE_CHECKING:
    from ibidem.store.protocol import Store


def without_erased(graph: Graph) -> Graph:
    """Returns a graph without the entries that were erased, which its `erasures` names; itself
    where it has none."""
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
    overlaid = Core(_Overlay(core.store, buffer.new), None, lambda: 0)
    overlaid.embedders = core.embedders
    partial = Graph(overlaid, root_cid, graph.commit)
    partial.erasures = tuple(each for each in erased.erasures if each.node.raw in gone)
    return partial


class _Overlay:
    """A store with some blocks more; what it is asked otherwise, the store answers."""

    def __init__(self, store: Store, more: Mapping[Cid, bytes]) -> None:
        self._store = store
        self._more = dict(more)

    def get(self, cid: Cid) -> bytes:
        found = self._more.get(cid)
        return self._store.get(cid) if found is None else found

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        return [self.get(cid) for cid in cids]

    def has(self, cid: Cid) -> bool:
        return cid in self._more or self._store.has(cid)

    def close(self) -> None:
        """Closes nothing: the store is another's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
