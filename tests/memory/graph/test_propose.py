"""[8-a] to [8-c]: proposals of facts wait for a decision, and are facts only after it."""

from __future__ import annotations

import pytest

from ibidem.memory.graph import GraphMemory, Status
from ibidem.memory.graph.propose import NAMESPACE, Triple
from ibidem.memory.graph.revise import SUPERSEDES
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import Viewer

from .conftest import LOW, hidden, record, seen_from

TEA = ("Ada", "prefers", "tea")


def texts(memory: GraphMemory, question: str = "Ada") -> list[str | None]:
    return [one.node.summary for one in memory.retrieve_graph(question).items]


def test_a_proposal_is_found_after_it_was_accepted(memory: GraphMemory, repo: Repository):
    (tea,) = memory.propose([TEA], provenance=seen_from())
    assert texts(memory) == []
    (waiting,) = memory.proposals()
    assert (waiting.id, waiting.record.text, waiting.conflicts) == (tea, "Ada prefers tea", ())
    assert memory.accept([tea]) == [tea]
    assert memory.proposals() == []
    assert sorted(texts(memory)) == ["Ada", "Ada prefers tea"]
    assert {edge.etype for edge in repo.at().edges()} == {"subject_entity"}
    with pytest.raises(InvalidInputError, match="active, expected a proposal"):
        memory.accept([tea])


def test_its_id_follows_from_its_parts_and_from_whose_it_is(memory: GraphMemory):
    made = memory.propose([TEA], user="u")
    assert made == [node_id(NAMESPACE, ["", "u", "", "", "ada", "prefers", "tea"])]
    assert memory.propose([("ADA", "Prefers", "Tea!")], user="u") == []
    assert memory.propose([TEA]) != made
    assert len(memory.proposals()) == 2


def test_the_same_again_adds_sources_and_a_rejected_one_stays_rejected(memory: GraphMemory):
    (tea,) = memory.propose([TEA], provenance=seen_from("a"))
    assert memory.propose([TEA], provenance=seen_from("a")) == []
    assert memory.proposals(sources_min=2) == []
    assert memory.propose([Triple(*TEA, confidence=0.9)], provenance=seen_from("b")) == [tea]
    (found,) = memory.proposals(sources_min=2, confidence_min=0.9)
    assert [one["ref"] for one in found.record.provenance] == ["a", "b"]
    memory.retract(tea)
    assert memory.propose([TEA], provenance=seen_from("c")) == []
    assert memory.proposals() == []
    assert memory.get(tea).status == Status.RETRACTED


def test_facts_that_contradict_it_are_named_and_superseded_if_wanted(
    memory: GraphMemory, repo: Repository
):
    (tea,) = memory.accept(memory.propose([TEA]))
    (cocoa,) = memory.propose([("Ada", "prefers", "cocoa")])
    memory.propose([("Bob", "prefers", "cocoa")])
    (found,) = memory.proposals(conflicting=True)
    assert (found.id, [one.id for one in found.conflicts]) == (cocoa, [tea])
    assert len(memory.proposals(conflicting=False)) == 1
    memory.accept([cocoa], supersede=True)
    assert memory.get(tea).status == Status.SUPERSEDED
    assert memory.get(tea).valid_to == memory.get(cocoa).valid_from
    assert (cocoa, SUPERSEDES, tea) in {(e.src, e.etype, e.dst) for e in repo.at().edges()}
    assert sorted(texts(memory)) == ["Ada", "Ada prefers cocoa"]


def test_it_is_related_to_entities_that_are_there(memory: GraphMemory, repo: Repository):
    names = {"canonical_name": "Ada Lovelace", "aliases": ["Ada"]}
    ada, tea = memory.add(
        [
            record("Entity", "Ada Lovelace", payload=names),
            record("Entity", "tea", payload={"canonical_name": "Tea"}),
        ]
    )
    (fact,) = memory.accept(memory.propose([TEA]))
    found = {(edge.src, edge.etype, edge.dst) for edge in repo.at().edges()}
    assert found == {(fact, "subject_entity", ada), (fact, "object_entity", tea)}
    fresh = memory.accept(memory.propose([("Eve", "knows", "Eve"), ("Eve", "knows", "Mo")]))
    assert len({e.dst for e in repo.at().edges() if e.src in fresh}) == 1


def test_it_is_as_secret_as_the_nodes_that_it_comes_from(guarded: GraphMemory):
    (source,) = guarded.add(hidden("the code is 4711", scope="a"))
    (code,) = guarded.propose([("code", "is", "4711")], provenance=seen_from(str(source)))
    found = guarded.proposals()[0].record
    assert (found.id, found.level, found.scope) == (code, 3, "a")
    guarded.accept([code])
    low = guarded.repository.at(viewer=LOW)
    assert low.query(label=["Entity", "Semantic"]) == []
    (low_one,) = guarded.propose(
        [("code", "was", "1")], provenance=seen_from(str(source)), level="public"
    )
    assert guarded.get(low_one, viewer=Viewer(level=0, scopes=("a",))).level == 0
    assert "Lowered" in guarded.repository.commit_at().message


@pytest.mark.parametrize(
    "bad", [("", "is", "b"), ("a", "is", "-"), ("a", 3, "b"), ("a", "is"), "abc"]
)
def test_parts_are_texts_with_words(memory: GraphMemory, bad: tuple[str, str, str]):
    with pytest.raises(InvalidInputError, match="expected"):
        memory.propose([bad])
    assert memory.repository.head is None


def test_a_restricted_viewer_is_refused(guarded: GraphMemory):
    seen = guarded.repository.as_viewer(LOW)
    for call in (
        lambda: seen.records.propose([TEA]),
        lambda: seen.records.proposals(),
        lambda: seen.records.accept([NodeId(b"\x01" * 16)]),
    ):
        with pytest.raises(InvalidInputError) as raised:
            call()
        assert raised.value.kind is ErrorKind.NOT_PERMITTED


def test_it_is_staged_with_others_in_one_commit(repo: Repository):
    with repo.transaction(author="ada") as tx:
        ids = tx.records.propose([TEA])
        assert [one.id for one in tx.records.proposals()] == ids
        tx.records.accept(ids, supersede=True)
    assert len(list(repo.history.log())) == 1
    assert repo.records.get(ids[0]).status == Status.ACTIVE
