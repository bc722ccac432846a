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
    tx: Transaction, document: Node, before: Mapping[str, Any], others: Iterable[NodeId] = ()
) -> list[NodeId]:
    """Gives the parts of a document its labels; returns those that had others.

    Args:
        document: as staged.
        before: the properties that the document had when its parts got their labels.
        others: parts that it does not list any more; those that are not in the graph are left out.

    Raises:
        InvalidInputError: under the trust policy, the document's level or scope is not valid.
    """
    policy = tx.trust_policy or TrustPolicy()
    if {*before, *document.props}.isdisjoint(policy.names):
        return []
    relabelled = []
    whole = parts_of(document, tx.find_node, values=tx.values_of)
    parts = {part.id: part for part in whole if part.id != document.id}
    parts |= {id_: part for id_ in others if (part := tx.find_node(id_)) is not None}
    for id_, node in parts.items():
        names = (
            document_labels(policy.names, node.props, before)
            | set(policy.names) - node.props.keys()
        )
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
            label_parts(tx, document, document.props)
