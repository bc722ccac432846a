"""Revision of records as knowledge changes, each staged in one transaction. Nothing is lost: a
record that is no longer active stays in the graph with a status that hides it, and unchanged in the
history. Episodes record what happened and are never revised.

Spec: memory 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ibidem.memory.graph.same import FINGERPRINT, fingerprint, staged
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.retrieve.access.policy import TrustPolicy
from ibidem.retrieve.records.record import STANDING, Deletion, Record, RecordType, Status

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

SUPERSEDES, DERIVED_FROM, CONTESTED_BY = "supersedes", "derived_from", "contested_by"
REVISIONS = frozenset((SUPERSEDES, DERIVED_FROM, CONTESTED_BY))
"""Relations between a record and another version of it, or its sources."""
STALE_SOURCE = "has_retracted_source"
"""The property of a derived record one of whose sources is no longer active."""


def added(tx: Transaction, record: Record, policy: TrustPolicy, now: int) -> NodeId:
    """Stages a record under an id that reveals nothing about it."""
    dated = record if record.time else replace(record, time=now)
    props = {**dated.props(policy), FINGERPRINT: fingerprint(record)}
    made = tx.add_node(str(record.type), summary=record.text, props=props, unique=True)
    return staged(tx, made, record)


def supersede(
    tx: Transaction,
    old: NodeId,
    new: Record,
    policy: TrustPolicy,
    now: int,
    *,
    relations: bool = True,
) -> NodeId:
    """Stages a record that supersedes an active one: it is valid from where the old one ends.

    Args:
        relations: whether the relations of the old record are also those of the new one.

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
    since = _since(new, now)
    made = added(tx, replace(new, valid_from=since), policy, now)
    replace_record(tx, old, made, policy, since, relations=relations)
    return made


def replace_record(
    tx: Transaction,
    old: NodeId,
    new: NodeId,
    policy: TrustPolicy,
    since: int,
    *,
    relations: bool = True,
) -> None:
    """Stages that a record supersedes another one from a time on."""
    if relations:
        _relate(tx, [old], new)
    _end(tx, old, Status.SUPERSEDED, policy, since)
    tx.add_edge(new, SUPERSEDES, old)


def fork(
    tx: Transaction,
    source: NodeId,
    new: Record,
    policy: TrustPolicy,
    now: int,
    *,
    relations: bool = True,
) -> NodeId:
    """Stages a record derived from an active one, which stays active.

    Args:
        relations: whether the relations of the source are also those of the new record.
    """
    _revisable(tx, source, policy)
    made = added(tx, new, policy, now)
    if relations:
        _relate(tx, [source], made)
    tx.add_edge(made, DERIVED_FROM, source)
    return made


def retract(tx: Transaction, record: NodeId, policy: TrustPolicy) -> None:
    """Stages the retraction of a record, or the rejection of a proposal."""
    _revisable(tx, record, policy, also=(Status.PROPOSED,))
    _end(tx, record, Status.RETRACTED, policy, None)


def merge(
    tx: Transaction,
    sources: Sequence[NodeId],
    new: Record,
    policy: TrustPolicy,
    now: int,
    *,
    relations: bool = True,
) -> NodeId:
    """Stages a record that replaces several, each retracted and listed as its source.

    Args:
        relations: whether the relations of the sources are also those of the new record.
    """
    if not sources or len(set(sources)) < len(sources):
        raise InvalidInputError(
            f"sources: got {len(sources)}, expected a list of one or more records, none twice"
        )
    for source in sources:
        _revisable(tx, source, policy)
    since = _since(new, now)
    made = added(tx, replace(new, valid_from=since), policy, now)
    if relations:
        _relate(tx, sources, made)
    for source in sources:
        _end(tx, source, Status.RETRACTED, policy, since)
        tx.add_edge(made, DERIVED_FROM, source)
    return made


