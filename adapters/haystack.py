"""Haystack over a repository: a document store and its two retrievers.

A filter goes down to the repository as far as a `where` says the same or more, and Haystack's own
evaluation decides on what is left, so the result is exactly Haystack's and documents that cannot
match are not read. A retriever that loses documents in that second step asks for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Self, TypeVar

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

import ibidem
from ibidem.adapters.collection import (
    Collection,
    Entry,
    Found,
    all_of,
    compares,
    equals,
    ranked,
)

T = TypeVar("T")
Filters = Mapping[str, Any] | None

RESULTS: Final = 10
"""Documents of a retrieval."""
_OWN: Final = "haystack.document"
"""The property that has the fields of a document besides text, metadata and embedding."""
_ORDER: Final = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


class IbidemDocumentStore:
    """Documents, in one label of a repository."""

    def __init__(
        self,
        repository: ibidem.Repository | str,
        *,
        collection: str = "documents",
        model: str | None = None,
        branch: str | None = None,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing, except that a path at which there is no repository gets one.

        Args:
            repository: a repository, or the path of one; with a path, a pipeline can be saved.
            collection: the label, and so on: see `Collection`.
        """
        self.path = repository if isinstance(repository, str) else None
        opened = ibidem.open(repository, create=True) if isinstance(repository, str) else repository
        self.collection = Collection(
            opened, collection, model=model, branch=branch, viewer=viewer, author=author
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns what a saved pipeline needs to open the same documents."""
        if self.path is None:
            raise DocumentStoreError("repository: got an open one, expected its path, to be saved")
        named = self.collection
        if named.viewer is not None:
            raise DocumentStoreError("viewer: got one, which is not saved with a pipeline")
        saved: dict[str, Any] = default_to_dict(
            self,
            repository=self.path,
            collection=named.name,
            model=named.model,
            branch=named.branch,
            author=named.author,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Returns the store that `to_dict` described."""
        store: Self = default_from_dict(cls, data)
        return store

    # -- the protocol of document stores ---------------------------------------------------------

    def count_documents(self) -> int:
        """Returns the number of documents."""
        return self.collection.count()

    def filter_documents(self, filters: Filters = None) -> list[Document]:
        """Returns the documents that match, in no order that means anything."""
        return [
            _document(entry)
            for entry in self.collection.entries(where=pushed(filters), vectors=True)
            if _matches(filters, _document(entry))
        ]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Stores documents in one commit and returns how many were written.

        Args:
            documents: the documents.
            policy: what to do about an id that is there; by default it is an error.
        """
        documents = all_of("documents", documents, Document)

        def change(tx: ibidem.Transaction) -> int:
            written = 0
            for one in documents:
                if tx.find_node(self.collection.node_id(one.id)) is not None:
                    if policy == DuplicatePolicy.SKIP:
                        continue
                    if policy != DuplicatePolicy.OVERWRITE:
                        raise DuplicateDocumentError(f"ID '{one.id}' already exists.")
                self.collection.stage(tx, _entry(one))
                written += 1
            return written

        return self._write(change, f"write {len(documents)} documents")

    def delete_documents(self, document_ids: list[str]) -> None:
        """Removes documents, in one commit; ids that there are not are passed over."""
        self._delete(document_ids)

    # -- what other stores have too --------------------------------------------------------------

    def delete_all_documents(self) -> None:
        """Removes all documents, in one commit; older revisions have them."""
        self.collection.delete()

    def delete_by_filter(self, filters: Filters) -> int:
        """Removes the documents that match, in one commit, and returns how many."""
        return self._delete([one.id for one in self.filter_documents(filters)])

    def update_by_filter(self, filters: Filters, meta: dict[str, Any]) -> int:
        """Sets metadata of the documents that match, in one commit, and returns how many."""

        def change(tx: ibidem.Transaction) -> int:
            found = self.filter_documents(filters)
            for one in found:
                tx.update_node(self.collection.node_id(one.id), set_props=meta)
            return len(found)

        return self._write(change, "update documents")

    def count_documents_by_filter(self, filters: Filters) -> int:
        """Returns the number of documents that match."""
        return len(self.filter_documents(filters))

    def bm25_retrieval(
        self, query: str, filters: Filters = None, top_k: int = RESULTS, at: object = None
    ) -> list[Document]:
        """Returns the documents that match a text by its words, best first, with scores."""
        return self._ranked(
            lambda limit: self.collection.matching(
                query, limit=limit, where=pushed(filters), at=at, vectors=True, model=None
            ),
            filters,
            top_k,
        )

    def embedding_retrieval(
        self,
        query_embedding: list[float],
        filters: Filters = None,
        top_k: int = RESULTS,
        at: object = None,
    ) -> list[Document]:
        """Returns the documents whose embeddings are most like one, with the cosine."""
        return self._ranked(
            lambda limit: self.collection.nearest(
                query_embedding, limit=limit, where=pushed(filters), at=at, vectors=True
            ),
            filters,
            top_k,
        )

    # -- asynchronous ----------------------------------------------------------------------------

    async def count_documents_async(self) -> int:
        """As `count_documents`."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: Filters = None) -> list[Document]:
        """As `filter_documents`."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """As `write_documents`."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """As `delete_documents`."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self) -> None:
        """As `delete_all_documents`."""
        await asyncio.to_thread(self.delete_all_documents)

    async def delete_by_filter_async(self, filters: Filters) -> int:
        """As `delete_by_filter`."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: Filters, meta: dict[str, Any]) -> int:
        """As `update_by_filter`."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)

    async def count_documents_by_filter_async(self, filters: Filters) -> int:
        """As `count_documents_by_filter`."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    # -- private ---------------------------------------------------------------------------------

    def _write(self, change: Callable[[ibidem.Transaction], T], message: str) -> T:
        try:
            return self.collection.write(change, message)
        except ibidem.IbidemError as error:
            raise DocumentStoreError(str(error)) from error

    def _delete(self, ids: Sequence[str]) -> int:
        try:
            return self.collection.delete(ids)
        except ibidem.IbidemError as error:
            raise DocumentStoreError(str(error)) from error

    def _ranked(
        self, ask: Callable[[int], list[Found]], filters: Filters, top_k: int
    ) -> list[Document]:
        try:
            found = ranked(ask, lambda one: _matches(filters, _document(one.entry)), top_k)
        except ibidem.IbidemError as error:
            raise DocumentStoreError(str(error)) from error
        return [replace(_document(one.entry), score=one.score) for one in found]


class _Retriever:
    """What both retrievers take."""

    def __init__(
        self,
        document_store: IbidemDocumentStore,
        filters: Filters = None,
        top_k: int = RESULTS,
        at: str | None = None,
    ) -> None:
        """Takes what a run uses unless it is given its own.

        Args:
            document_store: the documents.
            filters: which of them.
            top_k: the most documents.
            at: the revision to read; by default the newest.
        """
        self.document_store, self.filters, self.top_k, self.at = document_store, filters, top_k, at

    def to_dict(self) -> dict[str, Any]:
        """Returns what a saved pipeline needs."""
        saved: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            at=self.at,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Returns the retriever that `to_dict` described."""
        given = data["init_parameters"]
        store = IbidemDocumentStore.from_dict(given["document_store"])
        return cls(**{**given, "document_store": store})

    def _options(self, filters: Filters, top_k: int | None) -> dict[str, Any]:
        return {
            "filters": self.filters if filters is None else filters,
            "top_k": self.top_k if top_k is None else top_k,
            "at": self.at,
        }


@component
class IbidemBM25Retriever(_Retriever):
    """Retrieves documents by words."""

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Returns the documents that match a text."""
        options = self._options(filters, top_k)
        return {"documents": self.document_store.bm25_retrieval(query, **options)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """As `run`."""
        return await asyncio.to_thread(self.run, query, filters, top_k)


@component
class IbidemEmbeddingRetriever(_Retriever):
    """Retrieves documents by their embeddings."""

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Returns the documents most like an embedding."""
        options = self._options(filters, top_k)
        return {"documents": self.document_store.embedding_retrieval(query_embedding, **options)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """As `run`."""
        return await asyncio.to_thread(self.run, query_embedding, filters, top_k)


# -- filters -------------------------------------------------------------------------------------


def pushed(filters: Filters) -> dict[str, object] | None:
    """Returns a condition that every document which matches the filters meets; None for none.

    Equality with a text, a number or null, order among numbers, `in`, and what AND and OR make of
    them go down. Dates do not, because the same moment has several texts, and neither do negations,
    because a list has members here and is one value there.

    Raises:
        FilterError: the filters are not of Haystack's form, or order something that has none.

    >>> pushed({"field": "meta.year", "operator": ">=", "value": 1990})
    {'or': [{'year': {'gte': 1990}}, {'year': {'in': [False, True]}}]}
    """
    if not filters:
        return None
    if not isinstance(filters, Mapping):
        raise FilterError(f"filters: got {filters!r:.80}, expected a dictionary")
    if "field" in filters:
        return _comparison(filters)
    missing = [name for name in ("operator", "conditions") if name not in filters]
    if missing:
        raise FilterError(f"'{missing[0]}' key missing in {filters}")
    parts = [pushed(one) for one in filters["conditions"]]
    certain = [one for one in parts if one is not None]
    if filters["operator"] == "AND" and certain:
        return {"and": certain}
    if filters["operator"] == "OR" and len(certain) == len(parts):
        return {"or": certain}
    return None


def _comparison(condition: Mapping[str, Any]) -> dict[str, object] | None:
    missing = [name for name in ("operator", "value") if name not in condition]
    if missing:
        raise FilterError(f"'{missing[0]}' key missing in {condition}")
    field, operator, value = (condition[name] for name in ("field", "operator", "value"))
    if operator in ("in", "not in") and not isinstance(value, list):
        raise FilterError(f"filters: got {value!r:.80} for '{operator}', expected a list")
    if operator in _ORDER:
        _check_order(operator, value)
    name = field.removeprefix("meta.")
    if name == field or "." in name:
        return None
    if operator == "==":
        return _equal(name, value)
    if operator == "in":
        parts = [_equal(name, one) for one in value]
        return None if None in parts else {"or": parts}
    return compares(name, _ORDER[operator], value) if operator in _ORDER else None


def _check_order(operator: str, value: object) -> None:
    """Rejects what has no order, even if no document is compared with it."""
    if isinstance(value, list):
        raise FilterError(f"filters: got a list for '{operator}', expected a number or a date")
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError as error:
            raise FilterError(
                f"filters: got {value!r:.80} for '{operator}', expected a number or an ISO date"
            ) from error


def _equal(name: str, value: object) -> dict[str, object] | None:
    if value is None and name not in ("and", "or", "not"):
        return {"or": [{"not": {name: {"exists": True}}}, {name: None}]}
    if isinstance(value, str) and value[:4].isdigit():
        return None  # it could be a date
    return equals(name, value)


def _matches(filters: Filters, document: Document) -> bool:
    return not filters or bool(document_matches_filter(dict(filters), document))


# -- documents -----------------------------------------------------------------------------------


def _entry(document: Document) -> Entry:
    own: dict[str, Any] = {}
    if document.content is None:
        own["content"] = None
    if document.blob is not None:
        blob = document.blob
        own["blob"] = {"data": blob.data, "meta": blob.meta, "mime_type": blob.mime_type}
    if document.score is not None:
        own["score"] = document.score
    if document.sparse_embedding is not None:
        own["sparse_embedding"] = document.sparse_embedding.to_dict()
    if _OWN in document.meta:
        raise ibidem.InvalidInputError(f"meta.{_OWN}: got a name that the store uses")
    metadata = {**document.meta, _OWN: own} if own else document.meta
    return Entry(document.id, document.content or "", metadata, document.embedding)


def _document(entry: Entry) -> Document:
    meta = dict(entry.metadata)
    own = meta.pop(_OWN, {})
    sparse = own.get("sparse_embedding")
    return Document(
        id=entry.id,
        content=None if "content" in own else entry.text,
        blob=ByteStream(**own["blob"]) if "blob" in own else None,
        meta=meta,
        score=own.get("score"),
        embedding=None if entry.vector is None else list(entry.vector),
        sparse_embedding=None if sparse is None else SparseEmbedding.from_dict(sparse),
    )
