"""A property graph store over a repository, for LlamaIndex."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from llama_index.core.graph_stores.types import (
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.vector_stores.types import (
    VectorStoreQuery,
)

import ibidem
from ibidem.adapters.collection import (
    all_of,
    count_of,
    equals,
    items_of,
    mapping_of,
    plain,
    ranked,
    text_of,
    write,
)
from ibidem.adapters.llamaindex.filters import condition_of, join, matches

_GRAPH, _KIND = "llamaindex.graph", "llamaindex.kind"
"""Properties of the node of a graph: the name of the graph, and what class it is of."""


class IbidemPropertyGraphStore(PropertyGraphStore):
    """A labelled graph: nodes and edges of the repository, with their labels and properties."""

    supports_structured_queries = False
    supports_vector_queries = True

    def __init__(
        self,
        repository: ibidem.Repository,
        *,
        graph: str = "graph",
        model: str | None = None,
        branch: str | None = None,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing.

        Args:
            graph: the name of the graph; nodes of others are not seen.
            model: the name under which embeddings are kept; by default that of the graph.
            branch: to read and write; by default the current one.
            viewer: as whom to read, in a repository with a trust policy.
            author: of the commits.
        """
        self.repository, self.graph = repository, _text("graph", graph)
        self.model = graph if model is None else model
        self.branch, self.viewer, self.author = branch, viewer, author

    @property
    def client(self) -> ibidem.Repository:
        """The repository."""
        return self.repository

    def get(
        self, properties: dict[str, Any] | None = None, ids: list[str] | None = None
    ) -> list[LabelledNode]:
        """Returns the nodes with these ids that have one of the properties; all without either."""
        properties = None if properties is None else mapping_of("properties", properties)
        ids = None if ids is None else _texts("ids", ids)
        revision = self._at()
        return [self._labelled(revision, one) for one in self._nodes(revision, properties, ids)]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """Returns the relations that have one of each of these; none if nothing is given.

        Args:
            entity_names: an end has one of these ids.
            relation_names: the label is one of these.
            properties: an end or the relation has one of these properties.
            ids: an end has one of these ids.
        """
        given = _texts("entity_names", entity_names), _texts("ids", ids)
        labels = set(_texts("relation_names", relation_names))
        properties = None if properties is None else mapping_of("properties", properties)
        ends = [set(one) for one in given if one]
        if not (ends or labels or properties):
            return []
        revision = self._at()
        found = {}
        if ends:
            starts = [self._id(one) for one in ends[0]]
            for node in revision.find_nodes(starts):
                found.update({edge.id: edge for edge in revision.edges_of(node)})
        else:
            found = {edge.id: edge for edge in revision.edges()}
        edges = [one for one in found.values() if not labels or one.etype in labels]
        nodes = revision.find_nodes({end: None for one in edges for end in (one.src, one.dst)})
        triplets = []
        for edge in edges:
            pair = nodes.get(edge.src), nodes.get(edge.dst)
            if not all(one is not None and one.props.get(_GRAPH) == self.graph for one in pair):
                continue  # of another graph
            source, target = (self._labelled(revision, one) for one in pair if one is not None)
            relation = Relation(
                label=edge.etype,
                source_id=source.id,
                target_id=target.id,
                properties=plain(edge.props),
            )
            if all(source.id in one or target.id in one for one in ends) and _has(
                properties, source.properties, relation.properties, target.properties
            ):
                triplets.append((source, relation, target))
        return sorted(triplets, key=lambda one: (one[0].id, one[1].label, one[2].id))

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        """Returns the relations around nodes, the nearest first, each once.

        Args:
            graph_nodes: where to begin.
            depth: how many steps to go.
            limit: the most relations.
            ignore_rels: labels that are left out of the result.
        """
        found: dict[tuple[str, str, str], Triplet] = {}
        starts = [one.id for one in all_of("graph_nodes", graph_nodes, LabelledNode)]
        count_of("limit", limit)
        for _ in range(count_of("depth", depth)):
            if not starts:
                break
            layer = self.get_triplets(ids=starts)
            fresh = [one for one in layer if _key(one) not in found]
            found.update({_key(one): one for one in fresh})
            starts = sorted({one[2].id for one in fresh})
        ignored = set(_texts("ignore_rels", ignore_rels))
        return [one for one in found.values() if one[1].label not in ignored][:limit]

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Stores nodes in place of those with their ids, in one commit; relations stay."""
        nodes = all_of("nodes", nodes, LabelledNode)
        if nodes:
            self._write(lambda tx: [self._put(tx, one) for one in nodes], f"{len(nodes)} nodes")

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Stores relations in one commit, and an entity for each end that there is not."""
        relations = all_of("relations", relations, Relation)

        def change(tx: ibidem.Transaction) -> None:
            for one in relations:
                for end in (one.source_id, one.target_id):
                    if tx.find_node(self._id(end)) is None:
                        self._put(tx, EntityNode(name=end))
                tx.add_edge(
                    self._id(one.source_id),
                    one.label,
                    self._id(one.target_id),
                    props=one.properties,
                    replace=True,
                )

        if relations:
            self._write(change, f"{len(relations)} relations")

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Removes, in one commit, the nodes with these ids, those that have one of the properties,
        and the relations with these labels; the relations of a node go with it."""
        entity_names, ids = _texts("entity_names", entity_names), _texts("ids", ids)
        relation_names = _texts("relation_names", relation_names)
        properties = None if properties is None else mapping_of("properties", properties)

        def change(tx: ibidem.Transaction) -> None:
            staged = tx.at(viewer=self.viewer)
            nodes: dict[ibidem.NodeId, None] = {}
            for names, having in ((entity_names, None), (ids, None), (None, properties)):
                if names or having:
                    found = self._nodes(staged, having, names)
                    nodes.update({one.id: None for one in found})
            for node in nodes:
                tx.remove_node(node)
            if relation_names:
                for triplet in self.get_triplets(relation_names=relation_names):
                    source, target = (self._id(one.id) for one in (triplet[0], triplet[2]))
                    if tx.find_node(source) is None or tx.find_node(target) is None:
                        continue
                    for edge in tx.edges_of(source):
                        if (edge.dst, edge.etype) == (target, triplet[1].label):
                            tx.remove_edge(edge.id)

        self._write(change, "delete")

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:
        """Refuses: a repository has no query language."""
        raise NotImplementedError("structured_query: a repository has no query language")

    def vector_query(
        self, query: VectorStoreQuery, **options: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        """Returns the nodes whose embeddings are most like one, and their cosines."""
        all_of("query", [query], VectorStoreQuery)
        revision = self._at()
        if self.model not in revision.config.models or query.query_embedding is None:
            return [], []
        vector = [float(one) for one in query.query_embedding]
        where = join({_GRAPH: self.graph}, condition_of(query.filters))

        def ask(limit: int) -> list[tuple[LabelledNode, float]]:
            answer = revision.retrieve(
                vector=(self.model, vector), where=where, limit=limit, depth=max(100, limit)
            )
            return [
                (self._labelled(revision, item.node), item.lanes["dense"].score)
                for item in answer.items
            ]

        found = ranked(
            ask, lambda one: matches(query.filters, one[0].properties), query.similarity_top_k
        )
        return [node for node, _ in found], [score for _, score in found]

    # -- asynchronous: what the base class calls without a thread ----------------------------------

    async def aget(self, *given: Any, **named: Any) -> list[LabelledNode]:
        """As `get`."""
        return await asyncio.to_thread(lambda: self.get(*given, **named))

    async def aget_triplets(self, *given: Any, **named: Any) -> list[Triplet]:
        """As `get_triplets`."""
        return await asyncio.to_thread(lambda: self.get_triplets(*given, **named))

    async def aget_rel_map(self, *given: Any, **named: Any) -> list[Triplet]:
        """As `get_rel_map`."""
        return await asyncio.to_thread(lambda: self.get_rel_map(*given, **named))

    async def aupsert_nodes(self, nodes: list[LabelledNode]) -> None:
        """As `upsert_nodes`."""
        await asyncio.to_thread(self.upsert_nodes, nodes)

    async def aupsert_relations(self, relations: list[Relation]) -> None:
        """As `upsert_relations`."""
        await asyncio.to_thread(self.upsert_relations, relations)

    async def adelete(self, *given: Any, **named: Any) -> None:
        """As `delete`."""
        await asyncio.to_thread(lambda: self.delete(*given, **named))

    async def avector_query(
        self, query: VectorStoreQuery, **options: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        """As `vector_query`."""
        return await asyncio.to_thread(lambda: self.vector_query(query, **options))

    # -- private ---------------------------------------------------------------------------------

    def _at(self) -> ibidem.Revision:
        return self.repository.at(self.branch or "HEAD", viewer=self.viewer)

    def _write(self, change: Callable[[ibidem.Transaction], object], what: str) -> None:
        write(
            self.repository,
            change,
            message=f"{self.graph}: {what}",
            branch=self.branch,
            viewer=self.viewer,
            author=self.author,
        )

    def _id(self, name: object) -> ibidem.NodeId:
        return ibidem.node_id(self.graph, _text("id", name))

    def _nodes(
        self,
        revision: Any,
        properties: Mapping[str, Any] | None,
        ids: Sequence[str] | None,
    ) -> list[ibidem.Node]:
        if ids:
            found = list(revision.find_nodes({self._id(one): None for one in ids}).values())
        else:
            parts = [equals(name, value) for name, value in (properties or {}).items()]
            certain = [one for one in parts if one is not None]
            narrow = {"or": certain} if certain and len(certain) == len(parts) else None
            found = list(revision.query(where=join({_GRAPH: self.graph}, narrow)))
        return [one for one in found if _has(properties, _properties(one))]

    def _put(self, tx: ibidem.Transaction, node: LabelledNode) -> ibidem.NodeId:
        is_chunk = isinstance(node, ChunkNode)
        taken = sorted({_GRAPH, _KIND}.intersection(node.properties))
        if taken:
            raise ibidem.InvalidInputError(f"properties.{taken[0]}: got a name that graphs use")
        own = {_GRAPH: self.graph, _KIND: "chunk" if is_chunk else "entity"}
        id_ = self._id(node.id)
        is_new = tx.find_node(id_) is None
        tx.add_node(
            node.label,
            summary=None if is_chunk else getattr(node, "name", node.id),
            content=node.text if is_chunk else None,
            props={**node.properties, **own},
            key=node.id,
            namespace=self.graph,
            replace=True,
        )
        if node.embedding is not None:
            tx.set_vector(id_, model=self.model, vector=[float(one) for one in node.embedding])
        elif not is_new and self.model in tx.before().config.models:
            with suppress(ibidem.NotFoundError):  # the former one had none either
                tx.remove_vector(id_, model=self.model)
        return id_

    def _labelled(self, revision: ibidem.Revision, node: ibidem.Node) -> LabelledNode:
        assert node.key is not None, "BUG: a node of a graph without a key"
        embedding = None
        if self.model in revision.config.models:
            vector = revision.vector(node.id, self.model)
            embedding = None if vector is None else vector.to_array().tolist()
        shared = {
            "label": node.ntype,
            "properties": _properties(node),
            "embedding": embedding,
        }
        if node.props.get(_KIND) == "chunk":
            text = "" if node.content is None else revision.content(node.id).decode()
            return ChunkNode(text=text, id_=node.key[1], **shared)
        return EntityNode(name=node.summary or node.key[1], **shared)


def _has(properties: Mapping[str, Any] | None, *candidates: Mapping[str, Any]) -> bool:
    """Returns whether some candidate has some of the properties, and true for no properties."""
    return not properties or any(
        one.get(name) == value for name, value in properties.items() for one in candidates
    )


def _properties(node: ibidem.Node) -> dict[str, Any]:
    return {name: plain(value) for name, value in node.props.items() if name not in (_GRAPH, _KIND)}


def _key(triplet: Triplet) -> tuple[str, str, str]:
    return triplet[0].id, triplet[1].label, triplet[2].id


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ibidem.InvalidInputError(f"{name}: got {value!r:.80}, expected a text")
    return value


def _texts(name: str, given: object) -> list[str]:
    """Returns the texts that a caller gave, none for None."""
    return [] if given is None else [text_of(name, one) for one in items_of(name, given)]
