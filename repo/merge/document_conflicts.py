"""Conflicts about documents, as their texts: a conflict about children and sizes becomes the path
of the document and its versions on both sides.

Spec: merge 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.blocks import Source
from ibidem.objects.commit import Commit
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import DOCUMENT, document_of, headings_in
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.repo.history.ancestry import merge_bases
from ibidem.repo.history.documents import source_at, tombstoned_part
from ibidem.repo.merge.conflicts import OpenConflict, recorded_in
from ibidem.repo.merge.text import MergedText, merge_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ibidem.objects.cid import CommitCid
    from ibidem.store.protocol import Store


class DocumentConflict:
    """A document about which, or about parts of which, there are conflicts."""

    def __init__(self, path: str, conflicts: tuple[OpenConflict, ...]) -> None:
        self.path = path
        self.conflicts = conflicts
        """Those about the document or its parts, by id."""
        self.sections: tuple[tuple[str, ...], ...] = ()
        """The headings of each section in conflict, outermost first and its own last, ascending."""
        self.base: str | None = None
        """Its source in the common ancestor; None if it did not exist there."""
        self.ours: str | None = None
        """Its source on the branch; None if it did not exist there."""
        self.theirs: str | None = None
        """Its source on the side that was merged; None if it did not exist there."""
        self.hidden: NodeId | None = None
        """A part of one of these versions that has a tombstone at the head: none of the texts is to
        be shown."""

    def merged(self, take: str | None = None) -> MergedText:
        """Returns the three versions merged line by line.

        Args:
            take: `ours` or `theirs`, for lines that both sides changed; None for markers.
        """
        return merge_texts(self.base or "", self.ours or "", self.theirs or "", take=take)


def document_conflicts(
    store: Store, head: CommitCid, conflicts: Iterable[OpenConflict]
) -> list[DocumentConflict]:
    """Returns the documents in conflict, by path.

    Only conflicts that a merge of two commits recorded can be shown as text: of two transactions
    that met, one left no commit.

    Args:
        head: the commit that has the conflicts.
        conflicts: all that are open there.
    """
    root = _root(store, head)
    nodes = Tree(store, root.nodes)
    by_document: dict[NodeId, list[OpenConflict]] = {}
    sections: dict[NodeId, set[tuple[str, ...]]] = {}
    for each in conflicts:
        if each.value is not None and isinstance(each.id, NodeId):
            part = Node.decode(store.get(each.value))
            owner = document_of(part)
            if owner is not None:
                by_document.setdefault(owner, []).append(each)
                sections.setdefault(owner, set()).add(headings_in(part.key))
    found = []
    for owner, open_ones in by_document.items():
        path = _path(store, nodes, owner)
        recorded = recorded_in(store, head, open_ones[0].id.raw)
        if path is None or len(recorded.parents) != 2:
            continue
        one = DocumentConflict(path, tuple(sorted(open_ones, key=lambda each: each.id.raw)))
        one.sections = tuple(sorted(sections[owner] - {()}))
        sides = [_root(store, each) for each in recorded.parents]
        bases = [_root(store, each) for each in merge_bases(store, *recorded.parents)[:1]]
        one.base = _source(store, bases[0], path) if bases else None
        one.ours, one.theirs = (_source(store, each, path) for each in sides)
        versions = [(each, path) for each in (root, *sides, *bases)]
        one.hidden = tombstoned_part(store, [root], versions)
        found.append(one)
    return sorted(found, key=lambda each: each.path)


def names_of(store: Store, head: CommitCid, conflict: OpenConflict) -> tuple[str, ...]:
    """Returns the path of the document that a node in conflict is part of, and the headings of a
    section, outermost first and its own last. Empty for any other node or an edge, if the document
    is not at `head`, and if a part of it has a tombstone there."""
    if conflict.value is None or not isinstance(conflict.id, NodeId):
        return ()
    root = _root(store, head)
    cid = Tree(store, root.nodes).get(conflict.id.raw)
    part = None if cid is None else Node.decode(store.get(cid))
    owner = None if part is None else document_of(part)
    path = None if owner is None else _path(store, Tree(store, root.nodes), owner)
    if part is None or path is None or tombstoned_part(store, [root], [(root, path)]) is not None:
        return ()
    return (path, *headings_in(part.key))


def _path(store: Source, nodes: Tree, document: NodeId) -> str | None:
    cid = nodes.get(document.raw)
    key = None if cid is None else Node.decode(store.get(cid)).key
    return key[1] if key is not None and key[0] == DOCUMENT and isinstance(key[1], str) else None


def _root(store: Store, commit: CommitCid) -> Root:
    return Root.decode(store.get(Commit.decode(store.get(commit)).root))


def _source(store: Store, root: Root, path: str) -> str | None:
    """Returns the source of a document, None also if a part of it was erased."""
    try:
        return source_at(store, root, path)
    except NotFoundError:
        return None
