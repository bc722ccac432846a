"""TR4 to TR12: nothing of what is hidden can be told from what a caller gets.

TR4 in full is `tests/oracle/test_trust_view.py`; here it is for graphs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cases import by_suite

import ibidem
from ibidem.memory.graph import GraphMemory, Record
from ibidem.objects.child import Child
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.edge import Edge
from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.repo.core import Core
from ibidem.repo.events import Event
from ibidem.repo.merge.config import merge_policy
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import (
    ALL,
    ALL_SCOPES,
    Decision,
    TrustPolicy,
    Viewer,
    decide,
)
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.records.item import RecordItem
from ibidem.store.memory import MemoryStore

from .conftest import EPOCH, LOW, POLICY, STUBS, hidden, record, ticking


def random_memory(
    rng: random.Random,
) -> tuple[GraphMemory, list[tuple[int, str, int]], list[Event]]:
    """Returns a guarded memory of random records under random ids, its relations and events."""
    memory = GraphMemory(ibidem.init("memory:", clock=lambda: EPOCH))
    words = ("tea", "milk", "sugar", "lemon")
    kinds = ("Semantic", "Entity", "Competence", "Working", "PlanGraph", "Episodic")
    records = []
    for number in range(rng.randint(1, 14)):
        kind, name = rng.choice(kinds), rng.choice(words)
        payload = {"canonical_name": name} if kind == "Entity" else {"mentions": [name]}
        records.append(
            record(
                kind,
                " ".join(rng.choices(words, k=3)),
                payload=payload,
                level=rng.choice((0, 1, 1, 2, 4)),
                scope=rng.choice(("", "", "a", "b")),
                salience=rng.choice((0.2, 0.5, 1.0)),
                status=rng.choice(("active", "active", "contested", "retracted")),
                time=EPOCH + number,
            )
        )
    ids = [NodeId(rng.randbytes(16)) for _ in records]
    relations = [
        (rng.randrange(len(ids)), rng.choice(("to", "supports")), rng.randrange(len(ids)))
        for _ in range(rng.randint(0, 25))
    ]
    write(memory, records, ids, relations, POLICY)
    events = [
        Event(
            rng.choice(("reinforce", "penalize", "outcome")),
            (rng.choice(ids),),
            "ada",
            EPOCH + 100 + number,
            1.0,
        )
        for number in range(rng.randint(0, 8))
    ]
    if events:
        memory.notes.add(events)
    return memory, relations, events


def write(
    memory: GraphMemory,
    records: list[Record],
    ids: list[NodeId],
    relations: list[tuple[int, str, int]],
    policy: TrustPolicy | None,
) -> None:
    with memory.repository.transaction() as tx:
        tx.set_trust_policy(policy)
        for one, id_ in zip(records, ids, strict=True):
            tx.add_node(str(one.type), summary=one.text, props=one.props(POLICY), id=id_)
        for source, etype, target in relations:
            tx.add_edge(ids[source], etype, ids[target])


def without(memory: GraphMemory, viewer: Viewer, events: list[Event]) -> GraphMemory:
    """Returns the memory written again without what a caller may not see."""
    whole = memory.repository.at(viewer=ALL)
    nodes = [one for one in whole.nodes() if decide(POLICY, viewer, one.props) == Decision.FULL]
    kept = {one.id for one in nodes}
    other = GraphMemory(ibidem.init("memory:", clock=lambda: EPOCH))
    with other.repository.transaction() as tx:
        for one in nodes:
            tx.add_node(one.ntype, summary=one.summary, props=one.props, id=one.id)
        for edge in whole.edges():
            if edge.src in kept and edge.dst in kept:
                tx.add_edge(edge.src, edge.etype, edge.dst)
    if events:
        other.notes.add(events)
    return other


def said(answer: Answer[RecordItem]) -> bytes:
    """Returns all that an answer says, but its root, its notes head and the context."""
    options = answer.query.records
    assert options is not None
    plain = replace(answer.query, viewer=None, records=replace(options, notes=None))
    return replace(answer, root=RootCid.of(b""), query=plain).to_bytes()


def check_graph(seed: int) -> None:
    rng = random.Random(seed)
    memory, _, events = random_memory(rng)
    viewer = Viewer(
        level=rng.choice((0, 1, 2)), scopes=rng.choice(((), ("a",), ("a", "b"), ALL_SCOPES))
    )
    other = without(memory, viewer, events)
    for text in ("tea", "milk and sugar", None, "what of Lemon"):
        options: dict[str, Any] = {
            "hops": rng.choice((0, 1, 3)),
            "root_limit": rng.choice((1, 3, 10)),
            "limit": rng.choice((2, 5, 25)),
            "edge_limit": rng.choice((1, 5, 100)),
            "min_salience": rng.choice((0.0, 0.0, 0.3)),
            "direction": rng.choice(("both", "outgoing", "incoming")),
            "include_status": rng.choice(((), ("retracted",))),
            "as_of": EPOCH + rng.choice((50, 103, 200)),
        }
        seen = memory.retrieve_graph(text, viewer=viewer, **options)
        assert said(seen) == said(other.retrieve_graph(text, **options))
        assert memory.repository.receipts.replay(seen.receipt).to_bytes() == seen.to_bytes()


@pytest.mark.parametrize("count", [12, pytest.param(40, marks=pytest.mark.slow)])
def test_tr4_a_graph_is_that_of_a_memory_without_the_rest(count: int):
    for seed in range(count):
        check_graph(seed)


@pytest.mark.parametrize("count", by_suite([60, 500], slow=1))
def test_tr4_a_graph_is_that_of_a_memory_without_the_rest_many_times(count: int):
    for seed in range(1000, 1000 + count):
        check_graph(seed)


def test_tr5_what_is_hidden_moves_no_rank(guarded: GraphMemory):
    guarded.add([record(text="tea and milk"), record(text="tea with a lot of sugar")])
    before = guarded.retrieve_graph("tea", viewer=LOW)
    plain = guarded.repository.retrieve("tea", viewer=LOW)
    guarded.add([hidden("tea"), hidden("tea tea tea"), hidden("milk")])
    after = guarded.retrieve_graph("tea", viewer=LOW)
    again = guarded.repository.retrieve("tea", viewer=LOW)
    assert [(one.id, one.score) for one in after.items] == [
        (one.id, one.score) for one in before.items
    ]
    assert [(one.id, one.score) for one in again.items] == [
        (one.id, one.score) for one in plain.items
    ]
    assert again.candidates_seen == plain.candidates_seen


class CountingStore(MemoryStore):
    """Counts what is read of it."""

    reads = 0

    def get(self, cid: Cid) -> bytes:
        self.reads += 1
        return super().get(cid)


NAMED: dict[str, Callable[[Any, NodeId], Any]] = {
    "node": lambda at, id_: at.node(id_),
    "node, tombstoned too": lambda at, id_: at.node(id_, include_tombstoned=True),
    "edges_of": lambda at, id_: at.edges_of(id_),
    "content": lambda at, id_: at.content(id_),
    "document": lambda at, id_: at.document(id_),
    "paths": lambda at, id_: at.paths(id_, ["to"]),
    "vector": lambda at, id_: at.vector(id_, "m"),
    "tombstone": lambda at, id_: at.tombstone(id_),
    "locate": lambda at, id_: at.locate(id_),
}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("is_forgotten", [False, True])
def test_tr6_what_is_hidden_is_as_what_is_missing(name: str, is_forgotten: bool):
    from ibidem.repo.bootstrap import bootstrapped

    clock = ticking()
    store = bootstrapped(CountingStore(), None, "", clock)
    repo = Repository(Core(store, None, clock))
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
        secret = tx.add_node("Doc", summary="hidden", props={"level": 4})
        tx.set_vector(secret, model="m", vector=[1.0, 2.0])
        tx.add_edge(secret, "to", tx.add_node("Doc", summary="seen"))
    if is_forgotten:
        with repo.transaction() as tx:
            tx.tombstone(secret, reason="why")
    at = repo.at(viewer=LOW)
    missing = NodeId(b"\x07" * 16)
    outcomes = []
    for id_ in (missing, secret, missing):
        reads = store.reads
        try:
            told = NAMED[name](at, id_)
        except (NotFoundError, InvalidInputError) as error:
            told = (type(error), error.kind, str(error).replace(str(id_), "ID"), error.hint)
        outcomes.append((told, store.reads - reads))
    assert outcomes[1] == outcomes[2]


def test_tr6_a_hidden_edge_is_as_a_missing_one(guarded: GraphMemory):
    one, other = guarded.add([record(text="seen"), hidden()], relations=[(0, "to", 1)])
    repo = guarded.repository
    (edge,) = repo.at(viewer=ALL).edges()
    at = repo.at(viewer=LOW)
    assert list(at.edges()) == at.edges_of(one) == []
    messages = []
    for id_ in (edge.id, EdgeId(b"\x07" * 16)):
        with pytest.raises(NotFoundError) as missing:
            at.edge(id_)
        messages.append(str(missing.value).replace(str(id_), "ID"))
    assert messages[0] == messages[1]
    assert isinstance(edge, Edge)
    assert other == edge.dst


def test_tr7_the_name_of_what_is_hidden_is_no_name(guarded: GraphMemory):
    entity = record("Entity", "Zanzibar", payload={"canonical_name": "Zanzibar"}, level=4)
    guarded.add([entity, record(text="tea and milk")], relations=[(1, "subject_entity", 0)])

    def answers(name: str) -> list[bytes]:
        graph = guarded.retrieve_graph(f"{name} tea", viewer=LOW)
        plain = guarded.repository.retrieve(f"{name} tea", viewer=LOW)
        return [
            replace(graph, query=replace(graph.query, text=None)).to_bytes(),
            replace(plain, query=replace(plain.query, text=None)).to_bytes(),
        ]

    assert answers("Zanzibar") == answers("Xanziber")


def test_tr8_a_stub_says_type_and_level_and_nothing_else(guarded: GraphMemory):
    secret = record(
        "Semantic",
        "canary-text",
        level=2,
        tags=["canary-tag"],
        payload={"subject": "canary-payload"},
        provenance=[{"kind": "event", "ref": "canary-ref"}],
    )
    near, far = guarded.add(
        [record(text="tea"), secret], relations=[(0, "canary-relation", 1), (1, "back", 0)]
    )
    answer = guarded.retrieve_graph("tea", viewer=STUBS)
    assert [
        (one.near, one.outgoing, one.ntype, one.level, one.count) for one in answer.graph.withheld
    ] == [(near, False, "Semantic", 2, 1), (near, True, "Semantic", 2, 1)]
    block = answer.to_bytes()
    cid = guarded.repository.at(viewer=ALL).node(far).cid
    assert b"canary" not in block
    assert far.raw not in block
    assert cid.raw not in block
    assert cid.raw[-32:] not in block


def test_a_policy_that_denies_stubs_has_none_for_whoever_asks(guarded: GraphMemory):
    guarded.add([record(text="tea"), hidden("milk", level=2)], relations=[(0, "to", 1)])
    before = guarded.retrieve_graph("tea", viewer=STUBS)
    assert len(before.graph.withheld) == 1
    with guarded.repository.transaction() as tx:
        tx.set_trust_policy(TrustPolicy(stubs="deny"))
    after = guarded.retrieve_graph("tea", viewer=STUBS)
    assert after.graph.withheld == ()
    assert [one.id for one in after] == [one.id for one in before]
    assert "stubs" not in TrustPolicy().form()  # what was there before has its bytes
    assert TrustPolicy.from_form(TrustPolicy(stubs="deny").form()).stubs == "deny"
    with pytest.raises(CorruptError, match=r"config\.trust"):
        TrustPolicy.from_form({**TrustPolicy().form(), "stubs": "allow"})
    with pytest.raises(InvalidInputError, match=r"trust\.stubs: got"):
        TrustPolicy(stubs="perhaps")


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [("deny", "allow", "deny"), ("allow", "deny", "deny"), ("allow", "allow", "allow")],
)
def test_a_merge_of_policies_hides_more(ours: str, theirs: str, merged: str):
    forms = [TrustPolicy(stubs=one, default_level=n).form() for n, one in ((0, ours), (2, theirs))]
    assert TrustPolicy.from_form(merge_policy(None, *forms)).stubs == merged


def test_tr8_two_levels_up_or_another_scope_is_not_even_a_stub(guarded: GraphMemory):
    guarded.add(
        [record(text="tea"), hidden("milk", level=3), hidden("sugar", level=2, scope="b")],
        relations=[(0, "to", 1), (0, "to", 2)],
    )
    assert guarded.retrieve_graph("tea", viewer=STUBS).graph.withheld == ()


def test_tr9_the_walk_does_not_pass_through_what_is_hidden(guarded: GraphMemory):
    guarded.add(
        [record(text="tea"), hidden("milk", level=2), record(text="behind")],
        relations=[(0, "to", 1), (1, "to", 2)],
    )
    for viewer in (LOW, STUBS):
        answer = guarded.retrieve_graph("tea", viewer=viewer, hops=5)
        assert [one.node.summary for one in answer.items] == ["tea"]
        assert answer.graph.edges == ()
    everything = guarded.retrieve_graph("tea", viewer=ALL, hops=5)
    assert len(everything.items) == 3


def test_tr10_nothing_is_said_of_what_is_withheld_unless_it_is_asked_for(guarded: GraphMemory):
    guarded.add([record(text="tea"), hidden("milk", level=2)], relations=[(0, "to", 1)])
    assert guarded.retrieve_graph("tea", viewer=LOW).graph.withheld == ()
    assert len(guarded.retrieve_graph("tea", viewer=STUBS).graph.withheld) == 1
    assert LOW.reveal == "none"


def document(repo: Repository, levels: list[int]) -> tuple[NodeId, list[NodeId]]:
    """Writes a document of one section with a passage of each level; returns both."""
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
        parts = [
            tx.add_node(
                "Passage",
                summary=f"passage {n} word",
                props={"level": level},
                id=NodeId(bytes([n + 1]) * 16),
            )
            for n, level in enumerate(levels)
        ]
        sizes = [len(f"passage {n} word") for n in range(len(levels))]
        section = tx.add_node(
            "Section",
            summary="Heading",
            props={"level": 0},
            children=[Child(one, "\n", size, 0) for one, size in zip(parts, sizes, strict=True)],
        )
        whole = tx.add_node(
            "Document",
            summary="Title",
            props={"level": 0},
            children=[Child(section, "", sum(sizes) + len(sizes), len(sizes))],
        )
    return whole, parts


def test_tr11_an_export_has_no_block_of_what_is_hidden(repo: Repository, tmp_path: Path):
    whole, parts = document(repo, [0, 4, 0])
    with repo.transaction() as tx:
        secret = tx.add_node("Doc", summary="canary", props={"level": 4})
        tx.add_edge(whole, "canary-relation", secret)
        tx.set_vector(secret, model="m", vector=[1.0, 2.0])
    with repo.transaction() as tx:
        tx.tombstone(secret, reason="canary-reason")
    path = tmp_path / "part.car"
    repo.sync.export_part(path, viewer=LOW)
    data = path.read_bytes()
    assert b"passage 0 word" in data
    assert b"canary" not in data
    assert b"passage 1 word" not in data
    for id_ in (secret, parts[1]):
        assert id_.raw not in data
    with ibidem.init("memory:", clock=ticking()) as other:
        other.sync.load(path)
        assert other.at(viewer=ALL).count() == repo.at(viewer=LOW).count()
        with pytest.raises(InvalidInputError):
            other.retrieve("word")


def test_tr12_a_pack_skips_what_is_hidden_and_tells_neither_id_nor_length(repo: Repository):
    whole, parts = document(repo, [0, 4, 0, 0])
    at = repo.at(viewer=LOW)
    assert at.document(whole) == "\npassage 0 word\npassage 2 word\npassage 3 word"
    place = at.locate(parts[2])
    assert place is not None
    assert place.byte_start == len("\npassage 0 word\n")
    section = at.node(whole).children[0]
    assert section.size_bytes == len(at.document(whole))
    assert section.size_lines == 3
    answer = at.packs("2")
    (pack,) = answer.packs
    assert parts[1].raw not in answer.to_bytes()
    assert "passage 1" not in pack.text
    assert "passage 0" in pack.text
    owner = repo.at(viewer=ALL).packs("2").packs[0]
    assert "passage 1" in owner.text
