"""Views of drafts and nodes that several tests need."""

from collections.abc import Sequence

from ibidem.ingest.document import read_document
from ibidem.ingest.draft import Draft
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node


def nodes_of(drafts: Sequence[Draft]) -> dict[NodeId, Node]:
    """The drafts as nodes, by id."""
    return {
        draft.id: Node(
            id=draft.id,
            ntype=draft.ntype,
            summary=draft.summary,
            props=draft.props,
            key=(draft.namespace, draft.key),
            children=draft.children,
            tail=draft.tail,
        )
        for draft in drafts
    }


def parents_of(nodes: dict[NodeId, Node]) -> dict[NodeId, NodeId]:
    """Each part's parent."""
    return {child.id: node.id for node in nodes.values() for child in node.children}


def read(source: str, path: str = "a.md") -> dict[NodeId, Node]:
    """The nodes of one source."""
    return nodes_of(read_document(path, source).drafts)


def changed(before: dict[NodeId, Node], after: dict[NodeId, Node]) -> list[str]:
    """What differs, sorted: '+Passage: text' for an added node, '-…' removed, '~…' changed."""
    lines = []
    for node_id in before.keys() | after.keys():
        old, new = before.get(node_id), after.get(node_id)
        if old is None and new is not None:
            lines.append(f"+{new.ntype}: {new.summary}")
        elif new is None and old is not None:
            lines.append(f"-{old.ntype}: {old.summary}")
        elif old is not None and new is not None and old.encode() != new.encode():
            lines.append(f"~{new.ntype}: {new.summary}")
    return sorted(lines)
