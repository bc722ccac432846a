"""Nodes: the facts, passages, sections and documents of the graph.

A document's whole text is held by no one: a parent lists its `children` in order, each with the
source text that stands before it (`lead`) and the size of its own source, and ends with `tail`.
Text, path and span of a part are computed from its parents, so an edit above a passage does not
touch it.

Spec: format 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import (
    EMPTY,
    Block,
    Map,
    empty,
    frozen,
    frozen_extra,
    require,
    require_optional_text,
    require_text,
    typed_id,
    typed_link,
)
from ibidem.objects.cid import BlobCid, NodeCid
from ibidem.objects.constants import (
    CONTENT_BYTES_MAX,
    CONTENT_INLINE_BYTES_MAX,
    CONTENT_PART_BYTES,
    CONTENT_PARTS_MAX,
    DOCUMENT_BYTES_MAX,
    FORMAT_VERSION,
    INTEGER_MAX,
)
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record

_KNOWN = frozenset(
    ("id", "ntype", "summary", "context_sentence", "props", "content", "key", "children", "tail")
)


@record
class Child:
    """One ordered part of a document."""

    id: NodeId
    lead: str
    """Source text between the previous child, or the start, and this one."""
    size_bytes: int
    """UTF-8 size of the child's whole source, its own parts included, `lead` excluded."""
    size_lines: int
    """Line feeds in the same source."""

    def __post_init__(self) -> None:
        if type(self.id) is not NodeId:
            require(False, "node.children", "id", self.id, "a NodeId")
        if type(self.lead) is not str:
            require(False, "node.children", "lead", self.lead, "text")
        for name, size in (("size_bytes", self.size_bytes), ("size_lines", self.size_lines)):
            if type(size) is not int or not 0 <= size <= INTEGER_MAX:
                require(False, "node.children", name, size, "an integer from 0 to 2^64-1")


