"""LlamaIndex's vector store beside its in-memory one: the same calls, the same results."""

import asyncio
import warnings

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

pytest.importorskip("llama_index.core")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from llama_index.core.schema import (
        NodeRelationship,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.vector_stores.simple import SimpleVectorStore
    from llama_index.core.vector_stores.types import (
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
    )

import ibidem
from ibidem.adapters.llamaindex import IbidemRetriever, IbidemVectorStore

IDS = st.sampled_from(["1", "2", "3", "four", 'f"'])
DOCUMENTS = st.sampled_from(["a", "b"])
VECTORS = st.tuples(st.integers(1, 4), st.integers(-3, 3)).map(
    lambda pair: [float(n) for n in pair]
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "lang": st.sampled_from(["en", "de"]),
        "year": st.integers(0, 3) | st.sampled_from([1.0, 1.5]),
        "tags": st.lists(st.sampled_from(["x", "y"]), max_size=2),
        "and": st.sampled_from(["en", "de"]),
    },
)
FILTERS = st.builds(
    lambda key, value, operator: MetadataFilter(key=key, value=value, operator=operator),
    st.sampled_from(["lang", "and"]),
    st.sampled_from(["en", "de", "fr"]),
    st.sampled_from([FilterOperator.EQ, FilterOperator.NE, FilterOperator.TEXT_MATCH]),
)
FILTERS |= st.builds(
    lambda value, operator: MetadataFilter(key="year", value=value, operator=operator),
    st.integers(0, 3) | st.just(1.0),
    st.sampled_from([FilterOperator(one) for one in ("==", "!=", ">", ">=", "<", "<=")]),
)
FILTERS |= st.builds(
    lambda value, operator: MetadataFilter(key="tags", value=value, operator=operator),
    st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=2),
    st.sampled_from([FilterOperator.ANY, FilterOperator.ALL]),
)
FILTERS |= st.builds(
    lambda value, operator: MetadataFilter(key="lang", value=value, operator=operator),
    st.lists(st.sampled_from(["en", "fr"]), max_size=2),
    st.sampled_from([FilterOperator.IN, FilterOperator.NIN, FilterOperator.IS_EMPTY]),
)
ALL_FILTERS = st.none() | st.builds(
    lambda filters, condition: MetadataFilters(filters=filters, condition=condition),
    st.lists(FILTERS, min_size=1, max_size=3),
    st.sampled_from(FilterCondition),
)


def node(id_, document, vector, metadata):
    return TextNode(
        id_=id_,
        text=f"text of {id_}",
        metadata=metadata,
        embedding=vector,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
    )


class Beside(RuleBasedStateMachine):
    """What one store has, the other has."""

    def __init__(self):
        super().__init__()
        self.repo = ibidem.init("memory:")
        self.ours, self.theirs = IbidemVectorStore(self.repo), SimpleVectorStore()

    def teardown(self):
        self.repo.close()

    @rule(nodes=st.lists(st.builds(node, IDS, DOCUMENTS, VECTORS, METADATA), max_size=4))
    def add(self, nodes):
        assert self.ours.add(nodes) == self.theirs.add(nodes)

    @rule(document=DOCUMENTS)
    def delete(self, document):
        self.ours.delete(document)
        self.theirs.delete(document)

    @rule(ids=st.none() | st.lists(IDS, max_size=2), filters=ALL_FILTERS)
    def delete_nodes(self, ids, filters):
        self.ours.delete_nodes(ids, filters)
        self.theirs.delete_nodes(ids, filters)

    @rule()
    def clear(self):
        self.ours.clear()
        self.theirs.clear()

    @rule(
        vector=VECTORS,
        count=st.integers(1, 6),
        filters=ALL_FILTERS,
        ids=st.none() | st.lists(IDS, min_size=1, max_size=3),
    )
    def query(self, vector, count, filters, ids):
        query = VectorStoreQuery(
            query_embedding=vector, similarity_top_k=count, filters=filters, node_ids=ids
        )
        ours, theirs = self.ours.query(query), self.theirs.query(query)
        assert ours.similarities == pytest.approx(theirs.similarities, abs=1e-6)
        by_id = dict(zip(ours.ids, ours.similarities, strict=True))
        for id_, similarity in zip(theirs.ids, theirs.similarities, strict=True):
            # Of nodes that are equally alike either may come first, and last.
            assert by_id.get(id_, ours.similarities[-1]) == pytest.approx(similarity, abs=1e-6)
        assert [one.node_id for one in ours.nodes] == ours.ids

    @invariant()
    def everything(self):
        assert {one.node_id for one in self.ours.get_nodes()} == set(
            self.theirs.data.embedding_dict
        )


