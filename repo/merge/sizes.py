"""The sizes that a document and its sections record of their sections, computed again from the
parts below them.

Spec: merge 3.1, 5, format 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ibidem.objects.child import Child
from ibidem.objects.ids import NodeId
from ibidem.objects.location import CONTAINERS, document_of, own_size
from ibidem.objects.node import Node


def with_sizes(node: Node, part: Callable[[NodeId], Node | None]) -> Node:
    """Returns a node with the recorded sizes of its child sections recomputed.

    Args:
        part: returns a child; None to keep its recorded size.
    """
    children = tuple(_sized(child, part(child.id)) for child in node.children)
    return node if children == node.children else replace(node, children=children)


def resized_above(
    node: Node, part: Callable[[NodeId], Node | None], parent: Callable[[NodeId], NodeId | None]
) -> Iterator[Node]:
    """Yields the updated parents of a section whose size has changed, nearest first, as long as
    anything changes.
    """
    seen = {node.id}
    while True:
        above = parent(node.id)
        before = None if above is None or above in seen else part(above)
        if before is None:
            return
        after = with_sizes(before, {node.id: node}.get)
        if after is before:
            return
        yield after
        seen.add(after.id)
        node = after


def _sized(child: Child, node: Node | None) -> Child:
    if node is None or node.ntype not in CONTAINERS:
        return child
    size_bytes, size_lines = own_size(node)
    return replace(child, size_bytes=size_bytes, size_lines=size_lines)


def resized(document: NodeId, part: Callable[[NodeId], Node | None]) -> dict[NodeId, Node]:
    """Returns those nodes of a document, itself included, whose recorded sizes were wrong, with
    right ones.

    A part that contains itself keeps the sizes that it has when it is met again.

    Args:
        part: returns a node; None if there is none.

    Spec: merge 3.1.
    """
    known: dict[NodeId, Node] = {}
    changed: dict[NodeId, Node] = {}
    stack = [document]
    while stack:
        id_ = stack[-1]
        node = known.get(id_)
        if node is None:
            node = part(id_)
            if node is None or document_of(node) != document:
                stack.pop()
                continue
            known[id_] = node
            unseen = [child.id for child in node.children if child.id not in known]
            stack += reversed(unseen)
            continue
        stack.pop()
        after = with_sizes(node, known.get)
        if after is not node:
            known[id_] = changed[id_] = after
    return changed
