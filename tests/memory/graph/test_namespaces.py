"""Records as facts of somebody: one for each, listed, corrected, replaced and deleted.

Spec: memory [1-f], [5-b], [5-c].
"""

from __future__ import annotations

import pytest

import ibidem
from ibidem.memory.graph import GraphMemory, Record, RecordType, Status
from ibidem.memory.graph.revise import SUPERSEDES
from ibidem.memory.graph.same import fingerprint
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.repository import Repository

from .conftest import seen_from

TIME = 1_767_225_600_000_000


def fact(text: str, **fields: object) -> Record:
    given = {"provenance": seen_from(), "scope": "", **fields}
    return Record(RecordType.SEMANTIC, text, **given)  # type: ignore[arg-type]


@pytest.fixture
def repo() -> Repository:
    return ibidem.init("memory:", clock=iter(range(TIME, TIME + 10_000)).__next__)


@pytest.fixture
def memory(repo: Repository) -> GraphMemory:
    return repo.records


def test_the_same_fact_twice_is_one_record_with_both_sources(memory: GraphMemory):
    one, two = memory.add([fact("the gate is green"), fact("the gate is green")])
    assert one == two
    other = [{"kind": "artifact", "ref": "photo-3"}]
    assert memory.add(fact("the gate is green", provenance=other)) == [one]
    assert [dict(one) for one in memory.get(one).provenance] == [*seen_from(), *other]
    head = memory.repository.head
    assert memory.add(fact("the gate is green")) == [one]
    assert memory.repository.head == head
    different = (
        fact("the gate is blue"),
        fact("the gate is green", user="ada"),
        fact("the gate is green", level=3),
        fact("the gate is green", payload={"n": 1}),
        fact("the gate is green", valid_from=1),
    )
    assert len({one, *memory.add(different)}) == 6
    episode = Record(RecordType.EPISODIC, "the gate was opened", scope="")
    assert len(set(memory.add([episode, episode]))) == 2
    # A fact that is no longer held is added anew.
    memory.retract(one)
    assert memory.add(fact("the gate is green")) != [one]
    with memory.repository.transaction() as tx:
        (new,) = tx.records.add(fact("the gate is old"))
        assert tx.records.add(fact("the gate is old")) == [new]
        tx.records.delete(new)
        assert tx.records.add(fact("the gate is old")) != [new]


def test_records_are_listed_by_user_agent_and_session(memory: GraphMemory):
    one, two, three = memory.add(
        [
            fact("likes tea", user="ada", agent="bot", session="s1"),
            fact("likes rum", user="bob", agent="bot"),
            fact("likes ale", user="ada"),
        ]
    )

    def ids(**names: str) -> set[object]:
        return {record.id for record in memory.list(**names)}  # type: ignore[arg-type]

    assert ids() == {one, two, three}
    assert ids(user="ada") == {one, three}
    assert ids(agent="bot") == {one, two}
    assert ids(user="ada", session="s1") == {one}
    assert memory.get(one).user == "ada"
    assert len(memory.list(user="ada", limit=1)) == 1
    assert memory.list(types=["Entity"]) == []
    asked = memory.retrieve_graph("likes", where={"user": "ada"})
    assert {item.node.id for item in asked.items} == {one, three}
    with pytest.raises(InvalidInputError, match="user"):
        fact("x", user=5)


def test_a_record_is_corrected_in_place(memory: GraphMemory):
    (one,) = memory.add(fact("the gate is gren", tags=["a"], valid_to=TIME))
    memory.update(one, text="the gate is green", tags=[], valid_to=None, user="ada")
    found = memory.get(one)
    assert (found.text, found.tags, found.valid_to, found.user) == (
        "the gate is green",
        (),
        None,
        "ada",
    )
    assert memory.add(fact("the gate is green", user="ada")) == [one]
    for wrong in ({}, {"text": ""}, {"confidence": 2.0}):
        with pytest.raises(InvalidInputError):
            memory.update(one, **wrong)  # type: ignore[arg-type]
    assert memory.get(one) == found


