"""Merges the graph: nodes, tombstones and edges, with the conflicts about them.

Nodes are merged first. What a side removed together with a node (its edges, vectors, tombstone)
counts as removed only if the merged graph does not have the node. A child that a node lists because
of one side is kept in the graph if that side has it.

Spec: merge 2, 4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from ibidem.index.analysis import HOME, has_language
from ibidem.objects.cid import Cid
from ibidem.objects.codec import encode
from ibidem.objects.conflict import EDGE, NODE, Conflict
from ibidem.objects.edge import Edge, is_derived_link
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import document_of, parts_of
from ibidem.objects.node import Node
from ibidem.repo.merge.conflicts import nodes_of
from ibidem.repo.merge.element import ABSENT, Element, merge_element, read, union
from ibidem.repo.merge.fields import Sensitivity
from ibidem.repo.merge.sizes import resized
from ibidem.repo.merge.trees import Triples, lowest, three_way
from ibidem.retrieve.access.policy import document_labels, with_labels

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.objects.root import Root

Values = dict[bytes, Cid | None]
Elements = tuple[Element, Element, Element]
_DOCUMENT = b"document"
"""A byte string in the block of every document that was ingested."""
_CHILDREN = b"children"
"""A byte string in the block of every node that has children."""


class GraphMerge:
    """The merge of three graphs; `run` computes the merged values by key."""

    def __init__(
        self,
        base: Root,
        ours: Root,
        theirs: Root,
        buffer: WriteBatch,
        *,
        sensitivity: Sensitivity | None = None,
    ) -> None:
        def triples(name: str) -> Triples:
            trees = (getattr(root, name) for root in (base, ours, theirs))
            return Triples(buffer, *trees)

        self._buffer = buffer
        self._sensitivity = sensitivity
        self.node_triples = triples("nodes")
        self.edge_triples = triples("edges")
        self.tombstone_triples = triples("tombstones")
        self.conflict_triples = triples("conflicts")
        self.nodes: Values = {}
        self.edges: Values = {}
        self.tombstones: Values = {}
        self.conflicts: Values = {}
        self.removed: set[bytes] = set()
        """Nodes that some side has or had and the merged graph does not have."""
        self.erased: set[bytes] = set()
        """Nodes that a side removed and left a tombstone for."""
        self.kept: tuple[set[bytes], set[bytes]] = set(), set()
        """Nodes that ours, and that theirs, removed although the merged graph has them."""

    def run(self) -> None:
        """Merges nodes, tombstones and edges."""
        edges, nodes = self._conflict_keys()
        if nodes or not self.node_triples.is_one:
            policy = None if self._sensitivity is None else self._sensitivity.policy
            self._label_documents(() if policy is None else policy.names)
        for key in self.node_triples.changed.keys() | nodes:
            self._merge_node(key)
        self._keep_listed()
        self._resize_documents()
        for key, triple in self.tombstone_triples.changed.items():
            value, is_both = three_way(self.attached(key, triple))
            if is_both:
                value = lowest(triple[1:])
            if key in self.erased:
                value = value or lowest(self._stones(key))
            elif key in self.removed:
                value = None
            self.tombstones[key] = value
        for key in self.edge_triples.changed.keys() | edges:
            self._merge_edge(key)

    def attached(
        self, key: bytes, triple: tuple[Cid | None, Cid | None, Cid | None]
    ) -> tuple[Cid | None, Cid | None, Cid | None]:
        """Returns the values attached to a node, with removals that do not count undone."""
        base, ours, theirs = triple
        if key in self.kept[0]:
            return base, base, theirs
        if key in self.kept[1]:
            return base, ours, base
        return triple

    def node(self, key: bytes) -> Cid | None:
        """Returns the merged node with a key."""
        return self.nodes[key] if key in self.nodes else self.node_triples.at(key)[1]

    def _conflict_keys(self) -> tuple[set[bytes], set[bytes]]:
        """Returns the ids of edges and of nodes whose conflict a side changed."""
        edges: set[bytes] = set()
        nodes: set[bytes] = set()
        for key, triple in self.conflict_triples.changed.items():
            cid = lowest(triple)
            assert cid is not None, "BUG: a change without a value"
            (edges if read(self._buffer, cid).what == EDGE else nodes).add(key)
        return edges, nodes

    def _elements(self, triples: Triples, key: bytes) -> Elements:
        base, ours, theirs = (
            Element(*pair)
            for pair in zip(triples.at(key), self.conflict_triples.at(key), strict=True)
        )
        return base, ours, theirs

    def _merge_node(self, key: bytes) -> None:
        base, ours, theirs = self._elements(self.node_triples, key)
        if base.value is not None and self._stones(key):
            self.erased.add(key)
            merged = ABSENT
        elif base.value is not None and (ours.value is None) != (theirs.value is None):
            kept = theirs if ours.value is None else ours
            merged = kept
            if not self._is_newly_hidden(key):
                merged = self._merged_node(base, ours, theirs)
            if merged.value is not None:
                self.kept[ours.value is not None].add(key)
        else:
            merged = self._merged_node(base, ours, theirs)
        if merged.value is None:
            self.removed.add(key)
            merged = ABSENT
        self.nodes[key], self.conflicts[key] = merged.value, merged.conflict

    def _label_documents(self, labels: Sequence[str]) -> None:
        """Gives the parts of each document of which a side changed the level, scope or home those
        of the merged document, in the base and on both sides: so what one side adds to a document
        is as secret as the other side made it, and a new level or language alone is no change of a
        part.

        Args:
            labels: the properties with level and scope; none without a trust policy.
        """
        own = (*labels, HOME)
        for key in self._changed_documents():
            found = self.node_triples.at(key)
            blocks = self._buffer.get_many([cid for cid in found if cid is not None])
            there = [Node.decode(block) for block in blocks]
            values = {encode(with_labels({}, own, each.props)) for each in there}
            if len(values) > 1 and document_of(there[0]) == there[0].id:
                self._merge_node(key)
                merged = self._merged_part(there[0].id)
                if merged is not None:
                    documents = [None, *there] if found[0] is None else there
                    self._label_parts(documents, merged, own)

    def _changed_documents(self) -> list[bytes]:
        """Returns the keys of the nodes that may be documents, of which a side changed one that
        both have."""
        changed = self.node_triples.changed
        cids = {key: found[1] for key, found in changed.items() if None not in found[1:]}
        blocks = self._buffer.get_many([cid for cid in cids.values() if cid is not None])
        return [key for key, block in zip(cids, blocks, strict=True) if _DOCUMENT in block]

    def _label_parts(
        self, documents: Sequence[Node | None], merged: Node, names: Sequence[str]
    ) -> None:
        """Labels the parts of a document, which is given in the base and on both sides."""
        for key in self._parts(merged):
            cids = []
            for cid, document in zip(self.node_triples.at(key), documents, strict=True):
                if cid is not None and document is not None:
                    part = Node.decode(self._buffer.get(cid))
                    own = document_labels(names, part.props, document.props)
                    if not has_language(part.props, part.summary):
                        own -= {HOME}
                    props = with_labels(part.props, own, merged.props)
                    block = replace(part, props=props).encode()
                    cid = Node.CID.of(block)
                    self._buffer.put(cid, block)
                cids.append(cid)
            self.node_triples.replace(key, (cids[0], cids[1], cids[2]))

    def _parts(self, document: Node) -> set[bytes]:
        """Returns the keys of the parts of a document that a side changed, and of those that it
        lists in the base or on a side, also in a conflict there, whichever of them has the part."""
        parts = parts_of(
            document, lambda id_: next(iter(self._nodes(id_)), None), values=self._values
        )
        found = {part.id.raw for part in parts} | self._changed_parts[document.id]
        return found - {document.id.raw}

    @cached_property
    def _changed_parts(self) -> dict[NodeId, set[bytes]]:
        """The keys of the nodes that a side changed, by the document that they are of."""
        cids = {key: found[1] or lowest(found) for key, found in self.node_triples.changed.items()}
        blocks = self._buffer.get_many([cid for cid in cids.values() if cid is not None])
        parts: dict[NodeId, set[bytes]] = defaultdict(set)
        for key, block in zip(cids, blocks, strict=True):
            owner = document_of(Node.decode(block))
            if owner is not None:
                parts[owner].add(key)
        return parts

    def _nodes(self, id_: NodeId) -> list[Node]:
        cids = {cid for cid in self.node_triples.at(id_.raw) if cid is not None}
        return [Node.decode(self._buffer.get(cid)) for cid in cids]

    def _values(self, part: Node) -> list[Node]:
        conflicts = {*self.conflict_triples.at(part.id.raw)}
        return [
            *self._nodes(part.id),
            *(value for conflict in conflicts for value in nodes_of(self._buffer, conflict)),
        ]

    def _keep_listed(self) -> None:
        """Keeps a node that one side removed and the other did not change, if a merged node lists
        it as a child and not because of the side that removed it.
        """
        gone = {
            key
            for key in self.removed - self.erased
            if (found := self.node_triples.at(key))[0] is not None
            and found[0] in found[1:]
            and None in found[1:]
        }
        waiting = [key for key, value in self.nodes.items() if value is not None] if gone else []
        while waiting:
            parent = waiting.pop()
            for key in gone.intersection(self._children(self.nodes[parent])):
                side = 1 if self.node_triples.at(key)[1] is None else 2
                if key in self._children(self.node_triples.at(parent)[side]):
                    continue
                _, *sides = self._elements(self.node_triples, key)
                kept = sides[2 - side]
                self.nodes[key], self.conflicts[key] = kept.value, kept.conflict
                self.kept[side - 1].add(key)
                self.removed.discard(key)
                gone.discard(key)
                waiting.append(key)

    def _resize_documents(self) -> None:
        """Computes the sizes in each document of which both sides changed a layout, as equal
        changes of two sizes cannot be told from one change, and opposite ones not from none.
        """
        owners = {
            owner
            for key in self.node_triples.changed
            if (owner := self._resized_document(key)) is not None
        }
        for owner in owners:
            try:
                found = resized(owner, self._merged_part)
                blocks = {id_.raw: node.encode() for id_, node in found.items()}
            except InvalidInputError:
                continue  # Sizes over the limits: they stay as they are recorded.
            for key, block in blocks.items():
                self.nodes[key] = cid = Node.CID.of(block)
                self._buffer.put(cid, block)

    def _resized_document(self, key: bytes) -> NodeId | None:
        """Returns the document of a node whose layout both sides changed differently."""
        base, *sides = self.node_triples.at(key)
        if base in sides or None in sides or sides[0] == sides[1]:
            return None
        nodes = [Node.decode(self._buffer.get(cid)) for cid in (*sides, base) if cid is not None]
        layouts = [(node.children, node.tail) for node in nodes]
        if any(one == other for one, other in combinations(layouts, 2)):
            return None
        return document_of(nodes[0])

    def _merged_part(self, id_: NodeId) -> Node | None:
        cid = self.node(id_.raw)
        return None if cid is None else Node.decode(self._buffer.get(cid))

    def _children(self, cid: Cid | None) -> frozenset[bytes]:
        """Returns the ids of the children that a node lists."""
        block = b"" if cid is None else self._buffer.get(cid)
        if _CHILDREN not in block:
            return frozenset()
        return frozenset(child.id.raw for child in Node.decode(block).children)

    def _merged_node(self, base: Element, ours: Element, theirs: Element) -> Element:
        sensitivity = self._sensitivity
        return merge_element(NODE, base, ours, theirs, self._buffer, sensitivity=sensitivity)

    def _stones(self, key: bytes) -> list[Cid]:
        """Returns the tombstones of sides that do not have the node."""
        sides = zip(self.node_triples.at(key)[1:], self.tombstone_triples.at(key)[1:], strict=True)
        return [stone for node, stone in sides if node is None and stone is not None]

    def _is_newly_hidden(self, key: bytes) -> bool:
        """Returns whether a side has added a tombstone to a node."""
        base, ours, theirs = self.tombstone_triples.changed.get(key, (None, None, None))
        return any(side not in (None, base) for side in (ours, theirs))

    def _merge_edge(self, key: bytes) -> None:
        base, ours, theirs = self._elements(self.edge_triples, key)
        ours = self._unless_with_node(base, ours, self.kept[0])
        theirs = self._unless_with_node(base, theirs, self.kept[1])
        merged = merge_element(EDGE, base, ours, theirs, self._buffer)
        merged = self._where_it_stands(base, merged)
        self.edges[key], self.conflicts[key] = merged.value, merged.conflict

    def _unless_with_node(self, base: Element, side: Element, kept: set[bytes]) -> Element:
        """Returns a side of an edge; the base, if that side removed it only with a node that is
        kept.
        """
        if not kept or side.value is not None or base.value is None:
            return side
        return side if kept.isdisjoint(_ends(self._buffer, base.value)) else base

    def _where_it_stands(self, base: Element, merged: Element) -> Element:
        """Moves an edge out of the graph into its conflict if one of its nodes is gone.

        An edge that neither side changed is removed with the node, and so is any edge of an erased
        node, and a derived link without a conflict.
        """
        if merged.value is None:
            return merged if self._lacks_nodes(merged) else ABSENT
        missing = self.removed.intersection(_ends(self._buffer, merged.value))
        if not missing:
            return self._back_in_graph(merged)
        if merged.value == base.value or not missing.isdisjoint(self.erased):
            return ABSENT
        if merged.conflict is None and is_derived_link(Edge.decode(self._buffer.get(merged.value))):
            return ABSENT
        nodes = {lowest(self.node_triples.at(key)[1:]) for key in missing}
        nodes.discard(None)
        if not nodes:
            nodes = {self.node_triples.at(key)[0] for key in missing}
        links = sorted(Cid(node.raw) for node in nodes if node is not None)
        known = None if merged.conflict is None else read(self._buffer, merged.conflict)
        sides, is_deleted = (Cid(merged.value.raw),), base.value is not None
        record = union(known, EDGE, sides, base.value, deleted=is_deleted, nodes=links)
        return Element(None, self._put(record))

    def _lacks_nodes(self, merged: Element) -> bool:
        return merged.conflict is not None and bool(read(self._buffer, merged.conflict).nodes)

    def _back_in_graph(self, merged: Element) -> Element:
        """Returns an edge that is in the graph; its conflict no longer lists missing nodes."""
        if merged.conflict is None:
            return merged
        record = read(self._buffer, merged.conflict)
        if not record.nodes:
            return merged
        if len(record.sides) == 1:
            return Element(merged.value)
        return Element(merged.value, self._put(replace(record, nodes=())))

    def _put(self, record: Conflict) -> Cid:
        block = record.encode()
        cid = record.CID.of(block)
        self._buffer.put(cid, block)
        return cid


def _ends(buffer: WriteBatch, cid: Cid) -> tuple[bytes, bytes]:
    edge = Edge.decode(buffer.get(cid))
    return edge.src.raw, edge.dst.raw
