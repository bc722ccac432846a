"""Resolves an id or a unique prefix, as typed by a person, to a node or edge. Prefixes are matched
only against what the caller may see, so that no error reveals anything else. A command without
`--trust` acts for a caller who may see everything, unless the environment names another caller.
`repo/id_prefix.py` defines prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ibidem.cli.options.trust import is_restricted, trust_of
from ibidem.cli.session import Session

if TYPE_CHECKING:
    from ibidem.objects.ids import EdgeId, NodeId
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision
    from ibidem.repo.transaction.transaction import Transaction


def node_at(session: Session, repository: Repository, text: str, at: str = "HEAD") -> NodeId:
    """Returns the node of a revision with this id or prefix."""
    return _seen(session, repository, at).node_id(text)


def staged_node(session: Session, repository: Repository, tx: Transaction, text: str) -> NodeId:
    """Returns the node with this id or prefix, staged ones included."""
    return node_at(session, repository, text) if is_restricted(session) else tx.node_id(text)


def staged_edge(session: Session, repository: Repository, tx: Transaction, text: str) -> EdgeId:
    """Returns the edge with this id or prefix, staged ones included."""
    if is_restricted(session):
        return _seen(session, repository, "HEAD").edge_id(text)
    return tx.edge_id(text)


def node_among(
    session: Session, repository: Repository, ids: Iterable[NodeId], text: str, *, where: str
) -> NodeId:
    """Returns the one of these nodes with this id or prefix."""
    from ibidem.objects.ids import NodeId
    from ibidem.repo.id_prefix import resolve_prefix, sorted_from

    if is_restricted(session):
        listed = list(ids)
        ids = _seen(session, repository, "HEAD").asked(
            lambda snapshot: [one for one in listed if snapshot.ordinal(one) is not None]
        )
    return resolve_prefix(text, NodeId.parse, sorted_from(ids), where=where)


def _seen(session: Session, repository: Repository, at: str) -> Revision:
    from ibidem.retrieve.access.policy import ALL

    return repository.at(at, trust=trust_of(session) or ALL)