@record(eq=False)
class Node(Block):
    """One node. Empty text and None are the same for every optional field."""

    KIND: ClassVar[str] = "node"
    OPTIONAL: ClassVar[frozenset[str]] = _KNOWN - {"id", "ntype"}
    CID: ClassVar[type[NodeCid]] = NodeCid

    id: NodeId
    ntype: str
    """The label, such as "Document"; not empty."""
    summary: str | None = None
    context_sentence: str | None = None
    props: Mapping[str, Any] = field(default_factory=empty)
    content: bytes | tuple[BlobCid, ...] | None = None
    """Up to CONTENT_INLINE_BYTES_MAX bytes, or the raw blocks that `split_content` made of more."""
    key: tuple[str, Any] | None = None
    """(namespace, key) from which `id` was derived, where it was."""
    children: tuple[Child, ...] = ()
    tail: str = ""
    """Source text after the last child."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        if not (
            type(self.id) is NodeId
            and type(self.ntype) is str
            and self.ntype
            and (self.summary is None or type(self.summary) is str)
            and (self.context_sentence is None or type(self.context_sentence) is str)
            and type(self.tail) is str
        ):
            _refuse_fields(self)
        put = object.__setattr__
        put(self, "props", frozen("node", "props", self.props))
        if self.extra is not EMPTY:
            put(self, "extra", frozen_extra(Node, _KNOWN, self.extra))
        if self.content is not None:
            put(self, "content", _checked_content(self.content))
        if self.key is not None:
            put(self, "key", _checked_key(self.key))
        if self.children != ():
            put(self, "children", _checked_children(self.children))

    @property
    def cid(self) -> NodeCid:
        """The identity of this version of the node: the hash of its bytes."""
        return NodeCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "id": self.id.raw}
        if self.key is not None:
            fields["key"] = self.key
        fields["kind"] = "node"
        if self.tail:
            fields["tail"] = self.tail
        fields["ntype"] = self.ntype
        if self.props:
            fields["props"] = dict(self.props)
        if self.content:
            fields["content"] = self.content
        if self.summary:
            fields["summary"] = self.summary
        if self.children:
            fields["children"] = [
                (child.id.raw, child.lead, child.size_bytes, child.size_lines)
                for child in self.children
            ]
        if self.context_sentence:
            fields["context_sentence"] = self.context_sentence
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        content = take("content", None)
        if type(content) is list:
            content = tuple(typed_link("node", "content", part, BlobCid) for part in content)
        children = take("children", ())
        if children:
            children = _read_children(children)
        key = take("key", None)
        if key is not None and type(key) is not list:
            raise CorruptError(f"node.key: got {key!r:.80}, expected a list of namespace and key")
        return cls(
            id=typed_id("node", "id", take("id"), NodeId),
            ntype=take("ntype"),
            summary=take("summary", None),
            context_sentence=take("context_sentence", None),
            props=take("props", EMPTY),
            content=content,
            key=key,  # type: ignore[arg-type]  # the constructor makes it a tuple and checks it
            children=children,
            tail=take("tail", ""),
            extra=fields,
        )


def split_content(
    content: bytes,
) -> tuple[bytes | tuple[BlobCid, ...] | None, dict[BlobCid, bytes]]:
    """Splits content for `Node.content`.

    Returns:
        What goes into the node, and the raw blocks to store with it: nothing to store up to
        CONTENT_INLINE_BYTES_MAX bytes, else parts of CONTENT_PART_BYTES, the last one shorter.

    Raises:
        InvalidInputError: kind `limit-exceeded`: more than CONTENT_BYTES_MAX bytes.

    Spec: format 5.1, 7.
    """
    if len(content) > CONTENT_BYTES_MAX:
        raise InvalidInputError(
            f"content: got {len(content)} bytes, expected at most {CONTENT_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
            hint="cut it into several nodes, or keep the file elsewhere and its path in a property",
        )
    if len(content) <= CONTENT_INLINE_BYTES_MAX:
        return content or None, {}
    parts = [
        content[start : start + CONTENT_PART_BYTES]
        for start in range(0, len(content), CONTENT_PART_BYTES)
    ]
    cids = tuple(BlobCid.of(part) for part in parts)
    return cids, dict(zip(cids, parts, strict=True))


def check_part_count(field_name: str, count: int, count_max: int) -> None:
    """Raises `InvalidInputError`, kind `limit-exceeded`, for more raw blocks than a field may name.

    A raw block has CONTENT_PART_BYTES at most, so this bounds the content before any of it is read.
    """
    if count > count_max:
        raise InvalidInputError(
            f"{field_name}: got {count} raw blocks, expected at most {count_max}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )


def join_content(parts: Iterable[bytes]) -> bytes:
    """Returns the content whose raw blocks, in order, are `parts`."""
    return b"".join(parts)


def _refuse_fields(node: Node) -> None:
    require(type(node.id) is NodeId, "node", "id", node.id, "a NodeId")
    require(
        type(node.ntype) is str and node.ntype,
        "node",
        "ntype",
        node.ntype,
        "text that is not empty",
    )
    require_optional_text("node", "summary", node.summary)
    require_optional_text("node", "context_sentence", node.context_sentence)
    require_text("node", "tail", node.tail)


def _checked_key(key: object) -> tuple[str, Any]:
    if isinstance(key, (tuple, list)) and len(key) == 2 and type(key[0]) is str:
        return key[0], key[1]
    raise InvalidInputError(f"node.key: got {key!r:.80}, expected (namespace text, key)")


def _checked_children(children: tuple[Child, ...]) -> tuple[Child, ...]:
    require(isinstance(children, (tuple, list)), "node", "children", children, "a tuple of Child")
    listed: set[NodeId] = set()
    size_bytes = 0
    for child in children:
        require(type(child) is Child, "node", "children", child, "a Child")
        require(child.id not in listed, "node", "children", child.id, "each part once")
        listed.add(child.id)
        size_bytes += child.size_bytes
    if size_bytes > DOCUMENT_BYTES_MAX:
        raise InvalidInputError(
            f"node.children: got parts of {size_bytes} bytes together, "
            f"expected at most {DOCUMENT_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return tuple(children)


def _checked_content(content: bytes | tuple[BlobCid, ...]) -> bytes | tuple[BlobCid, ...] | None:
    if type(content) is bytes:
        if len(content) > CONTENT_INLINE_BYTES_MAX:
            raise InvalidInputError(
                f"node.content: got {len(content)} bytes, "
                f"expected at most {CONTENT_INLINE_BYTES_MAX} inline",
                hint="use split_content, which makes raw blocks of longer content",
            )
        return content or None
    if not isinstance(content, (tuple, list)):
        raise InvalidInputError(
            f"node.content: got {type(content).__name__}, expected bytes or a tuple of BlobCid"
        )
    for part in content:
        require(type(part) is BlobCid, "node", "content", part, "a BlobCid")
    check_part_count("node.content", len(content), CONTENT_PARTS_MAX)
    return tuple(content) or None


def _read_children(rows: object) -> tuple[Child, ...]:
    if type(rows) is not list:
        raise CorruptError(f"node.children: got {rows!r:.80}, expected a list")
    children = []
    for row in rows:
        if type(row) is not list or len(row) != 4:
            raise CorruptError(
                f"node.children: got {row!r:.80}, expected [id, lead, size_bytes, size_lines]"
            )
        children.append(
            Child(typed_id("node.children", "id", row[0], NodeId), row[1], row[2], row[3])
        )
    return tuple(children)
