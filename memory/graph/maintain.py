"""Maintenance of a memory in one commit: accepts proposals, consolidates, prunes.

It is made to be run by a schedule: running it again on the same memory at the same time changes
nothing. A dry run is a run whose transaction is rolled back, so its report is that of the run.

Spec: memory 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.transaction.writing import OPEN, writing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ibidem.memory.graph.memory import GraphMemory


@record
class Maintained:
    """The report of a run, or of a dry run."""

    accepted: tuple[NodeId, ...]
    """The proposals that became facts, by id."""
    added: tuple[NodeId, ...]
    """The records derived from episodes, by id."""
    updated: tuple[NodeId, ...]
    """Derived records that have more sources than before, by id."""
    pruned: tuple[NodeId, ...]
    """The records of low salience that were hidden, by id."""
    unreadable: Mapping[NodeId, str]
    """Nodes with the type of a record that are invalid, by id, with the reason."""
    commit: CommitCid | None
    """The commit; None if nothing changed, and for a dry run."""


def maintain(
    memory: GraphMemory,
    *,
    sources_min: int | None,
    confidence_min: float | None,
    below: float,
    dry_run: bool,
    time: int | datetime | None,
) -> Maintained:
    """Maintains a memory; see `GraphMemory.maintain`."""
    if dry_run and isinstance(memory.repository, OPEN):
        raise InvalidInputError(
            "dry_run: got True in a transaction, expected a repository",
            hint="roll the transaction back",
        )
    now = memory.repository.now(time)
    with writing(
        memory.repository, author=memory.author, message="maintain the memory", time=now
    ) as tx:
        inner = type(memory)(tx, space=memory.space, author=memory.author)
        accepted: list[NodeId] = []
        if sources_min is not None or confidence_min is not None:
            waiting = inner.proposals(
                sources_min=sources_min or 0,
                confidence_min=confidence_min or 0.0,
                conflicting=False,
            )
            accepted = inner.accept([one.id for one in waiting], time=now)
        derived = inner.consolidate(time=now)
        pruned = inner.prune(below=below, as_of=now, time=now)
        if dry_run:
            tx.rollback()
    return Maintained(
        tuple(accepted),
        derived.added,
        derived.updated,
        tuple(pruned),
        derived.unreadable,
        None if tx.commit is None else tx.commit.cid,
    )
