"""Digests of the sources of documents in a graph, read in batches and level by level."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from ibidem.ingest.stat_table import ABSENT, DIGEST_BYTES, FORGOTTEN, UNREADABLE
from ibidem.objects.errors import IbidemError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import source_text
from ibidem.objects.node import Node
from ibidem.objects.tree import Tree

if TYPE_CHECKING:
    from ibidem.objects.root import Root
    from ibidem.store.protocol import Store

BATCH_COUNT = 256
"""Documents that are read together: about 2,000 nodes."""


def source_digests(
    store: Store, root: Root, ids: Iterable[NodeId]
) -> Iterator[tuple[NodeId, bytes]]:
    """Yields the SHA-256 of the source of each document, or `ABSENT`, `FORGOTTEN` or `UNREADABLE`.

    The source of a document whose text was extracted is not stored; its digest is.
    """
    nodes, tombstones = Tree(store, root.nodes), Tree(store, root.tombstones)
    for batch, found in _batches(store, nodes, ids):
        hidden = tombstones.get_many([each.raw for each in batch])
        for each, stone in zip(batch, hidden, strict=True):
            yield each, FORGOTTEN if stone is not None else _digest(store, nodes, each, found)


def source_texts(
    store: Store, root: Root, ids: Iterable[NodeId]
) -> Iterator[tuple[NodeId, Node | None, str | None]]:
    """Yields each document with its node and its source. Both are None if they are to be read by
    themselves, since a block of some document is lost; the source is None if a part is missing or
    has a tombstone.
    """
    hidden = set(Tree(store, root.tombstones).keys())
    for batch, found in _batches(store, Tree(store, root.nodes), ids):
        shown = {id_: node for id_, node in found.items() if id_.raw not in hidden}
        for each in batch:
            try:
                text = source_text(each, shown.__getitem__)
            except (IbidemError, KeyError):
                text = None
            yield each, shown.get(each), text


def _batches(
    store: Store, nodes: Tree, ids: Iterable[NodeId]
) -> Iterator[tuple[tuple[NodeId, ...], dict[NodeId, Node]]]:
    """Yields the documents in batches, with their nodes and those of their parts; without nodes if
    a block is lost."""
    every = iter(ids)
    while batch := tuple(islice(every, BATCH_COUNT)):
        try:
            found = _read(store, nodes, [each.raw for each in batch])
        except IbidemError:  # one lost block among many: each document by itself
            found = {}
        yield batch, found


def _digest(store: Store, nodes: Tree, id_: NodeId, found: Mapping[NodeId, Node]) -> bytes:
    try:
        found = found or _read(store, nodes, [id_.raw])
        document = found.get(id_)
        if document is None:
            return ABSENT
        source_sha256 = document.props.get("source_sha256")
        if isinstance(source_sha256, str):
            digest = bytes.fromhex(source_sha256)
            return digest if len(digest) == DIGEST_BYTES else UNREADABLE
        text = source_text(id_, found.__getitem__)
    except (IbidemError, KeyError, ValueError):
        return UNREADABLE
    return hashlib.sha256(text.encode("utf-8")).digest()


def _read(store: Store, tree: Tree, keys: list[bytes]) -> dict[NodeId, Node]:
    """Returns those of the documents that exist, and all parts below them that do."""
    found: dict[NodeId, Node] = {}
    while keys:
        cids = [cid for cid in tree.get_many(keys) if cid is not None]
        nodes = [Node.decode(block) for block in store.get_many(cids)]
        found.update((node.id, node) for node in nodes)
        below = {child.id: None for node in nodes for child in node.children}
        keys = [each.raw for each in below if each not in found]
    return found
