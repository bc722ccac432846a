"""The graph of a revision as records: nodes, edges, vectors and tombstones, each by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import ibidem

if TYPE_CHECKING:
    from ibidem import Node, NodeId, Revision, ViewerRevision


@dataclass
class Graph:
    """What is exported of a revision."""

    revision: Revision | ViewerRevision
    include_tombstoned: bool = False
    label: str | None = None
    """Only nodes of this type, with the edges between them."""
    counts: Counter[str] = field(default_factory=Counter)
    """How many records of each kind were yielded."""
    omitted: Counter[str] = field(default_factory=Counter)
    _hidden: set[NodeId] = field(default_factory=set)
    """Nodes that were forgotten."""
    _other: set[NodeId] = field(default_factory=set)
    """Nodes of other types."""

    def restart(self) -> None:
        """Forgets the counts, before a format goes over the graph again."""
        self.counts.clear()
        self.omitted.clear()

    def omit_vectors(self) -> None:
        """Counts the vectors, for formats that have none."""
        for _ in chain(self.vectors(), self.sparse_vectors()):
            self.omitted["vector: the format has none"] += 1
        self.counts["vectors"] = 0

    def config(self) -> dict[str, Any]:
        """Returns the configuration without its models."""
        found = self.revision.config.to_map()
        del found["models"]
        return found

    def models(self) -> Mapping[str, ibidem.Model]:
        """Returns the models, by name."""
        return dict(sorted(self.revision.config.models.items()))

    def nodes(self) -> Iterator[ibidem.NodeRecord]:
        """Yields the nodes by id."""
        for node in self.revision.nodes(include_tombstoned=True):
            if self.label is not None and node.ntype != self.label:
                self._other.add(node.id)
                continue
            if self.revision.tombstone(node.id) is not None:
                self._hidden.add(node.id)
                if not self.include_tombstoned:
                    self.omitted["node that was forgotten"] += 1
                    continue
            self._check_extra(node)
            self.counts["nodes"] += 1
            yield self._node(node)

    def edges(self) -> Iterator[ibidem.EdgeRecord]:
        """Yields the edges by id; after `nodes`."""
        for edge in self.revision.edges():
            if not self._other.isdisjoint((edge.src, edge.dst)):
                continue
            if not self.include_tombstoned and not self._hidden.isdisjoint((edge.src, edge.dst)):
                self.omitted["edge of a node that was forgotten"] += 1
                continue
            self._check_extra(edge)
            self.counts["edges"] += 1
            yield ibidem.EdgeRecord(
                edge.src, edge.etype, edge.dst, edge.weight, edge.props, edge.key
            )

    def vectors(self) -> Iterator[ibidem.VectorRecord]:
        """Yields the vectors by model and node; after `nodes`."""
        for model, id_, vector in self.revision.vectors():
            if self._is_wanted(id_, vector):
                values = _array(vector)
                yield ibidem.VectorRecord(id_, model, values, vector.of)

    def vectors_of(self, id_: NodeId) -> Iterator[ibidem.VectorRecord]:
        """Yields the vectors of one node by model, for formats that keep them together."""
        for model in self.models():
            vector = self.revision.vector(id_, model)
            if vector is not None and self._is_wanted(id_, vector):
                yield ibidem.VectorRecord(id_, model, _array(vector), vector.of)

    def sparse_vectors(self) -> Iterator[ibidem.SparseRecord]:
        """Yields the sparse vectors by vocabulary and node; after `nodes`."""
        for vocab, id_, vector in self.revision.sparse_vectors():
            if self._is_wanted(id_, vector):
                indices, weights = vector.to_arrays()
                yield ibidem.SparseRecord(id_, vocab, indices.tolist(), weights.tolist(), vector.of)

    def tombstones(self) -> Iterator[ibidem.TombstoneRecord]:
        """Yields the tombstones by node, if they are wanted; after `nodes`."""
        if self.include_tombstoned:
            for id_ in sorted(self._hidden, key=str):
                self.counts["tombstones"] += 1
                yield ibidem.TombstoneRecord(id_, self.revision.tombstone(id_) or "")

    def _is_wanted(self, id_: NodeId, vector: Any) -> bool:
        if id_ in self._other:
            return False
        if not self.include_tombstoned and id_ in self._hidden:
            self.omitted["vector of a node that was forgotten"] += 1
            return False
        self._check_extra(vector)
        self.counts["vectors"] += 1
        return True

    def _node(self, node: Node) -> ibidem.NodeRecord:
        content = node.content
        if isinstance(content, tuple):
            content = self.revision.content(node.id, include_tombstoned=True)
        namespace, key = node.key or ("", None)
        return ibidem.NodeRecord(
            None,
            node.ntype,
            node.summary,
            node.context_sentence,
            node.props,
            content,
            namespace,
            key,
            node.id,
            node.children,
            node.tail,
        )

    def _check_extra(self, block: Any) -> None:
        if block.extra:
            self.omitted["field that this version does not know"] += len(block.extra)


def _array(vector: ibidem.Vector) -> Any:
    """Returns the components in the type that is stored."""
    return vector.to_array().astype(vector.numpy_dtype)
