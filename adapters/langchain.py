"""LangChain over a repository: a retriever, a vector store and the history of a chat.

What is written is one commit a call, and every search reads one revision, so `at=` searches what
was known then. Errors are those of `ibidem.errors`: LangChain has none for these interfaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import (
    BaseMessage,
    convert_to_messages,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

import ibidem
from ibidem.adapters.collection import (
    Collection,
    Entry,
    Found,
    id_of,
    items_of,
    mapping_of,
    plain,
    text_of,
)

RESULTS = 4
"""Documents of a search, as other vector stores of LangChain return."""
_WHOLE = "langchain"
"""The property of a message that has its whole form."""


class IbidemRetriever(BaseRetriever):
    """The answer of a repository as documents: ranked, within a budget, with its receipt.

    The page of a document is the item as rendered, which the budget counts; its metadata are the
    properties of the node and, under `ibidem`, what is needed to cite it and to ask again.
    """

    repository: Any
    """A `Repository`, or a `ViewerRepository` for a caller who may not see everything."""
    k: int = 10
    """The most documents; `limit` of a question."""
    at: Any = "HEAD"
    """The revision to read."""
    viewer: Any = None
    """As whom to read, in a repository with a trust policy."""
    options: Mapping[str, Any] = {}
    """Other options of a question, such as `where`, `label`, `token_budget` or `model`."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any = None, **options: Any
    ) -> list[Document]:
        given = {"limit": self.k, **self.options, **options}
        if "k" in options:
            given["limit"] = given.pop("k")
        at = given.pop("at", self.at)
        answer = self.repository.at(at, viewer=self.viewer).retrieve(query, **given)
        return [_document(item, answer) for item in answer.items]


