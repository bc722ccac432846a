"""GR1 to GR8: graph retrieval; SE1 to SE3: the selector; receipts of both."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pyroaring import BitMap

import ibidem
from ibidem.memory.graph import GraphMemory, RecordType
from ibidem.objects.errors import CorruptError, InvalidInputError, ReplayError
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.records.entity import entity_boosts
from ibidem.retrieve.records.record import LAYERS, Record
from ibidem.retrieve.records.selector import Candidate, score, select

from .conftest import DAY, EPOCH, HOUR, record, seen_from, ticking


def texts(answer: Any) -> list[str]:
    return [one.node.summary for one in answer.items]


def micro(value: float) -> int:
    return round(value * 1e6)


def star(memory: GraphMemory, leaves: int) -> list[NodeId]:
    records = [record(text="the hub of it all"), *(record(text=f"leaf {n}") for n in range(leaves))]
    return memory.add(records, relations=[(0, "has", n) for n in range(1, leaves + 1)])


def test_gr1_nodes_and_edges_are_limited_and_what_is_left_out_is_counted(memory: GraphMemory):
    star(memory, 200)
    answer = memory.retrieve_graph("hub")
    assert len(answer.items) == 25
    assert len(answer.graph.edges) == 24
    assert answer.dropped_counts["limit"] == 176
    assert answer.graph.edges_skipped == 0
    fewer = memory.retrieve_graph("hub", edge_limit=5)
    assert len(fewer.graph.edges) == 5
    assert fewer.graph.edges_skipped == 19
    assert texts(fewer) == texts(answer)
    wide = memory.retrieve_graph("hub", limit=300)
    assert len(wide.items) == 201
    assert len(wide.graph.edges) == 100
    assert len(memory.retrieve_graph("leaf", root_limit=3, hops=0).items) == 3


def test_gr2_hops_are_steps_from_a_root(memory: GraphMemory):
    chain = [record(text=text) for text in ("alpha", "beta", "gamma", "delta")]
    memory.add(chain, relations=[(n, "next", n + 1) for n in range(3)])
    for hops in range(4):
        found = memory.retrieve_graph("alpha", hops=hops)
        assert texts(found) == ["alpha", "beta", "gamma", "delta"][: hops + 1]
        assert [one.hop for one in found.items] == list(range(hops + 1))
    assert texts(memory.retrieve_graph("delta", hops=1)) == ["delta", "gamma"]
    assert texts(memory.retrieve_graph("delta", hops=1, direction="outgoing")) == ["delta"]


@pytest.mark.parametrize("name", ["root_limit", "limit", "edge_limit", "hops"])
@pytest.mark.parametrize("value", [-1, 1.5, True, "1", 10**10])
def test_gr2_a_limit_is_a_count(memory: GraphMemory, name: str, value: object):
    star(memory, 1)
    with pytest.raises(InvalidInputError, match=f"^{name}"):
        memory.retrieve_graph("hub", **{name: value})


def test_gr3_diamonds_doubles_loops_and_circles_come_once(memory: GraphMemory):
    ids = memory.add(
        [record(text=text) for text in ("alpha", "beta", "gamma", "delta")],
        relations=[
            (0, "to", 1),
            (0, "to", 2),
            (1, "to", 3),
            (2, "to", 3),
            (3, "to", 0),
            (0, "to", 0),
        ],
    )
    with memory.repository.transaction() as tx:
        tx.add_edge(ids[0], "to", ids[1], key="again")
    answer = memory.retrieve_graph("alpha", hops=16)
    assert sorted(texts(answer)) == ["alpha", "beta", "delta", "gamma"]
    triples = [(one.src, one.etype, one.dst) for one in answer.graph.edges]
    assert len(triples) == len(set(triples)) == 6


BOOSTS = {
    **dict.fromkeys(("subject_entity", "object_entity", "fact_subject_of", "fact_object_of"), 25),
    **dict.fromkeys(("mentions_entity", "mentioned_in"), 20),
    **dict.fromkeys(("supports", "supported_by", "depends_on", "dependency_of"), 10),
    "has": 0,
}


def test_names_boost_what_they_lead_to(memory: GraphMemory):
    """[4-b]"""
    ada = record("Entity", "one", payload={"canonical_name": "Ada", "aliases": ["the countess"]})
    linked = [record(text=f"by {etype}") for etype in BOOSTS]
    mention = record(text="it says so", payload={"mentions": ["Ada"]})
    entity, *ids = memory.add(
        [ada, *linked, mention],
        relations=[
            (0, etype, place) if place % 2 else (place, etype, 0)
            for place, etype in enumerate(BOOSTS, 1)
        ],
    )

    def boosts(text: str) -> dict[NodeId, float]:
        found = memory.retrieve_graph(text, root_limit=50, limit=50, hops=0)
        lanes = {one.id: one.lanes for one in found.items}
        return {id_: one["entity"].score for id_, one in lanes.items() if "entity" in one}

    canonical, alias = boosts("ada"), boosts("the countess")
    assert (canonical.pop(entity), canonical.pop(ids[-1])) == (100, 30)
    assert canonical == {id_: 60 + value for id_, value in zip(ids, BOOSTS.values(), strict=False)}
    assert alias.pop(entity) == 75
    assert alias == {id_: 45 + value for id_, value in zip(ids, BOOSTS.values(), strict=False)}


@pytest.mark.parametrize(("count", "is_found"), [(8, True), (9, False)])
def test_a_name_has_at_most_8_terms(memory: GraphMemory, count: int, is_found: bool):
    """[4-b]"""
    name = " ".join("abcdefghij"[:count])
    memory.add([record("Entity", "one", payload={"canonical_name": name})])
    [found] = memory.retrieve_graph(f"who is {name} then").items or [None]
    assert (found is not None) is is_found


@pytest.mark.parametrize("count", [10_000, 10_001])
def test_an_entity_leads_along_10_000_edges(count: int):
    """[4-b]"""
    others = np.arange(1, count + 1, dtype=np.uint32)

    class Star:
        """Node 0 is an entity with edges to all others."""

        live = BitMap(range(count + 1))

        def label(self, name: str) -> BitMap:
            return BitMap([0])

        def equal(self, name: str, value: str) -> BitMap:
            return BitMap([0] if name == "names" else [])

        def outgoing(self, ordinal: int, *, at: int | None) -> Any:
            return SimpleNamespace(neighbours=others, etypes=["has"] * count)

        def incoming(self, ordinal: int, *, at: int | None) -> Any:
            return SimpleNamespace(neighbours=others[:0], etypes=[])

        def node_ids(self, ordinals: Any) -> Any:
            return np.repeat(ordinals.astype(">u4"), 4).view(np.uint8).reshape(-1, 16)

    found = entity_boosts(Star(), "ada", Star.live, None)  # type: ignore[arg-type]
    assert sorted(found) == list(range(10_001))


def test_each_lane_of_records_ranks_200(memory: GraphMemory):
    """[4-c]"""
    assert memory.retrieve_graph("hub").query.depth == 200


def test_a_plain_competence_has_neutral_scores(memory: GraphMemory):
    """[3-a], with the default of a confidence."""
    with memory.repository.transaction() as tx:
        id_ = tx.add_node("Competence", summary="how to tie a knot")
    found = memory.retrieve_graph("knot").graph.selection
    assert (found.selected, found.top) == ((id_,), 0.5)


def build(order: list[int]) -> GraphMemory:
    repo = ibidem.init("memory:", clock=lambda: EPOCH)
    memory = GraphMemory(repo)
    with repo.transaction(time=EPOCH) as tx:
        policy = memory.policy(tx)
        for number in order:
            one = record(text=f"fact number {number % 7}", time=EPOCH, salience=(number % 3) / 3)
            tx.add_node(
                "Semantic",
                summary=one.text,
                props=one.props(policy),
                id=NodeId(bytes([number]) * 16),
            )
        for number in order:
            other = NodeId(bytes([(number * 7) % 20]) * 16)
            tx.add_edge(NodeId(bytes([number]) * 16), "to", other)
    return memory


def test_gr4_nodes_come_by_root_hop_salience_id_whatever_the_order_of_insertion():
    order = list(range(20))
    expected = build(order).retrieve_graph("number 3", hops=2)
    for seed in range(5):
        random.Random(seed).shuffle(order)
        assert build(order).retrieve_graph("number 3", hops=2).to_bytes() == expected.to_bytes()
    keys = [(one.hop, -one.salience, one.id) for one in expected.items]
    assert all(one < other for one, other in pairwise(keys))


def test_gr5_filters_hold_at_every_hop(memory: GraphMemory):
    memory.add(
        [
            record(text="alpha"),
            record("Working", "a note on the way"),
            record(text="behind the note"),
            record(text="faint", salience=0.1),
            record(text="bright"),
        ],
        relations=[(0, "to", 1), (1, "to", 2), (0, "to", 3), (0, "to", 4)],
    )
    assert texts(memory.retrieve_graph("alpha", types=["Semantic"], hops=5)) == [
        "alpha",
        "bright",
        "faint",
    ]
    assert texts(
        memory.retrieve_graph("alpha", types=[RecordType.SEMANTIC], hops=5, min_salience=0.5)
    ) == ["alpha", "bright"]
    with pytest.raises(InvalidInputError, match=r"^types"):
        memory.retrieve_graph("alpha", types=["Nothing"])
    with pytest.raises(InvalidInputError, match=r"^types"):
        memory.retrieve_graph("alpha", types=[])


def test_gr6_what_is_superseded_stays_out_unless_it_is_asked_for(memory: GraphMemory):
    (old,) = memory.add(record(text="tea is green"))
    memory.supersede(old, record(text="tea is black", provenance=seen_from()))
    assert texts(memory.retrieve_graph("tea", hops=3)) == ["tea is black"]
    both = memory.retrieve_graph("tea", include_status=["superseded"], hops=3)
    assert sorted(texts(both)) == ["tea is black", "tea is green"]
    with pytest.raises(InvalidInputError, match=r"^include_status"):
        memory.retrieve_graph("tea", include_status=["gone"])


def entity(name: str, **payload: Any) -> Record:
    return record("Entity", name, payload={"canonical_name": name, **payload})


def test_gr7_a_named_entity_roots_what_is_said_of_it(memory: GraphMemory):
    memory.add(
        [
            entity("Ada Lovelace", aliases=["Countess of Lovelace"]),
            record(text="prefers poetical science"),
            entity("Go"),
            record(text="has channels"),
        ],
        relations=[(1, "subject_entity", 0), (3, "subject_entity", 2)],
    )
    answer = memory.retrieve_graph("what does ADA LOVELACE, prefer", hops=0)
    assert answer.status["entity"] == "ok"
    assert sorted(texts(answer)) == ["Ada Lovelace", "prefers poetical science"]
    alias = memory.retrieve_graph("who is the countess of lovelace", hops=0, types=["Semantic"])
    assert texts(alias) == ["prefers poetical science"]
    google = memory.retrieve_graph("google", hops=0)
    assert google.status["entity"] == "empty"
    assert texts(google) == []
    assert "has channels" in texts(memory.retrieve_graph("learn Go", hops=0))


def test_gr8_many_relations_are_no_better_than_one(memory: GraphMemory):
    repo = memory.repository
    hub, one, ada = memory.add([record(text="hub"), record(text="one"), entity("Ada")])
    with repo.transaction() as tx:
        for number in range(100):
            tx.add_edge(hub, "subject_entity", ada, key=number)
        tx.add_edge(one, "subject_entity", ada)
    answer = memory.retrieve_graph("Ada", hops=0)
    from ibidem.retrieve.records.entity import entity_boosts

    snapshot = repo.at().snapshot()
    boosts = entity_boosts(snapshot, "Ada", snapshot.live, None)
    assert boosts[snapshot.ordinal(hub)] == boosts[snapshot.ordinal(one)] == 85
    assert {node.id for node in answer.items} == {hub, one, ada}


def test_se1_scores_are_those_of_the_formula():
    now = EPOCH
    good = Candidate(NodeId(b"a" * 16), 0.95, 90, 10, now - HOUR)
    fair = Candidate(NodeId(b"b" * 16), 0.70, 50, 50, now - 15 * DAY)
    assert micro(score(good, now)) == 949_679
    assert micro(score(fair, now)) == 635_702
    chosen = select([fair, good], now)
    assert chosen.selected == (good.id, fair.id)
    assert micro(chosen.gap) == 330_614
    assert micro(score(Candidate(NodeId(b"c" * 16), 0.5), now)) == 500_000
    assert micro(score(Candidate(NodeId(b"c" * 16), 1.0, 1, 0, now + DAY), now)) == 1_000_000


def test_se2_a_competence_that_has_nothing_to_do_with_it_is_not_promoted(memory: GraphMemory):
    memory.add(
        [
            record("Competence", "debug network retries", confidence=0.95),
            record(text="the cat sleeps on the sofa"),
        ]
    )
    answer = memory.retrieve_graph("where does the cat sleep")
    assert texts(answer) == ["the cat sleeps on the sofa"]
    assert answer.graph.selection.selected == ()


def test_se3_what_is_missing_is_told_apart_from_two_that_are_good(memory: GraphMemory):
    assert select([], EPOCH).needs_more
    twins = [Candidate(NodeId(bytes([n]) * 16), 0.95, 90, 10, EPOCH) for n in (1, 2)]
    both = select(twins, EPOCH)
    assert both.gap == 0.0
    assert both.top > 0.9
    assert not both.needs_more
    assert select(twins, EPOCH, gap_min=0.1).needs_more
    memory.add([record("Competence", "debug retries", confidence=0.9)])
    found = memory.retrieve_graph("debug", top_min=0.99)
    assert found.graph.selection.needs_more
    assert not memory.retrieve_graph("debug", top_min=0.1).graph.selection.needs_more


def test_outcomes_and_reinforcements_count_for_the_selector(memory: GraphMemory):
    (one,) = memory.add([record("Competence", "debug retries", confidence=0.5)])
    before = memory.retrieve_graph("debug").graph.selection.scores[one]
    memory.notes.outcome(one, True)
    memory.notes.reinforce(one)
    after = memory.retrieve_graph("debug").graph.selection.scores[one]
    assert before == 0.5
    assert after > before


def test_shares_of_a_root_add_up_to_its_score(memory: GraphMemory):
    memory.add([entity("Ada"), record(text="Ada likes tea"), record("Competence", "pour tea")])
    for node in memory.retrieve_graph("does Ada like tea", hops=0).items:
        total = 0.0
        for lane in node.lanes.values():
            total += lane.contribution
        assert node.score == total


def test_a_question_without_text_gives_records_by_salience(memory: GraphMemory):
    memory.add([record(text="b", salience=0.5), record(text="a", salience=0.9)])
    assert texts(memory.retrieve_graph(hops=0)) == ["a", "b"]
    assert texts(memory.retrieve_graph("  ", hops=0)) == ["a", "b"]


def test_a_budget_holds_the_best_records_and_more_never_fewer(memory: GraphMemory):
    star(memory, 12)
    whole = memory.retrieve_graph("hub")
    before: set[NodeId] = set()
    for budget in range(0, whole.tokens_used + 20, 10):
        answer = memory.retrieve_graph("hub", token_budget=budget)
        ids = {one.id for one in answer.items}
        assert answer.tokens_used <= budget
        assert before <= ids
        assert answer.dropped_counts["budget"] == len(whole.items) - len(ids)
        assert all({edge.src, edge.dst} <= ids for edge in answer.graph.edges)
        assert set(answer.graph.root_ids) <= ids
        assert memory.repository.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()
        before = ids
    assert before == {one.id for one in whole.items}
    assert max(whole.items, key=lambda one: one.score).id == whole.graph.root_ids[0]
    best = memory.retrieve_graph("hub", token_budget=whole.items[0].tokens)
    assert texts(best) == ["the hub of it all"]


def test_records_come_by_layers_where_asked(memory: GraphMemory):
    for type_ in reversed(LAYERS):
        memory.add(
            [Record(type_, f"mill {type_} {n}", "", payload=named(type_, n)) for n in (1, 2)]
        )
    plain = memory.retrieve_graph("mill", root_limit=4)
    answer = memory.retrieve_graph("mill", layered=True)
    layers = [LAYERS.index(RecordType(one.node.ntype)) for one in answer.items]
    assert layers == sorted(layers)
    assert {*layers} == {*range(6)}
    scores = [one.score for one in answer.items]
    pairs = list(zip(layers, scores, strict=True))
    assert pairs == sorted(pairs, key=lambda one: (one[0], -one[1]))
    assert "layered" in answer.query.form()["records"]
    assert "layered" not in plain.query.form()["records"]  # what was asked before has its bytes
    assert memory.repository.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()
    before: list[NodeId] = []
    for budget in range(0, answer.tokens_used + 10, 10):
        ids = [one.id for one in memory.retrieve_graph("mill", layered=True, token_budget=budget)]
        assert ids[: len(before)] == before
        before = ids
    assert before == [one.id for one in answer.items]
    roots = memory.retrieve_graph("mill", layered=True, root_limit=4).graph
    assert roots is not None
    assert plain.graph is not None
    assert roots.root_ids == plain.graph.root_ids  # the roots are the same


def named(type_: RecordType, number: int) -> dict[str, object]:
    return {"canonical_name": f"wheel {number}"} if type_ is RecordType.ENTITY else {}


@pytest.mark.parametrize("value", [1, "yes"])
def test_layered_is_true_or_false(memory: GraphMemory, value: object):
    with pytest.raises(InvalidInputError, match="layered: got"):
        memory.retrieve_graph("mill", layered=value)  # type: ignore[arg-type]


def test_an_answer_is_repeated_from_its_receipt_after_commits_and_notes(memory: GraphMemory):
    ids = star(memory, 30)
    answer = memory.retrieve_graph("hub")
    block = answer.receipt.encode()
    for number in range(5):
        memory.notes.penalize(ids[number], 0.5)
        memory.add(record(text=f"the hub again {number}"))
    assert memory.retrieve_graph("hub").cid != answer.cid
    assert memory.repository.receipts.replay(Receipt.decode(block)).to_bytes() == answer.to_bytes()
    assert Receipt.decode(block).encode() == block
    assert memory.retrieve_graph(
        "hub", at=answer.receipt.commit, notes=None, as_of=answer.query.records.as_of
    ).items


def test_a_receipt_that_was_tampered_with_is_told(memory: GraphMemory):
    star(memory, 3)
    receipt = memory.retrieve_graph("hub").receipt
    with pytest.raises(CorruptError):
        Receipt.decode(receipt.encode()[:-1])
    other = memory.retrieve_graph("leaf").receipt
    forged = replace(receipt, result=other.result)
    with pytest.raises(ReplayError):
        memory.repository.receipts.replay(forged)


def test_the_clock_is_no_input(memory: GraphMemory, repo: Repository):
    star(memory, 3)
    answer = memory.retrieve_graph("hub")
    for _ in range(3):
        repo.now()
    assert memory.retrieve_graph("hub").to_bytes() == answer.to_bytes()
    assert answer.query.records.as_of == repo.commit_at().time


def test_ticking_is_a_clock():
    clock = ticking()
    assert clock() < clock()


def test_records_are_listed_by_who_added_them_and_for_what() -> None:
    with ibidem.init("memory:") as repo:
        memory = ibidem.GraphMemory(repo)
        for agent, task, text in (
            (None, None, "by nobody"),
            ("planner", "rome", "the train leaves"),
            ("planner", "oslo", "the boat leaves"),
            ("critic", "rome", "too early"),
        ):
            repo.act_as(agent, task)
            memory.add(ibidem.Record("Semantic", text, scope="", agent="reader"))

        def texts(**options: str) -> set[str]:
            return {one.text for one in memory.list(**options)}  # type: ignore[arg-type]

        assert texts(added_by="planner") == {"the train leaves", "the boat leaves"}
        assert texts(task="rome") == {"the train leaves", "too early"}
        assert texts(added_by="planner", task="rome") == {"the train leaves"}
        assert texts(added_by="reader") == set()
        assert len(texts(agent="reader")) == 4
        added = memory.commits()
        assert [added[one.id].agent for one in memory.list(task="oslo")] == ["planner"]
        repo.act_as("critic", "rome")
        (train,) = memory.list(added_by="planner", task="rome")
        memory.update(train.id, text="the train leaves at nine")
        assert texts(added_by="planner", task="rome") == {"the train leaves at nine"}
