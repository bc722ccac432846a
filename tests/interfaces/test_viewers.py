"""Every store of a framework reads as a viewer, where a repository has a trust policy."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ibidem
from ibidem import ALL, Viewer
from ibidem.adapters.collection import Collection, Entry

LOW = Viewer(level="low", scopes=())
VECTOR = [1.0, 0.0]


@pytest.fixture
def repo() -> ibidem.Repository:
    found = ibidem.init("memory:")
    with found.transaction(author="ada") as tx:
        tx.set_trust_policy(ibidem.TrustPolicy())
    return found


def contents(found: Any, name: str) -> list[str]:
    return sorted(getattr(one, name) for one in found)


def test_collections_are_only_read_by_a_restricted_viewer(repo: ibidem.Repository):
    whole = Collection(repo, "things", viewer=ALL)
    whole.put([Entry("a", "seen", {"level": 0}), Entry("b", "hidden", {"level": 4})])
    low = Collection(repo, "things", viewer=LOW)
    assert (whole.count(), low.count()) == (2, 1)
    before = repo.head
    for change in (
        lambda: low.put([Entry("b", "mine")]),
        lambda: low.put([Entry("b", "mine")], replace=False),
        lambda: low.put([Entry("new", "mine")]),
        lambda: low.delete(["b"]),
        lambda: low.delete(),
    ):
        with pytest.raises(ibidem.InvalidInputError, match="only read") as refused:
            change()
        assert refused.value.kind is ibidem.ErrorKind.NOT_PERMITTED
    assert repo.head == before


def test_langchain(repo: ibidem.Repository):
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.messages import HumanMessage

    from ibidem.adapters.langchain import IbidemChatMessageHistory, IbidemRetriever
    from ibidem.adapters.langchain import IbidemVectorStore as Store

    embedding = DeterministicFakeEmbedding(size=4)
    documents = [
        Document("a seen parcel", metadata={"level": 0}),
        Document("a hidden parcel", metadata={"level": 4}),
    ]
    Store(repo, embedding, viewer=ALL).add_documents(documents)
    for viewer, expected in ((LOW, ["a seen parcel"]), (ALL, ["a hidden parcel", "a seen parcel"])):
        store = Store(repo, embedding, viewer=viewer)
        assert contents(store.similarity_search("parcel"), "page_content") == expected
        retriever = IbidemRetriever(repository=repo, viewer=viewer)
        assert len(retriever.invoke("parcel")) == len(expected)
    IbidemChatMessageHistory(repo, "s", viewer=ALL).add_messages([HumanMessage("hi")])
    assert len(IbidemChatMessageHistory(repo, "s", viewer=ALL).messages) == 1


def test_langgraph(repo: ibidem.Repository):
    pytest.importorskip("langgraph")
    from ibidem.adapters.langgraph.store import IbidemStore

    store = IbidemStore(repo, viewer=ALL)
    store.put(("a",), "k", {"text": "parcel"})
    assert store.get(("a",), "k").value == {"text": "parcel"}
    low = IbidemStore(repo, viewer=LOW)
    with pytest.raises(ibidem.InvalidInputError, match="only read"):
        low.put(("a",), "k", {"text": "mine"})


def test_llamaindex(repo: ibidem.Repository):
    pytest.importorskip("llama_index.core")
    from llama_index.core.graph_stores.types import EntityNode
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores.types import VectorStoreQuery

    from ibidem.adapters.llamaindex import (
        IbidemPropertyGraphStore,
        IbidemRetriever,
        IbidemVectorStore,
    )

    nodes = [
        TextNode(text=f"{name} parcel", id_=name, embedding=VECTOR, metadata={"level": level})
        for name, level in (("seen", 0), ("hidden", 4))
    ]
    IbidemVectorStore(repo, viewer=ALL).add(nodes)
    entities = [
        EntityNode(name=name, properties={"level": level})
        for name, level in (("seen", 0), ("hidden", 4))
    ]
    IbidemPropertyGraphStore(repo, viewer=ALL).upsert_nodes(entities)
    with pytest.raises(ibidem.InvalidInputError, match="only read"):
        IbidemPropertyGraphStore(repo, viewer=LOW).upsert_nodes(entities)
    for viewer, count in ((LOW, 1), (ALL, 2)):
        query = VectorStoreQuery(query_embedding=VECTOR, similarity_top_k=5)
        assert len(IbidemVectorStore(repo, viewer=viewer).query(query).nodes) == count
        found = IbidemRetriever(repo, viewer=viewer, label="documents").retrieve("parcel")
        assert len(found) == count
        assert len(IbidemPropertyGraphStore(repo, viewer=viewer).get()) == count


def test_haystack(repo: ibidem.Repository):
    pytest.importorskip("haystack")
    from haystack import Document

    from ibidem.adapters.haystack import IbidemDocumentStore

    documents = [
        Document(content=f"{name} parcel", meta={"level": level})
        for name, level in (("seen", 0), ("hidden", 4))
    ]
    IbidemDocumentStore(repo, viewer=ALL).write_documents(documents)
    assert IbidemDocumentStore(repo, viewer=LOW).count_documents() == 1
    assert IbidemDocumentStore(repo, viewer=ALL).count_documents() == 2


def test_openai_agents(repo: ibidem.Repository):
    pytest.importorskip("agents")
    from ibidem.adapters.openai_agents import IbidemSession

    async def used() -> None:
        session = IbidemSession("s", repo, viewer=ALL)
        await session.add_items([{"role": "user", "content": "hi"}])
        assert len(await session.get_items()) == 1
        assert await session.pop_item() == {"role": "user", "content": "hi"}
        assert await session.get_items() == []

    asyncio.run(used())


def test_mem0(repo: ibidem.Repository):
    from ibidem.adapters.mem0 import AsyncMemory, Memory

    records = [
        ibidem.Record(
            ibidem.RecordType.SEMANTIC, f"a {name} parcel", scope="", level=level, user="u"
        )
        for name, level in (("seen", 0), ("hidden", 4))
    ]
    seen, hidden = map(str, ibidem.GraphMemory(repo).add(records))
    whole, low = Memory(repo, viewer=ALL), Memory(repo, viewer=LOW)
    for memory, count in ((low, 1), (whole, 2)):
        assert len(memory.get_all(user_id="u")["results"]) == count
        assert len(memory.search("parcel", user_id="u")["results"]) == count
        assert memory.get(seen)["memory"] == "a seen parcel"
    assert low.get(hidden) is None
    assert whole.get(hidden)["memory"] == "a hidden parcel"
    assert [one["event"] for one in whole.history(hidden)] == ["ADD"]
    assert asyncio.run(AsyncMemory(repo, viewer=LOW).get(hidden)) is None
    before = repo.head
    for change in (
        lambda: low.add("mine", user_id="u"),
        lambda: low.update(seen, "mine"),
        lambda: low.delete(seen),
        lambda: low.delete(hidden),
        lambda: low.delete_all(user_id="u"),
        lambda: low.history(seen),
    ):
        with pytest.raises(ibidem.InvalidInputError) as refused:
            change()
        assert refused.value.kind is ibidem.ErrorKind.NOT_PERMITTED
    assert repo.head == before
