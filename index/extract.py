"""From blocks of the store to rows of the index.

The text of a node is the result of `node_text`. Of content longer than CONTENT_INDEXED_BYTES_MAX,
only that many first bytes are indexed, without a character that the cut would split.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ibidem.objects.blocks import Source
from ibidem.objects.cid import RootCid, TreeCid
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.text import node_text
from ibidem.objects.tree import EMPTY_TREE, Tree, diff

CONTENT_INDEXED_BYTES_MAX = 8 << 20
"""Content beyond this many bytes is not indexed."""
BATCH_BLOCKS = 1_024
"""How many blocks are read from the store at once."""


Change = tuple[bytes, bytes | None]
"""A key of a tree, and the 36 bytes of its CID now; None if the entry was removed."""


def changes(blocks: Source, before: TreeCid, after: TreeCid) -> Iterator[Change]:
    """Yields the changes that turn the tree `before` into `after`, in key order."""
    if before == EMPTY_TREE:
        for leaf in Tree(blocks, after).leaves():
            yield from zip(leaf.key_list, leaf.cid_list(), strict=True)
        return
    for key, _, now in diff(blocks, before, after):
        yield key, None if now is None else now.raw


def changed_nodes(blocks: Source, base: RootCid, root: RootCid) -> tuple[list[bytes], list[bytes]]:
    """Returns the ids of the nodes of a root that a base lacks, and of those that it has in another
    version, ascending."""
    before, after = (Root.decode(blocks.get(one)).nodes for one in (base, root))
    added: list[bytes] = []
    changed: list[bytes] = []
    for key, was, now in diff(blocks, before, after):
        if now is not None:
            (added if was is None else changed).append(key)
    return added, changed


def batches(items: Iterator[Change], size: int) -> Iterator[list[Change]]:
    """Yields the items in lists of `size`, the last one shorter."""
    while batch := list(islice(items, size)):
        yield batch


def text_of(node: Node, config: Config, blocks: Source) -> str:
    """Returns the text of a node as it is indexed."""
    content = indexed_content(node, blocks) if "content" in config.fields else None
    return node_text(node, config.fields, content)


def indexed_content(node: Node, blocks: Source) -> bytes | None:
    """Returns the part of a node's content that is indexed."""
    content = node.content
    if content is None or isinstance(content, bytes):
        return content
    parts, size = [], 0
    for cid in content:
        part = blocks.get(cid)
        parts.append(part)
        size += len(part)
        if size > CONTENT_INDEXED_BYTES_MAX:
            return cut_text(b"".join(parts)[:CONTENT_INDEXED_BYTES_MAX])
    return b"".join(parts)


def cut_text(data: bytes) -> bytes:
    """Returns UTF-8 bytes that were cut anywhere, without an incomplete character at the end.

    >>> cut_text("né".encode()[:2])
    b'n'
    """
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        width = (
            2
            if byte >> 5 == 0b110
            else 3
            if byte >> 4 == 0b1110
            else 4
            if byte >> 3 == 0b11110
            else 1
        )
        return data[:-back] if width > back else data
    return data


def checked_id(key: bytes, found: bytes, kind: str) -> None:
    """Rejects a block that a tree lists under an id other than its own."""
    if key != found:
        raise CorruptError(f"{kind} at key {key.hex()}: the block's id is {found.hex()}")
