"""LlamaIndex's property graph store beside its in-memory one.

Deleting differs on purpose: the in-memory store deletes the nodes at both ends of every relation
that it deletes, and leaves relations to nodes that are gone.
"""

import asyncio
import json
import warnings

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

pytest.importorskip("llama_index.core")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from llama_index.core.graph_stores.simple_labelled import SimplePropertyGraphStore
    from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores.types import (
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
    )

import ibidem
from ibidem.adapters.llamaindex import IbidemPropertyGraphStore

NAMES = st.sampled_from(["ada", "bob", "tea", "ä"])
LABELS = st.sampled_from(["likes", "knows"])
PROPERTIES = st.dictionaries(
    st.sampled_from(["n", "m"]),
    st.sampled_from([1, 1.0, True, None, "x", ["x"]]),
    max_size=2,
)
NODES = st.builds(
    lambda name, label, properties: EntityNode(name=name, label=label, properties=properties),
    NAMES,
    st.sampled_from(["Person", "Thing"]),
    PROPERTIES,
) | st.builds(
    lambda name, properties: ChunkNode(text=f"text of {name}", id_=name, properties=properties),
    NAMES,
    PROPERTIES,
)
RELATIONS = st.builds(
    lambda source, label, target: Relation(
        source_id=source, label=label, target_id=target, properties={"n": len(source)}
    ),
    NAMES,
    LABELS,
    NAMES,
)


def shown(found):
    """Nodes or relations as texts, in order; the order of properties means nothing."""
    return sorted(
        json.dumps(
            [one.model_dump() for one in (item if isinstance(item, tuple) else (item,))],
            sort_keys=True,
        )
        for item in found
    )


class Beside(RuleBasedStateMachine):
    """What one store has, the other has."""

    def __init__(self):
        super().__init__()
        self.repo = ibidem.init("memory:")
        self.ours, self.theirs = IbidemPropertyGraphStore(self.repo), SimplePropertyGraphStore()
        IbidemPropertyGraphStore(self.repo, graph="another").upsert_nodes([EntityNode(name="eve")])

    def teardown(self):
        self.repo.close()

    def both(self, call):
        return call(self.ours), call(self.theirs)

    @rule(nodes=st.lists(NODES, max_size=3))
    def upsert_nodes(self, nodes):
        self.both(lambda store: store.upsert_nodes(nodes))

    @rule(relations=st.lists(RELATIONS, max_size=3))
    def upsert_relations(self, relations):
        self.both(lambda store: store.upsert_relations(relations))

    @rule(properties=PROPERTIES, ids=st.none() | st.lists(NAMES, min_size=1, max_size=2))
    def get(self, properties, ids):
        ours, theirs = self.both(lambda store: store.get(properties=properties, ids=ids))
        assert shown(ours) == shown(theirs)

    @rule(
        names=st.none() | st.lists(NAMES, min_size=1, max_size=2),
        labels=st.none() | st.lists(LABELS, min_size=1, max_size=2),
        properties=st.none() | PROPERTIES,
        ids=st.none() | st.lists(NAMES, min_size=1, max_size=2),
    )
    def get_triplets(self, names, labels, properties, ids):
        ours, theirs = self.both(lambda store: store.get_triplets(names, labels, properties, ids))
        assert shown(ours) == shown(theirs)

    @rule(names=st.lists(NAMES, min_size=1, max_size=2), depth=st.integers(0, 3))
    def get_rel_map(self, names, depth):
        ours, theirs = self.both(
            lambda store: store.get_rel_map([EntityNode(name=one) for one in names], depth, 1_000)
        )
        assert shown(ours) == sorted(set(shown(theirs)))

    @invariant()
    def everything(self):
        ours, theirs = self.both(lambda store: {one.id for one in store.get()})
        assert ours == theirs


Beside.TestCase.settings = settings(max_examples=40, stateful_step_count=12)
TestBeside = Beside.TestCase


@pytest.fixture
def store():
    with ibidem.init("memory:") as repo:
        store = IbidemPropertyGraphStore(repo)
        store.upsert_nodes(
            [
                EntityNode(name="ada", label="Person", properties={"n": 1}, embedding=[1.0, 0.0]),
                EntityNode(name="bob", label="Person", properties={"n": 2}, embedding=[0.0, 1.0]),
                ChunkNode(text="Ada likes tea.", id_="c", embedding=[0.5, 0.5]),
            ]
        )
        store.upsert_relations(
            [
                Relation(source_id="ada", label="likes", target_id="tea"),
                Relation(source_id="bob", label="knows", target_id="ada", properties={"since": 3}),
            ]
        )
        yield store


def test_what_is_deleted_is_that_and_no_more(store):
    store.delete(relation_names=["knows"])
    assert {one.id for one in store.get()} == {"ada", "bob", "tea", "c"}
    assert [one[1].label for one in store.get_triplets(entity_names=["ada"])] == ["likes"]
    store.delete(entity_names=["tea"])
    assert store.get_triplets(entity_names=["ada"]) == []
    store.delete(properties={"n": 1}, ids=["c", "missing"])
    assert {one.id for one in store.get()} == {"bob"}
    store.client.history.undo()
    assert len(store.get()) == 3


def test_nodes_are_found_by_embedding(store):
    query = VectorStoreQuery(query_embedding=[1.0, 0.1], similarity_top_k=2)
    nodes, scores = store.vector_query(query)
    assert [one.id for one in nodes] == ["ada", "c"]
    assert scores == sorted(scores, reverse=True)
    query.filters = MetadataFilters(filters=[MetadataFilter(key="n", value=2)])
    assert [one.id for one in asyncio.run(store.avector_query(query))[0]] == ["bob"]
    store.upsert_nodes([EntityNode(name="bob", label="Person", properties={"n": 2})])
    assert store.vector_query(query) == ([], [])


def test_nodes_of_documents_come_back(store):
    given = TextNode(id_="t", text="the gate is green", metadata={"page": 3})
    store.upsert_llama_nodes([given])
    (found,) = store.get_llama_nodes(["t"])
    assert (found.text, found.metadata) == ("the gate is green", {"page": 3})
    assert store.client.retrieve("green gate").items
    store.delete_llama_nodes(node_ids=["t"])
    assert store.get(ids=["t"]) == []


def test_other_nodes_of_the_repository_are_not_of_the_graph(store):
    repo = store.client
    with repo.transaction() as tx:
        one, other = tx.add_node("Person", summary="eve"), tx.add_node("Person", summary="dan")
        tx.add_edge(one, "knows", other)
    assert len(store.get()) == 4
    assert len(store.get_triplets(relation_names=["knows"])) == 1
    with pytest.raises(NotImplementedError):
        store.structured_query("MATCH (n) RETURN n")


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.upsert_nodes([EntityNode(name="x", properties={"n": object()})]),
        lambda store: store.upsert_nodes([EntityNode(name="x", properties={"llamaindex.kind": 1})]),
        lambda store: store.upsert_nodes([EntityNode(name="x", embedding=[1.0])]),
        lambda store: store.upsert_nodes([EntityNode(name="x", label="")]),
        lambda store: store.upsert_nodes([EntityNode(name="")]),
        lambda store: store.upsert_relations([Relation(source_id="a", label="", target_id="b")]),
        lambda store: store.vector_query(
            VectorStoreQuery(query_embedding=[1.0], similarity_top_k=1)
        ),
    ],
)
def test_wrong_input_is_an_error_that_changes_nothing(store, call):
    head = store.client.head
    with pytest.raises(ibidem.InvalidInputError) as caught:
        call(store)
    assert caught.value.kind
    assert store.client.head == head
