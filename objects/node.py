"""Nodes: the facts, passages, sections and documents of the graph.

No node holds a document's whole text: a parent lists its `children` in order, each with the source
text before it (`lead`) and the size of its own source, and ends with `tail`. Text, path and span of
a part are computed from its parents, so an edit above a passage does not touch it.

Spec: format 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.child import Child
from ibidem.objects.cid import BlobCid, NodeCid
from ibidem.objects.constants import (
    CONTENT_BYTES_MAX,
    CONTENT_INLINE_BYTES_MAX,
    CONTENT_PART_BYTES,
)
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.fields import NODE
from ibidem.objects.ids import NodeId


@block_of(NODE)
class Node(Block):
    """One node. For every optional field, empty text is the same as None."""

    CID: ClassVar[type[NodeCid]] = NodeCid

    id: NodeId
    ntype: str
    """The label, such as "Document"; not empty."""
    summary: str | None = None
    context_sentence: str | None = None
    props: Mapping[str, Any] = field(default_factory=empty)
    content: bytes | tuple[BlobCid, ...] | None = None
    """Up to CONTENT_INLINE_BYTES_MAX bytes, or the raw blocks into which `split_content` split
    longer content."""
    key: tuple[str, Any] | None = None
    """The (namespace, key) from which `id` was derived, if it was."""
    children: tuple[Child, ...] = ()
    tail: str = ""
    """Source text after the last child."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> NodeCid:
        """The identity of this version of the node: the hash of its bytes."""
        return NodeCid.of(self.encode())


def split_content(
    content: bytes,
) -> tuple[bytes | tuple[BlobCid, ...] | None, dict[BlobCid, bytes]]:
    """Splits content for `Node.content`.

    Returns:
        The value for the node, and the raw blocks to store with it: none for up to
        CONTENT_INLINE_BYTES_MAX bytes, otherwise parts of CONTENT_PART_BYTES, the last one shorter.

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


def join_content(parts: Iterable[bytes]) -> bytes:
    """Returns the content whose raw blocks, in order, are `parts`."""
    return b"".join(parts)
