"""A retriever over a repository, and a vector store, for LlamaIndex."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
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
    all_of,
    plain,
    ranked,
)
from ibidem.adapters.llamaindex.filters import condition_of, join, matches

RESULTS: Final = 10
"""Nodes of a retrieval."""


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
        viewer: ibidem.Viewer | None = None,
        **options: Any,
    ) -> None:
        """Takes the options of a question, such as `where`, `label`, `token_budget` or `model`.

        Args:
            viewer: as whom to read, in a repository with a trust policy.
        """
        self.repository, self.at, self.viewer = repository, at, viewer
        self.options = {"limit": limit, **options}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answer = self.repository.at(self.at, viewer=self.viewer).retrieve(
            query_bundle.query_str, **self.options
        )
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
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing; see `Collection` for the arguments."""
        super().__init__(stores_text=True)
        self._collection = Collection(
            repository, collection, model=model, branch=branch, viewer=viewer, author=author
        )

    @property
    def client(self) -> ibidem.Repository:
        """The repository."""
        return self._collection.repository

    # -- writing ---------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Stores nodes with their embeddings, in place of those with their ids, in one commit."""
        nodes = all_of("nodes", nodes, BaseNode)
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
        all_of("query", [query], VectorStoreQuery)
        found = _ranked(
            self._collection,
            query,
            lambda one: one.entry.metadata,
            condition_of(query.filters),
            options,
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
            found = self._collection.entries(where=condition_of(filters), vectors=vectors)
        return [one for one in found if matches(filters, one.metadata)]


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
        scope["where"] = join(parts, where)
    names = None if query.node_ids is None else set(query.node_ids)

    def accepts(one: Found) -> bool:
        is_wanted = names is None or one.entry.id in names
        return is_wanted and matches(query.filters, metadata_of(one))

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


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ibidem.InvalidInputError(f"{name}: got {value!r:.80}, expected a text")
    return value
