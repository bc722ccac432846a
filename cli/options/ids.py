"""Resolves an id or a unique prefix, as typed by a person, to a node or edge. Prefixes are matched
only against what the caller may see, so that no error reveals anything else. A command without
`--viewer` acts for a caller who may see everything, unless the environment names another caller.
`repo/id_prefix.py` defines prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ibidem.cli.options.viewer import viewer_of
from ibidem.cli.session import Session

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.repository import Repository


def node_at(session: Session, repository: Repository, text: str, at: str = "HEAD") -> NodeId:
    """Returns the node of a revision that is meant."""
    from ibidem.retrieve.access.policy import ALL

    return repository.at(at, viewer=viewer_of(session) or ALL).node_id(text)


def node_among(ids: Iterable[NodeId], text: str, *, where: str) -> NodeId:
    """Returns the node that is meant, of some."""
    from ibidem.objects.ids import NodeId
    from ibidem.repo.id_prefix import resolve_prefix, sorted_from

    return resolve_prefix(text, NodeId.parse, sorted_from(ids), where=where)
