"""Nodes that have the type of a record and were written by something else than a graph memory."""

from __future__ import annotations

import pytest

import ibidem
from ibidem.memory.graph import GraphMemory, RecordType
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId

from .conftest import DAY, EPOCH, record


def plain(memory: GraphMemory, ntype: str, *, time: int = EPOCH, **fields: object) -> NodeId:
    with memory.repository.transaction(time=time) as tx:
        return tx.add_node(ntype, **fields)  # type: ignore[arg-type]


def episode(number: int) -> object:
    payload = {"event": "build", "outcome": "success", "tools": ["ruff", "mypy"]}
    return record("Episodic", f"it was green, {number}", payload=payload)


def test_a_plain_entity_is_a_record_whose_name_is_its_text(memory: GraphMemory):
    entity = plain(memory, "Entity", summary="Ada Lovelace")
    [found] = memory.list()
    assert (found.id, found.type, found.text) == (entity, RecordType.ENTITY, "Ada Lovelace")
    assert found.payload["canonical_name"] == "Ada Lovelace"
    assert memory.metrics().by_type == {"Entity": 1}
    assert memory.metrics().unreadable == {}
    assert memory.prune(dry_run=True, as_of=EPOCH + DAY) == []


def test_a_node_that_is_no_record_is_left_out_and_named(memory: GraphMemory):
    kept = memory.add([episode(1), episode(2)], time=EPOCH)  # type: ignore[list-item]
    broken = [
        plain(memory, "Semantic", key="no text"),
        plain(memory, "Entity", summary="Bo", props={"payload": 3}),
        plain(memory, "Working", summary="w", props={"salience": "high"}),
        plain(memory, "Episodic", summary="e", props={"provenance": 7}),
        plain(memory, "Semantic", summary="s", props={"level": "top"}),
    ]
    assert [one.id for one in memory.list()] == sorted(kept)
    metrics = memory.metrics()
    assert metrics.record_count == 2
    assert sorted(metrics.unreadable) == sorted(broken)
    for node, reason in metrics.unreadable.items():
        assert reason.startswith(f"node {node} is no record: ")
    done = memory.consolidate(time=EPOCH)
    assert done.commit is not None
    assert sorted(done.unreadable) == sorted(broken)
    assert set(memory.prune(as_of=EPOCH + 30 * DAY)) >= set(kept)
    with pytest.raises(InvalidInputError, match=f"^node {broken[2]} is no record: salience"):
        memory.get(broken[2])


def test_a_record_without_a_time_has_that_of_the_commit(memory: GraphMemory):
    active = {"status": "active"}
    fact = plain(memory, "Semantic", summary="the gate is green", props=active, time=EPOCH)
    assert memory.salience(fact) == 1.0
    assert memory.salience(fact, as_of=EPOCH + 30 * DAY) == 0.5
    [found] = memory.retrieve_graph("gate", as_of=EPOCH + 30 * DAY).items
    assert found.salience == 0.5
    assert memory.metrics().salience_counts == (0, 0, 0, 0, 1)
    assert memory.metrics(as_of=EPOCH + DAY - 1).grown_day == 1
    assert memory.metrics(as_of=EPOCH + DAY).grown_day == 0
    assert memory.prune(as_of=EPOCH + 30 * DAY) == []

    # The commit that is asked counts, whatever brought the record.
    plain(memory, "Doc", key="something else", time=EPOCH + 30 * DAY)
    assert memory.salience(fact, as_of=EPOCH + 30 * DAY) == 1.0
    assert memory.salience(fact, at="HEAD~1", as_of=EPOCH + 30 * DAY) == 0.5
    assert memory.prune(as_of=EPOCH + 400 * DAY, dry_run=True) == [fact]


def test_a_question_over_records_without_a_time_is_repeated(memory: GraphMemory):
    active = {"status": "active"}
    plain(memory, "Semantic", summary="the gate is green", props=active, time=EPOCH)
    answer = memory.retrieve_graph("gate", as_of=EPOCH + 30 * DAY)
    plain(memory, "Semantic", summary="the gate is blue", time=EPOCH + 60 * DAY)
    assert answer.query.records.undated == EPOCH
    assert [one.salience for one in answer.items] == [0.5]
    again = memory.repository.receipts.replay(answer.receipt)
    assert again.to_bytes() == answer.to_bytes()


def test_a_question_over_dated_records_does_not_say_when_the_commit_was(memory: GraphMemory):
    memory.add(record(), time=EPOCH)
    assert memory.retrieve_graph("fact").query.records.undated is None


def test_without_a_commit_a_record_without_a_time_is_as_new_as_the_question(memory: GraphMemory):
    fact = plain(memory, "Semantic", summary="the gate is green", time=EPOCH)
    root = memory.repository.at().root_cid
    assert memory.salience(fact, at=root, as_of=EPOCH + 30 * DAY) == 1.0


def test_a_fact_that_was_added_in_one_line_is_found_as_a_record():
    with ibidem.init("memory:") as repo:
        made = repo.add("likes tea")
        gone = repo.add("likes milk", props={"status": "retracted"})
        assert {one.id for one in repo.records.list(limit=9)} == {made}
        assert [one.id for one in repo.at().records("likes")] == [made]
        both = repo.at().records("likes", include_status=["retracted"])
        assert {one.id for one in both} == {made, gone}


def test_a_query_passes_over_what_is_no_record():
    with ibidem.init("memory:") as repo:
        made = repo.add("likes tea")
        with repo.transaction() as tx:
            for props in ({"salience": "odd"}, {"salience": "odd", "status": "active"}):
                odd = tx.add_node("Semantic", summary="likes tea", props=props, unique=True)
                tx.add_edge(made, "to", odd)
                tx.add_edge(odd, "to", tx.add_node("Semantic", summary="behind", unique=True))
        for options in ({}, {"min_salience": 0.1}, {"hops": 3}):
            assert [one.id for one in repo.at().records("tea", **options)] == [made]
