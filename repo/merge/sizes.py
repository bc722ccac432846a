"""The sizes that a document and its sections say their parts have, once parts have changed.

A parent says how large the source of each child is, so that a place is found without reading what
stands before it. Where a settled section has come out larger or smaller than its parents say, these
are told.

Spec: format 5.1, merge 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ibidem.objects.ids import NodeId
from ibidem.objects.location import CONTAINERS, own_size
from ibidem.objects.node import Child, Node


def with_sizes(node: Node, part: Callable[[NodeId], Node | None]) -> Node:
    """Returns a node that says of the sections among its children what they come to.

    Args:
        part: returns a child; None where what is said of it shall stay.
    """
    children = tuple(_sized(child, part(child.id)) for child in node.children)
    return node if children == node.children else replace(node, children=children)


def resized_above(
    node: Node, part: Callable[[NodeId], Node | None], parent: Callable[[NodeId], NodeId | None]
) -> Iterator[Node]:
    """Yields what becomes of the parents of a section whose size has changed, from the nearest on
    up, as far as anything changes."""
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
