"""The documents of a root by their paths: which there are, their sources, and which differ between
two roots.

Spec: format 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from ibidem.objects.derive import node_id
from ibidem.objects.errors import ErasedError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import DOCUMENT, document_of, parts_of, source_text
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.tree import EMPTY_TREE, Tree, diff

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid
    from ibidem.objects.root import Root
    from ibidem.store.protocol import Store

_BATCH_COUNT = 1000
MOVED_FROM = "moved_from"
"""Property of a document: its earlier paths, oldest first."""


@record
class DocumentChange:
    """A document that differs between two roots, in its text or in its path; None where it does
    not exist."""

    path: str
    before: str | None
    after: str | None
    is_readable: bool = True
    """Whether both texts are whole; a part of one may have been erased, or has a tombstone, and
    then both are None."""
    is_long: bool = False
    """Whether it has more parts than were to be read; then both texts are None."""
    former: str | None = None
    """Its path before, if it was renamed."""
    hidden: NodeId | None = None
    """A part that has a tombstone, if that is why the texts are not whole."""

    @property
    def name(self) -> str:
        """The path, and before it the former one if it was renamed."""
        return self.path if self.former is None else f"{self.former} -> {self.path}"


def document_paths(store: Store, root: Root) -> list[str]:
    """Returns the paths of all documents of a root that have no tombstone and were not erased,
    sorted."""
    hidden = set(Tree(store, root.tombstones).keys())
    found: list[str] = []
    cids = [cid for key, cid in Tree(store, root.nodes).items() if key not in hidden]
    for start in range(0, len(cids), _BATCH_COUNT):
        for block in _blocks(store, cids[start : start + _BATCH_COUNT], ErasedError):
            path = _path_of(Node.decode(block)) if b"document" in block else None
            if path is not None:
                found.append(path)
    return sorted(found)


def touched_documents(
    store: Store, before: Root, after: Root, *, missing_ok: bool = False
) -> set[NodeId]:
    """Returns the ids of the documents of which a part differs, or the tombstone of the document.

    Args:
        missing_ok: leave out parts that were erased; what lists them may differ too.

    Raises:
        NotFoundError: a part that differs was erased, so its document is not known.
    """
    found: set[NodeId] = set()
    cids: list[Cid] = []
    for _, was, now in diff(store, before.nodes, after.nodes):
        cid = now or was
        assert cid is not None, "BUG: a change without a value"
        cids.append(cid)
    for start in range(0, len(cids), _BATCH_COUNT):
        batch = cids[start : start + _BATCH_COUNT]
        for block in _blocks(store, batch) if missing_ok else store.get_many(batch):
            owner = document_of(Node.decode(block))
            if owner is not None:
                found.add(owner)
    found.update(NodeId(key) for key, _, _ in diff(store, before.tombstones, after.tombstones))
    return found


def changed_documents(
    store: Store, before: Root, after: Root
) -> tuple[dict[str, str], dict[str, str]]:
    """Returns by path which documents were `added`, `changed` or `removed`, and the former paths of
    those that were renamed, by their paths now; reads no source."""
    ids = touched_documents(store, before, after, missing_ok=True)
    olds, news = (_documents_of(store, root, ids) for root in (before, after))
    former = _renames(olds, news)
    others = (olds.keys() | news.keys()) - former.keys() - set(former.values())
    return {
        path: "added" if path not in olds else "removed" if path not in news else "changed"
        for path in sorted(others)
    }, former


def document_changes(
    store: Store, before: Root, after: Root, *, parts_max: int | None = None
) -> Iterator[DocumentChange]:
    """Yields the documents whose source or path differs, by path; without their texts those that
    have more than `parts_max` parts.
    """
    ids = touched_documents(store, before, after, missing_ok=True)
    olds, news = (_documents_of(store, root, ids) for root in (before, after))
    former = _renames(olds, news)
    for path in sorted((olds.keys() | news.keys()) - set(former.values())):
        old = former.get(path, path)
        try:
            was = source_at(store, before, old, parts_max)
            now = source_at(store, after, path, parts_max)
        except _LongError:
            yield DocumentChange(path, None, None, is_long=True, former=former.get(path))
            continue
        except NotFoundError:
            yield DocumentChange(path, None, None, is_readable=False, former=former.get(path))
            continue
        if was != now or old != path:
            change = DocumentChange(path, was, now, former=former.get(path))
            yield readable_change(store, before, after, change)


def readable_change(
    store: Store, before: Root, after: Root, change: DocumentChange
) -> DocumentChange:
    """Returns a change of a document; without its texts if a part of one has a tombstone in either
    root."""
    versions = [(before, change.former or change.path), (after, change.path)]
    hidden = tombstoned_part(store, [before, after], versions)
    if hidden is None:
        return change
    return replace(change, before=None, after=None, is_readable=False, hidden=hidden)


def tombstoned_part(
    store: Store, roots: Iterable[Root], versions: Sequence[tuple[Root, str]]
) -> NodeId | None:
    """Returns the first part of any version of a document that has a tombstone; None if there is
    none.

    Args:
        roots: whose tombstones count.
        versions: the root and the path of each version. Parts that were erased are left out.
    """
    stones = [Tree(store, root.tombstones) for root in roots if root.tombstones != EMPTY_TREE]
    if not stones:
        return None
    parts = (part for root, path in versions for part in _parts_at(store, root, path))
    return next(
        (part for part in parts if any(each.get(part.raw) is not None for each in stones)), None
    )


def _parts_at(store: Store, root: Root, path: str) -> Iterator[NodeId]:
    """Yields the ids of a document and its parts, none if it does not exist."""
    nodes = Tree(store, root.nodes)

    def find(id_: NodeId) -> Node | None:
        cid = nodes.get(id_.raw)
        try:
            return None if cid is None else Node.decode(store.get(cid))
        except ErasedError:
            return None

    document = find(node_id(DOCUMENT, path))
    if document is not None:
        yield from (part.id for part in parts_of(document, find))


def _documents_of(store: Store, root: Root, ids: Iterable[NodeId]) -> dict[str, tuple[str, ...]]:
    """Returns the paths of those of the documents that exist, each with its former paths."""
    nodes = Tree(store, root.nodes)
    cids = [cid for id_ in ids if (cid := nodes.get(id_.raw)) is not None]
    found: dict[str, tuple[str, ...]] = {}
    for start in range(0, len(cids), _BATCH_COUNT):
        for block in _blocks(store, cids[start : start + _BATCH_COUNT]):
            node = Node.decode(block)
            path = _path_of(node)
            if path is not None:
                found[path] = former_paths(node)
    return found


def _renames(
    olds: Mapping[str, Sequence[str]], news: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Returns the former path of each document that was renamed, by its path now.

    A document lists its former paths. The newest that went counts; of a rename that was undone, the
    document that went lists the path that came.
    """
    found: dict[str, str] = {}
    gone, came = olds.keys() - news.keys(), news.keys() - olds.keys()
    for path in sorted(came):
        former = next((one for one in reversed(news[path]) if one in gone), None)
        if former is not None:
            found[path] = former
            gone.remove(former)
    for path in sorted(gone):
        again = next((one for one in reversed(olds[path]) if one in came), None)
        if again is not None and again not in found:
            found[again] = path
    return found


