"""Pruning: records that have faded away are hidden, in one commit; history keeps them.

Spec: memory 7.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.memory.graph.record import Deletion
from ibidem.memory.graph.salience import salience
from ibidem.objects.ids import NodeId
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.memory.graph.memory import GraphMemory

REASON = "pruned: its salience faded"


def prune(
    memory: GraphMemory,
    *,
    below: float,
    as_of: int | datetime | None,
    dry_run: bool,
    time: int | datetime | None,
) -> list[NodeId]:
    """Hides faded records; see `GraphMemory.prune`."""
    checks.number("below", below, high=1.0)
    now = memory.repository.now(time)
    moment = now if as_of is None else memory.repository.now(as_of)
    log, records = memory.notes.log(), memory.read()
    found = [
        record.id
        for record in records.found
        if record.id is not None and record.deletion is Deletion.AUTO_PRUNE and not record.pinned
        if salience(record, log.about(record.id), moment, undated=records.time) < below
    ]
    if found and not dry_run:
        message = f"prune {len(found)} records"
        with memory.repository.transaction(author=memory.author, message=message, time=now) as tx:
            for one in found:
                tx.tombstone(one, reason=REASON)
    return found
