"""The edges that start or end at a node, of a root: read from the edges themselves if the root has
few, else page by page from its index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErasedError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.blocks import Source
    from ibidem.objects.cid import RootCid

SCANNED_MAX = 256
"""Up to this many edges are read one by one; opening an index of them would cost more."""
PAGE_IDS, PAGE_IDS_MAX = 128, 1 << 16
"""Ids in the first page that is requested from the index, and at most; each page is four times as
large as the one before."""
Page = list[EdgeId]


class EdgeLookup:
    """Finds the edges of nodes in the roots of one repository."""

    def __init__(
        self, source: Source, ask: Callable[[RootCid, Callable[[Snapshot], Page]], Page]
    ) -> None:
        """Reads nothing.

        Args:
            source: has the roots.
            ask: returns the result of a function of the index snapshot of a root.
        """
        self._source = source
        self._ask = ask
        self._base: tuple[Root, RootCid] | None = None
        """The root whose edges a transaction last requested, and its CID."""

    def incident(
        self,
        root_cid: RootCid | None,
        root: Root,
        id: NodeId,  # noqa: A002
        *,
        after: EdgeId | None = None,
    ) -> Iterator[EdgeId]:
        """Yields the ids of the edges that start or end at a node of a root, ascending.

        Args:
            after: only ids greater than this one.
        """
        if root.edges == EMPTY_TREE:
            return
        if root_cid is None:
            # A transaction requests the edges of its base, node after node.
            if self._base is None or self._base[0] is not root:
                self._base = root, root.cid
            root_cid = self._base[1]
        if len(Tree(self._source, root.edges)) > SCANNED_MAX:
            limit = PAGE_IDS
            # A root from before an erasure has no index; its remaining edges can still be read.
            with suppress(ErasedError):
                while page := self._ask(root_cid, _page(id, after, limit)):
                    yield from page
                    if len(page) < limit:
                        return
                    after, limit = page[-1], min(4 * limit, PAGE_IDS_MAX)
                return
        yield from _scanned(self._source, root, id, after)

    def incident_to(self, root_cid: RootCid, nodes: Sequence[bytes]) -> list[bytes]:
        """Returns the ids of the edges of a root here that start or end at some nodes, by id."""
        root = Root.decode(self._source.get(root_cid))
        ids = (NodeId(raw) for raw in nodes)
        return sorted({edge.raw for id_ in ids for edge in self.incident(root_cid, root, id_)})


def _page(id_: NodeId, after: EdgeId | None, limit: int) -> Callable[[Snapshot], Page]:
    def page(snapshot: Snapshot) -> Page:
        ordinal = snapshot.ordinal(id_)
        return [] if ordinal is None else snapshot.edge_ids(ordinal, after=after, limit=limit)

    return page


def _scanned(source: Source, root: Root, id_: NodeId, after: EdgeId | None) -> Iterator[EdgeId]:
    for key, cid in Tree(source, root.edges).items():
        if after is not None and key <= after.raw:
            continue
        with suppress(ErasedError):
            edge = Edge.decode(source.get(cid))
            if id_ in (edge.src, edge.dst):
                yield EdgeId(key)