class _LongError(Exception):
    """A document has more parts than were to be read."""


def source_at(store: Store, root: Root, path: str, parts_max: int | None = None) -> str | None:
    """Returns the source of a document, None if it does not exist or has a tombstone.

    Raises:
        NotFoundError: a part of it is missing.
    """
    id_ = node_id(DOCUMENT, path)
    nodes, tombstones = Tree(store, root.nodes), Tree(store, root.tombstones)
    if nodes.get(id_.raw) is None or tombstones.get(id_.raw) is not None:
        return None

    parts = count(1)

    def node(part: NodeId) -> Node:
        if parts_max is not None and next(parts) > parts_max:
            raise _LongError
        cid = nodes.get(part.raw)
        if cid is None:
            raise NotFoundError(f"node {part} is not in the graph, but its document lists it")
        return Node.decode(store.get(cid))

    return source_text(id_, node)


def _blocks(
    store: Store, cids: list[Cid], ignored: type[NotFoundError] = NotFoundError
) -> Iterator[bytes]:
    """Yields the blocks that are there: erased parts are found through those that list them."""
    try:
        yield from store.get_many(cids)
    except ignored:
        for cid in cids:
            with suppress(ignored):
                yield store.get(cid)


def former_paths(document: Node) -> tuple[str, ...]:
    """Returns the paths that a document had before, oldest first."""
    found = document.props.get(MOVED_FROM)
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def _path_of(node: Node) -> str | None:
    if node.key is None or node.key[0] != DOCUMENT or not isinstance(node.key[1], str):
        return None
    return node.key[1]
