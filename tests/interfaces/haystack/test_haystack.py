"""Haystack: what its suite does not ask for: rankings, pipelines, wrong input."""

import asyncio
import os
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("haystack")
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from haystack import Document, Pipeline
    from haystack.dataclasses import ByteStream, SparseEmbedding
    from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.errors import FilterError

import ibidem
from ibidem.adapters.haystack import (
    IbidemBM25Retriever,
    IbidemDocumentStore,
    IbidemEmbeddingRetriever,
    pushed,
)


@pytest.fixture
def store():
    with ibidem.init("memory:") as repo:
        yield IbidemDocumentStore(repo)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 1.5, "x", "y", "2024-01-01", "2024-01-01T00:00:00", "12"])
)
NUMBERS = st.integers(-2, 2) | st.sampled_from([0.0, 1.5])
META = st.dictionaries(
    st.sampled_from(["a", "b", "and"]),
    VALUES | st.lists(VALUES, max_size=2) | st.fixed_dictionaries({"c": VALUES}),
    max_size=3,
)
FIELDS = st.sampled_from(["meta.a", "meta.b", "meta.and", "meta.a.c", "content", "a", "id"])


def condition(field, operator, value):
    return {"field": field, "operator": operator, "value": value}


COMPARISONS = (
    st.builds(
        condition, FIELDS, st.sampled_from(["==", "!="]), VALUES | st.lists(VALUES, max_size=1)
    )
    | st.builds(condition, FIELDS, st.sampled_from(["in", "not in"]), st.lists(VALUES, max_size=3))
    | st.builds(condition, st.just("meta.n"), st.sampled_from([">", ">=", "<", "<="]), NUMBERS)
)
FILTERS = st.recursive(
    COMPARISONS,
    lambda parts: st.builds(
        lambda operator, conditions: {"operator": operator, "conditions": conditions},
        st.sampled_from(["AND", "OR", "NOT"]),
        st.lists(parts, min_size=1, max_size=3),
    ),
    max_leaves=5,
)


@settings(max_examples=120)
@given(
    metas=st.lists(st.tuples(META, st.none() | NUMBERS | st.booleans()), max_size=6),
    filters=FILTERS,
)
def test_a_filter_finds_what_the_in_memory_store_finds(metas, filters):
    documents = [
        Document(id=str(n), content=f"text {n}", meta={**meta, "n": number})
        for n, (meta, number) in enumerate(metas)
    ]
    theirs = InMemoryDocumentStore()
    theirs.write_documents(documents)
    with ibidem.init("memory:") as repo:
        ours = IbidemDocumentStore(repo)
        ours.write_documents(documents)
        assert sorted(one.id for one in ours.filter_documents(filters)) == sorted(
            one.id for one in theirs.filter_documents(filters)
        )


def test_a_filter_goes_down_as_far_as_it_means_the_same():
    year = condition("meta.year", ">", 2000)
    text = condition("meta.lang", "==", "en")
    assert pushed(text) == {"lang": "en"}
    assert pushed({"operator": "AND", "conditions": [text, condition("content", "==", "x")]}) == {
        "and": [{"lang": "en"}]
    }
    assert pushed({"operator": "OR", "conditions": [text, year]}) == {
        "or": [pushed(text), pushed(year)]
    }
    assert pushed({"operator": "NOT", "conditions": [text]}) is None
    assert pushed(condition("meta.day", "==", "2024-01-01")) is None


def test_rankings_keep_to_the_filter_and_to_the_number(store):
    store.write_documents(
        [
            Document(
                id=str(n),
                content=f"the gate of court {n}",
                meta={"n": n, "even": n % 2 == 0, "day": f"2024-01-{n % 28 + 1:02}"},
                embedding=[1.0, n / 60],
            )
            for n in range(60)
        ]
    )
    late = condition("meta.day", ">", "2024-01-20")
    even = condition("meta.even", "==", True)
    for filters in (late, even, {"operator": "AND", "conditions": [late, even]}, None):
        there = {one.id for one in store.filter_documents(filters)}
        for found in (
            store.bm25_retrieval("gate", filters=filters, top_k=5),
            store.embedding_retrieval([1.0, 0.0], filters=filters, top_k=5),
        ):
            assert len(found) == 5
            assert {one.id for one in found} <= there
            scores = [one.score for one in found]
            assert scores == sorted(scores, reverse=True)
    (best,) = store.embedding_retrieval([1.0, 0.0], top_k=1)
    assert (best.id, best.score) == ("0", 1.0)


