"""Statistics of a memory, computed from the graph and its notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ibidem.memory.graph.read import read_records
from ibidem.memory.graph.revise import DERIVED_FROM, SUPERSEDES
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.retrieve.records.noted import OUTCOME, REINFORCE
from ibidem.retrieve.records.record import RecordType
from ibidem.retrieve.records.salience import record_time, salience

if TYPE_CHECKING:
    from ibidem.repo.events import Log
    from ibidem.repo.revision import Revision

DAY = 86_400_000_000
BINS = 5


@record
class Metrics:
    """Numbers about one revision."""

    record_count: int
    by_type: Mapping[str, int]
    by_status: Mapping[str, int]
    usefulness: float
    """Reinforcements among all events; 0 without events."""
    revision_rate: float
    """Revisions that made a record, by record; 0 without records."""
    competence_success: float | None
    """The mean share of successes of the competences that have outcomes."""
    plan_executions: float | None
    """The mean number of outcomes of plans."""
    grown_day: int
    """Records of the last day."""
    salience_counts: tuple[int, ...]
    """Records by salience: five bins of 0.2."""
    unreadable: Mapping[NodeId, str]
    """Nodes with the type of a record that are invalid, by id, with the reason."""


def metrics(revision: Revision, log: Log, moment: int) -> Metrics:
    """Returns the numbers of a revision as its owner sees it, at a time."""
    read = read_records(revision)
    records, undated = read.found, moment if read.time is None else read.time
    events = [one for one in log.events if one.time <= moment]
    revisions = Counter(edge.etype for edge in revision.edges())
    saliences = [
        salience(one, log.about(one.id), moment, undated=undated)
        for one in records
        if one.id is not None
    ]
    bins = Counter(min(BINS - 1, int(value * BINS)) for value in saliences)
    shares: list[float] = []
    runs: list[int] = []
    for one in records:
        if one.id is None or one.type not in (RecordType.COMPETENCE, RecordType.PLAN_GRAPH):
            continue
        good, bad = one.payload.get("successes", 0), one.payload.get("failures", 0)
        outcomes = [
            event.value == 1.0
            for event in log.about(one.id)
            if event.kind == OUTCOME and event.time <= moment
        ]
        good, bad = good + sum(outcomes), bad + len(outcomes) - sum(outcomes)
        if one.type is RecordType.PLAN_GRAPH:
            runs.append(good + bad)
        elif good + bad:
            shares.append(good / (good + bad))
    made = revisions[SUPERSEDES] + revisions[DERIVED_FROM]
    reinforced = sum(event.kind == REINFORCE for event in events)
    return Metrics(
        record_count=len(records),
        by_type=dict(sorted(Counter(str(r.type) for r in records).items())),
        by_status=dict(sorted(Counter(str(r.status) for r in records).items())),
        usefulness=reinforced / len(events) if events else 0.0,
        revision_rate=made / len(records) if records else 0.0,
        competence_success=sum(shares) / len(shares) if shares else None,
        plan_executions=sum(runs) / len(runs) if runs else None,
        grown_day=sum(moment - DAY < record_time(one, undated) <= moment for one in records),
        salience_counts=tuple(bins[position] for position in range(BINS)),
        unreadable=read.unreadable,
    )
