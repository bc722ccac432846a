"""Pruning hides records of low salience, in one commit; older revisions still have them.

Spec: memory 7.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.memory.graph.read import read_records
from ibidem.objects.ids import NodeId
from ibidem.repo.transaction.writing import writing
from ibidem.retrieve.query import checks
from ibidem.retrieve.records.record import Deletion
from ibidem.retrieve.records.salience import salience

if TYPE_CHECKING:
    from ibidem.repo.events import Log
    from ibidem.repo.repository import Repository

REASON = "pruned: its salience faded"


def prune(
    repository: Repository,
    log: Log,
    *,
    author: str,
    below: float,
    as_of: int | datetime | None,
    dry_run: bool,
    time: int | datetime | None,
) -> list[NodeId]:
    """Hides records of low salience; see `GraphMemory.prune`."""
    checks.number("below", below, high=1.0)
    now = repository.now(time)
    moment = now if as_of is None else repository.now(as_of)
    records = read_records(repository.at())
    found = [
        record.id
        for record in records.found
        if record.id is not None and record.deletion is Deletion.AUTO_PRUNE and not record.pinned
        if salience(record, log.about(record.id), moment, undated=records.time) < below
    ]
    if found and not dry_run:
        message = f"prune {len(found)} record{'s' * (len(found) != 1)}"
        with writing(repository, author=author, message=message, time=now) as tx:
            for one in found:
                tx.tombstone(one, reason=REASON)
    return found
