"""The same fact added twice is one record.

Records have ids that reveal nothing about them, so the same one is found by a property, the
fingerprint of what it states: type, text, scope, level, payload, validity, and whose it is.
Episodes are never the same: each happened.

To look a fingerprint up, the index has to reach the newest commit. A writer of many commits, one
record each, need not wait for that: what it has added since the index was last asked is a `Chain`,
which holds as long as nobody else commits.

Spec: memory 1.
"""

from __future__ import annotations

from dataclasses import dataclass
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

    from ibidem.objects.cid import RootCid
    from ibidem.objects.ids import NodeId
    from ibidem.repo.graph import Graph
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


CHAIN_MAX = 1_000
"""Records after which the index is asked again."""


@dataclass
class Chain:
    """What one writer has added to a graph whose index was asked."""

    graph: Graph
    root: RootCid
    """The graph with what was added."""
    added: dict[bytes, NodeId]


def append_to_chain(
    chain: Chain | None, tx: Transaction, records: Sequence[Record], ids: Sequence[NodeId]
) -> Chain | None:
    """Returns the chain after a transaction that added records, which is published; None if the
    index has to be asked again, as when others have committed."""
    if tx.commit is None or not _is_whole(tx):
        return chain
    before = tx.before()
    parents = [before.core.commit_at(one).root for one in tx.commit.parents]
    if parents != [tx.base.cid]:
        return None
    if chain is None or chain.root != tx.base.cid:
        chain = Chain(before, tx.base.cid, {})
    chain.added.update((fingerprint(one), id_) for one, id_ in zip(records, ids, strict=True))
    chain.root = tx.commit.root
    return chain if len(chain.added) < CHAIN_MAX else None


def same_in_base(
    tx: Transaction, records: Sequence[Record], policy: TrustPolicy, chain: Chain | None
) -> dict[bytes, NodeId]:
    """Returns by fingerprint the active or contested records that were there when the transaction
    began and state the same as some records, those with the least ids.

    For a restricted viewer there are none: they could be hidden from him.

    Args:
        chain: of this writer; asked in place of the index for what it has added.
    """
    if not _is_whole(tx):
        return {}
    wanted = sorted({fingerprint(record) for record in records if _is_compared(record)})
    found: dict[bytes, NodeId] = {}
    own = chain if chain is not None and chain.root == tx.base.cid else None
    graph = tx.before() if own is None else own.graph
    for start in range(0, len(wanted), VALUES_MAX):
        where = {FINGERPRINT: {"in": wanted[start : start + VALUES_MAX]}}
        for node in page(graph, where=where):
            if _is_standing(tx, node.id, policy):
                found.setdefault(node.props[FINGERPRINT], node.id)
    recent = {} if own is None else own.added
    for one in wanted:
        added = recent.get(one)
        if added is not None and _is_standing(tx, added, policy):
            found.setdefault(one, added)
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