class IbidemVectorStore(VectorStore):
    """Documents and their vectors, in one label of a repository."""

    def __init__(
        self,
        repository: ibidem.Repository,
        embedding: Embeddings,
        *,
        collection: str = "documents",
        model: str | None = None,
        branch: str | None = None,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing; see `Collection` for the arguments."""
        self.collection = Collection(
            repository, collection, model=model, branch=branch, viewer=viewer, author=author
        )
        self.embedding = embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        repository: ibidem.Repository | None = None,
        **options: Any,
    ) -> Self:
        """Returns a store into which texts were written; `repository` must be given."""
        if repository is None:
            raise ibidem.InvalidInputError("repository: got nothing, expected a Repository")
        store = cls(repository, embedding, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls, texts: list[str], embedding: Embeddings, *args: Any, **options: Any
    ) -> Self:
        """As `from_texts`."""
        store: Self = await run_in_executor(
            None, cls.from_texts, texts, embedding, *args, **options
        )
        return store

    @property
    def embeddings(self) -> Embeddings:
        """What makes vectors of texts."""
        return self.embedding

    # -- writing ---------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
    ) -> list[str]:
        """Stores texts in one commit and returns their ids; one without an id gets one that follows
        from its text and metadata."""
        entries = _entries(texts, metadatas, ids)
        return self._put(entries, self.embedding.embed_documents([one.text for one in entries]))

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
    ) -> list[str]:
        """As `add_texts`."""
        entries = _entries(texts, metadatas, ids)
        vectors = await self.embedding.aembed_documents([one.text for one in entries])
        found: list[str] = await run_in_executor(None, self._put, entries, vectors)
        return found

    def delete(self, ids: list[str] | None = None) -> bool:
        """Removes documents, all of them without `ids`; older revisions keep them."""
        self.collection.delete(ids)
        return True

    # -- reading ---------------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Returns the documents with these ids, without those that there are not."""
        return [_stored(entry) for entry in self.collection.get(ids).values()]

    def similarity_search(
        self,
        query: str,
        k: int = RESULTS,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        at: object = None,
    ) -> list[Document]:
        """Returns the documents most like a text, best first.

        Args:
            query: the text.
            k: the most documents.
            filter: a condition on metadata, as `where` of a question.
            at: the revision to read; by default the newest.
        """
        return [
            document
            for document, _ in self.similarity_search_with_score(query, k, filter=filter, at=at)
        ]

    async def asimilarity_search(
        self, query: str, k: int = RESULTS, **options: Any
    ) -> list[Document]:
        """As `similarity_search`."""
        return [
            document
            for document, _ in await self.asimilarity_search_with_score(query, k, **options)
        ]

    def similarity_search_with_score(
        self, query: str, k: int = RESULTS, **options: Any
    ) -> list[tuple[Document, float]]:
        """As `similarity_search`, with the cosine of each document."""
        return self._nearest(self.embedding.embed_query(text_of("query", query)), k, **options)

    async def asimilarity_search_with_score(
        self, query: str, k: int = RESULTS, **options: Any
    ) -> list[tuple[Document, float]]:
        """As `similarity_search_with_score`."""
        vector = await self.embedding.aembed_query(text_of("query", query))
        found: list[tuple[Document, float]] = await run_in_executor(
            None, self._nearest, vector, k, **options
        )
        return found

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = RESULTS, **options: Any
    ) -> list[Document]:
        """As `similarity_search`, with a vector in place of the text."""
        return [document for document, _ in self._nearest(embedding, k, **options)]

    def max_marginal_relevance_search(
        self, query: str, k: int = RESULTS, *args: Any, **options: Any
    ) -> list[Document]:
        """As `similarity_search`, with regard to how unlike the documents are."""
        vector = self.embedding.embed_query(text_of("query", query))
        return self.max_marginal_relevance_search_by_vector(vector, k, *args, **options)

    async def amax_marginal_relevance_search(
        self, query: str, k: int = RESULTS, *args: Any, **options: Any
    ) -> list[Document]:
        """As `max_marginal_relevance_search`."""
        vector = await self.embedding.aembed_query(text_of("query", query))
        found: list[Document] = await run_in_executor(
            None, self.max_marginal_relevance_search_by_vector, vector, k, *args, **options
        )
        return found

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = RESULTS,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, with a vector in place of the text.

        Args:
            embedding: the vector.
            k: the most documents.
            fetch_k: how many of the most similar are chosen from.
            lambda_mult: weight of relevance, 1.0 for relevance alone.
            options: `filter` and `at`, as in `similarity_search`.
        """
        mmr = {"lambda": lambda_mult, "depth": fetch_k}
        return [document for document, _ in self._nearest(embedding, k, mmr=mmr, **options)]

    def _select_relevance_score_fn(self) -> Any:
        return lambda cosine: (1.0 + cosine) / 2.0

    def _nearest(
        self,
        vector: list[float],
        k: int,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        at: object = None,
        **ranking: Any,
    ) -> list[tuple[Document, float]]:
        found = self.collection.nearest(vector, limit=k, where=filter, at=at, **ranking)
        return [(_found(one), one.score) for one in found]

    def _put(self, entries: Sequence[Entry], vectors: Sequence[Sequence[float]]) -> list[str]:
        if len(vectors) != len(entries):
            raise ibidem.InvalidInputError(
                f"embedding: got {len(vectors)} vectors, expected {len(entries)}"
            )
        self.collection.put(
            Entry(one.id, one.text, one.metadata, vector)
            for one, vector in zip(entries, vectors, strict=True)
        )
        return [one.id for one in entries]


class IbidemChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session: a thread of the repository, which `recall` and `context` use."""

    def __init__(
        self,
        repository: ibidem.Repository,
        session_id: str,
        *,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing.

        Args:
            session_id: the name of the thread.
            viewer: as whom to read, in a repository with a trust policy.
        """
        self.session_id = session_id
        self.conversations = ibidem.Conversations(repository, viewer=viewer, author=author)

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first, as they were given."""
        try:
            stored = self.conversations.messages(self.session_id)
        except ibidem.NotFoundError:
            return []  # nothing was said yet
        return [_message(one) for one in stored]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Stores messages at the end, in one commit."""
        if messages:
            self.conversations.append(self.session_id, [_given(one) for one in messages])

    def clear(self) -> None:
        """Hides all messages; older revisions keep them."""
        if self.messages:
            self.conversations.clear(self.session_id)


def _entries(
    texts: Iterable[str],
    metadatas: Sequence[Mapping[str, Any]] | None,
    ids: Sequence[str | None] | None,
) -> list[Entry]:
    given = [text_of("texts", text) for text in items_of("texts", texts)]
    about: list[Any] = [{}] * len(given) if metadatas is None else items_of("metadatas", metadatas)
    names: list[Any] = [None] * len(given) if ids is None else items_of("ids", ids)
    for name, others in (("metadatas", about), ("ids", names)):
        if len(others) != len(given):
            raise ibidem.InvalidInputError(f"{name}: got {len(others)}, expected {len(given)}")
    about = [mapping_of("metadatas", one) for one in about]
    return [
        Entry(id_of(text, one) if name is None else name, text, one)
        for text, one, name in zip(given, about, names, strict=True)
    ]


def _stored(entry: Entry) -> Document:
    return Document(id=entry.id, page_content=entry.text, metadata=dict(entry.metadata))


def _found(found: Found) -> Document:
    return _stored(found.entry)


def _document(item: ibidem.Item, answer: ibidem.Answer[ibidem.Item]) -> Document:
    source: dict[str, Any] = {
        "cid": str(item.cid),
        "label": item.node.ntype,
        "score": item.score,
        "root": str(answer.root),
    }
    if answer.receipt is not None:
        source["receipt"] = str(answer.receipt.cid)
    metadata = {**plain(item.node.props), "ibidem": source}
    return Document(id=str(item.id), page_content=item.rendered, metadata=metadata)


def _given(message: BaseMessage) -> ibidem.Message:
    """Returns a message to store: its text is found and counted, its whole form is kept."""
    roles = {"human": "user", "ai": "assistant"}
    calls = getattr(message, "tool_calls", ())
    return ibidem.Message(
        roles.get(message.type, message.type),
        str(message.text),
        tool_calls=tuple(one["id"] for one in calls if one.get("id")),
        tool_call_id=getattr(message, "tool_call_id", None),
        props={_WHOLE: message_to_dict(message)},
    )


def _message(stored: ibidem.Stored) -> BaseMessage:
    whole = stored.props.get(_WHOLE)
    if whole is not None:
        return messages_from_dict([plain(whole)])[0]
    found: list[BaseMessage] = convert_to_messages([stored.to_message()])
    return found[0]
