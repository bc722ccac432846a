"""Moves what others attached to a document to the document of another path.

The ids of a document and its parts are derived from its path, so the same source under another path
is a new document. What ingest does not derive would be lost with the old one: edges, vectors, and
properties, context sentences and content from other writers. They follow to the parts with the same
text, and the new document lists its former paths, so that its history can be found. Parts have the
level and scope of the new document, but those that had others than the former one. Tombstones
follow too: a text that was forgotten is not shown again under another path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ibidem.ingest.draft import document_id
from ibidem.ingest.update import has_own_context, other_properties
from ibidem.objects.codec import Value, encode
from ibidem.objects.derive import node_id
from ibidem.objects.edge import is_derived_link
from ibidem.objects.ids import NodeId
from ibidem.objects.location import PASSAGE, parts_of
from ibidem.objects.node import Node
from ibidem.repo.history.documents import MOVED_FROM, former_paths
from ibidem.repo.transaction.transaction import UNCHANGED
from ibidem.retrieve.access.policy import TrustPolicy, document_labels, with_labels

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction


def move_attachments(tx: Transaction, document: Node, path: str) -> None:
    """Moves what is attached to a document and its parts to the document of `path`, which is in the
    graph already; parts without a counterpart there keep theirs until they are removed, and
    counterparts that have a tombstone already are not changed.
    """
    counterparts = _counterparts(tx, document, path)
    policy = tx.trust_policy or TrustPolicy()
    for node, target in counterparts.values():
        if tx.is_tombstoned(target):
            continue
        props = other_properties(node)
        there = tx.node(target)
        own: set[str] = set()
        if node.id == document.id:
            source = document.key[1] if document.key else None
            props[MOVED_FROM] = [*former_paths(node), source]
            tx.set_labels(target, with_labels({}, policy.names, {**props, **there.props}))
        else:
            own = set(policy.names) - document_labels(policy.names, node.props, document.props)
        tx.update_node(
            target,
            set_props={
                name: value
                for name, value in props.items()
                if (name in own if name in policy.names else name not in there.props)
            },
            context_sentence=(
                node if has_own_context(node) and not has_own_context(there) else there
            ).context_sentence,
            content=UNCHANGED if there.content is not None else tx.content(node.id),
        )
        tx.copy_vectors(node.id, target)
    targets = {id_: target for id_, (_, target) in counterparts.items()}
    edges = {edge.id: edge for part in targets for edge in tx.edges_of(part)}
    for edge in edges.values():
        if is_derived_link(edge) and edge.src in targets:
            continue  # the links of the document itself follow from its text and path
        source, target = targets.get(edge.src, edge.src), targets.get(edge.dst, edge.dst)
        tx.add_edge(
            source,
            edge.etype,
            target,
            weight=edge.weight,
            props=edge.props,
            key=edge.key,
            replace=True,
        )
    for id_, target in targets.items():
        tx.copy_tombstone(id_, target)


def tombstoned_passages(tx: Transaction, documents: Iterable[Node]) -> dict[bytes, NodeId]:
    """Returns the passages of some documents that have a tombstone, by their keys without the
    document."""
    return {
        key: part.id
        for document in documents
        for part in parts_of(document, tx.find_node, values=tx.values_of)
        if (key := _passage_key(part)) and tx.is_tombstoned(part.id)
    }


def hide_passages(tx: Transaction, paths: Iterable[str], hidden: Mapping[bytes, NodeId]) -> None:
    """Gives the passages of the documents of `paths` the tombstones of hidden ones with the same
    text: each may be a document with `tombstoned_passages` that was changed and moved at once."""
    wanted = map(document_id, paths if hidden else ())
    for document in filter(None, map(tx.find_node, wanted)):
        for part in list(parts_of(document, tx.find_node)):
            if (key := _passage_key(part)) in hidden and not tx.is_tombstoned(part.id):
                tx.copy_tombstone(hidden[key], part.id)


def _passage_key(part: Node) -> bytes:
    """Returns the bytes of the key of a passage without its document; none of another part."""
    namespace, key = part.key or ("", None)
    return encode(key[1:]) if namespace == PASSAGE and isinstance(key, list) else b""


def _counterparts(tx: Transaction, document: Node, path: str) -> dict[NodeId, tuple[Node, NodeId]]:
    """Returns the document and those of its parts that have a counterpart, each with its id
    there."""
    moved = document_id(path)
    parts = {part.id: part for part in parts_of(document, tx.find_node)}
    ids: dict[NodeId, NodeId] = {document.id: moved}

    def counterpart(id_: NodeId) -> NodeId | None:
        if id_ not in ids and id_ in parts:
            key = parts[id_].key
            assert key is not None, "BUG: a part without a key"
            namespace, value = key
            assert isinstance(value, list), "BUG: a part with another key"
            rest: list[Value] = value[1:]
            if len(rest) == 1 and isinstance(rest[0], bytes):  # a section without a heading
                first = counterpart(NodeId(rest[0]))
                rest = [] if first is None else [first.raw]
            ids[id_] = node_id(namespace, [moved.raw, *rest])
        return ids.get(id_)

    found = {}
    for id_, part in parts.items():
        target = counterpart(id_)
        if target is not None and tx.find_node(target) is not None:
            found[id_] = part, target
    return found
