"""Resolves the conflicts about a document by its text, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest_text
from ibidem.ingest.prune import remove_document
from ibidem.ingest.report import IngestReport
from ibidem.objects.ids import NodeId
from ibidem.objects.location import document_of, parts_of
from ibidem.objects.node import Node

if TYPE_CHECKING:
    from ibidem.repo.merge.document_conflicts import DocumentConflict
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.store.protocol import Store


def resolve_document(
    tx: Transaction, store: Store, found: DocumentConflict, text: str | None
) -> None:
    """Stages a text as the document in conflict, and the resolution of all conflicts about it.

    Parts of either side that the text has keep their edges and vectors, as far as the merge kept
    the parts. The others are removed, except those with a tombstone.

    Args:
        store: has the values of both sides.
        text: None to remove the document.
    """
    owner = document_id(found.path)
    if text is None:
        remove_document(tx, found.path, IngestReport())
    else:
        ingest_text(tx, text, path=found.path)
    document = tx.find_node(owner)
    listed = set() if document is None else {part.id for part in parts_of(document, tx.find_node)}
    sides = [Node.decode(store.get(cid)) for each in found.conflicts for cid in each.conflict.sides]
    for each in found.conflicts:
        tx.settle(each.id)
    waiting = [child.id for side in sides for child in side.children]
    waiting += [each.id for each in found.conflicts if isinstance(each.id, NodeId)]
    visited = set(listed)
    while waiting:
        id_ = waiting.pop()
        node = None if id_ in visited else tx.find_node(id_)
        visited.add(id_)
        if node is not None and document_of(node) == owner and not tx.is_tombstoned(id_):
            waiting += [child.id for child in node.children]
            tx.remove_node(id_)
