"""LangChain: what its suite does not ask for: time, conditions, other writers, wrong input."""

import asyncio
import warnings

import pytest

pytest.importorskip("langchain_core")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

import ibidem
from ibidem.adapters.langchain import (
    IbidemChatMessageHistory,
    IbidemRetriever,
    IbidemVectorStore,
)

EMBEDDING = DeterministicFakeEmbedding(size=8)


@pytest.fixture
def repo():
    with ibidem.init("memory:") as repo:
        yield repo


def test_a_search_at_a_revision_finds_what_was_there(repo):
    store = IbidemVectorStore(repo, EMBEDDING)
    store.add_texts(["the gate is green"], ids=["gate"])
    before = repo.head
    store.add_texts(["the gate is blue"], ids=["gate"])
    for at, text in ((before, "the gate is green"), (None, "the gate is blue")):
        assert [one.page_content for one in store.similarity_search("gate", at=at)] == [text]


def test_a_filter_is_a_condition_of_the_question(repo):
    store = IbidemVectorStore(repo, EMBEDDING)
    store.add_texts([f"page {n}" for n in range(150)], [{"n": n, "lang": "en"} for n in range(150)])
    found = store.similarity_search("page", k=120, filter={"n": {"gte": 40}, "lang": "en"})
    assert len(found) == 110
    assert all(one.metadata["n"] >= 40 for one in found)
    found = store.as_retriever(
        search_type="mmr", search_kwargs={"k": 2, "filter": {"n": {"in": [1, 2]}}}
    ).invoke("page")
    assert {one.metadata["n"] for one in found} == {1, 2}


def test_a_call_is_one_commit_and_the_same_text_is_one_document(repo):
    store = IbidemVectorStore(repo, EMBEDDING)
    documents = [Document("a", metadata={"n": [1, {"m": None}]}), Document("b")]
    first = store.add_documents(documents)
    assert store.add_documents(documents) == first
    assert len(list(repo.history.log())) == 1
    assert {one.id: one.metadata for one in store.get_by_ids(first)} == {
        first[0]: {"n": [1, {"m": None}]},
        first[1]: {},
    }


def test_scores_are_cosines(repo):
    store = IbidemVectorStore(repo, EMBEDDING)
    store.add_texts(["a", "b", "c"])
    with_scores = store.similarity_search_with_score("a", k=3)
    assert with_scores[0][0].page_content == "a"
    assert with_scores[0][1] == pytest.approx(1.0)
    relevance = store.similarity_search_with_relevance_scores("a", k=3)
    assert [score for _, score in relevance] == [(1 + score) / 2 for _, score in with_scores]


def test_asynchronous_calls_do_the_same(repo):
    store = IbidemVectorStore(repo, EMBEDDING)

    async def main():
        ids = await store.aadd_texts(["a", "b"], [{"n": 1}, {"n": 2}])
        found = await store.asimilarity_search("a", k=1)
        diverse = await store.amax_marginal_relevance_search("a", k=2, filter={"n": 2})
        other = await IbidemVectorStore.afrom_texts(
            ["z"], EMBEDDING, repository=repo, collection="others"
        )
        return ids, found, diverse, await other.asimilarity_search_with_score("z")

    ids, found, diverse, others = asyncio.run(main())
    assert ids == store.add_texts(["a", "b"], [{"n": 1}, {"n": 2}])
    assert found == store.similarity_search("a", k=1)
    assert [one.metadata["n"] for one in diverse] == [2]
    assert [one.page_content for one, _ in others] == ["z"]


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.add_texts(["a"], ids=["1", "2"]),
        lambda store: store.add_texts(["a"], [{}, {}]),
        lambda store: store.add_texts(["a"], [{"when": object()}]),
        lambda store: store.add_texts(["a"], [{"x": float("nan")}]),
        lambda store: store.add_texts(["a\ud800"]),
        lambda store: store.add_texts(["a"], ids=[7]),
        lambda store: store.similarity_search("a", k=-1),
        lambda store: store.similarity_search("a", filter={"n": {"near": 3}}),
        lambda store: store.similarity_search_by_vector([1.0]),
        lambda store: store.similarity_search_by_vector(["x"] * 8),
        lambda store: store.max_marginal_relevance_search("a", lambda_mult=7.0),
        lambda store: IbidemVectorStore.from_texts(["a"], EMBEDDING),
        lambda store: IbidemVectorStore(store.collection.repository, EMBEDDING, collection=""),
    ],
)
def test_wrong_input_is_an_error_that_changes_nothing(repo, call):
    store = IbidemVectorStore(repo, EMBEDDING)
    store.add_texts(["kept"])
    head = repo.head
    with pytest.raises(ibidem.InvalidInputError) as caught:
        call(store)
    assert caught.value.kind
    assert repo.head == head


