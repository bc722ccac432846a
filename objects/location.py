"""The location of a part in its document, and the document's text: computed from parents, not
stored.

A parent holds, for each child in order, the source before it (`lead`) and the size of its whole
source; after the last child comes `tail`. A passage therefore does not record its location, and an
edit above it leaves it untouched. The cost of `locate` depends on the ancestors of the part, not on
the document.

Spec: format 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self

from ibidem.objects.child import Child
from ibidem.objects.constants import (
    DOCUMENT_BYTES_MAX,
    DOCUMENT_DEPTH_MAX,
    DOCUMENT_PARTS_MAX,
)
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.printable import one_line
from ibidem.objects.record import record

CONTAINERS = frozenset({"Document", "Section"})
"""Node types whose source is their children and tail; any other part's source is its summary."""

DOCUMENT, SECTION, PASSAGE = "document", "section", "passage"
"""Namespaces of the keys of the nodes that ingest creates."""
HEADING_WIDTH = 60
"""Characters of a heading that the text of a location shows."""


@record
class Location:
    """The location of one part in its document's source."""

    document_id: NodeId
    source: str | None
    """Path of the document when it was ingested; None if the document has none."""
    heading_path: tuple[str, ...]
    """Headings of the sections that contain the part, outermost first, excluding its own."""
    byte_start: int
    byte_stop: int
    """Half-open range of bytes in the UTF-8 source."""
    line_start: int
    line_stop: int
    """Half-open range of lines, counted from 1; part of a line counts as a line."""

    def __str__(self) -> str:
        """Returns `path:first-last > heading > heading` on one line, with unsafe characters
        escaped; without a path, the id of the document."""
        first, last = self.line_start, self.line_stop - 1
        lines = f"{first}" if last <= first else f"{first}-{last}"
        position = f"{one_line(self.source or str(self.document_id))}:{lines}"
        headings = (one_line(heading, width=HEADING_WIDTH) for heading in self.heading_path)
        return " > ".join((position, *headings))


@record
class Part:
    """One part of a document: how much source it adds, and which parts it lists."""

    own_bytes: int
    """Size of the source that is stored in the part itself: the text between its parts, or all of
    it."""
    children: tuple[Child, ...] = ()
    is_joined: bool = True
    """Whether the source of the listed parts belongs to its own source, as only in a document or a
    section."""

    @classmethod
    def of(cls, node: Node) -> Self:
        """Returns the part that a node with children represents."""
        if node.ntype not in CONTAINERS:
            return cls(own_size(node)[0], node.children, is_joined=False)
        texts = (node.tail, *(child.lead for child in node.children))
        return cls(sum(size_of(text)[0] for text in texts), node.children)


@record
class Measure:
    """The measured size of a part's source, with every part counted as often as it is listed."""

    size_bytes: int
    part_count: int
    depth: int
    """Nesting depth of the parts; 1 for a part that lists none."""


_UNREAD = Measure(0, 1, 1)


class Measures:
    """The measures of the sources of parts, each computed once from the measures of the parts below
    it.

    A part may be listed twice, by two sections that a merge combined, so a few parts can describe
    an enormous source. This is detected here, in time proportional to the number of parts.
    """

    def __init__(self, read: Callable[[bytes], Part | None]) -> None:
        """Takes `read`, a function that returns a part by the bytes of its id. A part for which it
        returns None is assumed to have the size that its parent records."""
        self._read = read
        self._known: dict[bytes, Measure] = {}

    def of(self, part_id: bytes) -> Measure:
        """Returns the measure of a part's source.

        Raises:
            CorruptError: a part contains itself, even through parts that add nothing to a source;
                kind `limit-exceeded`: there are more than DOCUMENT_PARTS_MAX parts or
                DOCUMENT_BYTES_MAX bytes, or the parts nest more than DOCUMENT_DEPTH_MAX deep.
        """
        above: dict[bytes, Part] = {}
        stack = [part_id]
        while stack:
            id_ = stack[-1]
            if id_ in self._known:
                stack.pop()
            elif id_ in above:
                stack.pop()
                self._known[id_] = self._summed(id_, above.pop(id_))
            else:
                part = self._read(id_)
                if part is None:
                    self._known[id_] = _UNREAD
                    continue
                above[id_] = part
                _check("depth", id_, len(above), DOCUMENT_DEPTH_MAX)
                for child in reversed(part.children):
                    raw = child.id.raw
                    if raw in above:
                        raise CorruptError(f"children: part {child.id} contains itself")
                    if raw not in self._known:
                        stack.append(raw)
        return self._known[part_id]

    def forget(self, part_id: bytes) -> None:
        """Forgets the measure of one part; the caller must also forget the parts above it."""
        self._known.pop(part_id, None)

    def _summed(self, id_: bytes, part: Part) -> Measure:
        size_bytes, part_count, depth = part.own_bytes, 1, 0
        for child in part.children:
            below = self._known[child.id.raw]
            depth = max(depth, below.depth)
            if not part.is_joined:
                continue
            size_bytes += child.size_bytes if below is _UNREAD else below.size_bytes
            part_count += below.part_count
        _check("depth", id_, depth + 1, DOCUMENT_DEPTH_MAX)
        _check("parts", id_, part_count, DOCUMENT_PARTS_MAX)
        _check("bytes", id_, size_bytes, DOCUMENT_BYTES_MAX)
        return Measure(size_bytes, part_count, depth + 1)


