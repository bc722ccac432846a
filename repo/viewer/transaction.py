"""A transaction as a restricted viewer gets it: changes to visible nodes, and new nodes.

Hidden nodes are treated as missing: they cannot be read, changed or connected. A new node gets an
id of its own, never one derived from a key or from its content: a hidden node could have such an
id, and a collision would reveal it.

Spec: trust 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace as changed
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.repo.argument_checks import check_id
from ibidem.repo.layers import Layers
from ibidem.repo.questions import changed_options
from ibidem.repo.revspec import HEAD
from ibidem.repo.transaction.transaction import UNCHANGED
from ibidem.repo.viewer.exposure import Proxy, not_permitted
from ibidem.repo.viewer.revision import ViewerRevision
from ibidem.store.closing import Ending

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ibidem.objects.child import Child
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.commit import Commit
    from ibidem.objects.edge import Edge
    from ibidem.objects.node import Node
    from ibidem.objects.root import Root
    from ibidem.repo.events import Event
    from ibidem.repo.revision import Revision
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.retrieve.access.policy import Viewer

_FIELDS = {"summary", "context_sentence", "content", "props", "set_props", "unset_props"}
"""Fields of a node that refer to no other node."""


class ViewerTransaction(Layers, Proxy, Ending):
    """Stages what a viewer changes; a context manager, as `Transaction`."""

    proxy_of = "Transaction"

    def __init__(self, transaction: Transaction, graph: Revision) -> None:
        """Wraps a transaction, with its base root as the viewer sees it."""
        self._tx = transaction
        self._graph = graph
        self._fresh: set[NodeId] = set()

    def _end(self, error: BaseException | None) -> None:
        self._tx.__exit__(None if error is None else type(error), error, None)

    @property
    def base(self) -> Root:
        """The root that the transaction began on: its configuration, and CIDs."""
        return self._tx.base

    @property
    def commit(self) -> Commit | None:
        """The published commit; None before publishing, and if nothing changed."""
        return self._tx.commit

    def publish(self) -> Commit | None:
        """Publishes what was staged and ends the transaction."""
        return self._tx.publish()

    def rollback(self) -> None:
        """Discards all staged changes and ends the transaction."""
        self._tx.rollback()

    @contextmanager
    def step(self) -> Iterator[Self]:
        """Yields the transaction for changes that belong together; as `Transaction.step`."""
        with self._tx.step():
            yield self

    def now(self, time: int | datetime | None = None) -> int:
        """Returns a time in microseconds; as `Transaction.now`."""
        return self._tx.now(time)

    def at(self, at: object = HEAD, *, viewer: Viewer | None = None) -> ViewerRevision:
        """Returns the graph as staged so far, as the viewer sees it; as `Transaction.at`.

        Raises:
            InvalidInputError: another revision than `HEAD`; kind `not-permitted`: another viewer.
        """
        own = self._graph.viewer
        if viewer not in (None, own):
            raise not_permitted("another viewer")
        return ViewerRevision(self._tx.at(at, viewer=own))

    @property
    def author(self) -> str:
        """The author of the commit."""
        return self._tx.author

    # -- notes ---------------------------------------------------------------------------------

    @property
    def noted(self) -> Mapping[str, CommitCid]:
        """The heads of the notes that got events, by space; empty before publishing."""
        return self._tx.noted

    def note(self, space: str, events: Iterable[Event]) -> None:
        """Stages events about visible nodes for the notes of a space.

        Raises:
            NotFoundError: an event is about a node that is not visible or does not exist.
            InvalidInputError: kind `not-permitted`: an event has another author than the author.
        """
        found = list(events)
        for one in found:
            if self.author and one.author not in ("", self.author):
                raise not_permitted("another author")
            for target in one.targets:
                self.node(target)
        self._tx.note(space, found)

    # -- nodes ---------------------------------------------------------------------------------

    def add_node(
        self,
        ntype: str,
        *,
        summary: str | None = None,
        context_sentence: str | None = None,
        content: bytes | str | None = None,
        props: Mapping[str, Any] | None = None,
        unique: bool = True,
    ) -> NodeId:
        """Stages a new node and returns its id.

        Raises:
            InvalidInputError: kind `not-permitted`: `unique` is False.
        """
        if not unique:
            raise not_permitted("a node whose id is not new")
        made = self._tx.add_node(
            ntype,
            summary=summary,
            context_sentence=context_sentence,
            content=content,
            props=props,
            unique=True,
        )
        self._fresh.add(made)
        return made

    def update_node(
        self,
        id: NodeId | str,  # noqa: A002
        *,
        ntype: str = UNCHANGED,
        summary: str | None = UNCHANGED,
        context_sentence: str | None = UNCHANGED,
        content: bytes | str | None = UNCHANGED,
        props: Mapping[str, Any] | None = UNCHANGED,
        set_props: Mapping[str, Any] | None = None,
        unset_props: Iterable[str] = (),
        children: Sequence[Child] = UNCHANGED,
        tail: str = UNCHANGED,
    ) -> None:
        """Stages new values of fields of a visible node; as `Transaction.update_node`.

        Raises:
            InvalidInputError: kind `not-permitted`: `children`, or another field that refers to
                other nodes.
        """
        fields = changed_options(locals(), ViewerTransaction.update_node)
        self.node(id)
        for name in fields.keys() - _FIELDS:
            raise not_permitted(f"Transaction.update_node({name}=…)")
        self._tx.update_node(id, **fields)

    def node(self, id: NodeId | str) -> Node:  # noqa: A002
        """Returns a node as staged, tombstoned or not.

        Raises:
            NotFoundError: it is not visible or does not exist.
        """
        found = self.find_node(id)
        if found is None:
            raise NotFoundError(f"node {id} is not in the graph")
        return found

    def find_node(self, id: NodeId | str) -> Node | None:  # noqa: A002
        """Returns a node as staged, None if it is not visible or does not exist."""
        found = self._tx.find_node(id)
        if id in self._fresh or found is None:
            return found
        if not self._graph.is_visible(id):
            return None
        children = self._graph.node(id, include_tombstoned=True).children
        return found if found.children == children else changed(found, children=children)

    def content(self, id: NodeId | str) -> bytes | None:  # noqa: A002
        """Returns the whole content of a visible node as staged, None if it has none."""
        self.node(id)
        return self._tx.content(id)

    def tombstone(self, id: NodeId | str, *, reason: str = "") -> None:  # noqa: A002
        """Stages a tombstone on a visible node."""
        self.node(id)
        self._tx.tombstone(id, reason=reason)

    def untombstone(self, id: NodeId | str) -> None:  # noqa: A002
        """Stages the removal of a tombstone; raises `NotFoundError` if the node has none."""
        if not self.is_tombstoned(id):
            raise NotFoundError(f"node {id} has no tombstone")
        self._tx.untombstone(id)

    def is_tombstoned(self, id: NodeId | str) -> bool:  # noqa: A002
        """Returns whether a visible node has a tombstone."""
        return self.find_node(id) is not None and self._tx.is_tombstoned(id)

    # -- edges ---------------------------------------------------------------------------------

    def add_edge(
        self,
        src: NodeId | str,
        etype: str,
        dst: NodeId | str,
        *,
        weight: float = 1.0,
        props: Mapping[str, Any] | None = None,
        key: Any = None,
        replace: bool = False,
    ) -> EdgeId:
        """Stages an edge between visible nodes and returns its id.

        Raises:
            NotFoundError: an end is not visible or does not exist.
        """
        self.node(check_id("src", src, NodeId))
        self.node(check_id("dst", dst, NodeId))
        return self._tx.add_edge(
            src, etype, dst, weight=weight, props=props, key=key, replace=replace
        )

    def update_edge(
        self,
        id: EdgeId | str,  # noqa: A002
        *,
        weight: float = UNCHANGED,
        props: Mapping[str, Any] = UNCHANGED,
    ) -> None:
        """Stages another weight or other properties of an edge; as `Transaction.update_edge`."""
        self.edge(id)
        self._tx.update_edge(id, weight=weight, props=props)

    def remove_edge(self, id: EdgeId | str) -> None:  # noqa: A002
        """Stages the removal of a visible edge."""
        self.edge(id)
        self._tx.remove_edge(id)

    def edge(self, id: EdgeId | str) -> Edge:  # noqa: A002
        """Returns an edge as staged; raises `NotFoundError` if it is missing or not visible."""
        try:
            found = self._tx.edge(id)
        except NotFoundError:
            found = None
        if found is None or not self._joins(found):
            raise NotFoundError(f"edge {id} is not in the graph")
        return found

    def edges_of(self, id: NodeId | str) -> list[Edge]:  # noqa: A002
        """Returns the edges between a node and visible nodes, as staged, by id."""
        self.node(id)
        return [edge for edge in self._tx.edges_of(id) if self._joins(edge)]

    def _joins(self, edge: Edge) -> bool:
        return all(self.find_node(end) is not None for end in (edge.src, edge.dst))
