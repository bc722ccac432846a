"""The level and scope of a document, which its parts have too: hiding a document hides its text.

A part follows its document as long as it has the same labels, or none. Another level or scope is
its own, set by another writer, and is kept.

Spec: trust 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.ids import NodeId
from ibidem.objects.location import parts_of
from ibidem.objects.node import Node
from ibidem.retrieve.access.policy import TrustPolicy, document_labels, with_labels

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction


def label_parts(
    tx: Transaction, document: Node, parts: Iterable[NodeId], before: Mapping[str, Any]
) -> list[NodeId]:
    """Gives parts the labels of their document; returns those that had others.

    Args:
        document: as staged.
        parts: those that are not in the graph are left out.
        before: the properties that the document had when its parts got their labels.

    Raises:
        InvalidInputError: under the trust policy, the document's level or scope is not valid.
    """
    policy = tx.trust_policy or TrustPolicy()
    if {*before, *document.props}.isdisjoint(policy.names):
        return []
    relabelled = []
    for id_ in parts:
        node = tx.find_node(id_)
        if node is None:
            continue
        names = document_labels(policy, node.props, before) | set(policy.names) - node.props.keys()
        props = with_labels(node.props, names, document.props)
        if props != node.props:
            tx.set_labels(id_, with_labels({}, policy.names, props))
            relabelled.append(id_)
    return relabelled


def label_documents(tx: Transaction) -> None:
    """Gives the parts of all documents the labels that the staged trust policy names, for documents
    that were ingested when it named others."""
    policy = tx.trust_policy or TrustPolicy()
    for document in list(tx.nodes(label="Document")):
        if not document.props.keys().isdisjoint(policy.names):
            parts = [part.id for part in parts_of(document, tx.find_node) if part.id != document.id]
            label_parts(tx, document, parts, document.props)
