"""LlamaIndex over a repository: a retriever, a vector store and a property graph store.

What is written is one commit a call. Filters go down to the repository as far as a `where` says the
same or more, and are then evaluated as the in-memory store of LlamaIndex does; filters in filters
are too. Errors are those of `ibidem.errors`: LlamaIndex has none for these interfaces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.graph_stores.types import (
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.simple import build_metadata_filter_fn
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
from pydantic import PrivateAttr

import ibidem
from ibidem.adapters.collection import (
    Collection,
    Entry,
    Found,
    compares,
    equals,
    plain,
    ranked,
    write,
)

RESULTS: Final = 10
"""Nodes of a retrieval."""
_GRAPH, _KIND = "llamaindex.graph", "llamaindex.kind"
"""Properties of the node of a graph: the name of the graph, and what class it is of."""
_ORDER: Final = {
    FilterOperator.GT: "gt",
    FilterOperator.GTE: "gte",
    FilterOperator.LT: "lt",
    FilterOperator.LTE: "lte",
}


class IbidemRetriever(BaseRetriever):
    """The answer of a repository as nodes: ranked, within a budget, with its receipt.

    The text of a node is the item as rendered, which the budget counts; its metadata are the
    properties and, under `ibidem`, what is needed to cite it and to ask again.
    """

    def __init__(
        self,
        repository: ibidem.Repository | ibidem.ViewerRepository,
        *,
        limit: int = RESULTS,
        at: object = "HEAD",
        **options: Any,
    ) -> None:
        """Takes the options of a question, such as `where`, `label`, `token_budget` or `model`."""
        self.repository, self.at = repository, at
        self.options = {"limit": limit, **options}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answer = self.repository.at(self.at).retrieve(query_bundle.query_str, **self.options)
        return [_with_score(item, answer) for item in answer.items]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class IbidemVectorStore(BasePydanticVectorStore):
    """Nodes with their texts and vectors, in one label of a repository."""

    stores_text: bool = True
    is_embedding_query: bool = True
    _collection: Collection = PrivateAttr()

    def __init__(
        self,
        repository: ibidem.Repository,
        *,
        collection: str = "documents",
        model: str | None = None,
        branch: str | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing; see `Collection` for the arguments."""
        super().__init__(stores_text=True)
        self._collection = Collection(
            repository, collection, model=model, branch=branch, author=author
        )

    @property
    def client(self) -> ibidem.Repository:
        """The repository."""
        return self._collection.repository

    # -- writing ---------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Stores nodes with their embeddings, in place of those with their ids, in one commit."""
        self._collection.put([_entry(one) for one in nodes])
        return [one.node_id for one in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Removes the nodes of a document, in one commit."""
        self._collection.delete(where={"ref_doc_id": _text("ref_doc_id", ref_doc_id)})

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **_: Any,
    ) -> None:
        """Removes the nodes with these ids that match, all that match without ids."""
        self._collection.delete([one.id for one in self._entries(node_ids, filters)])

    def clear(self) -> None:
        """Removes all nodes; older revisions have them."""
        self._collection.delete()

    # -- reading ---------------------------------------------------------------------------------

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Returns the nodes with these ids that match, all that match without ids."""
        return [_node(one) for one in self._entries(node_ids, filters, vectors=True)]

    def query(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """Returns the nodes that are most like the query.

        Args:
            query: its mode is `default` (by vector), `mmr`, `text_search` (by words) or `hybrid`.
            options: `at`, the revision to read, and `mmr_threshold`, the weight of relevance.
        """
        found = _ranked(
            self._collection, query, lambda one: one.entry.metadata, _where(query.filters), options
        )
        return VectorStoreQueryResult(
            nodes=[_node(one.entry) for one in found],
            similarities=[one.score for one in found],
            ids=[one.entry.id for one in found],
        )

    # -- asynchronous ----------------------------------------------------------------------------

    async def async_add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """As `add`."""
        return await asyncio.to_thread(self.add, nodes)

    async def adelete(self, ref_doc_id: str, **_: Any) -> None:
        """As `delete`."""
        await asyncio.to_thread(self.delete, ref_doc_id)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **_: Any,
    ) -> None:
        """As `delete_nodes`."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters)

    async def aclear(self) -> None:
        """As `clear`."""
        await asyncio.to_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """As `get_nodes`."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """As `query`."""
        return await asyncio.to_thread(lambda: self.query(query, **options))

    # -- private ---------------------------------------------------------------------------------

    def _entries(
        self,
        ids: Sequence[str] | None,
        filters: MetadataFilters | None,
        *,
        vectors: bool = False,
    ) -> list[Entry]:
        if ids is not None:
            found: Iterable[Entry] = self._collection.get(ids, vectors=vectors).values()
        else:
            found = self._collection.entries(where=_where(filters), vectors=vectors)
        return [one for one in found if _matches(filters, one.metadata)]


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
        author: str = "",
    ) -> None:
        """Writes nothing.

        Args:
            graph: the name of the graph; nodes of others are not seen.
            model: the name under which embeddings are kept; by default that of the graph.
            branch: to read and write; by default the current one.
            author: of the commits.
        """
        self.repository, self.graph = repository, _text("graph", graph)
        self.model = graph if model is None else model
        self.branch, self.author = branch, author

    @property
    def client(self) -> ibidem.Repository:
        """The repository."""
        return self.repository

    def get(
        self, properties: dict[str, Any] | None = None, ids: list[str] | None = None
    ) -> list[LabelledNode]:
        """Returns the nodes with these ids that have one of the properties; all without either."""
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
        if not (entity_names or relation_names or properties or ids):
            return []
        revision = self._at()
        ends = [set(one) for one in (entity_names, ids) if one]
        found = {}
        if ends:
            starts = [self._id(one) for one in ends[0]]
            for node in revision.find_nodes(starts):
                found.update({edge.id: edge for edge in revision.edges_of(node)})
        else:
            found = {edge.id: edge for edge in revision.edges()}
        labels = None if not relation_names else set(relation_names)
        edges = [one for one in found.values() if labels is None or one.etype in labels]
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
        starts = [one.id for one in graph_nodes]
        for _ in range(depth):
            layer = self.get_triplets(ids=starts) if starts else []
            fresh = [one for one in layer if _key(one) not in found]
            found.update({_key(one): one for one in fresh})
            starts = sorted({one[2].id for one in fresh})
        ignored = set(ignore_rels or ())
        return [one for one in found.values() if one[1].label not in ignored][:limit]

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Stores nodes in place of those with their ids, in one commit; relations stay."""
        if nodes:
            self._write(lambda tx: [self._put(tx, one) for one in nodes], f"{len(nodes)} nodes")

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Stores relations in one commit, and an entity for each end that there is not."""

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

        def change(tx: ibidem.Transaction) -> None:
            staged = tx.at()
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
        revision = self._at()
        if self.model not in revision.config.models or query.query_embedding is None:
            return [], []
        vector = [float(one) for one in query.query_embedding]
        where = _and({_GRAPH: self.graph}, _where(query.filters))

        def ask(limit: int) -> list[tuple[LabelledNode, float]]:
            answer = revision.retrieve(
                vector=(self.model, vector), where=where, limit=limit, depth=max(100, limit)
            )
            return [
                (self._labelled(revision, item.node), item.lanes["dense"].score)
                for item in answer.items
            ]

        found = ranked(
            ask, lambda one: _matches(query.filters, one[0].properties), query.similarity_top_k
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
        return self.repository.at(self.branch or "HEAD")

    def _write(self, change: Callable[[ibidem.Transaction], object], what: str) -> None:
        write(
            self.repository,
            change,
            message=f"{self.graph}: {what}",
            branch=self.branch,
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
            found = list(revision.query(where=_and({_GRAPH: self.graph}, narrow)))
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


# -- filters -------------------------------------------------------------------------------------


def _matches(filters: MetadataFilters | None, metadata: Mapping[str, Any]) -> bool:
    if filters is None or not filters.filters:
        return True
    found = []
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            found.append(_matches(one, metadata))
        else:
            alone = MetadataFilters(filters=[one])
            found.append(bool(build_metadata_filter_fn(lambda _: metadata, alone)("")))
    if filters.condition == FilterCondition.OR:
        return any(found)
    return not any(found) if filters.condition == FilterCondition.NOT else all(found)


def _where(filters: MetadataFilters | None) -> dict[str, object] | None:
    """Returns a condition that everything which matches the filters meets; None for none."""
    if filters is None or filters.condition == FilterCondition.NOT:
        return None
    parts = [
        _where(one) if isinstance(one, MetadataFilters) else _comparison(one)
        for one in filters.filters
    ]
    certain = [one for one in parts if one is not None]
    if filters.condition == FilterCondition.OR:
        return {"or": certain} if certain and len(certain) == len(parts) else None
    return {"and": certain} if certain else None


def _comparison(given: Any) -> dict[str, object] | None:
    if given.operator == FilterOperator.EQ:
        return equals(given.key, given.value)
    if given.operator in _ORDER:
        return compares(given.key, _ORDER[given.operator], given.value)
    if given.operator == FilterOperator.IN and isinstance(given.value, list):
        parts = [equals(given.key, one) for one in given.value]
        return None if None in parts else {"or": parts}
    return None


def _and(one: Mapping[str, object], other: Mapping[str, object] | None) -> dict[str, object]:
    return dict(one) if other is None else {"and": [one, other]}


def _has(properties: Mapping[str, Any] | None, *candidates: Mapping[str, Any]) -> bool:
    """Returns whether some candidate has some of the properties, and true for no properties."""
    return not properties or any(
        one.get(name) == value for name, value in properties.items() for one in candidates
    )


# -- nodes ---------------------------------------------------------------------------------------


def _ranked(
    collection: Collection,
    query: VectorStoreQuery,
    metadata_of: Callable[[Found], Mapping[str, Any]],
    where: dict[str, object] | None,
    options: Mapping[str, Any],
) -> list[Found]:
    """Returns the entries that answer a query, by its mode, filters and ids."""
    rest = dict(options)
    weight = rest.pop("mmr_threshold", query.mmr_threshold)
    scope: dict[str, Any] = {"where": where, "vectors": True, **rest}
    if query.doc_ids:
        parts = {"ref_doc_id": {"in": list(query.doc_ids)}}
        scope["where"] = _and(parts, where)
    names = None if query.node_ids is None else set(query.node_ids)

    def accepts(one: Found) -> bool:
        is_wanted = names is None or one.entry.id in names
        return is_wanted and _matches(query.filters, metadata_of(one))

    def ask(limit: int) -> list[Found]:
        mode, vector = query.mode, query.query_embedding
        if mode == VectorStoreQueryMode.HYBRID and query.alpha in (0, 1):
            mode = (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.DEFAULT)[
                int(query.alpha)
            ]
        if mode == VectorStoreQueryMode.TEXT_SEARCH:
            return collection.matching(query.query_str or "", limit=limit, model=None, **scope)
        if vector is None:
            raise ibidem.InvalidInputError("query: got no query_embedding, expected one")
        if mode == VectorStoreQueryMode.MMR:
            share = 0.5 if weight is None else weight
            mmr = {"lambda": share, "depth": min(1_000, max(4 * limit, 20))}
            return collection.nearest(vector, limit=limit, mmr=mmr, **scope)
        if mode == VectorStoreQueryMode.HYBRID:
            return collection.hybrid(
                query.query_str or "", vector, limit=limit, share=query.alpha, **scope
            )
        if mode != VectorStoreQueryMode.DEFAULT:
            raise ibidem.InvalidInputError(
                f"query: got the mode {mode!r:.80}, expected default, mmr, text_search or hybrid"
            )
        return collection.nearest(vector, limit=limit, **scope)

    return ranked(ask, accepts, query.similarity_top_k)


def _entry(node: BaseNode) -> Entry:
    metadata = node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    return Entry(node.node_id, text, metadata, node.embedding)


def _node(entry: Entry) -> BaseNode:
    node: BaseNode = metadata_dict_to_node(dict(entry.metadata))
    node.set_content(entry.text)
    node.embedding = None if entry.vector is None else list(entry.vector)
    return node


def _with_score(item: ibidem.Item, answer: ibidem.Answer[ibidem.Item]) -> NodeWithScore:
    source: dict[str, Any] = {
        "cid": str(item.cid),
        "label": item.node.ntype,
        "root": str(answer.root),
    }
    if answer.receipt is not None:
        source["receipt"] = str(answer.receipt.cid)
    metadata = {**plain(item.node.props), "ibidem": source}
    node = TextNode(id_=str(item.id), text=item.rendered, metadata=metadata)
    return NodeWithScore(node=node, score=item.score)


def _properties(node: ibidem.Node) -> dict[str, Any]:
    return {name: plain(value) for name, value in node.props.items() if name not in (_GRAPH, _KIND)}


def _key(triplet: Triplet) -> tuple[str, str, str]:
    return triplet[0].id, triplet[1].label, triplet[2].id


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ibidem.InvalidInputError(f"{name}: got {value!r:.80}, expected a text")
    return value
