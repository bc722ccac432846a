"""DE1 to DE7: salience as a fold over events, and pruning."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.memory.graph import GraphMemory
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.repo.events import Event
from ibidem.retrieve.records.salience import salience

from .conftest import DAY, EPOCH, HOUR, record

A = NodeId(b"a" * 16)
FADING = record(half_life_seconds=86_400, time=EPOCH)


def event(kind: str, time: int, value: float | None = None) -> Event:
    return Event(kind, (A,), "ada", time, value, id=A)


def test_de1_salience_halves_with_the_half_life():
    assert salience(FADING, [], EPOCH) == 1.0
    assert salience(FADING, [], EPOCH + DAY) == 0.5
    assert salience(FADING, [], EPOCH + 2 * DAY) == 0.25
    assert salience(FADING, [], EPOCH + 10 * DAY) == 2.0**-10


def test_de2_how_often_it_is_read_changes_nothing(memory: GraphMemory):
    (one,) = memory.add(replace(FADING, time=0), time=EPOCH)
    times = [EPOCH + hours * HOUR for hours in (1, 7, 24, 60)]
    often = [memory.salience(one, as_of=time) for time in times for _ in range(3)][::3]
    assert often == [memory.salience(one, as_of=time) for time in times]
    assert memory.salience(one, as_of=EPOCH + DAY) == 0.5


@given(st.lists(st.integers(0, 100 * HOUR), max_size=6), st.integers(0, 100 * HOUR))
@settings(max_examples=examples(60))
def test_de2_events_without_effect_partition_nothing(cuts: list[int], age: int):
    nothing = [event("vote", EPOCH + cut, 1.0) for cut in sorted(cuts)]
    assert salience(FADING, nothing, EPOCH + age) == salience(FADING, [], EPOCH + age)


def test_de3_a_reinforcement_raises_what_has_faded_up_to_one(memory: GraphMemory):
    (one,) = memory.add(replace(FADING, time=0), time=EPOCH)
    before = memory.salience(one, as_of=EPOCH + DAY)
    memory.notes.reinforce(one, time=EPOCH + DAY)
    assert memory.salience(one, as_of=EPOCH + DAY) == before + 0.1
    for _ in range(20):
        memory.notes.reinforce(one, gain=0.9, time=EPOCH + DAY)
    assert memory.salience(one, as_of=EPOCH + DAY) == 1.0


def test_de4_a_penalty_stops_at_the_floor(memory: GraphMemory):
    (one,) = memory.add(record(floor=0.2))
    memory.notes.penalize(one, 0.5)
    assert 0.49 < memory.salience(one) <= 0.5
    memory.notes.penalize(one, 5.0)
    assert memory.salience(one) == 0.2
    for amount in (-0.1, float("nan"), float("inf"), True):
        with pytest.raises(InvalidInputError, match=r"^amount"):
            memory.notes.penalize(one, amount)


def test_de5_what_comes_later_is_not_known_yet():
    later = [event("penalize", EPOCH + 2 * DAY, 0.9), event("reinforce", EPOCH + 3 * DAY, 1.0)]
    assert salience(FADING, later, EPOCH + DAY) == salience(FADING, [], EPOCH + DAY)


def test_de6_pinned_records_stay_old_ones_are_gone_and_a_half_life_is_positive():
    assert salience(replace(FADING, pinned=True), [], EPOCH + 100 * DAY) == 1.0
    aged = replace(FADING, max_age_seconds=3600)
    assert salience(aged, [], EPOCH + HOUR - 1) > 0.9
    assert salience(aged, [], EPOCH + HOUR) == 0.0
    for value in (0, -1, 1.5):
        with pytest.raises(InvalidInputError, match=r"^half_life_seconds"):
            record(half_life_seconds=value)


def test_de7_pruning_hides_what_has_faded_and_may_be_pruned(memory: GraphMemory):
    kept = {"half_life_seconds": 3600}
    ids = memory.add(
        [
            record(text="faded", **kept),
            record(text="manual", deletion="manual_only", **kept),
            record(text="never", deletion="never", **kept),
            record(text="pinned", pinned=True, **kept),
            record(text="held up", floor=0.5, **kept),
            record(text="fresh", half_life_seconds=10**9),
        ],
        time=EPOCH,
    )
    head = memory.repository.head
    when = EPOCH + 30 * DAY
    assert memory.prune(as_of=when, dry_run=True) == [ids[0]]
    assert memory.repository.head == head
    assert memory.prune(as_of=when) == [ids[0]]
    commits = list(memory.repository.history.log())
    assert commits[0].parents == (head,)
    assert len(commits) == 2
    with pytest.raises(NotFoundError):
        memory.get(ids[0])
    assert memory.get(ids[0], at=head).text == "faded"
    assert memory.prune(as_of=when) == []
    assert len(list(memory.repository.history.log())) == 2
    for value in (-1, 2, float("nan"), "x"):
        with pytest.raises(InvalidInputError, match=r"^below"):
            memory.prune(below=value)
