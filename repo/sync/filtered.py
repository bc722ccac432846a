"""A state with only what may be seen: some nodes, and what hangs on them and on nothing else.

Nodes keep their bytes, save that parts which may not be seen are not among their children. An edge
goes along where both its ends do; vectors go with their node; a tombstone of a node that would have
been chosen goes along without the node, so that what was forgotten stays forgotten where the file
is merged. What is in conflict goes along as it stands, without the other sides.

Spec: sync 3.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, CommitCid, NodeCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.edge import Edge
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, Tree, build

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.repo.at import Revision

_BATCH_KEYS = 4096
Entries = Iterator[tuple[bytes, Cid]]


def filtered_commit(revision: Revision, label: str | None, buffer: WriteBatch) -> CommitCid:
    """Puts a commit without parents whose root has only what a revision shows, and returns it.

    The same revision, as seen by the same caller, gives the same commit.

    Args:
        label: only nodes of this type; None for all that the revision shows.
        buffer: reads the store of the revision.
    """
    root = filtered_root(revision, label, buffer)
    original = revision.commit
    commit = Commit(
        root,
        author="" if original is None else original.author,
        time=0 if original is None else original.time,
        message="export" if label is None else f"export of {label}",
    ).encode()
    cid = CommitCid.of(commit)
    buffer.put(cid, commit)
    return cid


def filtered_root(revision: Revision, label: str | None, buffer: WriteBatch) -> RootCid:
    """Puts a root that has only what a revision shows, and returns it."""
    root = revision.root
    chosen = (node for node in revision.nodes() if label is None or node.ntype == label)
    shown = {node.id.raw: _put(node, buffer) for node in chosen}
    keys = sorted(shown)
    buffer.put(EMPTY_TREE, EMPTY_TREE_BLOCK)
    block = replace(
        root,
        nodes=_built(iter(shown.items()), buffer),
        edges=_built(_edges(buffer, root.edges, shown), buffer),
        tombstones=_built(_tombstones(buffer, revision, label), buffer),
        conflicts=EMPTY_TREE,
        vectors=_named(buffer, root.vectors.items(), keys),
        sparse=_named(buffer, root.sparse.items(), keys),
    ).encode()
    cid = RootCid.of(block)
    buffer.put(cid, block)
    return cid


def _put(node: Node, buffer: WriteBatch) -> Cid:
    """Puts a node as it is seen, and returns its CID."""
    block = node.encode()
    cid = NodeCid.of(block)
    buffer.put(cid, block)
    return cid


def _built(entries: Entries, buffer: WriteBatch) -> TreeCid:
    return build(list(entries), buffer)


def _some(buffer: WriteBatch, tree: TreeCid, keys: Iterable[bytes]) -> Entries:
    found = Tree(buffer, tree)
    waiting = iter(keys)
    while batch := list(islice(waiting, _BATCH_KEYS)):
        for key, cid in zip(batch, found.get_many(batch), strict=True):
            if cid is not None:
                yield key, cid


def _edges(buffer: WriteBatch, tree: TreeCid, shown: Container[bytes]) -> Entries:
    for key, cid in Tree(buffer, tree).items():
        edge = Edge.decode(buffer.get(cid))
        if edge.src.raw in shown and edge.dst.raw in shown:
            yield key, cid


def _tombstones(buffer: WriteBatch, revision: Revision, label: str | None) -> Entries:
    for key, cid in Tree(buffer, revision.root.tombstones).items():
        try:
            node = revision.node(NodeId(key), include_tombstoned=True)
        except NotFoundError:
            continue
        if label is None or node.ntype == label:
            yield key, cid


def _named(
    buffer: WriteBatch, trees: Iterable[tuple[str, TreeCid]], keys: list[bytes]
) -> dict[str, TreeCid]:
    built = {name: _built(_some(buffer, tree, keys), buffer) for name, tree in trees}
    return {name: tree for name, tree in built.items() if tree != EMPTY_TREE}
