"""RV1 to RV6: revision; CO1 to CO4: consolidation and the form of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ibidem
from ibidem.memory.graph import GraphMemory, RecordType, Status
from ibidem.memory.graph.revise import CONTESTED_BY, DERIVED_FROM, STALE_SOURCE, SUPERSEDES
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.store.memory import MemoryStore

from .conftest import EPOCH, HOUR, record, seen_from, ticking

MISSING = NodeId(b"\x07" * 16)


def new(text: str = "better known") -> Any:
    return record(text=text, provenance=seen_from())


OPERATIONS: dict[str, Callable[[GraphMemory, NodeId], Any]] = {
    "supersede": lambda memory, one: memory.supersede(one, new()),
    "fork": lambda memory, one: memory.fork(one, new()),
    "retract": lambda memory, one: memory.retract(one),
    "merge": lambda memory, one: memory.merge([one], new()),
    "contest": lambda memory, one: memory.contest(one),
}


def edges(repo: Repository) -> set[tuple[NodeId, str, NodeId]]:
    return {(edge.src, edge.etype, edge.dst) for edge in repo.at().edges()}


class FailingStore(MemoryStore):
    """Fails at the nth block that a publication writes, before any of it is there."""

    countdown: int | None = None

    def publish(self, blocks: Any, cells: Any, **options: Any) -> None:
        for _ in blocks:
            if self.countdown == 0:
                self.countdown = None
                raise OSError("no space left")
            if self.countdown is not None:
                self.countdown -= 1
        super().publish(blocks, cells, **options)


@pytest.mark.parametrize("name", OPERATIONS)
def test_rv1_a_revision_is_there_whole_or_not_at_all(name: str):
    clock = ticking()
    store = bootstrapped(FailingStore(), None, "", clock)
    memory = GraphMemory(Repository(Core(store, None, clock)))
    (one,) = memory.add(record())
    head, before = memory.repository.head, edges(memory.repository)
    place = 0
    while True:
        store.countdown = place
        try:
            OPERATIONS[name](memory, one)
        except OSError:
            assert memory.repository.head == head
            assert edges(memory.repository) == before
            assert memory.get(one).status == Status.ACTIVE
            place += 1
        else:
            break
    assert place > 3
    assert memory.repository.commit_at().parents == (head,)


def test_rv2_supersede(memory: GraphMemory, repo: Repository):
    (old,) = memory.add(record())
    made = memory.supersede(old, new())
    assert memory.get(old).status == Status.SUPERSEDED
    assert memory.get(made).status == Status.ACTIVE
    assert edges(repo) == {(made, SUPERSEDES, old)}
    with pytest.raises(InvalidInputError, match="superseded"):
        memory.supersede(old, new())


def test_rv2_fork(memory: GraphMemory, repo: Repository):
    (old,) = memory.add(record())
    made = memory.fork(old, new())
    assert memory.get(old).status == memory.get(made).status == Status.ACTIVE
    assert edges(repo) == {(made, DERIVED_FROM, old)}


def test_rv2_retract_marks_what_was_derived(memory: GraphMemory, repo: Repository):
    (old,) = memory.add(record())
    made = memory.fork(old, new())
    memory.retract(old)
    assert memory.get(old).status == Status.RETRACTED
    assert repo.at().node(made).props[STALE_SOURCE] is True


def test_rv2_merge(memory: GraphMemory, repo: Repository):
    ids = memory.add([record(text="a"), record(text="b")])
    made = memory.merge(ids, new())
    assert [memory.get(one).status for one in ids] == [Status.RETRACTED] * 2
    assert edges(repo) == {(made, DERIVED_FROM, one) for one in ids}
    for sources in ([], [made, made]):
        with pytest.raises(InvalidInputError, match=r"^sources"):
            memory.merge(sources, new())


def test_rv2_contest(memory: GraphMemory, repo: Repository):
    one, other = memory.add([record(text="a"), record(text="b")])
    memory.contest(one, other)
    assert memory.get(one).status == Status.CONTESTED
    assert memory.get(other).status == Status.ACTIVE
    assert edges(repo) == {(one, CONTESTED_BY, other)}
    memory.contest(other)
    assert edges(repo) == {(one, CONTESTED_BY, other)}
    with pytest.raises(InvalidInputError, match=r"^by"):
        memory.contest(one, one)


@pytest.mark.parametrize("name", OPERATIONS)
def test_rv2_what_is_missing_is_an_error_and_nothing_changes(memory: GraphMemory, name: str):
    memory.add(record())
    head = memory.repository.head
    with pytest.raises(NotFoundError):
        OPERATIONS[name](memory, MISSING)
    assert memory.repository.head == head


@pytest.mark.parametrize("name", OPERATIONS)
def test_rv3_episodes_are_never_revised(memory: GraphMemory, name: str):
    (one,) = memory.add(record("Episodic", "it happened"))
    head = memory.repository.head
    with pytest.raises(InvalidInputError, match="episode"):
        OPERATIONS[name](memory, one)
    assert memory.repository.head == head


def test_rv4_a_new_fact_says_what_it_rests_on(memory: GraphMemory):
    (old,) = memory.add(record())
    with pytest.raises(InvalidInputError, match=r"^provenance"):
        memory.supersede(old, record(text="out of thin air"))
    (working,) = memory.add(record("Working", "a draft"))
    memory.supersede(working, record("Working", "another draft"))


@pytest.mark.parametrize("most", [["t"] * 100, ["t" * 256]])
def test_a_record_has_100_tags_of_256_characters(most: list[str]):
    """[1-d]"""
    assert len(record(tags=most).tags) == len(most)
    for more in ([*most, "t"] if len(most) == 100 else [f"{most[0]}t"],):
        with pytest.raises(InvalidInputError, match=r"^tags"):
            record(tags=more)


def test_rv5_a_record_holds_from_a_time_until_before_another(memory: GraphMemory):
    start, stop = EPOCH + HOUR, EPOCH + 2 * HOUR
    memory.add(record(text="tea time", valid_from=start, valid_to=stop))

    def found(as_of: int) -> bool:
        return bool(memory.retrieve_graph("tea", as_of=as_of).items)

    assert [found(time) for time in (start - 1, start, stop - 1, stop)] == [
        False,
        True,
        True,
        False,
    ]
    assert not memory.retrieve_graph("tea").items
    with pytest.raises(InvalidInputError, match=r"^valid_to"):
        record(valid_from=5, valid_to=5)


def test_rv6_history_keeps_what_was_revised_merged_and_pruned(memory: GraphMemory):
    ids = memory.add([record(text=text, half_life_seconds=1) for text in ("a", "b", "c")])
    head = memory.repository.head
    memory.supersede(ids[0], new())
    memory.merge(ids[1:2], new("merged"))
    memory.prune(as_of=EPOCH + 100 * HOUR)
    for one, text in zip(ids, "abc", strict=True):
        before = memory.get(one, at=head)
        assert (before.text, before.status) == (text, Status.ACTIVE)


def episode(text: str = "the deploy went well", **fields: Any) -> Any:
    payload = {"event": "deploy", "outcome": "success", "tools": ["build", "push"]}
    return record("Episodic", text, payload={**payload, **fields.pop("payload", {})}, **fields)


def test_co1_consolidation_of_the_same_evidence_changes_nothing(memory: GraphMemory):
    """[6-a]"""
    memory.add([episode(), episode(), episode("another", payload={"tools": ["a", "b", "c"]})])
    dry = memory.consolidate(dry_run=True)
    assert dry.commit is None
    first = memory.consolidate()
    assert first.added == dry.added
    assert first.commit == memory.repository.head
    kinds = sorted((str(one.type), one.confidence) for one in map(memory.get, first.added))
    assert kinds == [
        *[("Competence", 0.8), ("PlanGraph", 0.7)],
        *[("Semantic", 0.7), ("Semantic", 0.7)],
    ]
    second = memory.consolidate()
    assert (second.added, second.updated, second.commit) == ((), (), None)
    assert memory.repository.head == first.commit


def test_co1_new_evidence_adds_sources_and_what_was_revised_stays(memory: GraphMemory):
    memory.add([episode(), episode()])
    first = memory.consolidate()
    competence = next(one for one in first.added if memory.get(one).type is RecordType.COMPETENCE)
    memory.add(episode())
    more = memory.consolidate()
    assert competence in more.updated
    assert memory.get(competence).payload["successes"] == 3
    memory.retract(competence)
    memory.add(episode())
    assert competence not in memory.consolidate().updated
    assert memory.get(competence).status == Status.RETRACTED


def test_co2_what_is_derived_is_as_sensitive_as_its_sources_and_of_one_scope(memory: GraphMemory):
    memory.add([episode(level=1, scope="a"), episode(level=3, scope="a")])
    memory.add([episode(scope="b", payload={"event": "", "tools": ["x"]})])
    memory.add([episode(scope="c", payload={"event": "", "tools": ["x"]})])
    derived = [memory.get(one) for one in memory.consolidate().added]
    assert {one.level for one in derived} == {3}
    assert {one.scope for one in derived} == {"a"}


def test_co3_a_derived_record_lists_its_sources_and_a_retracted_one_marks_it(
    memory: GraphMemory, repo: Repository
):
    sources = memory.add([episode(), episode()])
    memory.add(episode(payload={"outcome": "failure"}))
    for one in memory.consolidate().added:
        refs = [source["ref"] for source in memory.get(one).provenance]
        assert refs == [str(source) for source in sorted(sources)]
        assert {e.dst for e in repo.at().edges_of(one)} == set(sources)
    (fact,) = memory.add(record())
    made = memory.merge([fact], new())
    again = memory.fork(made, new())
    memory.retract(made)
    assert repo.at().node(again).props[STALE_SOURCE] is True


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"payload": {"kind": "Episodic"}}, "payload.kind"),
        ({"confidence": 1.1}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"gain": -0.1}, "gain"),
        ({"floor": 2}, "floor"),
        ({"salience": "1"}, "salience"),
        ({"level": 9}, "level"),
        ({"level": "odd"}, "level"),
        ({"scope": None}, "scope"),
        ({"text": ""}, "text"),
        ({"type_": "Fact"}, "type"),
        ({"tags": "x"}, "tags"),
        ({"tags": ["x" * 257]}, "tags"),
        ({"provenance": [{"kind": "rumour", "ref": "x"}]}, "provenance"),
        ({"provenance": [{"kind": "event"}]}, "provenance.ref"),
        ({"status": "gone"}, "status"),
        ({"deletion": "soon"}, "deletion"),
        ({"type_": "Entity"}, "payload.canonical_name"),
        ({"payload": {"successes": -1}}, "payload.successes"),
    ],
)
def test_co4_a_record_of_the_wrong_form_is_refused_by_name(fields: dict[str, Any], named: str):
    with pytest.raises(InvalidInputError, match=rf"^{named}"):
        record(**fields)


def test_co4_the_weight_of_a_relation_is_a_number(memory: GraphMemory):
    one, other = memory.add([record(text="a"), record(text="b")])
    with memory.repository.transaction() as tx, pytest.raises(InvalidInputError, match="weight"):
        tx.add_edge(one, "to", other, weight=float("nan"))


def test_metrics_count_what_is_there(memory: GraphMemory):
    ids = memory.add([record("Competence", "c", payload={"successes": 3, "failures": 1}), record()])
    memory.notes.reinforce(ids[1])
    memory.notes.penalize(ids[1], 0.9)
    memory.supersede(ids[1], new())
    found = memory.metrics()
    assert found.record_count == 3
    assert found.by_status == {"active": 2, "superseded": 1}
    assert found.usefulness == 0.5
    assert found.revision_rate == 1 / 3
    assert found.competence_success == 0.75
    assert found.plan_executions is None
    assert found.grown_day == 3
    assert sum(found.salience_counts) == 3


def test_memory_can_be_opened_over_any_repository():
    with ibidem.init("memory:") as repo:
        assert GraphMemory(repo).retrieve_graph("anything").items == ()


@pytest.mark.parametrize("moves", [True, False])
def test_a_fork_and_what_contests_have_the_relations_of_their_source(
    memory: GraphMemory, repo: Repository, moves: bool
):
    ada, old = memory.add([record(text="Ada"), record(text="prefers tea")])
    memory.relate(old, "subject_entity", ada)
    made = memory.fork(old, new("prefers cocoa in winter"), relations=moves)
    other = memory.contest(old, new("prefers coffee"), relations=moves)
    assert other is not None
    assert memory.get(old).status == Status.CONTESTED
    assert memory.get(other).status == Status.ACTIVE
    moved = {(one, "subject_entity", ada) for one in (made, other)}
    assert edges(repo) == {
        (old, "subject_entity", ada),
        (made, DERIVED_FROM, old),
        (old, CONTESTED_BY, other),
        *(moved if moves else ()),
    }
    assert memory.contest(old) is None
    assert memory.contest(old, made) == made
