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
from ibidem.repo.retrieval.listing import page
from ibidem.repo.transaction.transaction import Transaction
from ibidem.retrieve.records.record import STANDING, Record, RecordType, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ibidem.objects.node import Node
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


def find_same(tx: Transaction, record: Record, policy: TrustPolicy) -> Record | None:
    """Returns the active or contested record that states the same, the one with the least id; None
    if there is none, for an episode, and for a restricted viewer, to whom it could be hidden.
    """
    if record.type is RecordType.EPISODIC or not isinstance(tx, Transaction):
        return None
    wanted = fingerprint(record)
    for node in sorted(_candidates(tx, record, wanted), key=lambda one: one.id):
        if node.props.get(FINGERPRINT) == wanted and not tx.is_tombstoned(node.id):
            found = Record.of(node, policy)
            if found.status in STANDING:
                return found
    return None


def _candidates(tx: Transaction, record: Record, wanted: bytes) -> Iterator[Node]:
    """Yields records with a fingerprint in the base as they are staged, and the staged ones."""
    where = {FINGERPRINT: wanted, "status": {"in": [str(one) for one in Status]}}
    for node in page(tx.before(), label=str(record.type), where=where):
        staged = tx.find_node(node.id)
        if staged is not None:
            yield staged
    for node in tx.staged_nodes():
        if node.ntype == record.type:
            yield node
