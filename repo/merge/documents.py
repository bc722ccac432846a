"""The parts of a document when a conflict about its structure is resolved.

The sizes that a document and its sections record are recomputed from the remaining parts.

Spec: merge 5, format 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

from ibidem.objects.config import Config
from ibidem.objects.conflict import NODE
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import document_of, parts_of
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.root import EDGES, NODES, Root
from ibidem.objects.tree import Tree, diff
from ibidem.repo.history import log
from ibidem.repo.merge.conflicts import OpenConflict, nodes_of, open_conflicts
from ibidem.repo.merge.fields import LAYOUT
from ibidem.repo.merge.sizes import resized_above, with_sizes
from ibidem.repo.transaction.changeset import ChangeSet, edge_at, tree_names
from ibidem.retrieve.access.policy import document_labels, policy_of, with_labels

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.blocks import Source
    from ibidem.objects.cid import Cid, CommitCid
    from ibidem.repo.graph import Graph


Since = Callable[[], "CommitCid"]

COMMITS_MAX = 1000
"""Maximal number of commits searched for a missing part, newest first."""


@record(frozen=False)
class Parts:
    """The effects of resolving a conflict on the parts of a document."""

    settled: Node | None
    """The resolved value, with the sizes of its parts."""
    edits: ChangeSet = field(default_factory=ChangeSet)
    """Edits that restore parts with their edges and vectors, and correct sizes."""
    blocks: dict[Cid, bytes] = field(default_factory=dict)
    """New blocks that these edits need."""
    removed: tuple[NodeId, ...] = ()
    """Parts to remove with everything attached to them, ascending."""


def settled_parts(
    source: Source, at: Graph, found: OpenConflict, settled: Node | None, *, since: Since
) -> Parts:
    """Returns the effects on the parts of the document or section of a conflict.

    Args:
        at: the state that contains the conflict.
        settled: the resolved value; None if the node is removed.
        since: returns a commit; a missing part is restored to its newest version in the history of
            this commit.

    Spec: merge 5.
    """
    conflict = found.conflict
    if conflict.what != NODE:
        return Parts(settled)
    cids = {*conflict.sides, conflict.base, found.value}
    values = [Node.decode(source.get(cid)) for cid in cids if cid is not None]
    owner = document_of(values[0])
    if owner is None:
        return Parts(settled)
    work = _Settling(source, at, NodeId(found.id.raw), owner)
    parts = Parts(settled, work.edits)
    if not conflict.fields or conflict.deleted or LAYOUT in conflict.fields:
        kept = work.put_back(() if settled is None else _listed(settled), work.graphs(since))
        removed = work.removed({raw for value in values for raw in _listed(value)}, kept)
        work.put_back_attached(removed)
        parts.removed = tuple(NodeId(raw) for raw in sorted(removed))
        if settled is not None:
            parts.settled = with_sizes(settled, work.part)
            for above in resized_above(parts.settled, work.part, work.parent):
                block = above.encode()
                cid = Node.CID.of(block)
                parts.blocks[cid] = block
                work.edits.of(NODES)[above.id.raw] = cid
    parts.blocks |= work.label(settled, parts.removed)
    return parts


def restored_ends(source: Source, at: Graph, ends: Iterable[Node], *, since: Since) -> Parts:
    """Returns the effects of restoring those ends of an edge that are documents or parts, with the
    parts that they list.

    Args:
        ends: missing in the graph, as they last were.
        since: returns a commit; the parts are those that the end had in the history of this commit.

    Spec: merge 5-e.
    """
    parts = Parts(None)
    for end in ends:
        owner = document_of(end)
        if owner is not None:
            work = _Settling(source, at, end.id, owner)
            work.put_back([end.id.raw], work.graphs(since, version=end))
            work.put_back_attached(set())
            parts.blocks |= work.label(None)
            for family, entries in work.edits.trees.items():
                parts.edits.of(family).update(entries)
    return parts


class _Graph:
    """The nodes of one root, and whether they are parts of one document."""

    def __init__(self, source: Source, root: Root, owner: NodeId) -> None:
        self.root = root
        self._source = source
        self._owner = owner
        self._nodes = Tree(source, root.nodes)

    def has(self, raw: bytes) -> bool:
        """Returns whether there is a node with an id."""
        return self.version(raw) is not None

    def version(self, raw: bytes) -> Cid | None:
        """Returns the CID of the node with an id."""
        return self._nodes.get(raw)

    def part(self, raw: bytes) -> Node | None:
        """Returns the part with an id, None if there is none."""
        cid = self.version(raw)
        node = None if cid is None else Node.decode(self._source.get(cid))
        return node if node is not None and document_of(node) == self._owner else None


class _Settling:
    """Collects the parts to restore and to remove."""

    def __init__(self, source: Source, at: Graph, node_id: NodeId, owner: NodeId) -> None:
        self.edits = ChangeSet()
        self._graph = _Graph(source, at.root, owner)
        self._source = source
        self._at = at
        self._id = node_id
        self._owner = owner
        self._tombstones = Tree(source, at.root.tombstones)
        self._conflicts = Tree(source, at.root.conflicts)
        self._back: dict[bytes, Root] = {}
        """Nodes to restore, with the root from which each comes."""

    def put_back(self, listed: Iterable[bytes], graphs: Iterable[_Graph]) -> set[bytes]:
        """Restores those listed parts and their descendants that the graph lacks.

        Args:
            graphs: where they are looked for, in this order.

        Returns:
            All listed ids, whether they could be restored or not.
        """
        known: set[bytes] = set()
        missing = set(listed)
        for graph in graphs:
            stack = sorted(missing)
            missing = set()
            while stack:
                raw = stack.pop()
                if raw in known:
                    continue
                node = self._graph.part(raw)
                if node is None and not self._graph.has(raw) and not self._is_forgotten(raw):
                    node = None if graph is self._graph else _part_once(graph, raw)
                    if node is None:
                        missing.add(raw)
                        continue
                    self._back[raw] = graph.root
                    self.edits.of(NODES)[raw] = node.cid
                known.add(raw)
                stack.extend(() if node is None else _listed(node))
            if not missing:
                break
        return known | missing

    def removed(self, listed: set[bytes], kept: set[bytes]) -> set[bytes]:
        """Returns the listed parts and their descendants that nothing lists any more."""
        found = {raw for raw in _below(listed, self._graph.part) - kept if self._graph.part(raw)}
        if not found:
            return found
        stays = {raw for raw in found if self._is_forgotten(raw) or self._conflicts.get(raw)}
        stays |= self._listed_elsewhere(found) | (found & self._in_question())
        return found - stays - _below(stays, self._graph.part)

    def put_back_attached(self, removed: set[bytes]) -> None:
        """Restores the vectors and edges of restored nodes."""
        models = Config.from_map(self._at.root.config).models
        for raw, root in self._back.items():
            before = Config.from_map(root.config).models
            for tree_name in tree_names(root):
                kind, name = tree_name
                if name and (kind != "vectors" or before.get(name) == models.get(name)):
                    cid = Tree(self._source, root.tree(*tree_name)).get(raw)
                    if cid is not None:
                        self.edits.of(tree_name)[raw] = cid
        for edges in {root.edges for root in self._back.values()}:
            for key, here, there in diff(self._source, self._at.root.edges, edges):
                if here is None and there is not None and self._conflicts.get(key) is None:
                    edge = edge_at(self._source, there)
                    ends = {edge.src.raw, edge.dst.raw}
                    stand = all(raw in self._back or self._graph.has(raw) for raw in ends)
                    if stand and ends & self._back.keys() and not ends & removed:
                        self.edits.of(EDGES)[key] = there

    def label(self, settled: Node | None, removed: Collection[NodeId] = ()) -> dict[Cid, bytes]:
        """Gives the restored parts the level and scope that their document has now, if they had
        those of the document, and so all parts if the document has others than before; returns the
        new blocks.

        Args:
            settled: the resolved value, which may be the document's.
            removed: parts that will not be there.
        """
        policy = policy_of(Config.from_map(self._at.root.config))
        current = self._graph.part(self._owner.raw)
        is_settled = settled is not None and settled.id == self._owner
        document = settled if is_settled else current
        blocks: dict[Cid, bytes] = {}
        if policy is None or document is None:
            return blocks
        before: dict[bytes, Node | None] = {
            raw: _Graph(self._source, root, self._owner).part(self._owner.raw)
            for raw, root in self._back.items()
        }
        if (
            current is not None
            and len(document_labels(policy.names, document.props, current.props)) < 2
        ):
            for one in (current, document):
                for below in parts_of(one, self.part, values=self._values):
                    before.setdefault(below.id.raw, current)
        for id_ in (self._owner, *removed):
            before.pop(id_.raw, None)
        for raw, former in before.items():
            part = self.part(NodeId(raw))
            if former is not None and part is not None:
                names = document_labels(policy.names, part.props, former.props)
                block = replace(part, props=with_labels(part.props, names, document.props)).encode()
                self.edits.of(NODES)[raw] = cid = Node.CID.of(block)
                blocks[cid] = block
        return blocks

    def part(self, id: NodeId) -> Node | None:  # noqa: A002
        """Returns a part as it will be after the conflict is resolved."""
        back = self.edits.of(NODES).get(id.raw)
        return self._graph.part(id.raw) if back is None else Node.decode(self._source.get(back))

    def parent(self, id: NodeId) -> NodeId | None:  # noqa: A002
        """Returns the node that lists another one as a child, in the current graph."""

        def above(snapshot: Snapshot) -> NodeId | None:
            ordinal = snapshot.ordinal(id)
            found = None if ordinal is None else snapshot.parent(ordinal)
            if found is None:
                return None
            return NodeId(snapshot.node_ids(np.array([found[0]], np.uint32))[0].tobytes())

        return self._at.with_snapshot(above)

    def _values(self, part: Node) -> list[Node]:
        return [part, *nodes_of(self._source, self._conflicts.get(part.id.raw))]

    def _is_forgotten(self, raw: bytes) -> bool:
        return self._tombstones.get(raw) is not None

    def _listed_elsewhere(self, parts: set[bytes]) -> set[bytes]:
        """Returns the parts listed by a node that is neither one of them nor the subject of the
        conflict.
        """

        def listed(snapshot: Snapshot) -> set[bytes]:
            ordinals = {raw: snapshot.ordinal(NodeId(raw)) for raw in (*parts, self._id.raw)}
            own = BitMap([each for each in ordinals.values() if each is not None])
            parents = snapshot.live - own
            return {
                raw
                for raw in parts
                if (ordinal := ordinals[raw]) is not None
                and snapshot.parent(ordinal, among=parents) is not None
            }

        return self._at.with_snapshot(listed)

    def _in_question(self) -> set[bytes]:
        """Returns the parts listed by sides of other conflicts, which are not decided yet."""
        found: set[bytes] = set()
        for each in open_conflicts(self._source, self._at.root):
            if each.what == NODE and each.id != self._id:
                for cid in each.conflict.sides:
                    found.update(_listed(Node.decode(self._source.get(cid))))
        return found

    def graphs(self, since: Since, *, version: Node | None = None) -> Iterator[_Graph]:
        """Yields the current graph, then earlier ones, from the newest one that has a version of a
        node if that is given; the history may have been pruned."""
        yield self._graph
        try:
            for commit in islice(log.commits(self._source, since()), COMMITS_MAX):
                root = Root.decode(self._source.get(commit.root))
                graph = _Graph(self._source, root, self._owner)
                if version is None or graph.version(version.id.raw) == version.cid:
                    version = None
                    yield graph
        except NotFoundError:
            return


def _below(listed: Iterable[bytes], part: Callable[[bytes], Node | None]) -> set[bytes]:
    """Returns some ids and those of all their descendants."""
    found: set[bytes] = set()
    stack = list(listed)
    while stack:
        raw = stack.pop()
        if raw not in found:
            found.add(raw)
            node = part(raw)
            stack.extend(() if node is None else _listed(node))
    return found


def _listed(node: Node) -> list[bytes]:
    return [child.id.raw for child in node.children]


def _part_once(graph: _Graph, raw: bytes) -> Node | None:
    """Returns a part in an earlier graph, None also if its block has been deleted since."""
    try:
        return graph.part(raw)
    except NotFoundError:
        return None
