"""Pruning: records that have faded away are hidden, in one commit; history keeps them.

Spec: memory 7.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.memory.graph.record import Deletion, Record
from ibidem.memory.graph.salience import salience
from ibidem.objects.ids import NodeId
from ibidem.retrieve import option

if TYPE_CHECKING:
    from ibidem.memory.graph.memory import GraphMemory
    from ibidem.repo.notes import Log

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
    option.number("below", below, high=1.0)
    now = memory.repository.now(time)
    moment = now if as_of is None else memory.repository.now(as_of)
    log = memory.notes.log()
    found = [
        record.id
        for record in memory.records()
        if record.id is not None and _is_faded(record, record.id, log, moment, below)
    ]
    if found and not dry_run:
        message = f"prune {len(found)} records"
        with memory.repository.transaction(author=memory.author, message=message, time=now) as tx:
            for one in found:
                tx.tombstone(one, reason=REASON)
    return found


def _is_faded(record: Record, id_: NodeId, log: Log, as_of: int, below: float) -> bool:
    if record.deletion is not Deletion.AUTO_PRUNE or record.pinned:
        return False
    return salience(record, log.about(id_), as_of) < below
