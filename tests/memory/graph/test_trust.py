"""TR1 to TR12: what a caller may see, and that nothing else can be told from what it gets.

TR4 in full is `tests/oracle/test_trust_view.py`; here it is for graphs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.memory.graph import GraphMemory, Record
from ibidem.memory.graph.answer import GraphAnswer
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Child
from ibidem.repo.notes import Event
from ibidem.repo.repository import Repository
from ibidem.repo.seen import SeenRevision
from ibidem.retrieve.trust.policy import (
    ALL,
    ALL_SCOPES,
    Decision,
    Level,
    TrustContext,
    TrustPolicy,
    decide,
)
from ibidem.store.memory import MemoryStore

from .conftest import EPOCH, SECOND, record, ticking

POLICY = TrustPolicy()
LOW = TrustContext(level=1, scopes=())
STUBS = TrustContext(level=1, scopes=(), reveal="stub")


def hidden(text: str = "hidden", **fields: Any) -> Record:
    return record(text=text, **{"level": 3, **fields})


def test_tr1_levels_and_scopes_decide():
    for level, highest in product(Level, Level):
        for scope, scopes, is_in in (
            ("a", ("a", "b"), True),
            ("a", ("b",), False),
            ("a", (), False),
            ("", (), True),
            ("a", ALL_SCOPES, True),
        ):
            decision = decide(
                POLICY,
                TrustContext(level=highest, scopes=scopes),
                {"level": int(level), "scope": scope},
            )
            expected = Decision.DENIED
            if is_in and level <= highest:
                expected = Decision.FULL
            elif is_in and level == highest + 1:
                expected = Decision.REDACTED
            assert decision == expected


def test_tr1_a_caller_who_is_not_authenticated_is_capped():
    nobody = TrustContext(level=4, scopes=ALL_SCOPES, authenticated=False)
    assert decide(POLICY, nobody, {"level": 0}) == Decision.FULL
    assert decide(POLICY, nobody, {"level": 2}) == Decision.DENIED
    wide = TrustPolicy(anonymous_level=2)
    assert decide(wide, nobody, {"level": 2}) == Decision.FULL


def test_tr1_what_has_no_scope_is_for_all_or_for_none():
    closed = TrustPolicy(unscoped="deny")
    assert decide(POLICY, LOW, {}) == Decision.FULL
    assert decide(closed, LOW, {}) == decide(closed, LOW, {"scope": ""}) == Decision.DENIED


@pytest.mark.parametrize("value", [9, -1, "odd", True, 1.0, None, [0], {}])
def test_tr2_an_unknown_level_is_refused_where_it_is_written(repo: Repository, value: object):
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
        node = tx.add_node("Doc", props={"level": 1})
    with pytest.raises(InvalidInputError, match=r"^props.level"), repo.transaction() as tx:
        tx.add_node("Doc", summary="x", props={"level": value})
    with pytest.raises(InvalidInputError, match=r"^props.level"), repo.transaction() as tx:
        tx.update_node(node, set_props={"level": value})
    with pytest.raises(InvalidInputError, match=r"^props.scope"), repo.transaction() as tx:
        tx.add_node("Doc", summary="x", props={"scope": 7})


@pytest.mark.parametrize("value", [9, -1, "odd", True, 1.0, None, [0, 9], {}, []])
def test_tr2_an_unknown_level_that_is_there_already_shows_to_nobody(
    repo: Repository, value: object
):
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="forged words", props={"level": value})
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
    everyone = TrustContext(level=4, scopes=ALL_SCOPES)
    assert repo.retrieve("forged", trust=everyone).items == ()
    assert repo.at(trust=everyone).count() == 0
    assert len(repo.retrieve("forged", trust=ALL).items) == 1
    assert decide(POLICY, everyone, {"level": value}) == Decision.DENIED


ASKING: dict[str, Callable[[Any, NodeId, EdgeId], Any]] = {
    "retrieve": lambda at, node, edge: at.retrieve("words"),
    "retrieve_many": lambda at, node, edge: at.retrieve_many([{"text": "words"}]),
    "query": lambda at, node, edge: at.query(label="Doc"),
    "page": lambda at, node, edge: at.page(),
    "count": lambda at, node, edge: at.count(),
    "paths": lambda at, node, edge: at.paths(node, ["to"]),
    "node": lambda at, node, edge: at.node(node),
    "nodes": lambda at, node, edge: list(at.nodes()),
    "edge": lambda at, node, edge: at.edge(edge),
    "edges": lambda at, node, edge: list(at.edges()),
    "edges_of": lambda at, node, edge: at.edges_of(node),
    "vector": lambda at, node, edge: at.vector(node, "m"),
    "sparse": lambda at, node, edge: at.sparse(node, "m"),
    "tombstone": lambda at, node, edge: at.tombstone(node),
    "content": lambda at, node, edge: at.content(node),
    "document": lambda at, node, edge: at.document(node),
}


@pytest.mark.parametrize("name", ASKING)
def test_tr3_without_a_context_nothing_is_told(repo: Repository, name: str):
    with repo.transaction() as tx:
        one, other = tx.add_node("Doc", summary="words"), tx.add_node("Doc", summary="more words")
        edge = tx.add_edge(one, "to", other)
    open_answer = ASKING[name](repo.at(), one, edge)
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
    with pytest.raises(InvalidInputError) as refused:
        ASKING[name](repo.at(), one, edge)
    assert refused.value.kind is ErrorKind.TRUST_REQUIRED
    told = ASKING[name](repo.at(trust=ALL), one, edge)
    if name not in ("retrieve", "retrieve_many"):
        assert told == open_answer


def test_tr3_a_context_says_level_and_scopes():
    for fields in ({"level": 1}, {"scopes": ()}, {}):
        with pytest.raises(InvalidInputError, match=r"^trust\."):
            TrustContext(**fields)
    for fields in (
        {"level": 9},
        {"level": "odd"},
        {"level": True},
        {"level": None},
        {"scopes": "a"},
        {"scopes": [""]},
        {"scopes": [1]},
        {"scopes": None},
        {"authenticated": 1},
        {"reveal": "all"},
    ):
        with pytest.raises(InvalidInputError, match=r"^trust\."):
            TrustContext(**{"level": 1, "scopes": (), **fields})
    assert TrustContext(level="medium", scopes=["b", "a", "a"]) == TrustContext(
        level=2, scopes=("a", "b")
    )


def test_tr3_a_context_where_there_is_no_policy_would_protect_nothing(repo: Repository):
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="words")
    with pytest.raises(InvalidInputError, match="no trust policy"):
        repo.retrieve("words", trust=LOW)
    assert len(repo.retrieve("words", trust=ALL).items) == 1
    with pytest.raises(InvalidInputError, match=r"^trust"):
        repo.retrieve("words", trust="everything")


def test_tr3_a_revision_opened_for_one_caller_answers_no_other(guarded: GraphMemory):
    guarded.add([record(text="words"), hidden("more words")])
    at = guarded.repository.at(trust=LOW)
    assert len(at.retrieve("words").items) == 1
    with pytest.raises(InvalidInputError, match="another caller"):
        at.retrieve("words", trust=ALL)
    with pytest.raises(InvalidInputError, match="history"):
        at.log()
    assert len(list(guarded.repository.at(trust=ALL).log())) == 2


def test_tr3_a_policy_is_taken_away_by_a_commit_and_older_roots_keep_it(guarded: GraphMemory):
    repo = guarded.repository
    guarded.add(hidden("words"))
    before = repo.head
    with repo.transaction() as tx:
        tx.set_trust_policy(None)
    assert len(repo.retrieve("words").items) == 1
    assert repo.at().root.requires == ()
    with pytest.raises(InvalidInputError):
        repo.at(before).retrieve("words")
    assert repo.at(before).root.requires == ("trust",)


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


def without(memory: GraphMemory, trust: TrustContext, events: list[Event]) -> GraphMemory:
    """Returns the memory written again without what a caller may not see."""
    whole = memory.repository.at(trust=ALL)
    nodes = [one for one in whole.nodes() if decide(POLICY, trust, one.props) == Decision.FULL]
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


def said(answer: GraphAnswer) -> bytes:
    """Returns all that an answer says, but its root, its notes head and the context."""
    request = answer.request
    plain = replace(request, query=replace(request.query, trust=None), notes_head=None)
    return replace(answer, root=RootCid.of(b""), request=plain).to_bytes()


def check_graph(seed: int) -> None:
    rng = random.Random(seed)
    memory, _, events = random_memory(rng)
    trust = TrustContext(
        level=rng.choice((0, 1, 2)), scopes=rng.choice(((), ("a",), ("a", "b"), ALL_SCOPES))
    )
    other = without(memory, trust, events)
    for text in ("tea", "milk and sugar", None, "what of Lemon"):
        options: dict[str, Any] = {
            "hops": rng.choice((0, 1, 3)),
            "root_limit": rng.choice((1, 3, 10)),
            "node_limit": rng.choice((2, 5, 25)),
            "edge_limit": rng.choice((1, 5, 100)),
            "min_salience": rng.choice((0.0, 0.0, 0.3)),
            "direction": rng.choice(("both", "outgoing", "incoming")),
            "include_status": rng.choice(((), ("retracted",))),
            "as_of": EPOCH + rng.choice((50, 103, 200)),
        }
        seen = memory.retrieve_graph(text, trust=trust, **options)
        assert said(seen) == said(other.retrieve_graph(text, **options))
        assert memory.replay(seen.receipt.encode()).to_bytes() == seen.to_bytes()


def test_tr4_a_graph_is_that_of_a_memory_without_the_rest():
    for seed in range(40):
        check_graph(seed)


@pytest.mark.slow
def test_tr4_a_graph_is_that_of_a_memory_without_the_rest_in_five_hundred_cases():
    for seed in range(1000, 1500):
        check_graph(seed)


def test_tr5_what_is_hidden_moves_no_rank(guarded: GraphMemory):
    guarded.add([record(text="tea and milk"), record(text="tea with a lot of sugar")])
    before = guarded.retrieve_graph("tea", trust=LOW)
    plain = guarded.repository.retrieve("tea", trust=LOW)
    guarded.add([hidden("tea"), hidden("tea tea tea"), hidden("milk")])
    after = guarded.retrieve_graph("tea", trust=LOW)
    again = guarded.repository.retrieve("tea", trust=LOW)
    assert [(one.id, one.score) for one in after.nodes] == [
        (one.id, one.score) for one in before.nodes
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
    from ibidem.repo.founding import founded

    clock = ticking()
    store = founded(CountingStore(), None, "", clock)
    repo = Repository(store, None, clock)
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
        secret = tx.add_node("Doc", summary="hidden", props={"level": 4})
        tx.set_vector(secret, model="m", vector=[1.0, 2.0])
        tx.add_edge(secret, "to", tx.add_node("Doc", summary="seen"))
    if is_forgotten:
        with repo.transaction() as tx:
            tx.tombstone(secret, reason="why")
    at = repo.at(trust=LOW)
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
    (edge,) = repo.at(trust=ALL).edges()
    at = repo.at(trust=LOW)
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
        graph = guarded.retrieve_graph(f"{name} tea", trust=LOW)
        plain = guarded.repository.retrieve(f"{name} tea", trust=LOW)
        unnamed = replace(graph.request.query, text=None)
        request = replace(graph.request, query=unnamed)
        return [
            replace(graph, request=request).to_bytes(),
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
    answer = guarded.retrieve_graph("tea", trust=STUBS)
    assert [
        (one.near, one.outgoing, one.ntype, one.level, one.count) for one in answer.withheld
    ] == [(near, False, "Semantic", 2, 1), (near, True, "Semantic", 2, 1)]
    block = answer.to_bytes()
    cid = guarded.repository.at(trust=ALL).node(far).cid
    assert b"canary" not in block
    assert far.raw not in block
    assert cid.raw not in block
    assert cid.raw[-32:] not in block


def test_tr8_two_levels_up_or_another_scope_is_not_even_a_stub(guarded: GraphMemory):
    guarded.add(
        [record(text="tea"), hidden("milk", level=3), hidden("sugar", level=2, scope="b")],
        relations=[(0, "to", 1), (0, "to", 2)],
    )
    assert guarded.retrieve_graph("tea", trust=STUBS).withheld == ()


def test_tr9_the_walk_does_not_pass_through_what_is_hidden(guarded: GraphMemory):
    guarded.add(
        [record(text="tea"), hidden("milk", level=2), record(text="behind")],
        relations=[(0, "to", 1), (1, "to", 2)],
    )
    for trust in (LOW, STUBS):
        answer = guarded.retrieve_graph("tea", trust=trust, hops=5)
        assert [one.node.summary for one in answer.nodes] == ["tea"]
        assert answer.edges == ()
    everything = guarded.retrieve_graph("tea", trust=ALL, hops=5)
    assert len(everything.nodes) == 3


def test_tr10_nothing_is_said_of_what_is_withheld_unless_it_is_asked_for(guarded: GraphMemory):
    guarded.add([record(text="tea"), hidden("milk", level=2)], relations=[(0, "to", 1)])
    assert guarded.retrieve_graph("tea", trust=LOW).withheld == ()
    assert len(guarded.retrieve_graph("tea", trust=STUBS).withheld) == 1
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
    repo.export_part(path, trust=LOW)
    data = path.read_bytes()
    assert b"passage 0 word" in data
    assert b"canary" not in data
    assert b"passage 1 word" not in data
    for id_ in (secret, parts[1]):
        assert id_.raw not in data
    with ibidem.init("memory:", clock=ticking()) as other:
        other.import_(path)
        assert other.at(trust=ALL).count() == repo.at(trust=LOW).count()
        with pytest.raises(InvalidInputError):
            other.retrieve("word")


def test_tr12_a_pack_skips_what_is_hidden_and_tells_neither_id_nor_length(repo: Repository):
    whole, parts = document(repo, [0, 4, 0, 0])
    at = repo.at(trust=LOW)
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
    owner = repo.at(trust=ALL).packs("2").packs[0]
    assert "passage 1" in owner.text


def test_a_receipt_says_who_asked_and_is_replayed_for_them(guarded: GraphMemory):
    guarded.add([record(text="tea"), hidden("tea")])
    repo = guarded.repository
    result = repo.retrieve("tea", trust=LOW)
    assert result.receipt is not None
    assert result.receipt.query.trust == LOW
    guarded.add(record(text="tea again"))
    assert repo.replay(result.receipt).to_bytes() == result.to_bytes()
    assert isinstance(repo.at(trust=LOW), SeenRevision)


def test_other_callers_do_not_share_a_view(guarded: GraphMemory):
    guarded.add([record(text="tea", scope=scope) for scope in ("a", "b")])
    for scopes, count in ((("a",), 1), (("b",), 1), (("a", "b"), 2), ((), 0), (("a",), 1)):
        found = guarded.repository.retrieve("tea", trust=TrustContext(level=1, scopes=scopes))
        assert len(found.items) == count


def test_events_are_no_part_of_what_trust_hides(guarded: GraphMemory):
    (one,) = guarded.add(hidden())
    guarded.notes.reinforce(one)
    with pytest.raises(NotFoundError):
        guarded.salience(one, trust=LOW)
    with pytest.raises(InvalidInputError):
        guarded.salience(one)
    assert guarded.salience(one, trust=ALL, as_of=EPOCH + 100 * SECOND) > 0.9