Beside.TestCase.settings = settings(max_examples=40, stateful_step_count=12)
TestBeside = Beside.TestCase


@pytest.fixture
def store():
    with ibidem.init("memory:") as repo:
        store = IbidemVectorStore(repo)
        store.add(
            [
                node("1", "a", [1.0, 0.0], {"lang": "en", "deep": {"n": [1, None]}}),
                node("2", "a", [0.9, 0.1], {"lang": "en"}),
                node("3", "b", [0.0, 1.0], {"lang": "de"}),
            ]
        )
        yield store


def test_a_node_comes_back_as_it_was(store):
    (found,) = store.get_nodes(["1"])
    assert found == node("1", "a", [1.0, 0.0], {"lang": "en", "deep": {"n": [1, None]}})
    assert asyncio.run(store.aget_nodes(["1"])) == [found]


def test_modes_and_filters_in_filters(store):
    query = VectorStoreQuery(
        query_embedding=[1.0, 0.0], query_str="text of 3", similarity_top_k=1, alpha=0.01
    )
    assert store.query(query).ids == ["1"]
    for mode in (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.HYBRID):
        query.mode = mode
        assert store.query(query).ids == ["3"]
    query.alpha = 1.0
    assert store.query(query).ids == ["1"]
    query.mode, query.similarity_top_k = VectorStoreQueryMode.MMR, 2
    assert store.query(query, mmr_threshold=0.1).ids == ["1", "3"]
    inner = MetadataFilters(
        filters=[MetadataFilter(key="lang", value="de"), MetadataFilter(key="none", value=1)],
        condition=FilterCondition.OR,
    )
    query.filters = MetadataFilters(filters=[inner])
    query.mode = VectorStoreQueryMode.DEFAULT
    assert asyncio.run(store.aquery(query)).ids == ["3"]
    query.filters, query.doc_ids = None, ["b"]
    assert store.query(query).ids == ["3"]


def test_a_query_at_a_revision_finds_what_was_there(store):
    before = store.client.head
    store.delete("a")
    query = VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=5)
    assert store.query(query).ids == ["3"]
    assert store.query(query, at=before).ids == ["1", "2", "3"]


def test_the_retriever_takes_the_options_of_a_question():
    with ibidem.init("memory:") as repo:
        repo.add("the gate is green", props={"n": 1})
        repo.add("the gate is blue", props={"n": 2})
        retriever = IbidemRetriever(repo, limit=5, where={"n": 2})
        (found,) = retriever.retrieve("gate")
        assert "blue" in found.node.get_content()
        assert found.node.metadata["ibidem"]["root"] == str(repo.at().root_cid)
        assert asyncio.run(retriever.aretrieve("gate")) == [found]


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.add([node("9", "a", [1.0], {})]),
        lambda store: store.add([node("9", "a", [float("nan"), 1.0], {})]),
        lambda store: store.add([node("9", "a", [1.0, 1.0], {"x": "\ud800"})]),
        lambda store: store.delete(7),
        lambda store: store.delete_nodes([7]),
        lambda store: store.query(VectorStoreQuery(similarity_top_k=1)),
        lambda store: store.query(VectorStoreQuery(query_embedding=[1.0], similarity_top_k=1)),
        lambda store: store.query(
            VectorStoreQuery(query_embedding=[1.0, 1.0], mode=VectorStoreQueryMode.SVM)
        ),
    ],
)
def test_wrong_input_is_an_error_that_changes_nothing(store, call):
    head = store.client.head
    with pytest.raises(ibidem.InvalidInputError) as caught:
        call(store)
    assert caught.value.kind
    assert store.client.head == head
