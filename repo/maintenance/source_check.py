"""Checks that the source of every document is finite, which single nodes cannot show.

A part is read from the root, so nodes that are valid by themselves may still form a source that
contains itself, or one of unbounded size, and some of them may have been there for long. If the
previous root is valid, a cycle must pass through an id that a list did not contain there. So only
the parts that are new in a list are measured, each with all its descendants, whichever commit added
those: one more message in a long thread costs one read. Copies, commits, merges and `repo fsck` use
this check, each comparing a root with the same one: that of the first parent.

Spec: format 5.1, 7; sync 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.errors import CorruptError, NotFoundError
from ibidem.objects.location import Measures, Part
from ibidem.objects.node import Node
from ibidem.objects.tree import Tree, diff
from ibidem.objects.tree.diff import Changes
from ibidem.objects.walk import read_blocks

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

_BATCH = 4096
_KNOWN_MAX = 1 << 16
"""Parts whose measures are kept from one root to the next."""
_CHILDREN = b"children"
"""Occurs in the block of every node that lists others."""

PartsAt = Callable[[Sequence[Cid]], Iterable[Part | None]]
"""The parts in blocks of nodes, None for a node that lists nothing."""
PartsOf = Callable[[Sequence[bytes]], Iterable[Part | None]]
"""The parts of some nodes, None for one that lists nothing or is not there."""


def part_in(block: bytes) -> Part | None:
    """Returns the part that the block of a node holds, None for a node that lists nothing."""
    node = Node.decode(block) if _CHILDREN in block else None
    return Part.of(node) if node is not None and node.children else None


def new_parts(id_: bytes, part: Part, before: Part | None) -> list[bytes]:
    """Returns the ids to measure if a node lists other parts than before: the node itself if it
    listed none, otherwise the newly listed ids.
    """
    if before is None:
        return [id_]
    known = {child.id.raw for child in before.children}
    return [child.id.raw for child in part.children if child.id.raw not in known]


class SourceCheck:
    """Checks a sequence of roots, each against one that was checked before it.

    The cost is that of the newly listed parts and their descendants, whose measures are kept for a
    root that follows the last one.
    """

    def __init__(
        self, source: Source, parts_at: PartsAt | None = None, *, changes: Changes = diff
    ) -> None:
        """Prepares the check.

        Args:
            source: has the blocks of the roots.
            changes: finds the differences of two trees of nodes.
            parts_at: reads parts, by default from the source; erased nodes count as listing
                nothing.
        """
        self._source = source
        self._parts_at = parts_at or self._read
        self._changes = changes
        self._last: TreeCid | None = None
        self._known = KnownParts()

    def check(self, nodes: TreeCid, before: TreeCid) -> Iterator[tuple[Cid, CorruptError]]:
        """Yields the CIDs of nodes with a new part that contains itself or whose source exceeds the
        limits, with the reason.

        Args:
            nodes: the tree of nodes of the root to check.
            before: the tree of nodes of the previous root.
        """
        if before != self._last or len(self._known) > _KNOWN_MAX:
            self._known = KnownParts()
        self._last = None
        starts: dict[bytes, Cid] = {}
        changes = iter(self._changes(self._source, before, nodes))
        while batch := list(islice(changes, _BATCH)):
            self._known.forget(key for key, _, _ in batch)
            there = [(key, was, cid) for key, was, cid in batch if cid is not None]
            parts = self._parts_at([cid for _, _, cid in there])
            lists = [
                (key, was, cid, part)
                for (key, was, cid), part in zip(there, parts, strict=True)
                if part is not None
            ]
            old = iter(self._parts_at([was for _, was, _, _ in lists if was is not None]))
            for id_, was, cid, part in lists:
                for start in new_parts(id_, part, None if was is None else next(old)):
                    starts.setdefault(start, cid)
        tree = Tree(self._source, nodes)

        def parts_of(ids: Sequence[bytes]) -> Iterator[Part | None]:
            cids = tree.get_many(ids)
            found = iter(self._parts_at([cid for cid in cids if cid is not None]))
            return (None if cid is None else next(found) for cid in cids)

        waiting = iter(starts)
        is_well = True
        while chunk := list(islice(waiting, _BATCH)):
            if len(self._known) > _KNOWN_MAX:
                self._known = KnownParts()
            for id_, error in self._known.problems(chunk, parts_of):
                is_well = False
                yield starts[id_], error
        if is_well:
            self._last = nodes

    def _read(self, cids: Sequence[Cid]) -> Iterator[Part | None]:
        for _, block in read_blocks(self._source, cids):
            if isinstance(block, bytes):
                yield part_in(block)
            elif isinstance(block, NotFoundError):
                yield None  # erased; another check decides whether it may be missing
            else:
                raise block


class KnownParts:
    """Parts of one root and the measures of their sources, as far as they were needed."""

    def __init__(self) -> None:
        """Starts without any measures."""
        self._parts: dict[bytes, Part | None] = {}
        """If a part is present, so are all its descendants."""
        self._above: dict[bytes, set[bytes]] = {}
        self._measures = Measures(self._parts.get)

    def __len__(self) -> int:
        return len(self._parts)

    def forget(self, ids: Iterable[bytes]) -> None:
        """Drops nodes that changed, and their ancestors."""
        waiting = list(ids) if self._parts else []
        while waiting:
            id_ = waiting.pop()
            self._measures.forget(id_)
            self._parts.pop(id_, None)
            waiting.extend(self._above.pop(id_, ()))

    def problems(
        self, ids: Sequence[bytes], parts_of: PartsOf
    ) -> Iterator[tuple[bytes, CorruptError]]:
        """Yields the nodes that contain themselves or whose source exceeds the limits, with the
        reason.

        Args:
            ids: of the nodes.
            parts_of: reads nodes that are not known yet, one level in one batch.
        """
        level = set(ids)
        while unknown := sorted(id_ for id_ in level if id_ not in self._parts):
            found = dict(zip(unknown, parts_of(unknown), strict=True))
            self._parts.update(found)
            level = set()
            for id_, part in found.items():
                for child in () if part is None else part.children:
                    self._above.setdefault(child.id.raw, set()).add(id_)
                    level.add(child.id.raw)
        for id_ in ids:
            try:
                self._measures.of(id_)
            except CorruptError as error:
                yield id_, error


def refuse_problems(check: SourceCheck, nodes: TreeCid, before: TreeCid) -> None:
    """Raises `CorruptError` for the first node that a check reports."""
    for cid, error in check.check(nodes, before):
        raise CorruptError(f"node {cid}: {error}", kind=error.kind)
