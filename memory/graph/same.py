"""The same fact added twice is one record.

Records have ids that reveal nothing about them, so the same one is found by a property, the
fingerprint of what it states: type, text, scope, level, payload, validity, and whose it is.
Episodes are never the same: each happened.

Spec: memory 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.retrieval.listing import page
from ibidem.repo.transaction.transaction import Transaction
from ibidem.retrieve.query.predicate import VALUES_MAX
from ibidem.retrieve.records.record import STANDING, Record, RecordType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ibidem.objects.ids import NodeId
    from ibidem.retrieve.access.policy import TrustPolicy

FINGERPRINT = "fingerprint"
FINGERPRINT_BYTES = 16


def fingerprint(record: Record) -> bytes:
    """Returns 16 bytes that follow from what a record states."""
    stated = [
        str(record.type),
        record.text,
        record.scope,
        record.level,
        dict(record.payload),
        record.valid_from,
        record.valid_to,
        record.user,
        record.agent,
        record.session,
    ]
    hashed = blake3(b"ibidem:record:1\0" + codec.encode(stated))
    return hashed.digest(FINGERPRINT_BYTES)


def same_in_base(
    tx: Transaction, records: Sequence[Record], policy: TrustPolicy
) -> dict[bytes, NodeId]:
    """Returns by fingerprint the active or contested records that were there when the transaction
    began and state the same as some records, those with the least ids.

    For a restricted viewer there are none: they could be hidden from him.
    """
    if not _is_whole(tx):
        return {}
    wanted = sorted({fingerprint(record) for record in records if _is_compared(record)})
    found: dict[bytes, NodeId] = {}
    for start in range(0, len(wanted), VALUES_MAX):
        where = {FINGERPRINT: {"in": wanted[start : start + VALUES_MAX]}}
        for node in page(tx.before(), where=where):
            if _is_standing(tx, node.id, policy):
                found.setdefault(node.props[FINGERPRINT], node.id)
    return found


def same_as_staged(
    tx: Transaction, record: Record, base: Mapping[bytes, NodeId], policy: TrustPolicy
) -> NodeId | None:
    """Returns the record that states the same, as staged or in the base, None if there is none."""
    if not _is_whole(tx) or not _is_compared(record):
        return None
    wanted = fingerprint(record)
    for found in (tx.memo.get((FINGERPRINT, wanted)), base.get(wanted)):
        if found is not None and _is_standing(tx, found, policy):
            node = tx.node(found)
            if node.props.get(FINGERPRINT) == wanted:
                return node.id
    return None


def staged(tx: Transaction, id: NodeId, record: Record) -> NodeId:  # noqa: A002
    """Notes that a record was staged, and returns its id."""
    if _is_whole(tx):
        tx.memo[FINGERPRINT, fingerprint(record)] = id
    return id


def _is_whole(tx: object) -> bool:
    """Returns whether a transaction sees all records; that of a restricted viewer does not."""
    return isinstance(tx, Transaction)


def _is_compared(record: Record) -> bool:
    return record.type is not RecordType.EPISODIC


def _is_standing(tx: Transaction, record: NodeId, policy: TrustPolicy) -> bool:
    """Returns whether a record is active or contested, as staged."""
    node = tx.find_node(record)
    if node is None or tx.is_tombstoned(record):
        return False
    try:
        return Record.of(node, policy).status in STANDING
    except InvalidInputError:
        return False  # another program has written it