def test_two_writers_of_one_id_leave_the_last_and_no_conflict(tmp_path):
    with ibidem.init(tmp_path) as one, ibidem.open(tmp_path) as other:
        stores = [IbidemVectorStore(repo, EMBEDDING) for repo in (one, other)]

        async def main():
            await asyncio.gather(
                *(
                    stores[n % 2].aadd_texts([f"text {n}"], [{"n": n}], ids=["same"])
                    for n in range(20)
                )
            )

        asyncio.run(main())
        assert stores[0].collection.count() == 1
        assert one.conflicts() == []
        assert stores[0].get_by_ids(["same"]) == stores[1].get_by_ids(["same"])
        assert len(list(one.history.log())) == 20


def test_the_retriever_takes_the_options_of_a_question(repo):
    repo.add("the gate is green", props={"level": 1})
    before = repo.head
    repo.add("the gate was blue", props={"level": 2})
    retriever = IbidemRetriever(repository=repo, options={"where": {"level": 1}})
    (found,) = retriever.invoke("gate")
    assert "green" in found.page_content
    assert repo.at().node(found.id).summary == "the gate is green"
    assert found.metadata["level"] == 1
    assert found.metadata["ibidem"]["root"] == str(repo.at().root_cid)
    assert len(IbidemRetriever(repository=repo).invoke("gate", at=before)) == 1
    assert len(IbidemRetriever(repository=repo).invoke("gate", token_budget=0)) == 0
    with pytest.raises((ibidem.InvalidInputError, TypeError)):
        retriever.invoke("gate", budget=3)
    with repo.transaction() as tx:
        tx.set_trust_policy(ibidem.TrustPolicy())
    viewer = repo.as_viewer(ibidem.Viewer(level="low", scopes=()))
    (seen,) = IbidemRetriever(repository=viewer).invoke("gate")
    assert seen.id == found.id


def test_a_history_gives_back_what_was_said(repo):
    said = [
        HumanMessage("is the gate open?"),
        AIMessage("", tool_calls=[{"name": "look", "args": {"at": "gate"}, "id": "c1"}]),
        ToolMessage("open since nine", tool_call_id="c1"),
        AIMessage([{"type": "text", "text": "Yes."}], additional_kwargs={"k": [1]}),
    ]
    history = IbidemChatMessageHistory(repo, "gate")
    assert history.messages == []
    history.add_messages(said)
    assert history.messages == said
    assert len(list(repo.history.log())) == 1
    assert repo.conversations.select("nine", thread="gate").messages
    repo.conversations.append("gate", [("user", "thanks")])
    assert history.messages == [*said, HumanMessage("thanks")]
    with pytest.raises(ibidem.InvalidInputError):
        history.add_messages([HumanMessage("x", additional_kwargs={"o": float("nan")})])
    assert asyncio.run(history.aget_messages()) == [*said, HumanMessage("thanks")]
    history.clear()
    assert history.messages == []
    assert IbidemChatMessageHistory(repo, "other").messages == []
