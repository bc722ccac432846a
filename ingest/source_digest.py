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
    every = iter(ids)
    while batch := tuple(islice(every, BATCH_COUNT)):
        keys = [each.raw for each in batch]
        try:
            found = _read(store, nodes, keys)
        except IbidemError:  # one lost block among many: each document by itself
            found = {}
        for each, hidden in zip(batch, tombstones.get_many(keys), strict=True):
            yield each, FORGOTTEN if hidden is not None else _digest(store, nodes, each, found)


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
