"""Salience: how important a record is at a time, computed from the events about it.

Nothing is stored and no sweep is needed: the value at a time follows from the record and the events
up to then. So it does not depend on how often it was read.

Spec: memory 2.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibidem.retrieve.recall.feedback import halved
from ibidem.retrieve.records.noted import PENALIZE, REINFORCE, Noted
from ibidem.retrieve.records.record import Record

SECOND = 1_000_000


def salience(
    record: Record, events: Iterable[Noted], as_of: int, *, undated: int | None = None
) -> float:
    """Returns the salience of a record at a time, from 0 to 1.

    Between events it halves with the record's half-life and never falls below its floor; a
    reinforcement adds its value, or the record's gain, up to 1; a penalty takes its value away,
    down to the floor. A pinned record does not fade. From its maximum age on it is 0.

    Args:
        record: its initial salience and how it fades.
        events: in their order; events of other kinds, and those after `as_of`, are ignored.
        as_of: microseconds since 1970 UTC.
        undated: the time of a record without one: that of the commit that is queried, or `as_of`
            if there is no commit.
    """
    time = record_time(record, as_of if undated is None else undated)
    if record.max_age_seconds is not None and as_of - time >= record.max_age_seconds * SECOND:
        return 0.0
    value = max(record.floor, record.salience)
    for event in events:
        if event.time > as_of:
            break
        if event.kind == REINFORCE:
            change = record.gain if event.value is None else event.value
        elif event.kind == PENALIZE:
            change = -(event.value or 0.0)
        else:
            continue
        value = min(1.0, max(record.floor, _faded(record, value, event.time - time) + change))
        time = max(time, event.time)
    return _faded(record, value, as_of - time)


def record_time(record: Record, undated: int) -> int:
    """Returns when a record was created, `undated` if it has no time."""
    return record.time or undated


def last_reinforced(events: Iterable[Noted], as_of: int) -> int | None:
    """Returns when a record was last reinforced, None if never."""
    times = [one.time for one in events if one.kind == REINFORCE and one.time <= as_of]
    return max(times, default=None)


def _faded(record: Record, value: float, age: int) -> float:
    if record.pinned:
        return value
    return max(record.floor, value * halved(age, record.half_life))
