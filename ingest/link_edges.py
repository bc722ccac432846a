"""Edges for explicit links: from the passage that holds a link to the document that it names.

They are made at the end of an ingest, when all documents are there: for the passages of documents
that it read, and for passages of other documents that name one that it added. So they do not depend
on the order of files, and an ingest completes what a merge left out. Removing a passage or a
document removes its edges; an edge to which another writer gave a weight or properties stays.

Which older documents name a new one is looked up by their property `links`, in the index of the
base, so that adding a document costs the same in a large graph. The index does not follow the head
because of that, and the lookup is made in the state that the transaction began in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ibidem.ingest.draft import Draft, document_id
from ibidem.ingest.link import LINKS_MAX, links_of, written_targets
from ibidem.ingest.update import Change
from ibidem.objects.codec import Value
from ibidem.objects.derive import edge_id
from ibidem.objects.edge import LINKS_TO, is_derived_link
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import parts_of
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.repo.retrieval.listing import page
from ibidem.retrieve.query.predicate import VALUES_MAX

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

SCANNED_MAX = 1_024
"""A graph of up to this many nodes is read; opening its index would take longer."""

_WAITING = "links_to"
"""In the memo of a transaction: passages whose targets it has not, a chain for each path."""


@record(frozen=False)
class LinkEdges:
    """Collects what an ingest wrote, and stages the edges at its end."""

    _written: list[tuple[NodeId, tuple[str, ...]]] = field(default_factory=list)
    """Passages of documents that were written, each with the paths that it links to."""
    _changed: set[NodeId] = field(default_factory=set)
    """Those of them that were there before and are written, and may have other edges."""
    _added: dict[str, NodeId] = field(default_factory=dict)
    """Documents that were added, here or by others, by path."""

    def add(self, drafts: Sequence[Draft], change: Change, *, is_arrived: bool) -> None:
        """Notes the links of a document (the last draft).

        Args:
            is_arrived: whether another writer, or another branch, may have added it, so that links
                to it may lack their edges.
        """
        document = drafts[-1]
        if change.is_new or is_arrived:
            self._added[str(document.key)] = document.id
        is_read_otherwise = any(
            _reading(node.props) != _reading(draft.props)
            for draft, node in change.changed
            if draft.id == document.id
        )
        changed = {draft.id for draft, _ in change.changed}
        for draft in drafts:
            if draft.ntype == "Passage" and (
                is_read_otherwise
                or draft.id in changed
                or draft.props["format"] == "reference"  # had edges before reader version 11
            ):
                self._changed.add(draft.id)
        for draft in drafts if change or _listed(document.props) else ():
            if draft.ntype == "Passage":
                targets = tuple(_links(document.props, draft.summary, draft.props))
                if targets or draft.id in self._changed:
                    self._written.append((draft.id, targets))

    def stage(self, tx: Transaction) -> None:
        """Stages the edges."""
        for passage, targets in self._written:
            if tx.find_node(passage) is not None:
                self._link(tx, passage, targets)
        added = {path for path, id_ in self._added.items() if tx.find_node(id_) is not None}
        for path in sorted(added):
            for passage in _waiting(tx, path):
                if tx.find_node(passage) is not None:
                    _put(tx, passage, self._added[path])
        for document in _naming(tx, added):
            for part in parts_of(document, tx.find_node):
                if part.ntype == "Passage":
                    for target in _links(document.props, part.summary or "", part.props):
                        if target in added:
                            _put(tx, part.id, self._added[target])

    def _link(self, tx: Transaction, passage: NodeId, targets: Iterable[str]) -> None:
        linked = {path: document_id(path) for path in targets}
        if passage in self._changed:
            for edge in tx.edges_of(passage):
                is_link = edge.src == passage and is_derived_link(edge)
                if is_link and edge.dst not in linked.values():
                    tx.remove_edge(edge.id)
        for path, target in linked.items():
            if tx.find_node(target) is None:
                _wait(tx, path, passage)
            else:
                _put(tx, passage, target)


def _put(tx: Transaction, passage: NodeId, target: NodeId) -> None:
    """Stages the edge of a link, unless there is one, which another writer may have changed."""
    try:
        tx.edge(edge_id(passage, LINKS_TO, target))
    except NotFoundError:
        tx.add_edge(passage, LINKS_TO, target)


def _reading(document: Mapping[str, Value]) -> tuple[object, ...]:
    """Returns what the links of an unchanged passage depend on."""
    listed = document.get("links")
    is_cut = isinstance(listed, list) and len(listed) >= LINKS_MAX
    return document.get("media_type"), listed if is_cut else None


def _links(document: Mapping[str, Value], text: str, props: Mapping[str, Value]) -> Iterator[str]:
    """Yields the paths that a passage links to, of those that its document lists."""
    if wanted := _listed(document):
        path, media_type = str(document["source"]), str(document["media_type"])
        form, targets = str(props.get("format")), written_targets(props)
        for target in dict.fromkeys(links_of(path, media_type, text, form, targets)):
            if target in wanted:
                yield target


def _listed(document: Mapping[str, Value]) -> frozenset[str]:
    """Returns the paths that a document lists; another writer may have set the property."""
    listed = document.get("links")
    listed = (
        listed if isinstance(listed, list) and {"media_type", "source"} <= document.keys() else []
    )
    return frozenset(path for path in listed if isinstance(path, str))


def _wait(tx: Transaction, path: str, passage: NodeId) -> None:
    last = tx.memo.get((_WAITING, path), passage)
    if (_WAITING, path, passage) not in tx.memo:
        tx.memo[_WAITING, path, passage] = last
        tx.memo[_WAITING, path] = passage


def _waiting(tx: Transaction, path: str) -> Iterator[NodeId]:
    passage = tx.memo.get((_WAITING, path))
    while passage is not None:
        yield passage
        before = tx.memo[_WAITING, path, passage]
        passage = None if before == passage else before


def _naming(tx: Transaction, added: set[str]) -> Iterator[Node]:
    """Yields the documents of the base, as staged, that link to one of some paths."""
    if not added or tx.base.nodes == EMPTY_TREE:
        return
    for id_ in _listing(tx, sorted(added)):
        node = tx.find_node(id_)
        if node is not None and not added.isdisjoint(_listed(node.props)):
            yield node


def _listing(tx: Transaction, paths: list[str]) -> Iterator[NodeId]:
    """Yields the nodes of the base whose property `links` may have one of some paths."""
    before = tx.before()
    tree = Tree(before.core.store, tx.base.nodes)
    if len(tree) <= SCANNED_MAX:
        for block in before.core.store.get_many([cid for _, cid in tree.items()]):
            if b"links" in block:
                yield Node.decode(block).id
        return
    for start in range(0, len(paths), VALUES_MAX):
        where = {"links": {"in": paths[start : start + VALUES_MAX]}}
        for node in page(before, where=where, include_tombstoned=True):
            yield node.id
