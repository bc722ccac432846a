"""Revision of records as knowledge changes, each staged in one transaction. Nothing is lost: a
record that is no longer active stays in the graph with a status that hides it, and unchanged in the
history. Episodes record what happened and are never revised.

Spec: memory 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.retrieve.access.policy import TrustPolicy
from ibidem.retrieve.records.record import STANDING, Record, RecordType, Status

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

SUPERSEDES, DERIVED_FROM, CONTESTED_BY = "supersedes", "derived_from", "contested_by"
STALE_SOURCE = "has_retracted_source"
"""The property of a derived record one of whose sources is no longer active."""


def added(tx: Transaction, record: Record, policy: TrustPolicy, now: int) -> NodeId:
    """Stages a record under an id that reveals nothing about it."""
    dated = record if record.time else replace(record, time=now)
    return tx.add_node(
        str(record.type), summary=record.text, props=dated.props(policy), unique=True
    )


def supersede(tx: Transaction, old: NodeId, new: Record, policy: TrustPolicy, now: int) -> NodeId:
    """Stages a record that supersedes an active one.

    Raises:
        NotFoundError: there is no such record.
        InvalidInputError: it may not be revised, or is no longer active; or `new` is semantic and
            has no provenance.
    """
    _revisable(tx, old, policy)
    if new.type is RecordType.SEMANTIC and not new.provenance:
        raise InvalidInputError(
            "provenance: got none, expected the sources of the new fact",
            hint="give its source: provenance=[{'kind': 'observation', 'ref': …}], or --from "
            "observation=…",
        )
    made = added(tx, new, policy, now)
    _end(tx, old, Status.SUPERSEDED)
    tx.add_edge(made, SUPERSEDES, old)
    return made


def fork(tx: Transaction, source: NodeId, new: Record, policy: TrustPolicy, now: int) -> NodeId:
    """Stages a record derived from an active one, which stays active."""
    _revisable(tx, source, policy)
    made = added(tx, new, policy, now)
    tx.add_edge(made, DERIVED_FROM, source)
    return made


def retract(tx: Transaction, record: NodeId, policy: TrustPolicy) -> None:
    """Stages the retraction of a record."""
    _revisable(tx, record, policy)
    _end(tx, record, Status.RETRACTED)


def merge(
    tx: Transaction, sources: Sequence[NodeId], new: Record, policy: TrustPolicy, now: int
) -> NodeId:
    """Stages a record that replaces several, each retracted and listed as its source."""
    if not sources or len(set(sources)) < len(sources):
        raise InvalidInputError(
            f"sources: got {len(sources)}, expected a list of one or more records, none twice"
        )
    for source in sources:
        _revisable(tx, source, policy)
    made = added(tx, new, policy, now)
    for source in sources:
        _end(tx, source, Status.RETRACTED)
        tx.add_edge(made, DERIVED_FROM, source)
    return made


def contest(tx: Transaction, record: NodeId, by: NodeId | None, policy: TrustPolicy) -> None:
    """Stages that a record is contested, optionally by another one."""
    _revisable(tx, record, policy)
    tx.update_node(record, set_props={"status": str(Status.CONTESTED)})
    if by is not None:
        if by == record:
            raise InvalidInputError(f"by: got {by} itself, expected another record")
        Record.of(tx.node(by), policy)
        tx.add_edge(record, CONTESTED_BY, by)


def _revisable(tx: Transaction, record: NodeId, policy: TrustPolicy) -> None:
    """Raises unless a record exists, is active, and is no episode."""
    found = Record.of(tx.node(record), policy)
    if found.type is RecordType.EPISODIC:
        raise InvalidInputError(
            f"record {record} is an episode, expected one that can be revised",
            hint="add what is known now as a new record",
        )
    if found.status not in STANDING:
        raise InvalidInputError(f"record {record} is {found.status}, expected an active one")


def _end(tx: Transaction, record: NodeId, status: Status) -> None:
    """Stages a new status of a record, and marks the records derived from it."""
    tx.update_node(record, set_props={"status": str(status)})
    for edge in tx.edges_of(record):
        if edge.etype == DERIVED_FROM and edge.dst == record:
            tx.update_node(edge.src, set_props={STALE_SOURCE: True})