def document_of(node: Node) -> NodeId | None:
    """Returns the id of the document that a node was ingested from (its own id for a document);
    None for a node that ingest did not create."""
    if node.key is not None and node.key[0] == DOCUMENT:
        return node.id
    return document_in(node.key)


def document_in(key: object) -> NodeId | None:
    """Returns the id of the document that the key of a section or a passage names; None for any
    other key."""
    match key:
        case ["section" | "passage", [bytes() as owner, *_]] if len(owner) == ID_BYTES:
            return NodeId(owner)
    return None


def headings_in(key: object) -> tuple[str, ...]:
    """Returns the headings in the key of a section, outermost first and its own last; none for any
    other key."""
    match key:
        case ["section", [bytes(), [*headings], *_]]:
            return tuple(one for one in headings if isinstance(one, str))
    return ()


def parts_of(
    document: Node,
    find: Callable[[NodeId], Node | None],
    *,
    values: Callable[[Node], Iterable[Node]] = lambda part: (part,),
) -> Iterator[Node]:
    """Yields a document and those of its parts that `find` returns, following lists of children.

    A child that ingest did not create for this document is neither followed nor yielded.

    Args:
        document: is yielded first.
        find: returns a node, None if it is not to be yielded.
        values: returns those values of a document or part whose lists are followed: itself, and
            for example those of the sides of a conflict.
    """
    yield document
    met = {document.id}
    stack = [document]
    while stack:
        for one in values(stack.pop()):
            for child in one.children:
                if child.id in met:
                    continue
                met.add(child.id)
                node = find(child.id)
                if node is not None and document_of(node) == document.id:
                    yield node
                    stack.append(node)


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

    The size is computed first, reading each part once, so no source over the limit is ever
    assembled.

    Raises:
        CorruptError: as `Measures.of`.
    """
    pieces: dict[NodeId, tuple[str | NodeId, ...]] = {}

    def read(raw: bytes) -> Part:
        id_ = NodeId(raw)
        part = node(id_)
        if part.ntype not in CONTAINERS:
            pieces[id_] = (part.summary or "",)
            return Part(own_size(part)[0])
        pieces[id_] = (*(one for child in part.children for one in (child.lead, child.id)),)
        pieces[id_] += (part.tail,)
        return Part.of(part)

    Measures(read).of(part_id.raw)
    found: list[str] = []
    stack: list[str | NodeId] = [part_id]
    while stack:
        item = stack.pop()
        if isinstance(item, NodeId):
            stack.extend(reversed(pieces[item]))
        else:
            found.append(item)
    return "".join(found)


def locate(
    part_id: NodeId, node: Callable[[NodeId], Node], parent: Callable[[NodeId], NodeId | None]
) -> Location:
    """Returns the location of a part in its document.

    Args:
        part_id: a passage or a section; the location of a document starts at 0.
        node: loads a node; called once for each ancestor.
        parent: the node that lists the given one among its children, or None.

    Raises:
        InvalidInputError: the part belongs to no document, for example because its parents form a
            cycle.
        CorruptError: a parent does not list its child.
    """
    part = node(part_id)
    size_bytes, size_lines = own_size(part)
    byte_start, feeds = 0, 0
    headings: list[str] = []
    at = part
    for _ in range(DOCUMENT_DEPTH_MAX):
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
        raise InvalidInputError(
            f"part_id: {part_id} is part of no document: its parents run in a circle, "
            f"or nest over {DOCUMENT_DEPTH_MAX} deep",
            hint="'repo fsck' names the nodes that contain themselves",
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


def _check(noun: str, part_id: bytes, found: int, most: int) -> None:
    if found > most:
        raise CorruptError(
            f"children: the source of part {part_id.hex()} has {found} {noun} or more, "
            f"expected at most {most}",
            kind=ErrorKind.LIMIT_EXCEEDED,
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
