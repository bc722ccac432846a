"""Where a part of a document stands, and the document's text: computed from parents, not stored.

A parent holds, for each child in order, the source before it (`lead`) and the size of its whole
source; after the last child comes `tail`. So a passage does not know its place, and an edit above
it leaves it untouched. The cost of `locate` is that of its ancestors, not of the document.

Spec: format 5.1.
"""

from __future__ import annotations

from collections.abc import Callable

from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record

CONTAINERS = frozenset({"Document", "Section"})
"""Node types whose source is their children and tail; any other part's source is its summary."""

ANCESTORS_MAX = 64

DOCUMENT, SECTION, PASSAGE = "document", "section", "passage"
"""Namespaces of the keys of what ingest makes."""


@record
class Location:
    """The place of one part in its document's source."""

    document_id: NodeId
    source: str | None
    """Path of the document as it was ingested; None if the document has none."""
    heading_path: tuple[str, ...]
    """Headings from the outermost to the innermost that the part stands under, its own excluded."""
    byte_start: int
    byte_stop: int
    """Half-open range of bytes in the UTF-8 source."""
    line_start: int
    line_stop: int
    """Half-open range of lines, the first of the source being 1; part of a line is one line."""


def document_of(node: Node) -> NodeId | None:
    """Returns the document that ingest made a node for, of a document itself; None for a node that
    ingest did not make."""
    if node.key is None:
        return None
    namespace, key = node.key
    if namespace == DOCUMENT:
        return node.id
    is_part = namespace in (SECTION, PASSAGE) and isinstance(key, list) and bool(key)
    owner = key[0] if is_part and isinstance(key, list) else None
    return NodeId(owner) if isinstance(owner, bytes) and len(owner) == ID_BYTES else None


def size_of(text: str) -> tuple[int, int]:
    """Returns the bytes (UTF-8) and line feeds of a text."""
    size_bytes = len(text) if text.isascii() else len(text.encode("utf-8"))
    return size_bytes, text.count("\n")


def own_size(part: Node) -> tuple[int, int]:
    """Returns the bytes and line feeds of a part's whole source, as its children and tail say."""
    if part.ntype not in CONTAINERS:
        return size_of(part.summary or "")
    size_bytes, size_lines = size_of(part.tail)
    for child in part.children:
        lead_bytes, lead_feeds = size_of(child.lead)
        size_bytes += lead_bytes + child.size_bytes
        size_lines += lead_feeds + child.size_lines
    return size_bytes, size_lines


def source_text(part_id: NodeId, node: Callable[[NodeId], Node]) -> str:
    """Returns the whole source of a document, a section or a passage.

    Raises:
        CorruptError: a part contains itself.
    """
    pieces: list[str] = []
    above: list[NodeId] = []
    stack: list[NodeId | str | None] = [part_id]
    while stack:
        item = stack.pop()
        if item is None:
            above.pop()
        elif isinstance(item, str):
            pieces.append(item)
        else:
            part = node(item)
            if part.ntype not in CONTAINERS:
                pieces.append(part.summary or "")
                continue
            if item in above or len(above) >= ANCESTORS_MAX:
                raise CorruptError(
                    f"children: part {item} contains itself, or nests over {ANCESTORS_MAX} deep"
                )
            above.append(item)
            stack.append(None)
            stack.append(part.tail)
            for child in reversed(part.children):
                stack.append(child.id)
                stack.append(child.lead)
    return "".join(pieces)


def locate(
    part_id: NodeId, node: Callable[[NodeId], Node], parent: Callable[[NodeId], NodeId | None]
) -> Location:
    """Returns where a part stands in its document.

    Args:
        part_id: a passage or a section; a document stands at its own beginning.
        node: loads a node; called once for each ancestor.
        parent: the node that lists the given one among its children, or None.

    Raises:
        InvalidInputError: the part belongs to no document.
        CorruptError: a parent does not list its child, or the parents run in a circle.
    """
    part = node(part_id)
    size_bytes, size_lines = own_size(part)
    byte_start, feeds = 0, 0
    headings: list[str] = []
    at = part
    for _ in range(ANCESTORS_MAX):
        if at.ntype == "Document":
            break
        parent_id = parent(at.id)
        if parent_id is None:
            raise InvalidInputError(
                f"part_id: {part_id} is part of no document, expected a passage or section that is",
                hint="only nodes that ingest made from a text have a place in it",
            )
        above = node(parent_id)
        before_bytes, before_feeds, child_size = _before(above, at.id)
        if at is part:
            size_bytes, size_lines = child_size
        byte_start, feeds = byte_start + before_bytes, feeds + before_feeds
        if above.ntype == "Section" and above.summary:
            headings.append(above.summary)
        at = above
    else:
        raise CorruptError(
            f"part_id: the parents of {part_id} run in a circle, or nest over {ANCESTORS_MAX} deep"
        )
    source = at.props.get("source")
    return Location(
        document_id=at.id,
        source=source if isinstance(source, str) else None,
        heading_path=tuple(reversed(headings)),
        byte_start=byte_start,
        byte_stop=byte_start + size_bytes,
        line_start=1 + feeds,
        line_stop=2 + feeds + size_lines,
    )


def _before(parent: Node, part_id: NodeId) -> tuple[int, int, tuple[int, int]]:
    """Bytes and line feeds before a child in its parent's source, and the child's recorded size."""
    size_bytes = feeds = 0
    for child in parent.children:
        lead_bytes, lead_feeds = size_of(child.lead)
        size_bytes, feeds = size_bytes + lead_bytes, feeds + lead_feeds
        if child.id == part_id:
            return size_bytes, feeds, (child.size_bytes, child.size_lines)
        size_bytes, feeds = size_bytes + child.size_bytes, feeds + child.size_lines
    raise CorruptError(
        f"children: node {parent.id} does not list {part_id}, though the index says so"
    )
