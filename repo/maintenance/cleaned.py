"""Roots without their erased entries.

An entry that refers to erased blocks cannot be merged or queried, so no branch moves to a root with
such entries. They are removed first, and each node is replaced by a tombstone, as in the erasure
itself.

Spec: merge 10.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import tee
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.edge import Edge
from ibidem.objects.links import links
from ibidem.objects.root import CONFLICTS, EDGES, NODES, TOMBSTONES, Root
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import Tree
from ibidem.objects.walk import read_blocks
from ibidem.repo.arguments import commit_of
from ibidem.repo.transaction.changeset import ChangeSet, applied, tree_names

MESSAGE = "leave out what was erased"

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch
    from ibidem.repo.arguments import CommitInfo
    from ibidem.repo.erasure.guard import Erased


def entries_of_erased(
    source: Source, root: Root, erased: Erased, *, edges: Collection[bytes] | None = None
) -> ChangeSet:
    """Returns the edits that remove all references to erased blocks from a root.

    If the root contains none of the nodes and has no conflicts, this costs one lookup of all of
    them at once.

    Args:
        edges: the ids of all edges at the nodes, if the caller knows them; None otherwise: then
            every edge of a root that contains one of the nodes is read.
    """
    edits = ChangeSet()
    gone = _present(source, root.nodes, erased.nodes)
    edits.of(NODES).update(dict.fromkeys(gone))
    for tree_name in tree_names(root):
        if tree_name[1]:
            found = _present(source, root.tree(*tree_name), gone)
            edits.of(tree_name).update(dict.fromkeys(found))
    if edges is not None:
        edits.of(EDGES).update(dict.fromkeys(_present(source, root.edges, edges)))
    elif gone:
        tree = Tree(source, root.edges)
        edits.of(EDGES).update(dict.fromkeys(_edges_of(source, tree, set(gone), erased)))
    for key, cid in Tree(source, root.conflicts).items() if erased.nodes else ():
        is_gone = key in erased.nodes or cid.raw in erased.cids
        if is_gone or any(link.raw in erased.cids for link in links(source.get(cid))):
            edits.of(CONFLICTS)[key] = None
    return edits


def _present(source: Source, tree: TreeCid, keys: Collection[bytes]) -> list[bytes]:
    """Returns those of some keys that a tree has, ascending."""
    wanted = sorted(keys)
    found = Tree(source, tree).get_many(wanted) if wanted else ()
    return [key for key, cid in zip(wanted, found, strict=True) if cid is not None]


def _edges_of(source: Source, edges: Tree, gone: set[bytes], erased: Erased) -> Iterator[bytes]:
    """Yields the ids of the edges of erased nodes: those whose value was erased, and those that
    another copy has added since.
    """
    yield from (key for key, cid in edges.items() if cid.raw in erased.cids)
    others, again = tee(item for item in edges.items() if item[1].raw not in erased.cids)
    blocks = read_blocks(source, (cid for _, cid in again))
    for (key, _), (_, block) in zip(others, blocks, strict=True):
        if isinstance(block, bytes):
            edge = Edge.decode(block)
            if edge.src.raw in gone or edge.dst.raw in gone:
                yield key


def cleaned_root(
    buffer: WriteBatch,
    cid: RootCid,
    erased: Erased,
    *,
    is_base: bool = False,
    edges: Collection[bytes] | None = None,
) -> RootCid:
    """Returns a root with erased nodes replaced by tombstones; the same root if it has nothing
    erased.

    Args:
        buffer: reads the root, and receives the blocks of a new one.
        is_base: for the base of a merge, which gets no tombstones: a side without the node has not
            removed one.
        edges: see `entries_of_erased`.

    Spec: merge 10.
    """
    if not erased.nodes:
        return cid
    root = Root.decode(buffer.get(cid))
    edits = entries_of_erased(buffer, root, erased, edges=edges)
    if not any(edits.trees.values()):
        return cid
    for key in () if is_base else edits.of(NODES):
        tombstone = Tombstone(erased.nodes[key].reason)
        buffer.put(tombstone.cid, tombstone.encode())
        edits.of(TOMBSTONES)[key] = tombstone.cid
    block = applied(root, edits, buffer).encode()
    made = RootCid.of(block)
    buffer.put(made, block)
    return made


def cleaned_commit(
    buffer: WriteBatch,
    cid: CommitCid,
    erased: Erased,
    signature: CommitInfo,
    time: int,
    *,
    edges: Collection[bytes] | None = None,
) -> CommitCid:
    """Returns a commit whose root has nothing erased: the given one, or a new one on top of it.

    If the signature has no message, a default message is used.
    """
    found = Commit.decode(buffer.get(cid)).root
    root = cleaned_root(buffer, found, erased, edges=edges)
    if root == found:
        return cid
    signed = replace(signature, message=signature.message or MESSAGE)
    made = commit_of(signed, root, (cid,), time)
    buffer.put(made.cid, made.encode())
    return made.cid
