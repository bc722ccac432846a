"""LlamaIndex over a repository: a retriever, a vector store and a property graph store.

What is written is one commit a call. Filters go down to the repository as far as a `where` says the
same or more, and are then evaluated as the in-memory store of LlamaIndex does; filters in filters
are too. Errors are those of `ibidem.errors`: LlamaIndex has none for these interfaces.
"""

from ibidem.adapters.llamaindex.graph_store import IbidemPropertyGraphStore
from ibidem.adapters.llamaindex.vector_store import IbidemRetriever, IbidemVectorStore

__all__ = ["IbidemPropertyGraphStore", "IbidemRetriever", "IbidemVectorStore"]