def test_everything_of_a_document_comes_back(store):
    documents = [
        Document(
            id="1", content=None, blob=ByteStream(b"\x00\xff", meta={"k": 1}, mime_type="a/b")
        ),
        Document(id="2", content="", meta={"deep": {"x": [1, {"y": None}]}}, score=0.5),
        Document(id="3", content="x", embedding=[0.5, 0.25]),
        Document(id="4", content="y", sparse_embedding=SparseEmbedding([1, 5], [0.5, 2.0])),
    ]
    store.write_documents(documents)
    assert sorted(store.filter_documents(), key=lambda one: one.id) == documents
    assert len(list(store.collection.repository.history.log())) == 1


def test_policies_are_one_commit_or_none(store):
    store.write_documents([Document(id="1", content="a")])
    repo = store.collection.repository
    head = repo.head
    with pytest.raises(DuplicateDocumentError):
        store.write_documents([Document(id="0", content="new"), Document(id="1", content="b")])
    assert repo.head == head
    both = [Document(id="2", content="c"), Document(id="1", content="b")]
    assert store.write_documents(both, DuplicatePolicy.SKIP) == 1
    assert store.write_documents(both, DuplicatePolicy.OVERWRITE) == 2
    assert {one.id: one.content for one in store.filter_documents()} == {"1": "b", "2": "c"}
    before = IbidemEmbeddingRetriever(store, at=str(head))
    assert before.run([1.0]) == {"documents": []}


def test_a_pipeline_is_saved_and_opens_the_same_documents(tmp_path):
    store = IbidemDocumentStore(str(tmp_path / "repo"))
    store.write_documents([Document(content="the gate is green", embedding=[1.0, 0.0])])
    pipeline = Pipeline()
    pipeline.add_component("words", IbidemBM25Retriever(store, top_k=1))
    pipeline.add_component("vectors", IbidemEmbeddingRetriever(store, top_k=1))
    saved = pipeline.dumps()
    store.collection.repository.close()
    given = {"words": {"query": "gate"}, "vectors": {"query_embedding": [1.0, 0.1]}}
    again = Pipeline.loads(saved, allowed_modules=["ibidem.adapters.haystack"])
    found = again.run(given)
    for name in given:
        assert [one.content for one in found[name]["documents"]] == ["the gate is green"]
        store = again.get_component(name).document_store
        assert asyncio.run(again.get_component(name).run_async(**given[name])) == found[name]
        store.collection.repository.close()
    with ibidem.init("memory:") as repo, pytest.raises(DocumentStoreError):
        IbidemDocumentStore(repo).to_dict()


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (DocumentStoreError, lambda store: store.write_documents([Document(meta={"x": object()})])),
        (
            DocumentStoreError,
            lambda store: store.write_documents(
                [Document(content="a", meta={"haystack.document": 1})]
            ),
        ),
        (DocumentStoreError, lambda store: store.write_documents([Document(embedding=[1.0])])),
        (DocumentStoreError, lambda store: store.embedding_retrieval([float("nan"), 1.0])),
        (DocumentStoreError, lambda store: store.embedding_retrieval([1.0])),
        (DocumentStoreError, lambda store: store.bm25_retrieval("gate", top_k=-1)),
        (DocumentStoreError, lambda store: store.delete_documents([7])),
        (DocumentStoreError, lambda store: store.update_by_filter({}, {"x": float("nan")})),
        (ibidem.InvalidInputError, lambda store: store.write_documents(["text"])),
        (FilterError, lambda store: store.delete_by_filter({"operator": "AND"})),
        (FilterError, lambda store: store.filter_documents(condition("meta.x", "~", 1))),
        (FilterError, lambda store: store.filter_documents(condition("meta.x", "in", 1))),
        (FilterError, lambda store: store.filter_documents(condition("meta.x", ">", "z"))),
    ],
)
def test_wrong_input_is_an_error_that_changes_nothing(store, error, call):
    store.write_documents([Document(content="there", embedding=[1.0, 0.0])])
    head = store.collection.repository.head
    with pytest.raises(error) as caught:
        call(store)
    if error is DocumentStoreError:
        assert isinstance(caught.value.__cause__, ibidem.IbidemError)
        assert caught.value.__cause__.kind
    assert store.collection.repository.head == head