def contest(
    tx: Transaction,
    record: NodeId,
    by: NodeId | Record | None,
    policy: TrustPolicy,
    now: int,
    *,
    relations: bool = True,
) -> NodeId | None:
    """Stages that a record is contested, optionally by another one, and returns that one.

    Args:
        by: a record, or a new one, which is added.
        relations: whether the relations of the contested record are also those of a new one.
    """
    _revisable(tx, record, policy)
    tx.update_node(record, set_props={"status": str(Status.CONTESTED)})
    if by is None:
        return None
    if isinstance(by, Record):
        other = added(tx, by, policy, now)
        if relations:
            _relate(tx, [record], other)
    elif by == record:
        raise InvalidInputError(f"by: got {by} itself, expected another record")
    else:
        other = by
        Record.of(tx.node(other), policy)
    tx.add_edge(record, CONTESTED_BY, other)
    return other


def update(
    tx: Transaction, record: NodeId, changes: Mapping[str, Any], policy: TrustPolicy
) -> None:
    """Stages a correction of fields of an active record, which keeps its id and relations."""
    found = _revisable(tx, record, policy)
    if not changes:
        raise InvalidInputError("update: got no field, expected one or more")
    corrected = replace(found, **changes)
    props = {**corrected.props(policy), FINGERPRINT: fingerprint(corrected)}
    gone = [name for name in found.props(policy) if name not in props]
    tx.update_node(record, summary=corrected.text, set_props=props, unset_props=gone)
    staged(tx, record, corrected)


def delete(tx: Transaction, record: NodeId, policy: TrustPolicy, reason: str) -> None:
    """Stages a tombstone for a record that may be deleted."""
    if Record.of(tx.node(record), policy).deletion is Deletion.NEVER:
        raise InvalidInputError(f"record {record} has deletion 'never', expected another one")
    tx.tombstone(record, reason=reason)


def _revisable(
    tx: Transaction, record: NodeId, policy: TrustPolicy, *, also: Sequence[Status] = ()
) -> Record:
    """Returns a record; raises unless it exists, is active or has another status that is allowed,
    and is no episode.
    """
    found = Record.of(tx.node(record), policy)
    if found.type is RecordType.EPISODIC:
        raise InvalidInputError(
            f"record {record} is an episode, expected one that can be revised",
            hint="add what is known now as a new record",
        )
    if found.status not in (*STANDING, *also):
        raise InvalidInputError(f"record {record} is {found.status}, expected an active one")
    return found


def _since(new: Record, now: int) -> int:
    """Returns the time from which a replacement is valid: its own, or that of its creation."""
    return new.valid_from if new.valid_from is not None else new.time or now


def _relate(tx: Transaction, olds: Sequence[NodeId], new: NodeId) -> None:
    """Stages the relations of some records for another; those between the records are left out."""
    for old in olds:
        for edge in tx.edges_of(old):
            ends = [new if end == old else end for end in (edge.src, edge.dst)]
            if edge.etype in REVISIONS or set(ends) & set(olds) or ends[0] == ends[1]:
                continue
            known = {(one.src, one.etype, one.dst) for one in tx.edges_of(new)}
            if edge.key is not None or (ends[0], edge.etype, ends[1]) not in known:
                tx.add_edge(
                    ends[0],
                    edge.etype,
                    ends[1],
                    weight=edge.weight,
                    props=edge.props,
                    key=edge.key,
                    replace=True,
                )


def _end(
    tx: Transaction, record: NodeId, status: Status, policy: TrustPolicy, stop: int | None
) -> None:
    """Stages a new status of a record, and marks the records derived from it.

    Args:
        stop: the time from which it is not valid any more, unless it ends earlier; None for no
            change.
    """
    found = Record.of(tx.node(record), policy)
    props: dict[str, Any] = {"status": str(status)}
    start, end = found.valid_from, found.valid_to
    if stop is not None and (start is None or start < stop) and (end is None or stop < end):
        props["valid_to"] = stop
    tx.update_node(record, set_props=props)
    for edge in tx.edges_of(record):
        if edge.etype == DERIVED_FROM and edge.dst == record:
            tx.update_node(edge.src, set_props={STALE_SOURCE: True})