def test_records_are_deleted_unless_they_never_may(memory: GraphMemory):
    ids = memory.add([fact("one", user="ada"), fact("two", user="ada"), fact("three")])
    head = memory.repository.head
    assert set(memory.delete(memory.list(user="ada"))) == set(ids[:2])
    assert [record.id for record in memory.list()] == [ids[2]]
    assert len(memory.list(at=head)) == 3
    with pytest.raises(NotFoundError):
        memory.get(ids[0])
    (kept,) = memory.add(fact("four", deletion="never"))
    with pytest.raises(InvalidInputError, match="never"):
        memory.delete([ids[2], kept])
    assert {record.id for record in memory.list()} == {ids[2], kept}


def test_what_supersedes_takes_the_relations_along_and_closes_the_old(memory: GraphMemory):
    ada = Record(RecordType.ENTITY, "Ada", scope="", payload={"canonical_name": "Ada"})
    person, tea = memory.add([ada, fact("prefers tea")], relations=[(1, "about", 0)])
    new = memory.supersede(tea, fact("prefers cocoa"))
    # Ada still finds her preference.
    answer = memory.retrieve_graph("what does Ada drink")
    assert {item.node.summary for item in answer.items} == {"Ada", "prefers cocoa"}
    edges = {(one.src, one.etype, one.dst) for one in memory.repository.at().edges()}
    assert edges == {(tea, "about", person), (new, "about", person), (new, SUPERSEDES, tea)}
    old, now = memory.versions(new)
    assert (old.id, now.id) == (tea, new)
    assert (old.status, now.status) == (Status.SUPERSEDED, Status.ACTIVE)
    assert old.valid_to == now.valid_from == now.time
    assert memory.versions(tea) == [old, now]
    # At an earlier time the old one held, and the new one did not.
    assert old.valid_to is not None
    then = memory.retrieve_graph("prefers", as_of=old.valid_to - 1, include_status=["superseded"])
    assert {item.node.summary for item in then.items} >= {"prefers tea"}
    assert "prefers cocoa" not in {item.node.summary for item in then.items}


def test_relations_stay_behind_if_told_so_and_a_validity_is_never_reopened(memory: GraphMemory):
    (other,) = memory.add(fact("the gate"))
    (old,) = memory.add(fact("is green", valid_to=5), relations=[(0, "about", other)])
    new = memory.supersede(old, fact("is blue", valid_from=9), relations=False)
    assert {(one.src, one.etype) for one in memory.repository.at().edges_of(new)} == {
        (new, SUPERSEDES)
    }
    assert memory.get(old).valid_to == 5
    assert memory.get(new).valid_from == 9
    (late,) = memory.add(fact("is old", valid_from=50))
    memory.supersede(late, fact("is new", valid_from=20))
    assert memory.get(late).valid_to is None


def test_a_merge_takes_the_relations_of_all_sources_along_once(memory: GraphMemory):
    gate, one, two = memory.add(
        [fact("the gate"), fact("is green"), fact("is emerald")],
        relations=[(1, "about", 0), (2, "about", 0), (1, "near", 2), (0, "has", 2)],
    )
    new = memory.merge([one, two], fact("is emerald green"))
    edges = {(e.src, e.etype, e.dst) for e in memory.repository.at().edges_of(new)}
    assert edges == {
        (new, "about", gate),
        (gate, "has", new),
        (new, "derived_from", one),
        (new, "derived_from", two),
    }
    assert memory.get(one).valid_to == memory.get(two).valid_to == memory.get(new).valid_from


def test_the_fingerprint_is_that_of_the_specification():
    record = fact("the gate is green", user="ada", valid_from=5)
    assert fingerprint(record).hex() == "be8c16b5a30c5ea7518e1e397941435b"
