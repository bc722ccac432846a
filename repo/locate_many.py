"""The locations of parts in their documents, for many parts in a few reads.

The parents are known from the index, in memory. So the parts are read in one batch, and all their
ancestors in a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import Location, locate
from ibidem.objects.node import Node

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.retrieve.answer.locator import Located

    Parents = Mapping[NodeId, NodeId]


class Graph(Protocol):
    """The graph that contains the parts, such as a revision."""

    def node(self, id_: NodeId, /, *, include_tombstoned: bool = False) -> Node:
        """Returns a node; raises `NotFoundError`."""
        ...

    def find_nodes(
        self, ids: Iterable[NodeId], *, include_tombstoned: bool = False
    ) -> dict[NodeId, Node]:
        """Returns those of the nodes that exist, read in one batch."""
        ...

    def locate_many(
        self, ids: Sequence[NodeId], *, include_tombstoned: bool = False
    ) -> list[Location | None]:
        """Returns what the function of this name does, as the caller sees the graph."""
        ...

    def with_snapshot(self, question: Callable[[Snapshot], Parents]) -> Parents:
        """Returns the result of a function of the index snapshot."""
        ...


def locate_many(
    graph: Graph, ids: Sequence[NodeId], *, include_tombstoned: bool = False
) -> list[Location | None]:
    """Returns the location of each part in its document, None for a node that is part of none.

    Raises:
        NotFoundError: there is no such node, or it or one of its ancestors has a tombstone,
            unless those are included.
    """
    nodes = graph.find_nodes(ids, include_tombstoned=include_tombstoned)
    inner = [node.id for node in nodes.values() if node.ntype != "Document"]
    parents = graph.with_snapshot(lambda snapshot: _parents(snapshot, inner)) if inner else {}
    others = set(parents.values()) - nodes.keys()
    nodes |= graph.find_nodes(others, include_tombstoned=include_tombstoned)

    def node(id_: NodeId) -> Node:
        return nodes.get(id_) or graph.node(id_, include_tombstoned=include_tombstoned)

    def located(id_: NodeId) -> Location | None:
        try:
            return locate(id_, node, parents.get)
        except InvalidInputError:
            return None

    return [located(id_) for id_ in ids]


def located(
    graph: Graph, ids: Sequence[NodeId], *, include_tombstoned: bool, with_documents: bool
) -> Located:
    """Returns the location of each node of an answer, None also below a node with a tombstone, and
    if they are asked for the documents of these locations, each once, in the order of the nodes."""
    locate = partial(graph.locate_many, include_tombstoned=include_tombstoned)
    locations = _visible(locate, ids)
    wanted = dict.fromkeys(one.document_id for one in locations if one) if with_documents else {}
    documents = graph.find_nodes(wanted, include_tombstoned=include_tombstoned) if wanted else {}
    return locations, [documents[one] for one in wanted if one in documents]


def _visible(
    locate: Callable[[Sequence[NodeId]], Sequence[Location | None]], ids: Sequence[NodeId]
) -> list[Location | None]:
    """Returns what a function like `locate_many` does, and None for a node for which it raises."""
    try:
        return list(locate(ids))
    except NotFoundError:
        if len(ids) == 1:
            return [None]
        return [found for one in ids for found in _visible(locate, [one])]


def _parents(snapshot: Snapshot, ids: Iterable[NodeId]) -> dict[NodeId, NodeId]:
    """Returns the parents of some nodes, and of all their ancestors."""
    found: dict[NodeId, NodeId] = {}
    for id_ in ids:
        at: NodeId | None = id_
        while at is not None and at not in found:
            above = _parent(snapshot, at)
            if above is not None:
                found[at] = above
            at = above
    return found


def _parent(snapshot: Snapshot, id_: NodeId) -> NodeId | None:
    ordinal = snapshot.ordinal(id_)
    found = None if ordinal is None else snapshot.parent(ordinal)
    if found is None:
        return None
    return NodeId(snapshot.node_ids(np.array([found[0]], np.uint32)).tobytes())
